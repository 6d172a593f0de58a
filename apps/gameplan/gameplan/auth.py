"""Users and sessions. Passwords are kept as salted scrypt hashes, cookies as hashes of their value."""

import hashlib
import secrets
import time

from werkzeug.security import check_password_hash

# Checked when there is no such user, so that the time does not tell: random bytes in the place of a hash, which cost as much
# to compare with and nothing to make.
_NOBODY = f"scrypt:32768:8:1${secrets.token_hex(8)}${secrets.token_hex(64)}"
NAME_CHARS_MAX = 140
PASSWORD_CHARS_MAX = 512


def log_in(db, user, password, hours):
    """The cookie of a new session and the user, or None."""
    known = None
    if 0 < len(user) <= NAME_CHARS_MAX and 0 < len(password) <= PASSWORD_CHARS_MAX and "\0" not in user:
        known = db.one("SELECT name, full_name, password FROM gp_user WHERE name = ? AND enabled = 1", (user,))
    stored = known["password"] if known and known["password"] else _NOBODY
    # Compares in constant time.
    right = check_password_hash(stored, password[:PASSWORD_CHARS_MAX])
    if not right or stored is _NOBODY:
        return None
    sid = secrets.token_hex(32)
    now = int(time.time())
    with db.transaction():
        db.execute("DELETE FROM gp_session WHERE expires_at < ?", (now,))
        db.execute(
            'INSERT INTO gp_session (name, "user", expires_at) VALUES (?, ?, ?)',
            (_hash(sid), known["name"], now + hours * 3600))
    return sid, known


def user_of(db, sid):
    """Whose session it is, or None."""
    if not sid or len(sid) > 128:
        return None
    return db.value(
        'SELECT u.name FROM gp_session AS s JOIN gp_user AS u ON u.name = s."user"'
        " WHERE s.name = ? AND s.expires_at >= ? AND u.enabled = 1",
        (_hash(sid), int(time.time())))


def _hash(sid):
    return hashlib.sha256(sid.encode("utf-8", "surrogateescape")).hexdigest()
