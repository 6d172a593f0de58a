/* 20 INSERTs with bound values in a transaction, 10 SELECTs; linked dynamically. */
#include <sqlite3.h>
#include <stdio.h>

int main(int argc, char **argv) {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    if (sqlite3_open(argv[argc - 1], &db)) return 1;
    sqlite3_exec(db, "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)", 0, 0, 0);
    sqlite3_exec(db, "BEGIN", 0, 0, 0);
    sqlite3_prepare_v2(db, "INSERT INTO thing (name) VALUES (?)", -1, &stmt, 0);
    for (int i = 0; i < 20; i++) {
        sqlite3_bind_text(stmt, 1, "thing", -1, SQLITE_STATIC);
        sqlite3_step(stmt);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    sqlite3_exec(db, "COMMIT", 0, 0, 0);
    sqlite3_prepare_v2(db, "SELECT name FROM thing WHERE id = ?", -1, &stmt, 0);
    for (int i = 1; i <= 10; i++) {
        sqlite3_bind_int(stmt, 1, i);
        while (sqlite3_step(stmt) == SQLITE_ROW) {}
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    printf("%s\n", sqlite3_libversion());
    return sqlite3_close(db);
}
