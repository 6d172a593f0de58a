#!/usr/bin/env python3
"""Cuts the power of a real kernel: User-Mode Linux with ext4 is killed (SIGKILL, the whole kernel) while SQLite commits, booted
again, and asked what is there. It checks the models of contend-powercut against a kernel that knows nothing of them.

Uses the SQLite of Python's library, not the one that contend has built in. Needs no root: `linux.uml` (Debian's
user-mode-linux), mkfs.ext4, python3. Without them it says NOT VERIFIED and ends well.

    scripts/uml-crosscheck.py [CUTS]        cuts of each setting, 5 if not said
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

# Journal and sync, and what the models and the earlier kernels say of it.
CELLS = [
    ("delete", "full", "last"),
    ("delete", "extra", "nothing"),
    ("truncate", "full", "nothing"),
    ("persist", "full", "nothing"),
    ("wal", "full", "nothing"),
    ("wal", "normal", "many"),
]
KERNEL = "linux.uml"
BOOT_S = 60
IMAGE_MIB = 32
WORK = "work"
LOOK = "look"


def guest(journal, synchronous, what):
    """Runs inside, where /mnt is the disk that is cut."""
    base = sqlite3.connect("/mnt/db", isolation_level=None)
    base.execute(f"PRAGMA journal_mode={journal}")
    base.execute(f"PRAGMA synchronous={synchronous}")
    if what == LOOK:
        rows, highest = base.execute("SELECT count(*), coalesce(max(n), 0) FROM t").fetchone()
        print(f"\nfound {rows} {highest} {base.execute('PRAGMA integrity_check').fetchone()[0]}", flush=True)
        return
    base.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, text TEXT)")
    os.sync()
    n = 0
    while True:
        n += 1
        base.execute("INSERT INTO t VALUES (?, ?)", (n, "x" * 300))
        print(f"\nack {n}", flush=True)


def boot(image, init, journal, synchronous, what):
    here = os.path.abspath(__file__)
    with open(init, "w") as script:
        script.write(
            "#!/bin/sh\nmount -t proc none /proc\nmount -t devtmpfs none /dev\n"
            "mount -t ext4 /dev/ubda /mnt || echo mount failed\n"
            f"python3 {here} --guest {journal} {synchronous} {what}\n"
            "umount /mnt\necho o > /proc/sysrq-trigger\nsleep 60\n"
        )
    os.chmod(init, 0o755)
    words = ["mem=128M", "rootfstype=hostfs", "rootflags=/", "ro", "root=/dev/root", "con=null", "con0=null,fd:1", "quiet"]
    return subprocess.Popen(
        [KERNEL, f"ubd0={image}", f"init={init}", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def kill(kernel):
    try:
        os.killpg(kernel.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def lines(kernel):
    """What it says; a kernel that hangs is killed."""
    signal.signal(signal.SIGALRM, lambda *_: kill(kernel))
    signal.alarm(BOOT_S)
    yield from (line.split() for line in kernel.stdout)
    signal.alarm(0)
    kill(kernel)
    kernel.wait()


def cut(place, journal, synchronous, after):
    """Lost commits, and what SQLite says of the database."""
    image, init = os.path.join(place, "disk"), os.path.join(place, "init")
    with open(image, "wb") as file:
        file.truncate(IMAGE_MIB << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    kernel, acknowledged = boot(image, init, journal, synchronous, WORK), 0
    for words in lines(kernel):
        if words[:1] == ["ack"] and len(words) == 2:
            acknowledged = max(acknowledged, int(words[1]))
            if acknowledged >= after:
                # Whatever it has said until it is dead was acknowledged: the loop reads on to the end.
                kill(kernel)
    if acknowledged < after:
        raise SystemExit(f"{KERNEL} ended, or hung, after {acknowledged} of {after} commits")
    found = [words for words in lines(boot(image, init, journal, synchronous, LOOK)) if words[:1] == ["found"]]
    if not found:
        return acknowledged, None, "does not open"
    rows, highest, said = int(found[0][1]), int(found[0][2]), " ".join(found[0][3:])
    sound = said if rows == highest else f"{rows} rows, the last is {highest}"
    return acknowledged, max(0, acknowledged - highest), sound


def main(cuts):
    missing = [name for name in (KERNEL, "mkfs.ext4") if shutil.which(name, path=os.environ["PATH"] + ":/sbin:/usr/sbin") is None]
    if missing:
        print(f"NOT VERIFIED: no cross-check with a real kernel: {', '.join(missing)} missing (apt-get install user-mode-linux e2fsprogs)")
        return 0
    os.environ["PATH"] += ":/sbin:/usr/sbin"
    print(f"SQLite {sqlite3.sqlite_version}, ext4 in User-Mode Linux, {cuts} cuts of each setting")
    chance, wrong = random.Random(1), 0
    for journal, synchronous, expected in CELLS:
        lost = []
        for _ in range(cuts):
            # Not in /tmp, which may be in memory: the image is read back after the kernel is gone, wherever it is.
            with tempfile.TemporaryDirectory(prefix="contend-uml-") as place:
                acknowledged, gone, said = cut(place, journal, synchronous, chance.randrange(60, 200))
            lost.append(gone)
            if said != "ok":
                print(f"  {journal}/{synchronous}: of {acknowledged} commits: {said}")
                wrong += 1
        whole = [n for n in lost if n is not None]
        agrees = {
            "nothing": not any(whole),
            "last": max(whole, default=0) == 1,
            "many": max(whole, default=0) > 1,
        }[expected]
        wrong += not agrees
        print(f"{journal}/{synchronous}: lost commits {lost}, expected {expected}: {'agrees' if agrees else 'DIFFERS'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--guest"]:
        guest(*sys.argv[2:5])
    else:
        sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
