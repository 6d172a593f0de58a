"""A client written for the original's interface: a new TCP connection for every request, a cookie, the Host header, a
login by form without a token. It knows nothing of the app's code."""

import http.client
import json
from urllib.parse import quote, urlencode, urlsplit

FEED = "/api/v2/method/gameplan.gameplan.doctype.gp_discussion.api.get_discussions"


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()
        self.json = json.loads(self.text) if self.text else None


class Client:
    def __init__(self, url, host):
        self.at = urlsplit(url).netloc
        self.host = host
        self.sid = None
        self.headers = {}

    def ask(self, method, target, body=None, kind=None, cookie=None):
        headers = {"Host": self.host, "Accept": "application/json", **self.headers}
        if kind:
            headers["Content-Type"] = kind
        sid = self.sid if cookie is None else cookie
        if sid:
            headers["Cookie"] = f"sid={sid}"
        connection = http.client.HTTPConnection(self.at, timeout=60)
        try:
            connection.request(method, target, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def login(self, user="Administrator", password="admin"):
        form = urlencode({"usr": user, "pwd": password})
        answer = self.ask("POST", "/api/method/login", form, "application/x-www-form-urlencoded")
        for cookie in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            if name == "sid":
                self.sid = value
        return answer

    def feed(self, limit=200, order="last_post_at desc"):
        return self.ask("GET", f"{FEED}?{urlencode({'limit': limit, 'order_by': order})}")

    def open(self, name):
        return self.ask("GET", f"/api/v2/document/GP%20Discussion/{quote(str(name))}")

    def comment(self, name, content, doctype="GP Discussion", **more):
        body = {"reference_doctype": doctype, "reference_name": name, "content": content, **more}
        return self.send_comment(json.dumps(body))

    def send_comment(self, body, kind="application/json"):
        return self.ask("POST", "/api/v2/document/GP%20Comment", body, kind)
