"""The worker held against a bare loop that calls the same library: rows read by rowid, in turns, so that both see the
same machine. `null` is what the worker costs by itself. Started by scripts/bench-workers-python.sh."""

import os
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from contend_worker.driver import Options  # noqa: E402
from contend_worker.drivers import load  # noqa: E402
from contend_worker.run import Run  # noqa: E402

ROWS, CYCLE, READS, TURNS = 100_000, 16_384, 5_000, 41
QUERY = "SELECT id, value, note FROM item WHERE rowid = ?"


def fill(driver, path):
    connection = driver.connect(path, Options(driver, []))
    # What a rollback journal adds to every read is the kernel's, and hides what is to be seen.
    connection.simple("PRAGMA journal_mode = WAL")
    connection.simple("CREATE TABLE item (id INTEGER, value INTEGER, note TEXT)")
    connection.simple(
        f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS - 1}) "
        "INSERT INTO item SELECT i, i % 100, 'item ' || i FROM n"
    )
    connection.close()


def plan(driver, path, keys):
    lines = [
        "contend-plan 2", "worker\t0", f"driver\t{driver.name}\tthread", "connections\tclient", "window\t0\t0\t0",
        "now\tclock", f"database\t{path}", f"statement\t0\t{QUERY}", "transaction\t0\tread\tread\t-\t0\t0\t1",
        "step\tsql\t0\t1..1\t1\t-\tp0+0", "retry\t1\t-\t-\t-", "clients\t1",
        f"client\t0\t0\tclosed\tcyclic\t{READS}\t0\t{len(keys)}", *(f"op\t0\t0\ti{key}" for key in keys), "end\n",
    ]
    return "\n".join(lines)


def through_worker(driver, text):
    """From the first start to the last end, and processor time, in nanoseconds."""
    run = Run([driver], text)
    client = run.clients[0]
    # In this thread, whose processor time can be asked for; the client's own goes home.
    run.control.start_ns, begun = time.monotonic_ns(), time.thread_time_ns()
    client.loop()
    cpu = time.thread_time_ns() - begun
    run.abandon()
    samples = memoryview(b"".join(client.samples())).cast("Q")
    assert len(samples) == READS * 8 and run.counts() == (READS, 0), "a read failed"
    assert all(word == 1 << 32 for word in samples.tolist()[2::8]), "a read of other than one row"
    return samples[-3] - samples[4], cpu


def bare(driver, path, keys):
    """What a program for this one query would do."""
    connection = driver.connect(path, Options(driver, []))
    execute = connection.inner.cursor().execute
    begun, cpu = time.monotonic_ns(), time.thread_time_ns()
    for i in range(READS):
        id_, value, note = execute(QUERY, (keys[i % CYCLE],)).fetchall()[0]
    took = time.monotonic_ns() - begun, time.thread_time_ns() - cpu
    connection.close()
    return took


def compare(name, path, keys):
    driver = load(name)[0]
    text = plan(driver, path, keys)
    turns = []
    for turn in range(TURNS):
        first = bare(driver, path, keys) if turn % 2 == 0 else None
        worker = through_worker(driver, text)
        turns.append((first or bare(driver, path, keys), worker))
    # By processor time as well, which others on the machine disturb less.
    for i, what in enumerate(("elapsed", "processor")):
        ratios = [loop[i] / worker[i] for loop, worker in turns]
        plain, ours = (statistics.median(side[i] / READS for side in sides) for sides in zip(*turns))
        print(
            f"{name:<15} {what:<9} bare/worker {statistics.median(ratios):.3f} (median of {TURNS}; {min(ratios):.3f} to "
            f"{max(ratios):.3f}), bare {plain:.0f} ns, worker {ours:.0f} ns per read"
        )


def main():
    draw = random.Random(1)
    keys = [draw.randrange(1, ROWS + 1) for _ in range(CYCLE)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.db")
        fill(load("python-sqlite3")[0], path)
        for name in ("python-sqlite3", "apsw"):
            compare(name, path, keys)
        null = load("python-null")[0]
        floor = statistics.median(through_worker(null, plan(null, path, keys))[1] / READS for _ in range(TURNS))
        print(f"{'python-null':<15} {floor:.0f} ns of processor time per operation: the worker's own cost (median of {TURNS})")


main()
