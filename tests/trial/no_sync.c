/* Leaves out every sync, as libeatmydata does: loaded before a worker (LD_PRELOAD), its commits do not wait for the disk. */
int fsync(int file) {
    (void)file;
    return 0;
}

int fdatasync(int file) {
    (void)file;
    return 0;
}
