"""The worker compared with a bare loop that calls the same library: rows read by rowid from SQLite, and by primary
key from the servers that the environment names. The sides alternate, so that both have the same machine. `null`
measures the worker's overhead. Started by scripts/bench-workers-python.sh; arguments are names of drivers."""

import os
import random
import statistics
import sys
import tempfile
import time
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from contend_worker.driver import Options  # noqa: E402
from contend_worker.drivers import load  # noqa: E402
from contend_worker.plan import Database  # noqa: E402
from contend_worker.run import Run  # noqa: E402
from contend_worker.wire import digest  # noqa: E402

ROWS, CYCLE = 100_000, 16_384
QUERY = "SELECT id, value, note FROM item WHERE rowid = "


class Reads(NamedTuple):
    """A driver's database, its placeholders in the plan and in the bare loop, and the number of turns."""

    server: str | None = None  # the variable with the fields of its `database` line; None: SQLite
    planned: str = "?"
    written: str = "?"
    reads: int = 5_000
    turns: int = 41


DRIVERS = {
    "python-sqlite3": Reads(),
    "apsw": Reads(),
    "psycopg": Reads("CONTEND_BENCH_POSTGRES", "$1", "%s", 2_000, 31),
    "pymysql": Reads("CONTEND_BENCH_MARIADB", "?", "%s", 2_000, 31),
}


def fill(driver, path):
    connection = driver.connect(Database("file", path), Options(driver, []))
    # A rollback journal would add the kernel's work to every read and hide the difference.
    connection.simple("PRAGMA journal_mode = WAL")
    connection.simple("CREATE TABLE item (id INTEGER, value INTEGER, note TEXT)")
    connection.simple(
        f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS - 1}) "
        "INSERT INTO item SELECT i, i % 100, 'item ' || i FROM n"
    )
    connection.close()


def plan(driver, database, keys, what):
    lines = [
        "contend-plan 3", "worker\t0", f"driver\t{driver.name}\tthread", "connections\tclient", "window\t0\t0\t0",
        "now\tclock", f"database\t{database}", f"statement\t0\trows\t{len(QUERY)}{':1' if what.planned == '$1' else ''}\t{QUERY}{what.planned}", "transaction\t0\tread\tread\t-\t0\t0\t1",
        "step\tsql\t0\t1..1\t1\t-\tp0+0", "retry\t1\t-\t-\t-", "clients\t1",
        f"client\t0\t0\tclosed\tcyclic\t{what.reads}\t0\t{len(keys)}", *(f"op\t0\t0\ti{key}" for key in keys), "",
    ]
    body = "\n".join(lines)
    return f"{body}end\t{digest(body)}\n"


def through_worker(driver, text, reads):
    """From the first start to the last end, and processor time, in nanoseconds."""
    run = Run([driver], text)
    client = run.clients[0]
    # In this thread, so that its processor time can be read.
    run.control.start_ns, begun = time.monotonic_ns(), time.thread_time_ns()
    client.loop()
    cpu = time.thread_time_ns() - begun
    run.abandon()
    samples = memoryview(b"".join(client.samples())).cast("Q")
    assert len(samples) == reads * 8 and run.counts() == (reads, 0), "a read failed"
    assert all(word == 1 << 32 for word in samples.tolist()[2::8]), "a read of other than one row"
    return samples[-3] - samples[4], cpu


def bare(driver, database, keys, what):
    """What a program with this one query would do."""
    connection = driver.connect(Database(*database.split("\t")), Options(driver, []))
    cursor, query = connection.inner.cursor(), QUERY + what.written
    execute = cursor.execute
    begun, cpu = time.monotonic_ns(), time.thread_time_ns()
    for i in range(what.reads):
        execute(query, (keys[i % CYCLE],))
        id_, value, note = cursor.fetchall()[0]
    took = time.monotonic_ns() - begun, time.thread_time_ns() - cpu
    connection.close()
    return took


def compare(name, database, keys):
    driver, what = load(name)[0], DRIVERS[name]
    text = plan(driver, database, keys, what)
    turns = []
    for turn in range(what.turns):
        first = bare(driver, database, keys, what) if turn % 2 == 0 else None
        worker = through_worker(driver, text, what.reads)
        turns.append((first or bare(driver, database, keys, what), worker))
    # By processor time as well, which other processes disturb less.
    for i, kind in enumerate(("elapsed", "processor")):
        ratios = [loop[i] / worker[i] for loop, worker in turns]
        plain, ours = (statistics.median(side[i] / what.reads for side in sides) for sides in zip(*turns))
        print(
            f"{name:<15} {kind:<9} bare/worker {statistics.median(ratios):.3f} (median of {what.turns}; {min(ratios):.3f} to "
            f"{max(ratios):.3f}), bare {plain:.0f} ns, worker {ours:.0f} ns per read",
            flush=True,
        )


def floor(keys):
    null, what = load("python-null")[0], Reads()
    text = plan(null, "file\tnone", keys, what)
    each = statistics.median(through_worker(null, text, what.reads)[1] / what.reads for _ in range(what.turns))
    print(f"{'python-null':<15} {each:.0f} ns of processor time per operation: the worker's own cost (median of {what.turns})")


def main(names):
    draw = random.Random(1)
    keys = [draw.randrange(1, ROWS + 1) for _ in range(CYCLE)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.db")
        fill(load("python-sqlite3")[0], path)
        for name in names or DRIVERS:
            server = DRIVERS[name].server
            database = os.environ.get(server) if server else f"file\t{path}"
            if database:
                compare(name, database, keys)
            else:
                print(f"{name:<15} left out: {server} names no server; scripts/bench-workers-python.sh starts one")
        floor(keys)


main(sys.argv[1:])
