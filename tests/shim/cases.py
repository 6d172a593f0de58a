"""The translator's cases (crates/contend-sql/tests/cases) as a program of SQLite: `cases.py DIRECTORY FILE...`.

Prints a line for each statement: its case and number, and its rows, or `error` and the message. Rows are sorted unless the
case says that their order is total. Cases that leave a rule's condition, and savepoints of the translator's, are left out.
"""
import os
import sqlite3
import sys

literals = sqlite3.connect(":memory:")


def cell(value):
    if isinstance(value, float):
        # The order of additions is the server's.
        return f"{value + 0.0:.12g}r" if value == value else "NaN"
    return repr(value)


def carried_out(connection, sql, params, is_ordered):
    values = literals.execute("SELECT " + params).fetchone() if params else ()
    cursor = connection.execute(sql, values)
    rows = [" ".join(map(cell, row)) for row in cursor.fetchall()]
    names = [column[0] for column in cursor.description or []]
    return " | ".join(rows if is_ordered else sorted(rows)) + f" ({len(rows)} rows, {len(names)} columns)"


def steps(path):
    """Each statement of a file: case, whether the case is left out, SQL, parameters, whether the order is total."""
    case, is_out, sql, params, is_ordered = "", False, "", "", False
    for line in open(path, encoding="utf-8"):
        if line.startswith("--! "):
            word, _, rest = line[4:].rstrip("\n").partition(" ")
            if word == "case":
                words = rest.partition(":")[0].split()
                case, is_out = words[0], any(w.startswith("breaks=") or w == "savepoints" for w in words)
            elif word == "params":
                params = rest
            elif word == "ordered":
                is_ordered = True
            continue
        if sql or line.strip():
            sql += line
            if line.rstrip().endswith(";"):
                yield case, is_out, sql, params, is_ordered
                sql, params, is_ordered = "", "", False


now, connection = "", None
for path in sys.argv[2:]:
    for case, is_out, sql, params, is_ordered in steps(path):
        if is_out:
            continue
        if case != now:
            if connection:
                connection.close()
            now, number = case, 0
            connection = sqlite3.connect(os.path.join(sys.argv[1], f"{case}.db"), isolation_level=None, timeout=10)
            connection.text_factory = lambda text: text.decode(errors="replace")
        number += 1
        try:
            print(case, number, carried_out(connection, sql, params, is_ordered).replace("\n", "\\n"), flush=True)
        except Exception as error:
            print(case, number, "error", str(error).replace("\n", " "), flush=True)
