/* What statements changed and where time was spent, and what a replay does not have. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(call, wanted) \
    do { int rc = (call); if (rc != (wanted)) { fprintf(stderr, "%s: %d\n", #call, rc); exit(9); } } while (0)

static sqlite3 *db;
static volatile int has_row, has_begun;

static void run(const char *sql) {
    MUST(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void *write_row(void *path) {
    sqlite3 *writer;
    MUST(sqlite3_open(path, &writer), SQLITE_OK);
    MUST(sqlite3_busy_timeout(writer, 60000), SQLITE_OK);
    while (!has_row) usleep(1000);
    has_begun = 1;
    MUST(sqlite3_exec(writer, "INSERT INTO t(v) VALUES (9)", NULL, NULL, NULL), SQLITE_OK);
    MUST(sqlite3_close(writer), SQLITE_OK);
    return NULL;
}

/* Reads slowly, and changes another table itself. */
static int slow(void *nothing, int columns, char **values, char **names) {
    has_row = 1;
    while (!has_begun) usleep(1000);
    usleep(300000);
    run("INSERT INTO temp.own VALUES (1), (2)");
    return 0;
}

static int refuse(void *nothing, int code, const char *a, const char *b, const char *c, const char *d) {
    return code == SQLITE_DELETE && !strcmp(a, "t") ? SQLITE_DENY : SQLITE_OK;
}

static void twice(sqlite3_context *context, int count, sqlite3_value **values) {
    sqlite3_result_int(context, 2 * sqlite3_value_int(values[0]));
}

static int compare(void *nothing, int m, const void *a, int n, const void *b) {
    int order = memcmp(a, b, m < n ? m : n);
    return order ? -order : n - m;
}

int main(int argc, char **argv) {
    sqlite3_stmt *statement;
    MUST(sqlite3_open(argv[2], &db), SQLITE_OK);
    run("CREATE TABLE t (id INTEGER PRIMARY KEY, v); CREATE TABLE log (v)");
    if (!strcmp(argv[1], "changes")) {
        MUST(sqlite3_prepare_v2(db, "INSERT INTO t(v) VALUES (1), (2), (3) RETURNING id", -1, &statement, NULL), SQLITE_OK);
        for (int i = 0; i < 10; i++) {
            MUST(sqlite3_step(statement), SQLITE_ROW);
            MUST(sqlite3_reset(statement), SQLITE_OK);
        }
        MUST(sqlite3_finalize(statement), SQLITE_OK);
        MUST(sqlite3_prepare_v2(db, "UPDATE t SET v = 5 RETURNING id", -1, &statement, NULL), SQLITE_OK);
        MUST(sqlite3_step(statement), SQLITE_ROW);
        /* Finalizing the statement frees the connection. */
        MUST(sqlite3_close_v2(db), SQLITE_OK);
        MUST(sqlite3_finalize(statement), SQLITE_OK);
        MUST(sqlite3_open(argv[2], &db), SQLITE_OK);
        run("INSERT INTO log VALUES (1); INSERT INTO log VALUES (2), (3); SELECT 1");
        run("SELECT v FROM log");
        run("CREATE TRIGGER noted AFTER DELETE ON t BEGIN INSERT INTO log VALUES (old.v); END");
        run("DELETE FROM t WHERE id <= 3");
    } else if (!strcmp(argv[1], "slow")) {
        pthread_t thread;
        run("INSERT INTO t(v) VALUES (1); CREATE TEMP TABLE own (v)");
        MUST(pthread_create(&thread, NULL, write_row, argv[2]), 0);
        MUST(sqlite3_exec(db, "SELECT v FROM t", slow, NULL, NULL), SQLITE_OK);
        MUST(pthread_join(thread, NULL), 0);
    } else if (!strcmp(argv[1], "wide")) {
        MUST(sqlite3_prepare_v2(db, "INSERT INTO t(v) VALUES (?)", -1, &statement, NULL), SQLITE_OK);
        MUST(sqlite3_bind_text64(statement, 1, "\0h\0i", 4, SQLITE_TRANSIENT, SQLITE_UTF16BE), SQLITE_OK);
        MUST(sqlite3_step(statement), SQLITE_DONE);
        MUST(sqlite3_reset(statement), SQLITE_OK);
        MUST(sqlite3_bind_text64(statement, 1, "\xff\xfeh\0i\0", 6, SQLITE_TRANSIENT, SQLITE_UTF16LE), SQLITE_OK);
        MUST(sqlite3_step(statement), SQLITE_DONE);
        MUST(sqlite3_reset(statement), SQLITE_OK);
        if (argc > 3) {
            MUST(sqlite3_bind_text64(statement, 1, "a\0\x3d\xd8" "b\0", 6, SQLITE_TRANSIENT, SQLITE_UTF16LE), SQLITE_OK);
            MUST(sqlite3_step(statement), SQLITE_DONE);
        }
        MUST(sqlite3_finalize(statement), SQLITE_OK);
    } else {
        run("INSERT INTO t(v) VALUES (1), (2)");
        MUST(sqlite3_set_authorizer(db, refuse, NULL), SQLITE_OK);
        MUST(sqlite3_prepare_v2(db, "DELETE FROM t", -1, &statement, NULL), SQLITE_AUTH);
        MUST(sqlite3_set_authorizer(db, NULL, NULL), SQLITE_OK);
        int before = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 100);
        MUST(sqlite3_exec(db, "INSERT INTO log VALUES (zeroblob(1000))", NULL, NULL, NULL), SQLITE_TOOBIG);
        MUST(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, before), 100);
        sqlite3_set_last_insert_rowid(db, 77);
        MUST(sqlite3_create_function(db, "twice", 1, SQLITE_UTF8, NULL, twice, NULL, NULL), SQLITE_OK);
        MUST(sqlite3_create_function(db, "never_used", 1, SQLITE_UTF8, NULL, twice, NULL, NULL), SQLITE_OK);
        MUST(sqlite3_create_collation(db, "backwards", SQLITE_UTF8, NULL, compare), SQLITE_OK);
        run("PRAGMA read_uncommitted = 1");
        run("SELECT twice(v) FROM t ORDER BY v COLLATE backwards");
    }
    MUST(sqlite3_close(db), SQLITE_OK);
    return 0;
}
