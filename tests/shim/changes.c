// Prepared statements across changes of the schema, and interrupts of a connection that does nothing: prints what a program
// sees. The argument is a database's path.
#include <sqlite3.h>
#include <stdio.h>

static int row(void *unused, int n, char **values, char **names) {
  for (int i = 0; i < n; i++) printf(" %s=%s", names[i] ? names[i] : "NULL", values[i] ? values[i] : "null");
  printf(" |");
  return 0;
}

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  printf("%s:", sql);
  int rc = sqlite3_exec(db, sql, row, NULL, &message);
  printf(" %d %s\n", rc, message ? message : "");
  sqlite3_free(message);
}

// Steps to the end, with names and types as they are at each row.
static void steps(sqlite3 *db, sqlite3_stmt *s) {
  printf("%s:", sqlite3_sql(s));
  int rc;
  while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(s); i++) {
      const char *type = sqlite3_column_decltype(s, i), *text = (const char *)sqlite3_column_text(s, i);
      printf(" %s %s=%s", sqlite3_column_name(s, i), type ? type : "-", text ? text : "null");
    }
    printf(" |");
  }
  printf(" %d %s, columns %d\n", rc, rc == SQLITE_DONE ? "" : sqlite3_errmsg(db), sqlite3_column_count(s));
  sqlite3_reset(s);
}

int main(int count, char **arguments) {
  sqlite3 *a, *b;
  sqlite3_stmt *star, *adds, *removes, *view, *both;
  if (count < 2 || sqlite3_open(arguments[1], &a) || sqlite3_open(arguments[1], &b)) return 1;
  sqlite3 *writers[] = {a, b};
  for (int i = 0; i < 2; i++) {
    sqlite3 *other = writers[i];
    printf("%s connection\n", i ? "another" : "the same");
    run(a, "CREATE TABLE u (x TEXT, y TEXT)");
    run(a, "INSERT INTO u VALUES ('x', 'y')");
    run(a, "CREATE VIEW v AS SELECT x AS k FROM u");
    sqlite3_prepare_v2(a, "SELECT * FROM u", -1, &star, NULL);
    sqlite3_prepare_v2(a, "SELECT * FROM u", -1, &both, NULL);
    sqlite3_prepare_v2(a, "INSERT INTO u (y) VALUES ('new') RETURNING *", -1, &adds, NULL);
    sqlite3_prepare_v2(a, "DELETE FROM u WHERE y = 'new' RETURNING *", -1, &removes, NULL);
    sqlite3_prepare_v2(a, "SELECT * FROM v", -1, &view, NULL);
    steps(a, star), steps(a, adds), steps(a, removes), steps(a, view);
    run(other, "DROP VIEW v");
    run(other, "CREATE VIEW v AS SELECT y || '!' AS l, 5 AS five FROM u");
    steps(a, view);
    run(a, "SELECT * FROM v");
    run(other, "DROP VIEW v");
    steps(a, view);
    run(other, "ALTER TABLE u ADD COLUMN z TEXT DEFAULT 'z'");
    run(a, "SELECT * FROM u");
    steps(a, star), steps(a, adds), steps(a, removes);
    run(other, "ALTER TABLE u RENAME COLUMN x TO w");
    steps(a, star), steps(a, adds), steps(a, removes);
    printf("changes %d\n", sqlite3_changes(a));
    run(other, "ALTER TABLE u RENAME TO o");
    run(other, "CREATE TABLE u (y TEXT, w TEXT, z TEXT)");
    run(other, "INSERT INTO u SELECT y, w, z FROM o");
    run(other, "DROP TABLE o");
    run(a, "SELECT * FROM u");
    steps(a, star), steps(a, adds), steps(a, removes);
    run(a, "BEGIN");
    run(a, "ALTER TABLE u DROP COLUMN z");
    steps(a, both), steps(a, star), steps(a, adds);
    run(a, "ROLLBACK");
    steps(a, both), steps(a, star), steps(a, removes);
    run(a, "CREATE TEMP TABLE u (t TEXT)");
    steps(a, adds);
    run(a, "DROP TABLE temp.u");
    steps(a, star);
    sqlite3_finalize(star), sqlite3_finalize(both), sqlite3_finalize(adds), sqlite3_finalize(removes);
    sqlite3_finalize(view);
    run(a, "DROP TABLE u");
  }
  const char *after[] = {"CREATE TABLE i (n INTEGER)", "INSERT INTO i VALUES (1)", "SELECT * FROM i", "BEGIN",
                         "INSERT INTO i VALUES (2)", "SAVEPOINT s", "COMMIT", "SELECT 5", "DROP TABLE i"};
  for (int i = 0; i < 9; i++) sqlite3_interrupt(a), run(a, after[i]);
  return sqlite3_close(b) || sqlite3_close(a);
}
