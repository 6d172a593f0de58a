/* Scripts in one call, commits in a reset, connections that cannot be opened, and a text that is not UTF-8. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call, wanted) \
    do { int rc = (call); if (rc != (wanted)) { fprintf(stderr, "%s: %d\n", #call, rc); exit(9); } } while (0)

static void run(sqlite3 *db, const char *sql) { MUST(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK); }

/* The first reset commits the row. The second one, which another connection refuses, waits for its lock. */
static void resets(sqlite3 *db, const char *path) {
    sqlite3 *reader;
    sqlite3_stmt *insert, *select;
    MUST(sqlite3_open(path, &reader), SQLITE_OK);
    run(db, "CREATE TABLE t (v)");
    MUST(sqlite3_busy_timeout(db, 100), SQLITE_OK);
    MUST(sqlite3_prepare_v2(db, "INSERT INTO t VALUES (1) RETURNING v", -1, &insert, NULL), SQLITE_OK);
    MUST(sqlite3_step(insert), SQLITE_ROW);
    MUST(sqlite3_reset(insert), SQLITE_OK);
    MUST(sqlite3_prepare_v2(reader, "SELECT * FROM t", -1, &select, NULL), SQLITE_OK);
    MUST(sqlite3_step(select), SQLITE_ROW);
    MUST(sqlite3_step(insert), SQLITE_ROW);
    MUST(sqlite3_reset(insert), SQLITE_BUSY);
    sqlite3_finalize(insert);
    sqlite3_finalize(select);
}

static void opens(const char *path) {
    sqlite3 *db;
    for (int i = 0; i < 3; i++) {
        MUST(sqlite3_open_v2("no-such-directory/app.db", &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_CANTOPEN);
        sqlite3_close(db);
    }
    MUST(sqlite3_open(path, &db), SQLITE_OK);
    run(db, "PRAGMA cache_size = 10; PRAGMA synchronous(normal); PRAGMA busy_timeout = 70");
    run(db, "PRAGMA cache_size = 20");
    MUST(sqlite3_busy_timeout(db, 50), SQLITE_OK);
    run(db, "PRAGMA Busy_Timeout(90)");
}

int main(int argc, char **argv) {
    sqlite3 *db;
    if (!strcmp(argv[1], "opens")) {
        opens(argv[2]);
        return 0;
    }
    MUST(sqlite3_open(argv[2], &db), SQLITE_OK);
    if (!strcmp(argv[1], "latin")) {
        run(db, "CREATE TABLE t (v)");
        run(db, "INSERT INTO t VALUES ('caf\xe9')");
    } else if (!strcmp(argv[1], "resets")) {
        resets(db, argv[2]);
    } else {
        run(db, "PRAGMA foreign_keys = 1; CREATE TABLE t (v)");
        run(db, "BEGIN IMMEDIATE; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT");
        run(db, "BEGIN; DELETE FROM t; ROLLBACK");
    }
    return 0;
}
