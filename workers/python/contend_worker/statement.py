"""Statements with their description in plans and scripts; no driver parses their text."""

from .wire import unescape


class Statement:
    """A statement of a plan or script."""

    def __init__(self, sql, effect, placeholders):
        self.sql = sql
        words = effect.split(",")
        self.returns, self.changes = "rows" in words, "changes" in words
        # Rows of values of a statement that replaces existing rows: MariaDB counts a replaced row twice.
        self.upserts = next((int(word[8:]) for word in words if word.startswith("upserts=")), 0)
        # (first byte, number or None)
        self.places, self.params = [], 0
        for item in () if placeholders == "-" else placeholders.split(","):
            at, _, number = item.partition(":")
            self.places.append((int(at), int(number) if number else None))
            self.params = max(self.params, int(number)) if number else self.params + 1

    def as_format(self, start=0):
        """The text from this byte on with `%s` for each placeholder `?`, as PyMySQL requires."""
        text, out, at = self.sql.encode(), [], start
        for place, _ in self.places:
            out.append(text[at:place].decode().replace("%", "%%"))
            at = place + 1
        return "%s".join([*out, text[at:].decode().replace("%", "%%")])


def load_of(group, placeholders, sql):
    """The statement of a `load`; `group` is the byte offset of a row's values, or None."""
    statement = Statement(unescape(sql), "changes", placeholders)
    statement.group = None if group == "-" else int(group)
    return statement
