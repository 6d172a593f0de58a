// Rare calls of SQLite's interface; the first argument says which, the last one is a database's path.
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *db;

static int row(void *unused, int n, char **values, char **names) {
  for (int i = 0; i < n; i++) printf(" %s", values[i] ? values[i] : "null");
  return 0;
}

static int run(const char *sql) {
  char *message = NULL;
  printf("%s:", sql);
  int rc = sqlite3_exec(db, sql, row, NULL, &message);
  printf(" %d %s\n", rc, message ? message : "");
  sqlite3_free(message);
  fflush(stdout);
  return rc;
}

// Foreign keys without PRAGMA; what cannot be configured.
static void configures(void) {
  int now = -1, is_on = -1;
  run("CREATE TABLE p (id INTEGER PRIMARY KEY)");
  run("CREATE TABLE c (p INTEGER REFERENCES p)");
  int rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &now);
  printf("asked %d %d\n", rc, now);
  run("INSERT INTO p VALUES (1)");
  run("BEGIN");
  run("INSERT INTO p VALUES (2)");
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, &now);
  printf("within a transaction %d %d %s\n", rc, now, rc ? sqlite3_errmsg(db) : "");
  run("INSERT INTO c VALUES (9)");
  run("INSERT INTO c VALUES (2)");
  run("ROLLBACK");
  run("INSERT INTO c VALUES (2)");
  run("DELETE FROM c");
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, &now);
  printf("on %d %d\n", rc, now);
  run("INSERT INTO c VALUES (9)");
  run("BEGIN");
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
  printf("again %d\n", rc);
  run("ROLLBACK");
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, &is_on);
  printf("triggers %d %d\n", rc, is_on);
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_MAINDBNAME, "main");
  printf("name %d\n", rc);
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
  printf("lookaside %d\n", rc);
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  printf("no triggers %d %s\n", rc, sqlite3_errmsg(db));
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_RESET_DATABASE, 1, NULL);
  printf("reset %d %s\n", rc, sqlite3_errmsg(db));
}

// Ends a transaction and closes, when the destructors of thread-local variables have run.
static void ends(void) {
  run("INSERT INTO t VALUES ('late')");
  run("COMMIT");
  run("SELECT count(*) FROM t");
  printf("closed %d\n", sqlite3_close(db));
  fflush(stdout);
}

static void ends_of(void *unused) { ends(); }

static void *thread(void *unused) {
  pthread_key_t key;
  pthread_key_create(&key, ends_of);
  pthread_setspecific(key, &db);
  run("CREATE TABLE t (x TEXT)");
  run("BEGIN");
  run("INSERT INTO t VALUES ('early')");
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 3 || sqlite3_open(arguments[2], &db)) return 1;
  if (!strcmp(arguments[1], "configures")) configures();
  if (!strcmp(arguments[1], "exits")) {
    atexit(ends);
    run("CREATE TABLE t (x TEXT)");
    run("BEGIN");
    return run("INSERT INTO t VALUES ('early')");
  }
  if (!strcmp(arguments[1], "thread")) {
    pthread_t it;
    pthread_create(&it, NULL, thread, NULL);
    return pthread_join(it, NULL);
  }
  return sqlite3_close(db);
}
