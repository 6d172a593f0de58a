/* Settings by sqlite3_db_config, each of which changes a result, and values that one statement gives to another. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call, wanted) \
    do { int rc = (call); if (rc != (wanted)) { fprintf(stderr, "%s: %d\n", #call, rc); exit(9); } } while (0)

extern int sqlite3_transfer_bindings(sqlite3_stmt *, sqlite3_stmt *);

static sqlite3 *db;

static void run(const char *sql, int wanted) { MUST(sqlite3_exec(db, sql, NULL, NULL, NULL), wanted); }

static void set(int option, int value) {
    int now = -1;
    MUST(sqlite3_db_config(db, option, value, &now), SQLITE_OK);
    MUST(now, value);
    MUST(sqlite3_db_config(db, option, -1, &now), SQLITE_OK);
    MUST(now, value);
}

static void transfers(void) {
    sqlite3_stmt *from, *to;
    const char *insert = "INSERT INTO t (a) VALUES (?)";
    MUST(sqlite3_prepare_v2(db, insert, -1, &from, NULL), SQLITE_OK);
    MUST(sqlite3_prepare_v2(db, insert, -1, &to, NULL), SQLITE_OK);
    MUST(sqlite3_bind_text(from, 1, "given", -1, SQLITE_STATIC), SQLITE_OK);
    MUST(sqlite3_transfer_bindings(from, to), SQLITE_OK);
    MUST(sqlite3_step(to), SQLITE_DONE);
    MUST(sqlite3_step(from), SQLITE_DONE);
    MUST(sqlite3_finalize(from), SQLITE_OK);
    MUST(sqlite3_finalize(to), SQLITE_OK);
}

int main(int argc, char **argv) {
    MUST(sqlite3_open(argv[1], &db), SQLITE_OK);
    if (argc > 2) {
        MUST(sqlite3_db_config(db, SQLITE_DBCONFIG_MAINDBNAME, "other"), SQLITE_OK);
    }
    MUST(sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 128, 100), SQLITE_OK);
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, a); CREATE TABLE p (id INTEGER PRIMARY KEY);"
        "CREATE TABLE k (p REFERENCES p ON DELETE CASCADE); CREATE VIEW v AS SELECT a FROM t;"
        "CREATE TRIGGER r AFTER INSERT ON p BEGIN INSERT INTO t (a) VALUES ('by r'); END", SQLITE_OK);
    transfers();
    set(SQLITE_DBCONFIG_ENABLE_FKEY, 1);
    run("INSERT INTO p VALUES (1), (2)", SQLITE_OK);
    run("INSERT INTO k VALUES (1), (2)", SQLITE_OK);
    run("DELETE FROM p WHERE id = 1", SQLITE_OK);
    run("INSERT INTO k VALUES (99)", SQLITE_CONSTRAINT);
    run("BEGIN", SQLITE_OK);
    set(SQLITE_DBCONFIG_ENABLE_FKEY, 0);
    run("INSERT INTO k VALUES (98)", SQLITE_OK);
    set(SQLITE_DBCONFIG_ENABLE_FKEY, 1);
    run("COMMIT", SQLITE_OK);
    set(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0);
    run("INSERT INTO p VALUES (3)", SQLITE_OK);
    set(SQLITE_DBCONFIG_ENABLE_VIEW, 0);
    run("INSERT INTO t (a) SELECT a FROM v", SQLITE_ERROR);
    set(SQLITE_DBCONFIG_DQS_DML, 0);
    run("INSERT INTO t (a) VALUES (\"not a column\")", SQLITE_ERROR);
    set(SQLITE_DBCONFIG_DEFENSIVE, 1);
    run("PRAGMA writable_schema = 1; INSERT INTO sqlite_schema VALUES (1, 2, 3, 4, 5)", SQLITE_ERROR);
    MUST(sqlite3_close(db), SQLITE_OK);
    return 0;
}
