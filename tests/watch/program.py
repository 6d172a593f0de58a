"""One small program for each finding of `contend watch`, and healthy ones. Usage: program.py NAME DATABASE SECONDS

Each prints "ready" once it is at work, and ends after the given time.
"""
import multiprocessing
import os
import sqlite3
import sys
import threading
import time


def connect(path, timeout=5.0, journal="wal"):
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v BLOB)")
    return connection


def wait_for_the_watch():
    """Waits until the file that CONTEND_GO names is there; without one, a second."""
    go = os.environ.get("CONTEND_GO")
    while go and not os.path.exists(go):
        time.sleep(0.01)
    time.sleep(0.0 if go else 1.0)


def until(end, work):
    while time.monotonic() < end:
        try:
            work()
        except sqlite3.OperationalError:
            time.sleep(0.005)


def writer(path, end, hold=0.0, pause=0.05, timeout=5.0, journal="wal"):
    connection = connect(path, timeout, journal)

    def work():
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (v) VALUES (zeroblob(100))")
        time.sleep(hold)
        connection.execute("COMMIT")
        time.sleep(pause)

    until(end, work)


def program_holds_lock(path, end):
    """One process sleeps inside its transactions; another waits for it."""
    other(writer, path, end, 0.0, 0.02)
    writer(path, end, hold=0.4, pause=0.05)


def short_pauses(path, end):
    """One process sleeps for a short time inside its transactions; another is refused at once, again and again."""
    other(writer, path, end, 0.0, 0.005, 0.0)
    writer(path, end, hold=0.06, pause=0.02)


def implicit_begin(path, end, journal="wal"):
    """Writes once in a new connection, for which Python's module begins the transaction itself."""
    other(writer, path, end, 0.0, 0.02, 5.0, journal)
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM t").fetchall()
    wait_for_the_watch()
    connection.execute("INSERT INTO t (v) VALUES (zeroblob(100))")
    time.sleep(0.7)
    connection.execute("UPDATE t SET v = NULL WHERE id = 1")
    connection.commit()
    time.sleep(max(0.0, end - time.monotonic()))


def implicit_begin_journal(path, end):
    implicit_begin(path, end, "delete")


def forked_journal(path, end):
    """Forks in a transaction; the child's SQLite believes that the lock is its own."""
    connection = connect(path, journal="delete")
    connection.execute("BEGIN IMMEDIATE")
    other(writer, path, end, 0.0, 0.1, 0.1, "delete")
    time.sleep(max(0.0, end - time.monotonic()))


def holds_lock_alone(path, end):
    """The same; who waits is another program."""
    writer(path, end, hold=0.15, pause=0.05)


def read_then_write(path, end):
    """BEGIN, read, then write, while another process writes."""
    other(writer, path, end, 0.03, 0.005)
    connection = connect(path)

    def work():
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM t").fetchall()
            time.sleep(0.02)
            connection.execute("INSERT INTO t (v) VALUES (zeroblob(10))")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            time.sleep(0.01)

    until(end, work)


def old_snapshot(path, end):
    """BEGIN, read, then write after another process has committed."""
    ours, theirs = multiprocessing.Pipe()

    def commits():
        connection = connect(path)
        while theirs.recv():
            connection.execute("INSERT INTO t (v) VALUES (zeroblob(10))")
            theirs.send(1)

    other(commits)
    connection = connect(path)

    def work():
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM t").fetchall()
            ours.send(1)
            ours.recv()
            connection.execute("INSERT INTO t (v) VALUES (zeroblob(10))")
        finally:
            connection.execute("ROLLBACK")
            time.sleep(0.02)

    until(end, work)


def threads(path, end, journal, begin, count=4):
    """A server in one process: each thread has its own connection, and works inside of its transaction."""

    def serve():
        connection = connect(path, 0.1, journal)

        def work():
            try:
                connection.execute(begin)
                connection.execute("SELECT count(*) FROM t").fetchall()
                connection.execute("INSERT INTO t (v) VALUES (zeroblob(10))")
                time.sleep(0.2)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                time.sleep(0.01)

        until(end, work)

    for _ in range(count):
        threading.Thread(target=serve, daemon=True).start()
    time.sleep(max(0.0, end - time.monotonic()))


def threads_in_wal(path, end):
    threads(path, end, "wal", "BEGIN")


def threads_with_journal(path, end):
    threads(path, end, "delete", "BEGIN")


def threads_immediate(path, end):
    threads(path, end, "wal", "BEGIN IMMEDIATE", 2)


def no_busy_timeout(path, end):
    other(writer, path, end, 0.05, 0.01)
    writer(path, end, pause=0.02, timeout=0.0)


def refused_rarely(path, end):
    """No busy timeout, and no second try for a long time."""
    other(writer, path, end, 0.3, 0.005)
    connection = connect(path, timeout=0.0)

    def work():
        time.sleep(0.7)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")

    until(end, work)


def timeout_too_short(path, end):
    other(writer, path, end, 0.6, 0.05)
    writer(path, end, pause=0.02, timeout=0.2)


def long_transaction(path, end):
    """A statement that takes 1.5 s, in a transaction."""
    other(writer, path, end, 0.0, 0.02)
    connection = connect(path)
    connection.create_function("slow", 1, time.sleep)

    def work():
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (v) VALUES (slow(1.5))")
        connection.execute("COMMIT")
        time.sleep(0.3)

    until(end, work)


def began_before(path, end):
    """A transaction whose statement began before the watch, and computes until it is killed."""
    other(writer, path, end, 0.0, 0.02)
    connection = connect(path)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n").fetchone()


def log_never_restarts(path, end):
    """Three readers take turns: the next begins before the last ends."""
    other(writer_of_pages, path, end, 0.1)
    readers = [connect(path) for _ in range(3)]
    turn = 0

    def work():
        nonlocal turn
        readers[turn % 3].execute("BEGIN")
        readers[turn % 3].execute("SELECT count(*) FROM t").fetchall()
        time.sleep(0.2)
        if turn >= 2:
            readers[(turn - 2) % 3].execute("COMMIT")
        turn += 1

    until(end, work)


def starvation(path, end):
    """One process takes the lock again at once; the other polls."""
    other(writer, path, end, 0.2, 0.0)
    writer(path, end, pause=0.0)


def readers_block_writer(path, end):
    """Rollback journal: long reads keep a commit waiting."""
    other(writer, path, end, 0.0, 0.02, 5.0, "delete")
    slow_reader(path, end)


def slow_reader(path, end):
    connection = connect(path, journal="delete")
    connection.executemany("INSERT INTO t (v) VALUES (zeroblob(10))", [()] * 20)

    def work():
        for _ in connection.execute("SELECT * FROM t LIMIT 5"):
            time.sleep(0.05)

    until(end, work)


def readers_block_own_writer(path, end):
    """The same in one process: SQLite settles it in memory, and no lock call is refused."""
    threading.Thread(target=writer, args=(path, end, 0.0, 0.02, 5.0, "delete"), daemon=True).start()
    slow_reader(path, end)


def reader_pins_log(path, end):
    other(writer_of_pages, path, end)
    connection = connect(path)
    wait_for_the_watch()
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM t").fetchall()
    time.sleep(max(0.0, end - time.monotonic()))


def writer_of_pages(path, end, pause=0.3):
    connection = connect(path)

    def insert():
        connection.execute("INSERT INTO t (v) VALUES (zeroblob(2000000))")
        time.sleep(pause)

    until(end, insert)


def idle_in_transaction(path, end):
    connection = connect(path)
    wait_for_the_watch()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE t SET v = NULL WHERE id = 1")
    time.sleep(max(0.0, end - time.monotonic()))


def small_commits(path, end):
    connection = connect(path)
    connection.execute("PRAGMA synchronous = FULL")
    until(end, lambda: connection.execute("INSERT INTO t (v) VALUES (zeroblob(10))"))


def open_close_churn(path, end, journal="wal"):
    connect(path, journal=journal).close()

    def work():
        connection = sqlite3.connect(path)
        connection.execute("SELECT count(*) FROM t").fetchall()
        connection.close()
        time.sleep(0.02)

    until(end, work)


def churn_with_journal(path, end):
    open_close_churn(path, end, "delete")


def crash_loop(path, end):
    """Process after process opens the database, commits once and ends without closing it."""

    def work():
        pid = os.fork()
        if pid == 0:
            connect(path).execute("INSERT INTO t (v) VALUES (zeroblob(10))")
            os._exit(0)
        os.waitpid(pid, 0)
        time.sleep(0.02)

    until(end, work)


def disk_journal(path, end):
    """A cache of ten pages: a large transaction syncs its journal again and again while it holds the lock."""
    other(writer, path, end, 0.0, 0.02, 5.0, "delete")
    connection = connect(path, journal="delete")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = 10")

    def work():
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO t (v) VALUES (zeroblob(3000))", [()] * 300)
        connection.execute("UPDATE t SET v = zeroblob(2999) WHERE id <= 300")
        connection.execute("COMMIT")
        connection.execute("DELETE FROM t WHERE id > 300")
        time.sleep(0.05)

    until(end, work)


def disk_wal(path, end):
    """Each commit syncs the log while it has the lock."""
    other(writer, path, end, 0.0, 0.02)
    connection = connect(path)
    connection.execute("PRAGMA synchronous = FULL")

    def work():
        connection.execute("INSERT INTO t (v) VALUES (zeroblob(10))")
        time.sleep(0.05)

    until(end, work)


def checkpoint_in_commit(path, end):
    """10 MB in one transaction, after which the commit copies them into the database."""
    connection = connect(path)

    def work():
        connection.execute("DELETE FROM t")
        connection.execute(
            "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5)"
            " INSERT INTO t (v) SELECT zeroblob(2000000) FROM n"
        )
        time.sleep(0.1)

    until(end, work)


def checkpoint_blocks_writers(path, end):
    other(writer, path, end, 0.0, 0.02)
    connection = connect(path)
    connection.execute("PRAGMA wal_autocheckpoint = 0")

    def work():
        connection.execute("INSERT INTO t (v) VALUES (zeroblob(100000))")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute("DELETE FROM t")
        time.sleep(0.1)

    until(end, work)


def busy_reader(path, end):
    """Thousands of reads a second, each with two lock calls."""
    connection = connect(path)
    until(end, lambda: connection.execute("SELECT count(*) FROM t").fetchall())


def healthy_writer(path, end):
    writer(path, end, pause=0.1)


def healthy_pair(path, end):
    other(writer, path, end, 0.0, 0.11)
    writer(path, end, pause=0.13)


def healthy_polled(path, end):
    """Short transactions, while another process tries all the time without a busy timeout."""
    other(writer, path, end, 0.0, 0.001, 0.0)
    writer(path, end, pause=0.02)


def healthy_readers(path, end):
    def reader(path, end):
        connection = connect(path)

        def work():
            connection.execute("SELECT count(*) FROM t").fetchall()
            time.sleep(0.02)

        until(end, work)

    other(reader, path, end)
    reader(path, end)


def healthy_batches(path, end):
    connection = connect(path)

    def work():
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO t (v) VALUES (zeroblob(100))", [()] * 500)
        connection.execute("COMMIT")
        time.sleep(0.2)

    until(end, work)


def healthy_rollback_journal(path, end):
    writer(path, end, pause=0.1, journal="delete")


def healthy_threads(path, end):
    """Two connections of one process, with BEGIN IMMEDIATE and a timeout."""
    threading.Thread(target=writer, args=(path, end, 0.0, 0.11), daemon=True).start()
    writer(path, end, pause=0.13)


def healthy_checkpoints(path, end):
    """Checkpoints by a thread of their own, which keep no writer out."""

    def checkpoint():
        connection = connect(path)

        def work():
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            time.sleep(0.5)

        until(end, work)

    threading.Thread(target=checkpoint, daemon=True).start()
    connection = connect(path)
    connection.execute("PRAGMA wal_autocheckpoint = 0")

    def work():
        connection.execute("INSERT INTO t (v) VALUES (zeroblob(100))")
        time.sleep(0.1)

    until(end, work)


def healthy_pieces(path, end):
    """A long result, read in pieces while another process writes."""
    other(writer, path, end, 0.0, 0.11)
    connection = connect(path)
    after = 0

    def work():
        nonlocal after
        rows = connection.execute("SELECT id FROM t WHERE id > ? ORDER BY id LIMIT 20", (after,)).fetchall()
        after = rows[-1][0] if rows else 0
        time.sleep(0.1)

    until(end, work)


def healthy_connections(path, end):
    """A connection for each piece of work, one a second."""

    def work():
        connection = connect(path)
        connection.execute("INSERT INTO t (v) VALUES (1)")
        connection.close()
        time.sleep(1.0)

    until(end, work)


def healthy_closes(path, end):
    """Closes its connections while another process keeps one: a close tries to be the last."""
    other(healthy_idle, path, end)
    healthy_connections(path, end)


def healthy_exclusive_journal(path, end):
    """The only user of its database keeps the lock between transactions."""
    connection = connect(path, journal="delete")
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    wait_for_the_watch()
    connection.execute("INSERT INTO t (v) VALUES (1)")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO t (v) VALUES (1)")
    connection.execute("COMMIT")
    time.sleep(max(0.0, end - time.monotonic()))


def healthy_idle(path, end):
    connection = connect(path)
    connection.execute("SELECT count(*) FROM t").fetchall()
    time.sleep(max(0.0, end - time.monotonic()))


def other(work, *args):
    """Runs a function in a process of its own; prints its number."""
    process = multiprocessing.Process(target=work, args=args, daemon=True)
    process.start()
    print("other", process.pid, flush=True)


def at_work(work, path, end):
    """Prints the number of the thread that does the work."""
    print("self", os.getpid(), flush=True)
    print("thread", threading.get_native_id(), flush=True)
    print("ready", flush=True)
    work(path, end)


if __name__ == "__main__":
    name, path, seconds = sys.argv[1:]
    multiprocessing.set_start_method("fork")
    connect(path, journal="delete" if "journal" in name or "readers_block" in name else "wal").close()
    # In a thread of its own, so that findings must name it.
    end = time.monotonic() + float(seconds)
    worker = threading.Thread(target=at_work, args=(globals()[name], path, end))
    worker.start()
    worker.join()
