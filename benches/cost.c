/* Processor time of a statement in one thread, in nanoseconds: the lowest of several rounds. SQLite is in memory, so that
 * the library of `contend capture` is a large part. Prints four numbers: an INSERT with two bound values, a point SELECT,
 * a row of a scan whose value is read, and a row that is not read. Between the rows that are not read nothing hides the
 * time of reading the clock. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 5, KINDS = 4 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int argc, char **argv) {
    int count = atoi(argv[1]);
    sqlite3 *db;
    sqlite3_stmt *insert, *point, *scan;
    sqlite3_open(":memory:", &db);
    sqlite3_exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b TEXT)", NULL, NULL, NULL);
    sqlite3_prepare_v2(db, "INSERT INTO t (a, b) VALUES (?, ?)", -1, &insert, NULL);
    sqlite3_prepare_v2(db, "SELECT a FROM t WHERE id = ?", -1, &point, NULL);
    sqlite3_prepare_v2(db, "SELECT a FROM t", -1, &scan, NULL);
    double best[KINDS] = {1e18, 1e18, 1e18, 1e18};
    volatile sqlite3_int64 sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sqlite3_exec(db, "BEGIN; DELETE FROM t", NULL, NULL, NULL);
        double begin = now(), took[KINDS];
        for (int i = 0; i < count; i++) {
            sqlite3_bind_int64(insert, 1, i);
            sqlite3_bind_text(insert, 2, "hello world", 11, SQLITE_STATIC);
            sqlite3_step(insert);
            sqlite3_reset(insert);
        }
        took[0] = now() - begin;
        begin = now();
        for (int i = 0; i < count; i++) {
            sqlite3_bind_int64(point, 1, i + 1);
            while (sqlite3_step(point) == SQLITE_ROW) {}
            sqlite3_reset(point);
        }
        took[1] = now() - begin;
        begin = now();
        while (sqlite3_step(scan) == SQLITE_ROW) sum += sqlite3_column_int64(scan, 0);
        sqlite3_reset(scan);
        took[2] = now() - begin;
        begin = now();
        while (sqlite3_step(scan) == SQLITE_ROW) {}
        sqlite3_reset(scan);
        took[3] = now() - begin;
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
        for (int i = 0; i < KINDS; i++)
            if (took[i] / count < best[i]) best[i] = took[i] / count;
    }
    printf("%.1f %.1f %.1f %.1f\n", best[0], best[1], best[2], best[3]);
    return 0;
}
