/* What other languages do not call: UTF-16, flags, scripts with a callback, values of functions, handles by name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call, wanted) \
    do { int rc = (call); if (rc != (wanted)) { fprintf(stderr, "%s: %d\n", #call, rc); exit(9); } } while (0)

static const char *path;

static int count(void *rows, int columns, char **values, char **names) {
    ++*(int *)rows;
    return 0;
}

static void copy(sqlite3_context *context, int count, sqlite3_value **values) {
    sqlite3_stmt *other = sqlite3_user_data(context);
    sqlite3_bind_value(other, 1, values[0]);
    sqlite3_step(other);
    sqlite3_reset(other);
    sqlite3_result_value(context, values[0]);
}

static void *thread(void *nothing) {
    sqlite3 *db;
    MUST(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    for (int i = 0; i < 10; i++) MUST(sqlite3_exec(db, "INSERT INTO thing (name) VALUES ('thread')", NULL, NULL, NULL), SQLITE_OK);
    MUST(sqlite3_close(db), SQLITE_OK);
    return NULL;
}

int main(int argc, char **argv) {
    path = argv[1];
    sqlite3 *db;
    sqlite3_stmt *insert, *select, *log;
    MUST(sqlite3_open(path, &db), SQLITE_OK);
    MUST(sqlite3_exec(db, "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE log (v)", NULL, NULL, NULL), SQLITE_OK);
    static const unsigned short sql[] = {'I','N','S','E','R','T',' ','I','N','T','O',' ','t','h','i','n','g',' ','(','n','a','m','e',')',' ','V','A','L','U','E','S',' ','(','?',')',0};
    static const unsigned short text[] = {'g', 0xe4, 0xd83d, 0xde00, 0};
    MUST(sqlite3_prepare16_v2(db, sql, -1, &insert, NULL), SQLITE_OK);
    for (int i = 0; i < 5; i++) {
        MUST(sqlite3_bind_text16(insert, 1, text, -1, SQLITE_STATIC), SQLITE_OK);
        MUST(sqlite3_step(insert), SQLITE_DONE);
        MUST(sqlite3_changes(db), 1);
        MUST(sqlite3_reset(insert), SQLITE_OK);
    }
    MUST(sqlite3_prepare_v3(db, "SELECT copy(name) FROM thing; SELECT 2", -1, SQLITE_PREPARE_PERSISTENT, &select, NULL), SQLITE_ERROR);
    MUST(sqlite3_prepare_v2(db, "INSERT INTO log VALUES (?)", -1, &log, NULL), SQLITE_OK);
    MUST(sqlite3_create_function(db, "copy", 1, SQLITE_UTF8, log, copy, NULL, NULL), SQLITE_OK);
    const char *tail;
    MUST(sqlite3_prepare_v3(db, "SELECT copy(name) FROM thing; SELECT 2", -1, SQLITE_PREPARE_PERSISTENT, &select, &tail), SQLITE_OK);
    MUST(tail[1], 'S');
    errno = 4711;
    for (int i = 0; i < 5; i++) MUST(sqlite3_step(select), SQLITE_ROW);
    MUST(sqlite3_step(select), SQLITE_DONE);
    printf("errno %d\n", errno);
    int rows = 0;
    MUST(sqlite3_exec(db, "SELECT * FROM log", count, &rows, NULL), SQLITE_OK);
    MUST(rows, 5);
    MUST(sqlite3_exec(db, "INSERT INTO thing (id) VALUES (1)", NULL, NULL, NULL), SQLITE_CONSTRAINT);
    MUST(sqlite3_extended_errcode(db), SQLITE_CONSTRAINT_PRIMARYKEY);
    pthread_t other;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    MUST(pthread_create(&other, &small, thread, NULL), 0);
    pthread_join(other, NULL);
    /* A loader of handles finds the functions by name. With a second argument SQLite is linked into this file. */
    void *library = dlopen(argc > 2 ? NULL : "libsqlite3.so.0", RTLD_NOW);
    int (*exec)(sqlite3 *, const char *, void *, void *, void *) = dlsym(library, "sqlite3_exec");
    if (argc > 2 && !exec) exec = (void *)sqlite3_exec;
    MUST(exec(db, "DELETE FROM thing WHERE id = 2", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_finalize(insert);
    sqlite3_finalize(select);
    sqlite3_finalize(log);
    MUST(sqlite3_close(db), SQLITE_OK);
    puts(sqlite3_libversion());
    return 7;
}
