"""The tables, as workloads/gameplan.toml of contend has them; a test holds the two against each other."""

# Column types: `key` a 64-bit number, the primary key; `link` a text that is in a key or an index; `text`; `int`.
# A question mark after it: may be NULL.
_DOCUMENT = "creation text, modified text, modified_by text, owner text, docstatus int, idx int"
_CHILD = "parent int, parentfield text, parenttype text"
TABLES = {
    "gp_user": f"name link, {_DOCUMENT}, full_name text, enabled int, password text?",
    "gp_team": f"name key, {_DOCUMENT}, title text, is_private int",
    "gp_project": f"name key, {_DOCUMENT}, title text, team int?, icon text?, description text?, is_private int, "
                  "discussions_count int, members_count int",
    "gp_member": f"name key, {_DOCUMENT}, {_CHILD}, user text",
    "gp_guest_access": f"name key, {_DOCUMENT}, project int, user text",
    "gp_discussion": f"name key, {_DOCUMENT}, project int?, team int?, title text, content text, status text?, slug text, "
                     "last_post_at link, last_post_by text?, last_post_type text?, last_post int?, comments_count int, "
                     "participants_count int, closed_at text?, closed_by text?, pinned_at text?, pinned_by text?, "
                     "pin_scope text?",
    "gp_comment": f"name key, {_DOCUMENT}, content text, reference_doctype text, reference_name int, edited_at text?, "
                  "deleted_at text?",
    "gp_unread_record": f"name key, {_DOCUMENT}, user link, discussion int, project int?, comment int?, is_unread int",
    "gp_discussion_visit": f"name key, {_DOCUMENT}, discussion int, user link, last_visit text",
    "gp_reaction": f"name key, {_DOCUMENT}, {_CHILD}, emoji text, user text",
    "gp_tag": f"name key, {_DOCUMENT}, {_CHILD}, tag text",
    "gp_poll": f"name key, {_DOCUMENT}, title text, discussion int, stopped_at text?",
    "gp_bookmark": f"name key, {_DOCUMENT}, discussion int, user link",
    "gp_notification": f"name key, {_DOCUMENT}, to_user link, discussion int?, comment int?, read int",
    "gp_version": f"name link, {_DOCUMENT}, ref_doctype link, docname int, data text",
    "gp_session": "name link, user text, expires_at int",
}
# Name, table, columns. gp_comment has none over (reference_doctype, reference_name), as in the original.
INDEXES = (
    ("gp_project_team", "gp_project", "team"),
    ("gp_member_parent", "gp_member", "parent"),
    ("gp_guest_access_project", "gp_guest_access", "project"),
    ("gp_discussion_project", "gp_discussion", "project"),
    ("gp_discussion_team", "gp_discussion", "team"),
    ("gp_discussion_last_post_at", "gp_discussion", "last_post_at"),
    ("gp_discussion_project_last_post_at", "gp_discussion", "project, last_post_at"),
    ("gp_unread_record_discussion", "gp_unread_record", '"user", discussion, is_unread'),
    ("gp_unread_record_project", "gp_unread_record", '"user", project, is_unread'),
    ("gp_reaction_parent", "gp_reaction", "parent"),
    ("gp_tag_parent", "gp_tag", "parent"),
    ("gp_poll_discussion", "gp_poll", "discussion"),
    ("gp_bookmark_discussion", "gp_bookmark", 'discussion, "user"'),
    ("gp_notification_to_user", "gp_notification", 'to_user, "read"'),
    ("gp_version_document", "gp_version", "ref_doctype, docname"),
)
UNIQUE = {"gp_discussion_visit": 'discussion, "user"'}
SEQUENCES = ("gp_comment", "gp_discussion_visit", "gp_unread_record")
# Names of new documents begin after this one.
SEQUENCE_BASE = 1_000_000_000
_TYPES = {
    "sqlite": {"key": "INTEGER PRIMARY KEY", "link": "TEXT", "text": "TEXT", "int": "INTEGER"},
    "postgres": {"key": "bigint PRIMARY KEY", "link": 'text COLLATE "C"', "text": 'text COLLATE "C"', "int": "bigint"},
    "mariadb": {"key": "BIGINT PRIMARY KEY", "link": "VARCHAR(255)", "text": "LONGTEXT", "int": "BIGINT"},
}


def columns(table):
    """Name, type and whether it may be NULL, of each column."""
    pairs = (column.split() for column in TABLES[table].split(", "))
    return [(name, kind.rstrip("?"), kind.endswith("?")) for name, kind in pairs]


def statements(engine):
    """What makes the tables and sequences on an engine; indexes come after the rows."""
    types = _TYPES[engine]
    made = []
    for table in TABLES:
        lines = []
        for name, kind, nullable in columns(table):
            key = " PRIMARY KEY" if (name, kind) == ("name", "link") else ""
            lines.append(f'"{name}" {types[kind]}{"" if nullable or kind == "key" else " NOT NULL"}{key}')
        if table in UNIQUE:
            lines.append(f"UNIQUE ({UNIQUE[table]})")
        tail = " CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin" if engine == "mariadb" else ""
        made.append(f"CREATE TABLE {table} ({', '.join(lines)}){tail}")
    if engine == "sqlite":
        made.append("CREATE TABLE gp_sequence (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID")
        made += [f"INSERT INTO gp_sequence VALUES ('{table}', {SEQUENCE_BASE})" for table in SEQUENCES]
    else:
        made += [f"CREATE SEQUENCE {table}_sequence START WITH {SEQUENCE_BASE + 1}" for table in SEQUENCES]
    return made


def index_statements():
    return [f"CREATE INDEX {name} ON {table} ({of})" for name, table, of in INDEXES]
