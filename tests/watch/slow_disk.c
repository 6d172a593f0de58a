/* A disk that takes 3 ms for each sync (or CONTEND_SYNC_LEAST_MS), however fast the real one is: loaded before a planted
 * program (LD_PRELOAD), it syncs until they are over. The first byte is written again each time, so that there is something
 * to sync. With CONTEND_SYNC_PAUSE_MS each sync takes so much longer, without work for the real disk. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * t.tv_sec + t.tv_nsec / 1e6;
}

int fdatasync(int file) {
    char byte;
    long status;
    const char *pause_ms = getenv("CONTEND_SYNC_PAUSE_MS"), *least_ms = getenv("CONTEND_SYNC_LEAST_MS");
    if (pause_ms) usleep(1000 * (useconds_t)atoi(pause_ms));
    double end = now_ms() + (least_ms ? atof(least_ms) : 3);
    do {
        /* A file that is open for reading alone is synced as it is. */
        if (pread(file, &byte, 1, 0) == 1 && pwrite(file, &byte, 1, 0) != 1 && errno != EBADF) return -1;
        status = syscall(SYS_fsync, file);
    } while (status == 0 && now_ms() < end);
    return (int)status;
}

int fsync(int file) { return fdatasync(file); }
