"""What a statement is, learnt from its text: drivers of the DB-API do not tell before they execute it."""

import re

# A backslash is a character like others everywhere: contend has MariaDB take it so too (NO_BACKSLASH_ESCAPES).
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\?(\d*)|\$(\d+)|([A-Za-z_0-9\x80-\U0010ffff]+)|([()])|.""", re.S
)
# In SQLite brackets quote names.
_TOKEN_BRACKETS = re.compile(r"\[[^\]]*\]|" + _TOKEN.pattern, re.S)
_CHANGING = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class Statement:
    """A statement of a plan or script."""

    def __init__(self, sql, brackets=False):
        self.sql = sql
        words, last, depth, groups, ended, self.params = [], "", 0, 0, False, 0
        for found in (_TOKEN_BRACKETS if brackets else _TOKEN).finditer(sql):
            numbered, dollar, word, parenthesis = found.groups()
            if word is not None:
                words.append(word.upper())
                ended = ended or depth == 0 and words[-1] == "ON"
            elif dollar or numbered:
                self.params = max(self.params, int(dollar or numbered))
            elif numbered is not None:
                self.params += 1
            elif parenthesis == "(":
                if depth == 0 and not ended and words and (words[-1] == "VALUES" or groups):
                    groups += 1
                depth += 1
            elif parenthesis:
                depth -= 1
        first = words[0] if words else ""
        self.first = first
        self.changes = first in _CHANGING or first == "WITH" and any(w in _CHANGING[:3] for w in words)
        self.returns = "RETURNING" in words if self.changes else first in (
            "SELECT", "VALUES", "WITH", "PRAGMA", "EXPLAIN", "SHOW", "TABLE", "CALL",
        )
        # Rows of values of a statement that replaces what is there: MariaDB counts a replaced row twice.
        duplicate = any(a == "ON" and b == "DUPLICATE" for a, b in zip(words, words[1:]))
        self.upserts = groups if first == "REPLACE" or duplicate else 0


def as_format(sql):
    """A statement with `?` as `%s`, which is how PyMySQL has its placeholders."""
    out = []
    for found in _TOKEN.finditer(sql):
        out.append("%s" if found.group(0) == "?" else found.group(0).replace("%", "%%"))
    return "".join(out)
