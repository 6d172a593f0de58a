"""When does SQLite say "database is locked"? Processes seed one database side by side, as a parallel loader does.

Each writes comments in transactions of a given length. Where the number of a comment comes from is the point:

- `same`: the sequence is advanced in the transaction, over its own connection;
- `before`: over a second connection, before the transaction begins. The number is committed at once and waits for the
  transactions of all others;
- `inside`: over a second connection while the transaction is open. It waits for its own process as well, which waits for
  it: no busy timeout helps.
"""

import argparse
import json
import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from dataclasses import dataclass

NUMBERS = ("same", "before", "inside")
_NEXT = "UPDATE gp_sequence SET value = value + 1 WHERE name = 'gp_comment' RETURNING value"
_INSERT = "INSERT INTO gp_comment VALUES (?, ?)"
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@dataclass(frozen=True)
class Cell:
    numbers: str
    writers: int
    # How long a transaction stays open, besides the work in it.
    hold_ms: int
    busy_ms: int
    # Comments in a transaction.
    rows: int
    # Transactions of each writer.
    transactions: int


def _list(of):
    def parse(text):
        try:
            found = [of(item) for item in text.split(",")]
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"expected numbers with commas between, found {text}") from error
        if any(isinstance(item, int) and item < 0 for item in found):
            raise argparse.ArgumentTypeError(f"expected nothing below 0, found {text}")
        return found
    return parse


def _source(text):
    if text not in NUMBERS:
        raise argparse.ArgumentTypeError(f"one of {', '.join(NUMBERS)}, found {text}")
    return text


def arguments(parser):
    parser.add_argument("--numbers", type=_list(_source), default=list(NUMBERS), help="same, before, inside; default all")
    parser.add_argument("--writers", type=_list(int), default=[1, 2, 4, 8], help="processes; default 1,2,4,8")
    parser.add_argument("--hold-ms", type=_list(int), default=[0, 100, 1000], help="default 0,100,1000")
    parser.add_argument("--busy-ms", type=_list(int), default=[0, 5000], help="busy timeouts; default 0,5000")
    parser.add_argument("--rows", type=int, default=5, help="comments in a transaction; default 5")
    parser.add_argument("--transactions", type=int, default=5, help="of each writer; default 5")
    parser.add_argument("--journal-mode", default="wal", choices=["wal", "delete"])
    parser.add_argument("--dir", help="where the databases are made; default: the directory for temporary files")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each cell, and no words")


def run(args):
    if min(args.writers) < 1 or args.rows < 1 or args.transactions < 1:
        print("gameplan: writers, rows and transactions are at least 1", file=sys.stderr)
        return 2
    cells = [Cell(n, w, h, b, args.rows, args.transactions)
             for n in args.numbers for b in args.busy_ms for h in args.hold_ms for w in sorted(args.writers)]
    found = []
    for cell in cells:
        result = measure(cell, args.dir, args.journal_mode)
        found.append(result)
        line = json.dumps(result) if args.json else _words(result)
        print(line, flush=True)
    if not args.json:
        print("\n".join(["", *thresholds(found)]))
    return 0


def _words(result):
    return (f"numbers {result['numbers']:6}  busy {result['busy_ms']:>5} ms  hold {result['hold_ms']:>5} ms  "
            f"writers {result['writers']:>2}: {result['committed']} committed, {result['locked']} locked, "
            f"longest wait {result['longest_wait_ms']} ms")


def thresholds(found):
    """For each source of numbers, timeout and length: from how many writers on a transaction was refused."""
    groups = {}
    for result in found:
        groups.setdefault((result["numbers"], result["busy_ms"], result["hold_ms"]), []).append(result)
    lines = []
    for (numbers, busy, hold), results in groups.items():
        refused = [result["writers"] for result in results if result["locked"]]
        says = f"from {min(refused)} on" if refused else f"none up to {max(result['writers'] for result in results)}"
        lines.append(f"numbers {numbers}, busy timeout {busy} ms, transactions of {hold} ms: locked with writers: {says}")
    return lines


def measure(cell, folder=None, journal_mode="wal"):
    """Runs the writers of a cell on a new database."""
    with tempfile.TemporaryDirectory(prefix="gameplan-risk-", dir=folder) as place:
        path = os.path.join(place, "site.db")
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(f"PRAGMA journal_mode = {journal_mode}")
        db.execute("CREATE TABLE gp_sequence (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID")
        db.execute("INSERT INTO gp_sequence VALUES ('gp_comment', 0)")
        db.execute("CREATE TABLE gp_comment (name INTEGER PRIMARY KEY, content TEXT NOT NULL)")
        processes = multiprocessing.get_context("spawn")
        barrier, results = processes.Barrier(cell.writers), processes.SimpleQueue()
        writers = [processes.Process(target=_write, args=(cell, path, barrier, results)) for _ in range(cell.writers)]
        for writer in writers:
            writer.start()
        told = [results.get() for _ in writers]
        for writer in writers:
            writer.join()
        rows = db.execute("SELECT count(*) FROM gp_comment").fetchone()[0]
        db.close()
    errors = [result["error"] for result in told if "error" in result]
    if errors:
        raise RuntimeError(f"a writer failed: {errors[0]}")
    committed = sum(result["committed"] for result in told)
    if rows != committed * cell.rows:
        raise RuntimeError(f"{committed} transactions of {cell.rows} rows were committed, but there are {rows} rows")
    return dict(vars(cell), committed=committed, locked=sum(result["locked"] for result in told),
                longest_wait_ms=round(max(result["wait"] for result in told) * 1000))


def _write(cell, path, barrier, results):
    try:
        results.put(_written(cell, path, barrier))
    except BaseException as error:
        # The others must not wait for one who is gone.
        barrier.abort()
        results.put({"error": f"{type(error).__name__}: {error}"})


def _written(cell, path, barrier):
    committed, locked, longest = 0, 0, 0.0
    own = _connect(path, cell)
    second = _connect(path, cell)
    barrier.wait()
    for _ in range(cell.transactions):
        begun = time.monotonic()
        try:
            _seed(cell, own, second)
            committed += 1
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 255 not in _LOCKED:
                raise
            locked += 1
            if own.in_transaction:
                own.execute("ROLLBACK")
        longest = max(longest, time.monotonic() - begun - cell.hold_ms / 1000)
    own.close()
    second.close()
    return {"committed": committed, "locked": locked, "wait": longest}


def _connect(path, cell):
    return sqlite3.connect(path, isolation_level=None, timeout=cell.busy_ms / 1000)


def _seed(cell, own, second):
    """One transaction with its comments."""
    source = own if cell.numbers == "same" else second
    before = [_number(source) for _ in range(cell.rows)] if cell.numbers == "before" else None
    own.execute("BEGIN IMMEDIATE")
    for row in range(cell.rows):
        name = before[row] if before else _number(source)
        own.execute(_INSERT, (name, "seeded"))
        time.sleep(cell.hold_ms / cell.rows / 1000)
    own.execute("COMMIT")


def _number(connection):
    # All rows are fetched, so that the statement is over and commits.
    return connection.execute(_NEXT).fetchall()[0][0]
