// Rare calls of SQLite's interface; the first argument says which, the last one is a database's path.
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void step(sqlite3_stmt *s) {
  sqlite3_step(s);
  int rc = sqlite3_reset(s);
  printf("%s: %d %s\n", sqlite3_sql(s), rc, rc ? sqlite3_errmsg(db) : "");
}

// Foreign keys without PRAGMA; what cannot be configured.
static void configures(void) {
  int now = -1, is_on = -1;
  sqlite3_stmt *s;
  run("CREATE TABLE p (id INTEGER PRIMARY KEY)");
  run("CREATE TABLE c (p INTEGER REFERENCES p)");
  sqlite3_prepare_v2(db, "INSERT INTO c VALUES (2)", -1, &s, NULL);
  int rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &now);
  printf("asked %d %d\n", rc, now);
  run("INSERT INTO p VALUES (1)");
  run("BEGIN");
  run("INSERT INTO p VALUES (2)");
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, &now);
  printf("within a transaction %d %d %s\n", rc, now, rc ? sqlite3_errmsg(db) : "");
  run("INSERT INTO c VALUES (9)");
  step(s);
  // This also reverts that the server enforces the keys.
  run("ROLLBACK");
  step(s);
  sqlite3_finalize(s);
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
  rc = sqlite3_db_config(db, SQLITE_DBCONFIG_MAINDBNAME, "other");
  printf("another name %d %s\n", rc, sqlite3_errmsg(db));
}

static void mine(sqlite3_context *context, int n, sqlite3_value **values) { sqlite3_result_text(context, "mine", -1, NULL); }

static int compared(void *unused, int n, const void *one, int m, const void *other) { return n - m; }

// Names in UTF-16, under statements that are prepared.
static void registers(void) {
  sqlite3_stmt *s;
  run("CREATE TABLE t (x TEXT)");
  run("INSERT INTO t VALUES ('A')");
  sqlite3_prepare_v2(db, "SELECT lower(x) FROM t", -1, &s, NULL);
  for (int i = 0; i < 2; i++) {
    printf("step %d", sqlite3_step(s));
    printf(" %s %s\n", sqlite3_column_text(s, 0), sqlite3_errmsg(db));
    sqlite3_reset(s);
    sqlite3_create_function16(db, u"LOWER", 1, SQLITE_UTF8, NULL, mine, NULL, NULL);
  }
  sqlite3_finalize(s);
  run("SELECT x FROM t ORDER BY x COLLATE RTRIM");
  sqlite3_create_collation16(db, u"rtrim", SQLITE_UTF8, NULL, compared);
  run("SELECT x FROM t ORDER BY x COLLATE RTRIM");
}

static int is_done, is_stepped;
static sqlite3_stmt *stepped;

// All rows of a table, again and again.
static void *reads(void *sum) {
  for (int i = 0; i < 60; i++) {
    sqlite3_stmt *s;
    sqlite3_prepare_v2(db, "SELECT x FROM many ORDER BY id", -1, &s, NULL);
    while (sqlite3_step(s) == SQLITE_ROW) *(int *)sum += strlen((const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
  }
  return NULL;
}

static void *steps(void *rc) {
  *(int *)rc = sqlite3_step(stepped);
  __atomic_store_n(&is_stepped, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

// Threads with a statement each; a statement that another thread steps; a call that fails.
static void shares(void) {
  pthread_t one, other;
  int sums[2] = {0}, rc = -1, rows = -1, columns = -1;
  char **cells = (char **)&rows, *message = NULL;
  alarm(60);
  run("CREATE TABLE many (id INTEGER PRIMARY KEY, x TEXT)");
  run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO many (x) SELECT 'a text of some length ' || i FROM n");
  pthread_create(&one, NULL, reads, &sums[0]), pthread_create(&other, NULL, reads, &sums[1]);
  pthread_join(one, NULL), pthread_join(other, NULL);
  printf("%d %d\n", sums[0], sums[1]);
  sqlite3_prepare_v2(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000000) SELECT max(i) FROM n, many", -1, &stepped, NULL);
  printf("busy %d\n", sqlite3_stmt_busy(stepped));
  pthread_create(&one, NULL, steps, &rc);
  while (!sqlite3_stmt_busy(stepped)) usleep(1000);
  for (printf("busy\n"); !__atomic_load_n(&is_stepped, __ATOMIC_SEQ_CST); usleep(50000)) sqlite3_interrupt(db);
  pthread_join(one, NULL);
  printf("step %d, busy %d\n", rc, sqlite3_stmt_busy(stepped));
  sqlite3_finalize(stepped);
  rc = sqlite3_get_table(db, "SELECT x FROM many; SELECT missing", &cells, &rows, &columns, &message);
  printf("table %d %s %d %d %d\n", rc, message, cells == NULL, rows, columns);
  sqlite3_free(message), sqlite3_free_table(cells);
}

static void same(sqlite3_context *context, int n, sqlite3_value **values) { sqlite3_result_value(context, values[0]); }

// Until another statement of the connection is not in the way.
static void until(const char *sql, int (*call)(void *, int, char **, char **), void *sum) {
  int rc;
  while ((rc = sqlite3_exec(db, sql, call, sum, NULL)) == SQLITE_LOCKED) usleep(100);
  if (rc) printf("%s: %d %s\n", sql, rc, sqlite3_errmsg(db));
}

static void *changes(void *unused) {
  for (int i = 0; i < 200; i++) until("INSERT INTO s VALUES (1)", NULL, NULL);
  return NULL;
}

static void *commits(void *unused) {
  for (int i = 0; i < 100; i++) until("BEGIN", NULL, NULL), until("INSERT INTO u VALUES (1)", NULL, NULL), until("COMMIT", NULL, NULL);
  __atomic_store_n(&is_done, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static int noted(void *place, int n, char **values, char **names) {
  int *counts = place, count = atoi(values[0]);
  if (count < counts[0]) counts[0] = count;
  if (count > counts[1]) counts[1] = count;
  return 0;
}

// Queries by functions of the program, while other threads use the connection; least and most rows that they saw.
static void copies(void) {
  pthread_t one, other;
  int counts[2] = {99, 0};
  alarm(100);
  run("CREATE TABLE t (id INTEGER PRIMARY KEY)"), run("INSERT INTO t VALUES (1), (2), (3)");
  run("CREATE TABLE u (x INTEGER)"), run("CREATE TEMP TABLE s (x INTEGER)");
  sqlite3_create_function(db, "mine", 1, SQLITE_UTF8, NULL, same, NULL, NULL);
  pthread_create(&one, NULL, changes, NULL), pthread_create(&other, NULL, commits, NULL);
  while (!__atomic_load_n(&is_done, __ATOMIC_SEQ_CST)) until("SELECT count(mine(id)) FROM t", noted, counts), usleep(500);
  pthread_join(one, NULL), pthread_join(other, NULL);
  until("SELECT count(mine(id)) FROM t", noted, counts);
  printf("rows %d %d\n", counts[0], counts[1]);
  run("SELECT count(*) FROM s"), run("SELECT count(*) FROM u");
}

// Deletes a row that another one refers to, by a function of the program.
static void deletes(void) {
  run("CREATE TABLE p (id INTEGER PRIMARY KEY)"), run("CREATE TABLE c (p INTEGER REFERENCES p)");
  run("INSERT INTO p VALUES (1)"), run("INSERT INTO c VALUES (1)");
  sqlite3_create_function(db, "mine", 1, SQLITE_UTF8, NULL, same, NULL, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
  run("BEGIN"), run("DELETE FROM p WHERE mine(id) = 1"), run("COMMIT");
  run("SELECT count(*) FROM p");
}

// A function that registers one, while SQLite's mutex is held.
static void adds(sqlite3_context *context, int n, sqlite3_value **values) {
  usleep(500);
  sqlite3_create_function(db, "event", 1, SQLITE_UTF8, NULL, mine, NULL, NULL);
}

static void *calls(void *unused) {
  while (!__atomic_load_n(&is_done, __ATOMIC_SEQ_CST)) {
    sqlite3_exec(db, "SELECT adds()", NULL, NULL, NULL);
    usleep(500);
  }
  return NULL;
}

// The name of the function is also that of a table.
static void registers_meanwhile(void) {
  pthread_t it;
  alarm(30);
  run("CREATE TABLE event (x TEXT)");
  sqlite3_create_function(db, "adds", 0, SQLITE_UTF8, NULL, adds, NULL, NULL);
  pthread_create(&it, NULL, calls, NULL);
  for (int i = 0; i < 100; i++) sqlite3_exec(db, "INSERT INTO event VALUES ('a')", NULL, NULL, NULL);
  __atomic_store_n(&is_done, 1, __ATOMIC_SEQ_CST);
  pthread_join(it, NULL);
  run("SELECT count(*) FROM event");
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

// SQLite's memory, whose next block of the connection's size is the one that was freed last: another connection gets the
// address of one that is being closed, and works while the call of close is not at its end.
static sqlite3_mem_methods memory;
static void *freed;
static const char *path;

static void *opens(void *unused) {
  if (sqlite3_open(path, &db)) exit(3);
  run("CREATE TABLE t (x TEXT)");
  run("INSERT INTO t VALUES ('a')");
  return NULL;
}

static void frees(void *block) {
  if (block != db || freed) {
    memory.xFree(block);
    return;
  }
  pthread_t it;
  freed = block;
  pthread_create(&it, NULL, opens, NULL);
  pthread_join(it, NULL);
}

static void *allocates(int size) {
  static int is_reused;
  if (!freed || is_reused || memory.xRoundup(size) > memory.xSize(freed) || size < memory.xSize(freed) / 2) return memory.xMalloc(size);
  is_reused = 1;
  return freed;
}

static int reopens(void) {
  sqlite3_mem_methods mine;
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory);
  mine = memory;
  mine.xMalloc = allocates;
  mine.xFree = frees;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &mine) || sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0)) return 1;
  sqlite3 *first;
  if (sqlite3_open(path, &first)) return 1;
  db = first;
  printf("closed %d\n", sqlite3_close(first));
  printf("same address %d\n", db == first);
  run("SELECT * FROM t");
  return sqlite3_close(db);
}

int main(int count, char **arguments) {
  if (count < 3) return 1;
  path = arguments[2];
  if (!strcmp(arguments[1], "reopens")) return reopens();
  if (sqlite3_open(arguments[2], &db)) return 1;
  if (!strcmp(arguments[1], "configures")) configures();
  if (!strcmp(arguments[1], "registers")) registers();
  if (!strcmp(arguments[1], "meanwhile")) registers_meanwhile();
  if (!strcmp(arguments[1], "shares")) shares();
  if (!strcmp(arguments[1], "copies")) copies();
  if (!strcmp(arguments[1], "deletes")) deletes();
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
