/* What the library could lose: more statements than it keeps apart, segments that a callback fills, extensions. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MUST(call, wanted) \
    do { int rc = (call); if (rc != (wanted)) { fprintf(stderr, "%s: %d\n", #call, rc); exit(9); } } while (0)

enum { STATEMENTS = 80000, INNER = 30000, USES = 20000 };

static sqlite3 *db;

static void insert_many(void) {
    sqlite3_stmt *insert;
    MUST(sqlite3_prepare_v2(db, "INSERT INTO log VALUES (?)", -1, &insert, NULL), SQLITE_OK);
    for (int i = 0; i < INNER; i++) {
        MUST(sqlite3_bind_int(insert, 1, i), SQLITE_OK);
        MUST(sqlite3_step(insert), SQLITE_DONE);
        MUST(sqlite3_reset(insert), SQLITE_OK);
    }
    sqlite3_finalize(insert);
}

static void fill(sqlite3_context *context, int count, sqlite3_value **values) {
    insert_many();
    sqlite3_result_int(context, 1);
}

static int row(void *nothing, int columns, char **values, char **names) {
    insert_many();
    return 0;
}

/* A busy handler of the program's own. It ends the lock of the other connection at its fifth call. */
static int wait_itself(void *holder, int calls) {
    if (calls == 4) {
        sqlite3_exec(holder, "COMMIT", NULL, NULL, NULL);
    }
    struct timespec time = {0, 30000000};
    return !clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Executes a statement whose values another thread has bound. */
static void *step(void *statement) {
    MUST(sqlite3_step(statement), SQLITE_DONE);
    MUST(sqlite3_reset(statement), SQLITE_OK);
    return NULL;
}

/* Uses the connection again and again, while another thread fails to close it. */
static void *use(void *done) {
    for (int i = 0; i < USES; i++) {
        MUST(sqlite3_exec(db, "SELECT 1", NULL, NULL, NULL), SQLITE_OK);
    }
    *(volatile int *)done = 1;
    return NULL;
}

int main(int argc, char **argv) {
    MUST(sqlite3_open(argv[2], &db), SQLITE_OK);
    sqlite3_stmt *statement;
    if (!strcmp(argv[1], "statements")) {
        for (int i = 0; i < STATEMENTS; i++) {
            MUST(sqlite3_prepare_v2(db, "SELECT 1 WHERE 0", -1, &statement, NULL), SQLITE_OK);
            MUST(sqlite3_step(statement), SQLITE_DONE);
        }
    } else if (!strcmp(argv[1], "callback")) {
        MUST(sqlite3_exec(db, "CREATE TABLE log (v); CREATE TABLE three AS SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3; BEGIN", NULL, NULL, NULL), SQLITE_OK);
        MUST(sqlite3_create_function_v2(db, "fill", 1, SQLITE_UTF8, NULL, fill, NULL, NULL, NULL), SQLITE_OK);
        MUST(sqlite3_prepare_v2(db, "SELECT fill(rowid) FROM three", -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {}
        MUST(sqlite3_finalize(statement), SQLITE_OK);
        MUST(sqlite3_exec(db, "SELECT * FROM three", row, NULL, NULL), SQLITE_OK);
        MUST(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    } else if (!strcmp(argv[1], "moves")) {
        sqlite3_stmt *other;
        MUST(sqlite3_exec(db, "CREATE TABLE log (v)", NULL, NULL, NULL), SQLITE_OK);
        MUST(sqlite3_prepare_v2(db, "INSERT INTO log VALUES (?)", -1, &statement, NULL), SQLITE_OK);
        MUST(sqlite3_prepare_v2(db, "SELECT 1 WHERE 0", -1, &other, NULL), SQLITE_OK);
        for (int i = 0; i < 50; i++) {
            pthread_t thread;
            MUST(sqlite3_bind_int(statement, 1, i), SQLITE_OK);
            MUST(pthread_create(&thread, NULL, step, statement), 0);
            MUST(pthread_join(thread, NULL), 0);
            MUST(sqlite3_step(other), SQLITE_DONE);
            MUST(sqlite3_reset(other), SQLITE_OK);
        }
    } else if (!strcmp(argv[1], "closes")) {
        pthread_t thread;
        volatile int done = 0;
        MUST(sqlite3_prepare_v2(db, "SELECT 2", -1, &statement, NULL), SQLITE_OK);
        MUST(pthread_create(&thread, NULL, use, (void *)&done), 0);
        while (!done) {
            MUST(sqlite3_close(db), SQLITE_BUSY);
        }
        MUST(pthread_join(thread, NULL), 0);
        MUST(sqlite3_finalize(statement), SQLITE_OK);
        MUST(sqlite3_close(db), SQLITE_OK);
    } else if (!strcmp(argv[1], "waits")) {
        sqlite3 *holder;
        MUST(sqlite3_open(argv[2], &holder), SQLITE_OK);
        MUST(sqlite3_exec(holder, "CREATE TABLE log (v); BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        MUST(sqlite3_busy_handler(db, wait_itself, holder), SQLITE_OK);
        MUST(sqlite3_prepare_v2(db, "INSERT INTO log VALUES (1)", -1, &statement, NULL), SQLITE_OK);
        MUST(sqlite3_step(statement), SQLITE_DONE);
    } else {
        sqlite3_enable_load_extension(db, 1);
        MUST(sqlite3_load_extension(db, "./no-such-extension", NULL, NULL), SQLITE_ERROR);
        MUST(sqlite3_load_extension(db, argv[3], "sqlite3_empty_init", NULL), SQLITE_OK);
    }
    return 0;
}
