"""HTTP: which call is meant, on which site, by whom; answers and errors as JSON."""

import contextlib
import hmac
import io
import json
import logging
import random
import time

from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from . import auth, comments, discussions
from .counters import Counters
from .database import Database, DatabaseError
from .errors import RequestError, bad, missing, too_large

LOG = logging.getLogger("gameplan")
COOKIE = "sid"
LIMIT_DEFAULT = 20
LIMIT_MAX = 1000
REST_BYTES_MAX = 16 << 20
# Names of documents are 64-bit integers.
NAME_MAX = (1 << 63) - 1
URLS = Map([
    Rule("/api/method/login", endpoint="login", methods=["POST"]),
    Rule("/api/v2/method/gameplan.gameplan.doctype.gp_discussion.api.get_discussions", endpoint="feed", methods=["GET"]),
    Rule("/api/v2/document/GP Discussion/<name>", endpoint="discussion", methods=["GET"]),
    Rule("/api/v2/document/GP Comment", endpoint="comment", methods=["POST"]),
])


class App:
    """The WSGI application of all sites of a configuration."""

    def __init__(self, config, counters=None):
        self.config = config
        self.counters = counters or Counters()
        self.databases = {host: Database(site) for host, site in config.sites.items()}

    def __call__(self, environ, start_response):
        if not self._is_of_the_run(environ):
            _read_rest(environ["wsgi.input"])
            return failure(403, "Foreign", "the header contend-secret of this run is missing")(environ, start_response)
        request = Request(environ)
        request.max_content_length = self.config.body_bytes_max
        request.max_form_memory_size = self.config.body_bytes_max
        request.max_form_parts = 100
        response = self._respond(request)
        self.counters.add("requests")
        if response.status_code >= 400:
            self.counters.add("failed")
            _read_rest(environ["wsgi.input"])
        return response(environ, start_response)

    def _is_of_the_run(self, environ):
        """Every user of the machine can connect to the port."""
        brought = environ.get("HTTP_CONTEND_SECRET", "").encode("latin-1")
        return not self.config.secret or hmac.compare_digest(brought, self.config.secret.encode())

    def _respond(self, request):
        retries = []
        try:
            self._measure_body(request.environ)
            response = self._tried(request, retries)
        except RequestError as error:
            response = failure(error.status, error.kind, str(error))
        except RequestEntityTooLarge:
            response = failure(413, "RequestTooLarge", f"the maximum is {self.config.body_bytes_max} bytes")
        except HTTPException as error:
            response = failure(error.code, error.name.replace(" ", ""), error.description)
            for name, value in error.get_headers():
                if name == "Allow":
                    response.headers[name] = value
        except DatabaseError as error:
            response = self._database_failed(request, error)
        except Exception:
            LOG.exception("%s %s", request.method, request.path)
            response = failure(500, "InternalError", "an error of the application; its log says more")
        if retries:
            response.headers["X-Retries"] = str(len(retries))
        return response

    def _measure_body(self, environ):
        """Reads a body that came without its length: Werkzeug would cut it off at the limit without a word."""
        if "CONTENT_LENGTH" in environ or not environ.get("HTTP_TRANSFER_ENCODING"):
            return
        body, most = io.BytesIO(), self.config.body_bytes_max
        while some := environ["wsgi.input"].read(1 << 16):
            if body.tell() + len(some) > most:
                raise RequestEntityTooLarge
            body.write(some)
        environ["CONTENT_LENGTH"] = str(body.tell())
        body.seek(0)
        environ["wsgi.input"] = body

    def _database_failed(self, request, error):
        LOG.error("%s %s: %s:%s %s", request.method, request.path, error.space, error.code, error)
        if error.unknown:
            response = failure(500, "OutcomeUnknown", "the database was lost while it committed")
        elif error.retry:
            self.counters.add("gave_up")
            response = failure(503, "QueryDeadlockError", "the database is busy, try again later")
        elif error.full:
            response = failure(507, "DiskFull", "the database has no room to write; nothing of this request was kept")
        elif error.lost:
            response = failure(503, "DatabaseDown", "the database cannot be reached")
        else:
            response = failure(500, "DatabaseError", "the database refused a statement")
        response.headers["contend-code"] = f"{error.space}:{error.code}"
        return response

    def _tried(self, request, retries):
        """Carries a request out, again if the engine asks for it: its transaction was rolled back."""
        db = self._database(request)
        endpoint, arguments = URLS.bind_to_environ(request.environ).match()
        handler = getattr(self, f"_{endpoint}")
        opened = db.opened
        try:
            for attempt in range(1, self.config.tries + 1):
                try:
                    return handler(request, db, **arguments)
                except DatabaseError as error:
                    # A connection that broke since the last request is opened again, once; never after a commit began.
                    again = error.retry or (error.lost and attempt == 1 and opened and not error.unknown)
                    if not again or attempt == self.config.tries:
                        raise
                    retries.append(error)
                    self.counters.add("retries")
                    if error.retry:
                        time.sleep(random.uniform(0, self.config.sleep_ms * attempt) / 1000)
        finally:
            self.counters.add("connections_opened", db.opened - opened)

    def _database(self, request):
        host = request.environ.get("HTTP_HOST", "").lower()
        db = self.databases.get(host) or self.databases.get(host.rpartition(":")[0])
        if db is None:
            raise missing("site")
        return db

    def _user(self, request, db):
        user = auth.user_of(db, request.cookies.get(COOKIE, ""))
        if user is None:
            raise RequestError(401, "AuthenticationError", "log in first")
        return user

    def _login(self, request, db):
        user, password = request.form.get("usr", ""), request.form.get("pwd", "")
        session = auth.log_in(db, user, password, self.config.session_hours)
        if session is None:
            raise RequestError(401, "AuthenticationError", "Invalid login credentials")
        sid, known = session
        response = answer({"message": "Logged In", "home_page": "/g", "full_name": known["full_name"]})
        secure = request.is_secure
        response.set_cookie(
            COOKIE, sid, max_age=self.config.session_hours * 3600, httponly=True, samesite="Lax", secure=secure)
        return response

    def _feed(self, request, db):
        user = self._user(request, db)
        limit = _number(request.args.get("limit", str(LIMIT_DEFAULT)))
        if limit is None or not 1 <= limit <= LIMIT_MAX:
            raise bad(f"limit is a number from 1 to {LIMIT_MAX}")
        order = " ".join(request.args.get("order_by", "last_post_at desc").lower().split())
        if order not in discussions.ORDERS:
            raise bad(f"order_by is one of {', '.join(discussions.ORDERS)}")
        return answer({"data": discussions.feed(db, user, limit, order)})

    def _discussion(self, request, db, name):
        user = self._user(request, db)
        number = _number(name)
        if number is None:
            raise missing(discussions.DOCTYPE)
        return answer({"data": discussions.read(db, user, number)})

    def _comment(self, request, db):
        user = self._user(request, db)
        name, content = self._comment_of(request)
        return answer({"data": comments.add(db, user, name, content)})

    def _comment_of(self, request):
        if request.mimetype not in ("application/json", ""):
            raise RequestError(415, "UnsupportedMediaType", "the body must be application/json")
        try:
            body = json.loads(request.get_data())
        except (ValueError, RecursionError) as error:
            raise bad("the body is not JSON") from error
        if not isinstance(body, dict):
            raise bad("the body is not a JSON object")
        if body.get("reference_doctype") != discussions.DOCTYPE:
            raise bad(f"reference_doctype must be {discussions.DOCTYPE!r}")
        name, content = body.get("reference_name"), body.get("content")
        if isinstance(name, bool) or not isinstance(name, (int, str)) or name == "":
            raise bad("reference_name is missing or no name")
        number = _number(str(name))
        if number is None:
            raise missing(discussions.DOCTYPE)
        if not isinstance(content, str) or not content.strip():
            raise bad("content is missing or empty")
        if len(content) > self.config.content_chars_max:
            raise too_large(f"content has at most {self.config.content_chars_max} characters")
        if "\0" in content or not _is_unicode(content):
            raise bad("content is no text: it has a NUL or half a surrogate pair")
        return number, content


def _read_rest(stream):
    """Takes what a refused request still sends: closing before would reset the connection, and the answer with it."""
    left = REST_BYTES_MAX
    with contextlib.suppress(OSError, ValueError):
        while left > 0 and (some := stream.read(min(left, 1 << 16))):
            left -= len(some)


def answer(body, status=200):
    return Response(json.dumps(body, ensure_ascii=False, separators=(",", ":")), status, mimetype="application/json")


def failure(status, kind, message):
    """An error, in the shape of both versions of the interface."""
    response = answer({"message": message, "errors": [{"type": kind, "message": message}]}, status)
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


def _number(text):
    """A name as a number; None if it is none that a document can have."""
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > NAME_MAX:
        return None
    return int(text)


def _is_unicode(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
