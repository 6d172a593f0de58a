"""What must be true of a site's data, and what it holds."""

from gameplan.database import Database
from gameplan.schema import TABLES

# Rows that contradict one another; each must be 0.
INVARIANTS = {
    "comments_count equals comments": """
        SELECT count(*) FROM gp_discussion AS d
        LEFT JOIN (SELECT reference_name, count(*) AS n FROM gp_comment GROUP BY reference_name) AS c
          ON c.reference_name = d.name WHERE d.comments_count <> coalesce(c.n, 0)""",
    "one version per save": """
        SELECT count(*) FROM gp_discussion AS d
        LEFT JOIN (SELECT docname, count(*) AS n FROM gp_version GROUP BY docname) AS v ON v.docname = d.name
        LEFT JOIN (SELECT reference_name, count(*) AS n FROM gp_comment WHERE name > 1000000000
          GROUP BY reference_name) AS c ON c.reference_name = d.name
        WHERE coalesce(v.n, 0) <> coalesce(c.n, 0)""",
    "an unread record for every member but the author": """
        SELECT count(*) FROM gp_comment AS c JOIN gp_discussion AS d ON d.name = c.reference_name
        JOIN gp_member AS m ON m.parent = d.project
        LEFT JOIN gp_unread_record AS u ON u.comment = c.name AND u."user" = m."user"
        WHERE u.name IS NULL AND NOT (c.name > 1000000000 AND m."user" = c.owner)""",
    "no unread record twice": """
        SELECT count(*) FROM (SELECT comment, "user", count(*) AS n FROM gp_unread_record WHERE comment IS NOT NULL
          GROUP BY comment, "user") AS t WHERE n > 1""",
    "the last post is the latest comment": """
        SELECT count(*) FROM gp_discussion AS d JOIN (SELECT reference_name, max(creation) AS at FROM gp_comment
          GROUP BY reference_name) AS c ON c.reference_name = d.name WHERE d.last_post_at <> c.at""",
}


def check(test, site):
    """Nothing in the site contradicts itself."""
    db = Database(site)
    try:
        for name, sql in INVARIANTS.items():
            test.assertEqual(db.value(sql), 0, name)
    finally:
        db.close()


def counts(site):
    """Rows of every table but the sessions."""
    db = Database(site)
    try:
        return {table: db.value(f"SELECT count(*) FROM {table}") for table in TABLES if table != "gp_session"}
    finally:
        db.close()


def execute(site, sql, values=()):
    db = Database(site)
    try:
        db.execute(sql, values)
    finally:
        db.close()
