/* The programs of program.py in C, against the system's libsqlite3: program NAME DATABASE SECONDS */
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double end;
/* The journal mode of programs in WAL, which a test may run with a rollback journal, too. */
static const char *wal = "wal";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void pause_s(double seconds) { usleep((useconds_t)(seconds * 1e6)); }

/* Each statement compiled from UTF-16. */
static int run_utf16(sqlite3 *db, const char *sql) {
    short wide[512] = {0};
    const void *next = wide;
    int rc = SQLITE_OK;
    for (int i = 0; sql[i] && i < 511; i++) wide[i] = sql[i];
    while (rc == SQLITE_OK && *(const short *)next) {
        sqlite3_stmt *statement;
        if ((rc = sqlite3_prepare16_v2(db, next, -1, &statement, &next)) || !statement) break;
        while (sqlite3_step(statement) == SQLITE_ROW);
        rc = sqlite3_finalize(statement);
    }
    return rc;
}

static int run(sqlite3 *db, const char *sql) {
    return getenv("CONTEND_UTF16") ? run_utf16(db, sql) : sqlite3_exec(db, sql, 0, 0, 0);
}

/* A COMMIT can be refused, too: without ROLLBACK its transaction keeps other processes out for ever. */
static void commit(sqlite3 *db) {
    run(db, "COMMIT");
    if (!sqlite3_get_autocommit(db)) run(db, "ROLLBACK");
}

static sqlite3 *open_with(const char *path, int timeout_ms, const char *journal) {
    sqlite3 *db;
    char sql[64];
    if (sqlite3_open(path, &db)) exit(1);
    sqlite3_busy_timeout(db, timeout_ms);
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", journal);
    run(db, sql);
    run(db, "PRAGMA synchronous = NORMAL");
    run(db, "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v BLOB)");
    return db;
}

static void write_for_ever(const char *path, double hold, double pause, int timeout_ms, const char *journal) {
    sqlite3 *db = open_with(path, timeout_ms, journal);
    while (now() < end) {
        if (run(db, "BEGIN IMMEDIATE") == SQLITE_OK) {
            run(db, "INSERT INTO t (v) VALUES (zeroblob(100))");
            pause_s(hold);
            commit(db);
            pause_s(pause);
        } else {
            pause_s(0.005);
        }
    }
}

static void *write_with_journal(void *path) {
    write_for_ever(path, 0, 0.02, 5000, "delete");
    return 0;
}

/* Whether this is the other process; prints its number in the first. */
static int other(void) {
    int pid = fork();
    if (pid) printf("other %d\n", pid), fflush(stdout);
    return !pid;
}

static void read_then_write(const char *path) {
    sqlite3 *db = open_with(path, 5000, wal);
    while (now() < end) {
        run(db, "BEGIN");
        run(db, "SELECT count(*) FROM t");
        pause_s(0.02);
        if (run(db, "INSERT INTO t (v) VALUES (zeroblob(10))") == SQLITE_OK) run(db, "COMMIT");
        if (!sqlite3_get_autocommit(db)) run(db, "ROLLBACK");
        pause_s(0.01);
    }
}

/* BEGIN, read, then write after another process has committed. */
static void old_snapshot(const char *path) {
    int ask[2], answer[2];
    char byte = 0;
    if (pipe(ask) || pipe(answer)) exit(1);
    int is_other = other();
    sqlite3 *db = open_with(path, 5000, "wal");
    while (is_other && read(ask[0], &byte, 1) == 1) {
        run(db, "INSERT INTO t (v) VALUES (zeroblob(10))");
        if (write(answer[1], &byte, 1) != 1) exit(1);
    }
    while (now() < end) {
        run(db, "BEGIN; SELECT count(*) FROM t");
        if (write(ask[1], &byte, 1) != 1 || read(answer[0], &byte, 1) != 1) exit(1);
        run(db, "INSERT INTO t (v) VALUES (zeroblob(10))");
        run(db, "ROLLBACK");
        pause_s(0.02);
    }
}

static void slow_reader(const char *path) {
    sqlite3 *db = open_with(path, 5000, "delete");
    sqlite3_stmt *rows;
    for (int i = 0; i < 20; i++) run(db, "INSERT INTO t (v) VALUES (zeroblob(10))");
    while (now() < end) {
        if (sqlite3_prepare_v2(db, "SELECT * FROM t LIMIT 5", -1, &rows, 0)) continue;
        while (sqlite3_step(rows) == SQLITE_ROW) pause_s(0.05);
        sqlite3_finalize(rows);
    }
}

/* Waits until the file that CONTEND_GO names is there; without one, a second. */
static void wait_for_the_watch(void) {
    const char *go = getenv("CONTEND_GO");
    if (!go) pause_s(1);
    while (go && access(go, F_OK)) pause_s(0.01);
}

static void idle(const char *path, const char *begin, const char *sql) {
    sqlite3 *db = open_with(path, 5000, wal);
    wait_for_the_watch();
    run(db, begin);
    run(db, sql);
    while (now() < end) pause_s(0.1);
}

static void repeat(const char *path, const char *journal, const char *setting, const char *sql, double pause) {
    sqlite3 *db = open_with(path, 5000, journal);
    run(db, setting);
    while (now() < end) {
        run(db, sql);
        pause_s(pause);
    }
}

static void slow(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    pause_s(sqlite3_value_double(values[0]));
    sqlite3_result_null(context);
}

/* A statement that takes 1.5 s, in a transaction. */
static void long_transaction(const char *path) {
    sqlite3 *db = open_with(path, 5000, wal);
    sqlite3_create_function(db, "slow", 1, SQLITE_UTF8, 0, slow, 0, 0);
    while (now() < end) {
        run(db, "BEGIN IMMEDIATE; INSERT INTO t (v) VALUES (slow(1.5)); COMMIT");
        pause_s(0.3);
    }
}

/* A transaction whose statement began before the watch, and computes until it is killed. */
static void began_before(const char *path) {
    sqlite3 *db = open_with(path, 5000, wal);
    run(db, "BEGIN IMMEDIATE; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n");
}

/* Three readers take turns: the next begins before the last ends. */
static void readers_take_turns(const char *path) {
    sqlite3 *readers[3];
    for (int i = 0; i < 3; i++) readers[i] = open_with(path, 5000, wal);
    for (int i = 0; now() < end; i++) {
        run(readers[i % 3], "BEGIN; SELECT count(*) FROM t");
        pause_s(0.2);
        if (i >= 2) run(readers[(i - 2) % 3], "COMMIT");
    }
}

static void open_and_close(const char *path) {
    while (now() < end) {
        sqlite3 *db;
        sqlite3_open(path, &db);
        run(db, "SELECT count(*) FROM t");
        sqlite3_close(db);
        pause_s(0.02);
    }
}

/* A cache of ten pages: a large transaction syncs its journal again and again while it holds the lock. */
static const char *SPILL = "BEGIN IMMEDIATE;"
    "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300) INSERT INTO t (v) SELECT zeroblob(3000) FROM n;"
    "UPDATE t SET v = zeroblob(2999) WHERE id <= 300; COMMIT; DELETE FROM t WHERE id > 300";
/* 10 MB, after which the commit copies them into the database. */
static const char *LARGE = "DELETE FROM t; WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5) "
    "INSERT INTO t (v) SELECT zeroblob(2000000) FROM n";

/* 1,000 processes have the database open, and when the input ends, each commits three times. */
static void many(const char *path) {
    int started[2], go[2], pids[1000];
    if (pipe(started) || pipe(go)) exit(1);
    for (int i = 0; i < 1000; i++) {
        if ((pids[i] = fork())) continue;
        char byte;
        close(go[1]);
        sqlite3 *db = open_with(path, 60000, wal);
        if (write(started[1], "", 1) != 1 || read(go[0], &byte, 1) != 0) exit(1);
        for (int n = 0; n < 3; n++) run(db, "INSERT INTO t (v) VALUES (zeroblob(10))");
        pause_s(60);
        exit(0);
    }
    char byte;
    for (int i = 0; i < 1000; i++) if (read(started[0], &byte, 1) != 1) exit(1);
    puts("open"), fflush(stdout);
    while (read(0, &byte, 1) > 0);
    close(go[1]);
    sqlite3 *db = open_with(path, 60000, wal);
    sqlite3_stmt *count;
    sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &count, 0);
    do {
        pause_s(0.1);
        sqlite3_reset(count);
        if (sqlite3_step(count) != SQLITE_ROW) exit(1);
    } while (sqlite3_column_int(count, 0) < 3000);
    pause_s(0.3);
    puts("done"), fflush(stdout);
    pause_s(3);
    for (int i = 0; i < 1000; i++) kill(pids[i], SIGKILL), waitpid(pids[i], 0, 0);
}

/* Process after process opens the database, commits once and ends without closing it: the next rebuilds the log's index. */
static void crash_loop(const char *path) {
    while (now() < end) {
        int pid = fork();
        if (!pid) {
            run(open_with(path, 5000, "wal"), "INSERT INTO t (v) VALUES (zeroblob(10))");
            _exit(0);
        }
        waitpid(pid, 0, 0);
        pause_s(0.02);
    }
}

/* Checkpoints by a call of the library, without a statement. */
static void checkpoint_calls(const char *path) {
    sqlite3 *db = open_with(path, 5000, "wal");
    run(db, "PRAGMA wal_autocheckpoint = 0");
    while (now() < end) {
        run(db, "INSERT INTO t (v) VALUES (zeroblob(100000))");
        sqlite3_wal_checkpoint_v2(db, 0, SQLITE_CHECKPOINT_TRUNCATE, 0, 0);
        run(db, "DELETE FROM t");
        pause_s(0.1);
    }
}

static int is(const char *a, const char *b) { return !strcmp(a, b); }

static void program(const char *name, const char *path) {
    if (is(name, "program_holds_lock")) {
        if (other()) write_for_ever(path, 0, 0.02, 5000, wal); else write_for_ever(path, 0.4, 0.05, 5000, wal);
    } else if (is(name, "short_pauses")) {
        if (other()) write_for_ever(path, 0, 0.005, 0, wal); else write_for_ever(path, 0.06, 0.02, 5000, wal);
    } else if (is(name, "read_then_write")) {
        if (other()) write_for_ever(path, 0.03, 0.005, 5000, wal); else read_then_write(path);
    } else if (is(name, "crash_loop")) {
        crash_loop(path);
    } else if (is(name, "old_snapshot")) {
        old_snapshot(path);
    } else if (is(name, "checkpoint_call_blocks_writers")) {
        if (other()) write_for_ever(path, 0, 0.02, 5000, wal); else checkpoint_calls(path);
    } else if (is(name, "no_busy_timeout")) {
        if (other()) write_for_ever(path, 0.05, 0.01, 5000, wal); else write_for_ever(path, 0, 0.02, 0, wal);
    } else if (is(name, "refused_rarely")) {
        if (other()) write_for_ever(path, 0.3, 0.005, 5000, wal);
        else for (sqlite3 *db = open_with(path, 0, wal); now() < end; pause_s(0.7)) {
            if (run(db, "BEGIN IMMEDIATE") == SQLITE_OK) commit(db);
        }
    } else if (is(name, "timeout_too_short")) {
        if (other()) write_for_ever(path, 0.6, 0.05, 5000, wal); else write_for_ever(path, 0, 0.02, 200, wal);
    } else if (is(name, "long_transaction")) {
        if (other()) write_for_ever(path, 0, 0.02, 5000, wal); else long_transaction(path);
    } else if (is(name, "began_before")) {
        if (other()) write_for_ever(path, 0, 0.02, 5000, wal); else began_before(path);
    } else if (is(name, "log_never_restarts")) {
        if (other()) repeat(path, wal, "", "INSERT INTO t (v) VALUES (zeroblob(2000000))", 0.1);
        else readers_take_turns(path);
    } else if (is(name, "starvation")) {
        if (other()) write_for_ever(path, 0.2, 0, 5000, wal); else write_for_ever(path, 0, 0, 5000, wal);
    } else if (is(name, "readers_block_writer")) {
        if (other()) write_for_ever(path, 0, 0.02, 5000, "delete"); else slow_reader(path);
    } else if (is(name, "readers_block_own_writer")) {
        pthread_t writer;
        if (pthread_create(&writer, 0, write_with_journal, (void *)path)) exit(1);
        slow_reader(path);
    } else if (is(name, "reader_pins_log")) {
        if (other()) repeat(path, wal, "", "INSERT INTO t (v) VALUES (zeroblob(2000000))", 0.3);
        else idle(path, "BEGIN", "SELECT count(*) FROM t");
    } else if (is(name, "idle_in_transaction")) {
        idle(path, "BEGIN IMMEDIATE", "UPDATE t SET v = NULL WHERE id = 1");
    } else if (is(name, "small_commits")) {
        repeat(path, wal, "PRAGMA synchronous = FULL", "INSERT INTO t (v) VALUES (zeroblob(10))", 0);
    } else if (is(name, "open_close_churn") || is(name, "churn_with_journal")) {
        open_and_close(path);
    } else if (is(name, "disk_journal")) {
        if (other()) write_for_ever(path, 0, 0.02, 5000, "delete");
        else repeat(path, "delete", "PRAGMA synchronous = FULL; PRAGMA cache_size = 10", SPILL, 0.05);
    } else if (is(name, "disk_wal")) {
        if (other()) write_for_ever(path, 0, 0.02, 5000, wal);
        else repeat(path, wal, "PRAGMA synchronous = FULL", "INSERT INTO t (v) VALUES (zeroblob(10))", 0.05);
    } else if (is(name, "checkpoint_in_commit")) {
        repeat(path, wal, "", LARGE, 0.1);
    } else if (is(name, "checkpoint_blocks_writers")) {
        if (other()) write_for_ever(path, 0, 0.02, 5000, wal);
        else {
            repeat(path, wal, "PRAGMA wal_autocheckpoint = 0",
                   "INSERT INTO t (v) VALUES (zeroblob(100000)); PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM t", 0.1);
        }
    } else if (is(name, "healthy_writer")) {
        write_for_ever(path, 0, 0.1, 5000, wal);
    } else if (is(name, "healthy_pair")) {
        if (other()) write_for_ever(path, 0, 0.11, 5000, wal); else write_for_ever(path, 0, 0.13, 5000, wal);
    } else if (is(name, "healthy_polled")) {
        if (other()) write_for_ever(path, 0, 0.001, 0, wal); else write_for_ever(path, 0, 0.02, 5000, wal);
    } else if (is(name, "healthy_readers")) {
        other();
        repeat(path, wal, "", "SELECT count(*) FROM t", 0.02);
    } else if (is(name, "many")) {
        many(path);
    } else if (is(name, "healthy_rollback_journal")) {
        write_for_ever(path, 0, 0.1, 5000, "delete");
    }
}

int main(int count, char **words) {
    if (count != 4) return 2;
    const char *name = words[1], *path = words[2];
    end = now() + atof(words[3]);
    if (getenv("CONTEND_JOURNAL")) wal = getenv("CONTEND_JOURNAL");
    sqlite3_close(open_with(path, 5000, strstr(name, "journal") || strstr(name, "readers_block") ? "delete" : wal));
    printf("self %d\nthread %d\nready\n", getpid(), getpid());
    fflush(stdout);
    program(name, path);
    return 0;
}
