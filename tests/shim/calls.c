// Carries out calls of SQLite's C interface, one a line, and prints what comes of each.
//
//   O path flags | X | P slot sql | B slot number type value | S slot | R slot | F slot | E sql | T sql | C | N slot | W ms | L slot | Y slot
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *db;
static sqlite3_stmt *slots[8];

static void failed(int rc) {
  if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
    printf(" error %d %d %s", sqlite3_errcode(db), sqlite3_extended_errcode(db), sqlite3_errmsg(db));
}

static void cell(sqlite3_stmt *s, int i) {
  switch (sqlite3_column_type(s, i)) {
    case SQLITE_INTEGER: printf(" i:%lld", (long long)sqlite3_column_int64(s, i)); break;
    case SQLITE_FLOAT: printf(" r:%.12g", sqlite3_column_double(s, i)); break;
    case SQLITE_TEXT: printf(" t:%d:%s", sqlite3_column_bytes(s, i), sqlite3_column_text(s, i)); break;
    case SQLITE_NULL: printf(" null"); break;
    default: {
      const unsigned char *b = sqlite3_column_blob(s, i);
      printf(" b:");
      for (int n = sqlite3_column_bytes(s, i), k = 0; k < n; k++) printf("%02x", b[k]);
    }
  }
  // The conversions are part of the interface.
  printf("|%s|%d", sqlite3_column_text(s, i) ? (const char *)sqlite3_column_text(s, i) : "-", sqlite3_column_int(s, i));
}

static int row(void *unused, int n, char **values, char **names) {
  printf(" (");
  for (int i = 0; i < n; i++) printf("%s=%s ", names[i], values[i] ? values[i] : "null");
  printf(")");
  return 0;
}

static void bind(sqlite3_stmt *s, char *rest) {
  char type;
  int number, at = 0;
  sscanf(rest, "%d %c %n", &number, &type, &at);
  char *value = rest + at;
  int rc = SQLITE_ERROR;
  if (type == 'i') rc = sqlite3_bind_int64(s, number, atoll(value));
  if (type == 'r') rc = sqlite3_bind_double(s, number, atof(value));
  if (type == 't') rc = sqlite3_bind_text(s, number, value, -1, SQLITE_TRANSIENT);
  if (type == 'b') rc = sqlite3_bind_blob(s, number, value, (int)strlen(value), SQLITE_TRANSIENT);
  if (type == 'n') rc = sqlite3_bind_null(s, number);
  printf("%d", rc);
}

static void statement(char what, sqlite3_stmt **slot, char *rest) {
  int rc = SQLITE_OK;
  if (what == 'P') {
    sqlite3_finalize(*slot);
    rc = sqlite3_prepare_v2(db, rest, -1, slot, NULL);
    printf("%d", rc);
    if (*slot) printf(" columns %d parameters %d readonly %d", sqlite3_column_count(*slot),
                      sqlite3_bind_parameter_count(*slot), sqlite3_stmt_readonly(*slot));
  } else if (!*slot) {
    printf("none");
  } else if (what == 'S') {
    rc = sqlite3_step(*slot);
    printf("%d of %d", rc, sqlite3_data_count(*slot));
    for (int i = 0; rc == SQLITE_ROW && i < sqlite3_column_count(*slot); i++) cell(*slot, i);
  } else if (what == 'B') {
    bind(*slot, rest);
  } else if (what == 'R') {
    rc = sqlite3_reset(*slot);
    printf("%d", rc);
  } else if (what == 'F') {
    rc = sqlite3_finalize(*slot);
    *slot = NULL;
    printf("%d", rc);
  } else if (what == 'L') {
    rc = sqlite3_clear_bindings(*slot);
    printf("%d", rc);
  } else if (what == 'Y') {
    printf("busy %d explain %d same %d count %d name %s sql %s", sqlite3_stmt_busy(*slot), sqlite3_stmt_isexplain(*slot),
           sqlite3_db_handle(*slot) == db, sqlite3_column_count(*slot),
           sqlite3_bind_parameter_name(*slot, 1) ? sqlite3_bind_parameter_name(*slot, 1) : "-", sqlite3_sql(*slot));
  } else if (what == 'N') {
    for (int i = 0; i < sqlite3_column_count(*slot); i++) {
      const char *type = sqlite3_column_decltype(*slot, i);
      printf("%s:%s ", sqlite3_column_name(*slot, i), type ? type : "-");
    }
  }
  failed(rc);
}

static void get_table(const char *sql) {
  char **cells = NULL;
  int rows = 0, columns = 0, rc = sqlite3_get_table(db, sql, &cells, &rows, &columns, NULL);
  printf("%d rows %d columns %d", rc, rows, columns);
  for (int i = 0; rows && i < (rows + 1) * columns; i++) printf(" %s", cells[i] ? cells[i] : "null");
  sqlite3_free_table(cells);
  failed(rc);
}

static void call(char what, char *rest) {
  int rc = SQLITE_OK;
  if (what == 'O') {
    int flags, at = 0;
    sscanf(rest, "%d %n", &flags, &at);
    rc = sqlite3_open_v2(rest + at, &db, flags, NULL);
    printf("%d", rc);
  } else if (what == 'X') {
    rc = sqlite3_close(db);
    printf("%d", rc);
  } else if (what == 'E') {
    char *message = NULL;
    rc = sqlite3_exec(db, rest, row, NULL, &message);
    printf("%d %s", rc, message ? message : "");
    sqlite3_free(message);
  } else if (what == 'T') {
    get_table(rest);
    return;
  } else if (what == 'W') {
    rc = sqlite3_busy_timeout(db, atoi(rest));
    printf("%d", rc);
  } else if (what == 'C') {
    printf("changes %d total %d rowid %lld autocommit %d", sqlite3_changes(db), sqlite3_total_changes(db),
           (long long)sqlite3_last_insert_rowid(db), sqlite3_get_autocommit(db));
  }
  failed(rc);
}

int main(void) {
  static char line[65536];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    char what = line[0];
    char *rest = line + (line[1] ? 2 : 1);
    printf("%c: ", what);
    if (strchr("PSBRFNLY", what)) {
      int slot = atoi(rest);
      rest += strcspn(rest, " ");
      statement(what, &slots[slot & 7], *rest ? rest + 1 : rest);
    } else {
      call(what, rest);
    }
    printf("\n");
    fflush(stdout);
  }
  return 0;
}
