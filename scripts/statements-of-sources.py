#!/usr/bin/env python3
"""Takes the statements out of sources that use a database of a known schema, for the example `applications` of contend-sql.

    statements-of-sources.py OUT SCHEMA.sql FILE...

A file is SQL if its name ends with .sql; of others the literals between quotes are taken, adjacent ones as one, and lines
of shells between `<<SQL` and `SQL`. What SQLite prepares against the schema is written as `record-statements.py` does,
without types, if it is a query or a change and names a table of the schema, whose own statements come first. Nothing of the sources is kept in this repository.
"""

import collections
import json
import re
import sqlite3
import sys
from pathlib import Path

FIRST = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|WITH|REPLACE|CREATE)\b", re.I)
LITERAL = re.compile(r'"""(.*?)"""' r"|'''(.*?)'''" r'|r#"(.*?)"#|@"((?:[^"]|"")*)"|"((?:[^"\\]|\\.)*)"' r"|'((?:[^'\\\n]|\\.)*)'", re.S)
HEREDOC = re.compile(r"<<-?'?SQL'?\n(.*?)\n\s*SQL\b", re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": " "}


def unescaped(text):
    text = re.sub(r"\\\n\s*", "", text)
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), text)


def literals(text):
    """Literals; those with nothing but white space or a + between them are one."""
    parts, end = [], 0
    for found in LITERAL.finditer(text):
        if parts and text[end : found.start()].strip(" \t\r\n+\\"):
            yield "".join(parts)
            parts = []
        parts.append(unescaped(next(group for group in found.groups() if group is not None)))
        end = found.end()
    yield "".join(parts)


def statements(text):
    """The statements of a script, without comments before them."""
    one = ""
    for piece in re.split(r"(;)", text.replace("\0", " ")):
        one += piece
        if sqlite3.complete_statement(one):
            yield one
            one = ""
    yield one


def cleaned(sql):
    sql = re.sub(r"\A(\s|--[^\n]*\n|/\*.*?\*/)*", "", sql, flags=re.S).rstrip().rstrip(";").rstrip()
    return sql if FIRST.match(sql) else None


def candidates(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    texts = [text] if path.suffix == ".sql" else [*literals(text), *HEREDOC.findall(text)]
    for sql in (cleaned(part) for text in texts for part in statements(text)):
        if sql:
            yield sql


def prepares(database, tables, sql):
    if sql[:6].upper() == "CREATE" or not tables.intersection(re.findall(r"\w+", sql.lower())):
        return False
    try:
        database.execute(f"EXPLAIN {sql}", collections.defaultdict(int))
    except sqlite3.ProgrammingError as error:
        # Prepared, and only the values are missing.
        return "binding" in str(error).lower()
    except sqlite3.Error:
        return False
    return True


def make(schema):
    """A database with the schema; collations and tokenizers that this SQLite does not have are replaced."""
    database = sqlite3.connect(":memory:")
    for name in set(re.findall(r"COLLATE\s+(\w+)", " ".join(schema), re.I)) - {"NOCASE", "BINARY", "RTRIM"}:
        database.create_collation(name, lambda a, b: (a > b) - (a < b))
    # Virtual tables first: a dump has the tables in which they keep their data, which they make themselves.
    for sql in sorted(schema, key=lambda sql: "VIRTUAL" not in sql):
        try:
            database.execute(re.sub(r",\s*tokenize=[^,)]*", "", sql) if "VIRTUAL" in sql else sql)
        except sqlite3.Error as error:
            print(f"not in the schema: {error}: {sql[:100]}", file=sys.stderr)
    return database


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: statements-of-sources.py OUT SCHEMA.sql FILE...")
    schema = list(candidates(Path(sys.argv[2])))
    database = make(schema)
    tables = {name.lower() for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    found = dict.fromkeys(schema)
    offered = 0
    for path in map(Path, sys.argv[3:]):
        for sql in candidates(path):
            offered += 1
            if sql not in found and prepares(database, tables, sql):
                found[sql] = None
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.writelines(json.dumps([0, sql, ""]) + "\n" for sql in found)
    print(f"{len(schema)} of the schema, {len(found) - len(schema)} of {offered} that the sources have")


if __name__ == "__main__":
    main()
