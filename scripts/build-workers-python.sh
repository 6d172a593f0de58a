#!/bin/sh
# Makes the workers in Python in target/workers, where contend looks for them: a virtual environment with the libraries
# of workers/python/requirements.lock, and a launcher for each driver. With --may-lack a
# machine without Python is no error, as scripts/left-out.sh says.
set -eu
cd "$(dirname "$0")/.."
. scripts/left-out.sh
. scripts/drivers.sh

why=
python=${PYTHON:-python3}
command -v "$python" >/dev/null || why="Python 3.11 or newer is not installed; apt-get install python3 python3-venv"
[ -n "$why" ] || "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    why="$("$python" --version) is too old: 3.11 is the first whose sqlite3 reports error codes; name a newer one in PYTHON"
[ -n "$why" ] || "$python" -c 'import ensurepip, sqlite3, venv' 2>/dev/null ||
    why="Python has no venv or no sqlite3; apt-get install python3-venv"
[ -z "$why" ] || left_out "${1:-}" workers-python "$why"

home=target/workers/python
lock=workers/python/requirements.lock
mkdir -p "$home"
rm -rf "$home/contend_worker"
cp -r workers/python/contend_worker "$home/"

# Built again when the interpreter or the lock file changes, else left alone.
stamp="$("$python" -c 'import sys; print(sys.version, sys.executable)') $(sha256sum <"$lock")"
if [ "$(cat "$home/stamp" 2>/dev/null || true)" != "$stamp" ]; then
    rm -rf "$home/venv" "$home/stamp"
    "$python" -m venv "$home/venv"
    if "$home/venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
        -r "$lock"; then
        echo "$stamp" >"$home/stamp"
    else
        echo "workers-python: the libraries of $lock cannot be installed; only what needs none of them is built" >&2
    fi
fi
"$home/venv/bin/python" -m compileall -q "$home/contend_worker"
rm -f target/workers/contend-worker-python-*
failed=
for driver in $(drivers_of python); do
    launcher python "$driver" '"$home/venv/bin/python"'
    program=target/workers/$(driver_says python "$driver" program)
    "$program" </dev/null >/dev/null || { rm "$program"; failed="$failed $driver"; }
done
[ -e "$home/stamp" ] || exit 1
if [ -n "$failed" ]; then
    echo "workers-python: cannot be loaded:$failed" >&2
    exit 1
fi
