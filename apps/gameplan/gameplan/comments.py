"""Writing: a comment and all that follows from it, in one transaction, every statement a round trip."""

import datetime
import json
import secrets

from . import discussions
from .errors import missing

_INSERT = """INSERT INTO gp_comment (name, creation, modified, modified_by, owner, docstatus, idx, content,
  reference_doctype, reference_name, edited_at, deleted_at) VALUES (?, ?, ?, ?, ?, 0, 0, ?, ?, ?, NULL, NULL)"""
_ABOUT = "FROM gp_comment WHERE reference_doctype = 'GP Discussion' AND reference_name = ?"
_LATEST = f"SELECT name, owner, creation {_ABOUT} AND deleted_at IS NULL ORDER BY creation DESC, name DESC LIMIT 1"
_LATEST_POLL = """SELECT name, owner, creation FROM gp_poll WHERE discussion = ?
ORDER BY creation DESC, name DESC LIMIT 1"""
_OWNERS = (f"SELECT owner {_ABOUT}", "SELECT owner FROM gp_poll WHERE discussion = ?")
_READ = """UPDATE gp_unread_record SET is_unread = 0, modified = ?, modified_by = ?
WHERE "user" = ? AND discussion = ? AND is_unread = 1"""
_VISIT = 'SELECT name, creation, modified, last_visit FROM gp_discussion_visit WHERE discussion = ? AND "user" = ?'
_VISIT_INSERT = """INSERT INTO gp_discussion_visit (name, creation, modified, modified_by, owner, docstatus, idx,
  discussion, "user", last_visit) VALUES (?, ?, ?, ?, ?, 0, 0, ?, ?, ?)"""
_VISIT_UPDATE = "UPDATE gp_discussion_visit SET last_visit = ?, modified = ?, modified_by = ? WHERE name = ?"
_NOTIFICATIONS = """SELECT name, comment FROM gp_notification WHERE to_user = ? AND "read" = 0 AND discussion = ?"""
_NOTIFICATION_READ = 'UPDATE gp_notification SET "read" = 1, modified = ?, modified_by = ? WHERE name = ?'
_MODIFIED = "SELECT modified FROM gp_discussion WHERE name = ?"
# All columns, changed or not, as the original saves a document.
_SAVED = [column for column in discussions.COLUMNS if column != "name"]
_SAVE = f"UPDATE gp_discussion SET {', '.join(f'{column} = ?' for column in _SAVED)} WHERE name = ?"
_CLEAR = tuple(
    f"DELETE FROM {table} WHERE parent = ? AND parenttype = 'GP Discussion' AND parentfield = '{child}'"
    for table, child in (("gp_reaction", "reactions"), ("gp_tag", "tags")))
_VERSION = """INSERT INTO gp_version (name, creation, modified, modified_by, owner, docstatus, idx, ref_doctype, docname,
  data) VALUES (?, ?, ?, ?, ?, 0, 0, ?, ?, ?)"""
_UNREAD = """INSERT INTO gp_unread_record (name, creation, modified, modified_by, owner, docstatus, idx, "user",
  discussion, project, comment, is_unread) VALUES """
_CHILD_COLUMNS = {
    "gp_reaction": ("name", "creation", "owner", "emoji", "user"), "gp_tag": ("name", "creation", "owner", "tag")}
# Set by a save as such, so no change that a version tells of.
_SILENT = ("modified", "modified_by")


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")


def add(db, user, name, content):
    """Adds a comment to a discussion; the comment."""
    with db.transaction():
        return _add(db, user, name, content)


def _add(db, user, name, content):
    # Locked where rows can be: two comments would otherwise count each other out.
    discussion = discussions.load(db, name, lock=True)
    if not discussion or not discussions.readable(db, user, discussion["project"]):
        raise missing(f"{discussions.DOCTYPE} {name}")
    comment = _insert(db, user, name, content)
    _update_discussion(db, user, name, comment)
    return comment


def _insert(db, user, name, content):
    at = now()
    comment = {
        "doctype": "GP Comment", "name": db.next_name("gp_comment"), "creation": at, "modified": at, "modified_by": user,
        "owner": user, "docstatus": 0, "idx": 0, "content": content, "reference_doctype": discussions.DOCTYPE,
        "reference_name": name, "edited_at": None, "deleted_at": None}
    # Links: what it is about, and who wrote it.
    if db.value("SELECT name FROM gp_discussion WHERE name = ?", (name,)) is None:
        raise missing(f"{discussions.DOCTYPE} {name}")
    if db.value("SELECT name FROM gp_user WHERE name = ? AND enabled = 1", (user,)) is None:
        raise missing(f"User {user}")
    db.execute(_INSERT, (comment["name"], at, at, user, user, content, discussions.DOCTYPE, name))
    return comment


def _update_discussion(db, user, name, comment):
    document = discussions.load(db, name, lock=True)
    _count(db, document)
    _mark_read(db, user, name)
    _visited(db, user, name)
    for notification in db.all(_NOTIFICATIONS, (user, name)):
        db.execute(_NOTIFICATION_READ, (now(), user, notification["name"]))
    before = discussions.load(db, name, lock=True)
    _check_unchanged(db, name, document)
    document.update(modified=now(), modified_by=user)
    db.execute(_SAVE, (*(document[column] for column in _SAVED), name))
    for sql in _CLEAR:
        db.execute(sql, (name,))
    for table, child in (("gp_reaction", "reactions"), ("gp_tag", "tags")):
        _restore(db, table, child, document)
    _owners(db, name)
    _version(db, user, before, document)
    _unread(db, user, name, comment)


def _count(db, document):
    name = document["name"]
    latest, poll = db.one(_LATEST, (name,)), db.one(_LATEST_POLL, (name,))
    kind = "GP Comment"
    if poll and poll["creation"] > latest["creation"]:
        latest, kind = poll, "GP Poll"
    comments = db.value(f"SELECT count(*) {_ABOUT} AND deleted_at IS NULL", (name,))
    polls = db.value("SELECT count(*) FROM gp_poll WHERE discussion = ?", (name,))
    document.update(
        last_post=latest["name"], last_post_by=latest["owner"], last_post_at=latest["creation"], last_post_type=kind,
        comments_count=comments + polls, participants_count=len(_owners(db, name)))


def _owners(db, name):
    return {row["owner"] for sql in _OWNERS for row in db.all(sql, (name,))}


def _mark_read(db, user, name):
    db.execute(_READ, (now(), user, user, name))


def _visited(db, user, name):
    at = now()
    visit = db.one(_VISIT, (name, user))
    if visit:
        db.execute(_VISIT_UPDATE, (at, at, user, visit["name"]))
    else:
        number = db.next_name("gp_discussion_visit")
        db.execute(_VISIT_INSERT, (number, at, at, user, user, name, user, at))


def _check_unchanged(db, name, document):
    # It is locked, so this cannot fail; a document that is not would be caught here.
    if db.value(db.locked(_MODIFIED), (name,)) != document["modified"]:
        raise RuntimeError(f"{discussions.DOCTYPE} {name} was changed while it was locked")


def _restore(db, table, child, document):
    """Writes back the children of a document, which a save clears."""
    columns = _CHILD_COLUMNS[table]
    names = ", ".join(f'"{column}"' for column in columns)
    places = ", ".join("?" for _ in columns)
    for idx, row in enumerate(document[child], 1):
        db.execute(
            f"INSERT INTO {table} ({names}, modified, modified_by, docstatus, idx, parent, parentfield,"
            f" parenttype) VALUES ({places}, ?, ?, 0, ?, ?, '{child}', 'GP Discussion')",
            (*(row[column] for column in columns), now(), row["owner"], idx, document["name"]))


def _version(db, user, before, after):
    changed = [[c, before[c], after[c]] for c in _SAVED if c not in _SILENT and before[c] != after[c]]
    data = json.dumps({"changed": changed, "added": [], "removed": []}, ensure_ascii=False)
    at = now()
    db.execute(_VERSION, (secrets.token_hex(5), at, at, user, user, discussions.DOCTYPE, after["name"], data))


def _unread(db, user, name, comment):
    project = db.value("SELECT project FROM gp_discussion WHERE name = ?", (name,))
    db.one("SELECT name, title, team, is_private FROM gp_project WHERE name = ?", (project,))
    members = db.all('SELECT "user" FROM gp_member WHERE parent = ? ORDER BY idx', (project,))
    guests = db.all('SELECT "user" FROM gp_guest_access WHERE project = ?', (project,))
    # The author has read it. A user may be both member and guest.
    readers = [reader for reader in dict.fromkeys(row["user"] for row in members + guests) if reader != user]
    if not readers:
        return
    at = now()
    values = []
    for reader in readers:
        values += [db.next_name("gp_unread_record"), at, at, user, user, reader, name, project, comment["name"]]
    rows = ", ".join(["(?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?, 1)"] * len(readers))
    db.execute(_UNREAD + rows, values)
