"""Reading: the newest discussions, and one of them. Statements are those of the workload file of contend."""

from .errors import missing

COLUMNS = (
    "name", "creation", "modified", "modified_by", "owner", "docstatus", "idx", "project", "team", "title", "content",
    "status", "slug", "last_post_at", "last_post_by", "last_post_type", "last_post", "comments_count",
    "participants_count", "closed_at", "closed_by", "pinned_at", "pinned_by", "pin_scope")
# What `order_by` may say; ties are broken by name, so that every engine gives the same order.
ORDERS = {
    f"{column} {direction}": f"d.{column} {direction.upper()}, d.name {direction.upper()}"
    for column in ("last_post_at", "creation") for direction in ("desc", "asc")}
DOCTYPE = "GP Discussion"

# A project that is not private, or of which the user is a member.
_READABLE = '(p.is_private = 0 OR EXISTS (SELECT 1 FROM gp_member AS m WHERE m.parent = p.name AND m."user" = ?))'

_FEED = f"""SELECT d.name, d.creation, d.modified, d.owner, d.project, d.team, d.title, d.status, d.slug,
  d.last_post_at, d.last_post_by, d.last_post_type, d.last_post, d.comments_count, d.participants_count, d.closed_at,
  d.pinned_at, d.pin_scope, p.title AS project_title
FROM gp_discussion AS d LEFT JOIN gp_project AS p ON p.name = d.project
WHERE {_READABLE} ORDER BY """
_CHILDREN = (
    ("reactions", 'SELECT name, creation, parent, owner, emoji, "user" FROM gp_reaction '
     "WHERE parent = ? AND parenttype = 'GP Discussion' AND parentfield = 'reactions' ORDER BY idx"),
    ("tags", "SELECT name, creation, parent, owner, tag FROM gp_tag "
     "WHERE parent = ? AND parenttype = 'GP Discussion' AND parentfield = 'tags' ORDER BY idx"))
_ROW = f"SELECT {', '.join('d.' + column for column in COLUMNS)} FROM gp_discussion AS d WHERE d.name = ?"
_ROW_AND_RIGHT = f"""SELECT {', '.join('d.' + column for column in COLUMNS)},
  CASE WHEN {_READABLE} THEN 1 ELSE 0 END AS readable
FROM gp_discussion AS d LEFT JOIN gp_project AS p ON p.name = d.project WHERE d.name = ?"""
_VISIT = 'SELECT last_visit FROM gp_discussion_visit WHERE discussion = ? AND "user" = ?'
_NEWER = """SELECT name, owner, creation FROM gp_comment
WHERE reference_doctype = 'GP Discussion' AND reference_name = ? AND deleted_at IS NULL AND creation > ?
ORDER BY creation, name LIMIT 1"""
_NEWER_POLL = """SELECT name, owner, creation FROM gp_poll
WHERE discussion = ? AND creation > ? ORDER BY creation, name LIMIT 1"""
_BOOKMARK = 'SELECT name FROM gp_bookmark WHERE discussion = ? AND "user" = ?'
_VISITS = "SELECT count(*) FROM gp_discussion_visit WHERE discussion = ?"


def feed(db, user, limit, order):
    """The first discussions that a user may see, with what is unread of them."""
    # One more than is shown tells whether there are others.
    found = db.all(f"{_FEED}{ORDERS[order]} LIMIT ?", (user, limit + 1))[:limit]
    if not found:
        return []
    names = [row["name"] for row in found]
    unread = _by(db, 'SELECT discussion, count(*) AS unread FROM gp_unread_record WHERE "user" = ? AND is_unread = 1'
                 " AND discussion IN ({}) GROUP BY discussion", names, (user,), "discussion")
    polls = _by(db, "SELECT name, title, discussion FROM gp_poll WHERE stopped_at IS NULL AND discussion IN ({})",
                names, (), "discussion")
    posts = [row["last_post"] for row in found if row["last_post_type"] == "GP Comment" and row["last_post"]]
    bodies = _by(db, "SELECT name, content FROM gp_comment WHERE name IN ({})", posts, (), "name") if posts else {}
    for row in found:
        name = row["name"]
        row["unread"] = unread[name]["unread"] if name in unread else 0
        row["ongoing_poll"] = polls.get(name)
        row["last_post_content"] = bodies[row["last_post"]]["content"] if row["last_post"] in bodies else None
    return found


def load(db, name, lock=False):
    """A discussion with its children, or None."""
    row = db.one(db.locked(_ROW) if lock else _ROW, (name,))
    if row:
        for child, sql in _CHILDREN:
            row[child] = db.all(sql, (name,))
    return row


def read(db, user, name):
    """One discussion, as its page shows it."""
    row = db.one(_ROW_AND_RIGHT, (user, name))
    # A user who may not see it does not learn that it exists.
    if not row or not row.pop("readable"):
        raise missing(f"{DOCTYPE} {name}")
    for child, sql in _CHILDREN:
        row[child] = db.all(sql, (name,))
    visited = db.value(_VISIT, (name, user))
    row["last_visit"] = visited
    row["first_unread_comment"] = db.one(_NEWER, (name, visited or ""))
    row["first_unread_poll"] = db.one(_NEWER_POLL, (name, visited or ""))
    row["is_bookmarked"] = db.value(_BOOKMARK, (name, user)) is not None
    row["views"] = db.value(_VISITS, (name,))
    return row


def readable(db, user, project):
    """Whether a user may see what is in a project."""
    return db.value(f"SELECT 1 FROM gp_project AS p WHERE p.name = ? AND {_READABLE}", (project, user)) is not None


def _by(db, sql, names, before, key):
    places = ", ".join(["?"] * len(names))
    return {row[key]: row for row in db.all(sql.format(places), (*before, *names))}
