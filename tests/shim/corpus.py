"""SQL of test suites as a program of SQLite: `corpus.py DIRECTORY STATEMENTS FILE...`, the first STATEMENTS of each file.

A file is sqllogictest's, with `statement` and `query`, or SQLite's own in Tcl: then every part between braces that begins
with a word of SQL. Each file has its own database in DIRECTORY. Prints a line for each statement: the file's place, its
number, `reads` or `changes`, and its rows, sorted, or `error` and the message. Where rows depend on an order that SQLite
leaves open, or on the time, only their number is printed.
"""
import os
import re
import sqlite3
import sys

BEGINNINGS = set(
    "ALTER ANALYZE BEGIN COMMIT CREATE DELETE DROP END INSERT PRAGMA REINDEX RELEASE REPLACE ROLLBACK SAVEPOINT SELECT "
    "UPDATE VACUUM VALUES WITH".split()
)
OPEN = re.compile(r"\blimit\b|group_concat|string_agg|random|current_|'now'|\bchanges\s*\(|last_insert_rowid|total_changes", re.I)
READS = re.compile(r"\s*(select|values|pragma|with(?!.*\b(insert|update|delete)\b))\b", re.I | re.S)


def cell(value):
    if isinstance(value, float):
        # The order of additions is the server's.
        return f"{value + 0.0:.12g}r"
    return repr(value)


def of_logictest(text):
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if not line.startswith("#")]
        is_meant = True
        while lines and lines[0].split(" ")[0] in ("skipif", "onlyif"):
            is_meant &= (lines[0].split()[1] == "sqlite") == lines[0].startswith("onlyif")
            lines = lines[1:]
        if lines and is_meant and lines[0].split(" ")[0] in ("statement", "query"):
            body = lines[1:]
            yield "\n".join(body[: body.index("----")] if "----" in body else body)


def of_tcl(text):
    parts, starts = [], []
    escaped = False
    for at, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "{":
            starts.append(at + 1)
        elif character == "}" and starts:
            begin = starts.pop()
            word = re.match(r"\s*([A-Za-z]*)", text[begin:at]).group(1).upper()
            if word in BEGINNINGS:
                # An enclosing part replaces the parts inside it.
                while parts and parts[-1][0] >= begin:
                    parts.pop()
                parts.append((begin, text[begin:at]))
    for _, part in parts:
        sql = ""
        for piece in re.split(r"(;)", part):
            sql += piece
            if piece == ";" and sqlite3.complete_statement(sql):
                yield sql
                sql = ""
        yield sql


def statements(path):
    text = open(path, encoding="utf-8", errors="replace").read().replace("\r\n", "\n")
    found = of_logictest(text) if re.search(r"^(statement|query) ", text, re.M) else of_tcl(text)
    # Tcl would put something else for a variable.
    return (sql for sql in found if sql.strip(" \n\t;") and "$" not in sql)


def carried_out(connection, sql):
    rows = [" ".join(map(cell, row)) for row in connection.execute(sql).fetchmany(5000)]
    return f"({len(rows)} rows)" + ("" if OPEN.search(sql) else " " + " | ".join(sorted(rows)))


for number, path in enumerate(sys.argv[3:]):
    connection = sqlite3.connect(os.path.join(sys.argv[1], f"{number}.db"), isolation_level=None, timeout=10)
    connection.text_factory = lambda text: text.decode(errors="replace")
    for at, sql in enumerate(statements(path)):
        if at >= int(sys.argv[2]):
            break
        kind = "reads" if READS.match(sql) else "changes"
        try:
            said = carried_out(connection, sql)
        except Exception as error:
            said = f"error {error}"
        print(number, at, kind, said.replace("\n", "\\n"), "\t", " ".join(sql.split())[:300], flush=True)
    connection.close()
