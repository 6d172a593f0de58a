/* A program whose symbol table says that `sqlite3_step` is in the middle of `mixed`: a probe there would change what `mixed`
 * computes, or end the program. Usage: lies DATABASE; ends after 12 s with status 0 if every result was right. */
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) unsigned mixed(unsigned n) {
    unsigned sum = 1;
    for (unsigned i = 0; i < n; i++) sum = (sum ^ i) * 16777619u;
    return sum;
}

/* A name of this file alone: calls go to the library all the same. */
__asm__(".pushsection .text\n.type sqlite3_step, @function\n.set sqlite3_step, mixed + 5\n.popsection\n");

int main(int count, char **words) {
    sqlite3 *db;
    if (count != 2 || sqlite3_open(words[1], &db)) return 2;
    sqlite3_exec(db, "PRAGMA journal_mode = WAL; CREATE TABLE t (a)", 0, 0, 0);
    unsigned right = mixed(1000);
    puts("ready");
    fflush(stdout);
    for (time_t end = time(0) + 12; time(0) < end; usleep(1000)) {
        sqlite3_exec(db, "INSERT INTO t VALUES (1)", 0, 0, 0);
        if (mixed(1000) != right) return 1;
    }
    return sqlite3_close(db);
}
