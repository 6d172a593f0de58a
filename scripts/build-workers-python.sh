#!/bin/sh
# Makes the workers in Python in target/workers, where contend looks for them: a virtual environment with the libraries
# of workers/python/requirements.lock, and a launcher for each driver. With --test their own tests are run as well, and
# a machine without Python is no error, as scripts/left-out.sh says.
set -eu
cd "$(dirname "$0")/.."
. scripts/left-out.sh

why=
python=${PYTHON:-python3}
command -v "$python" >/dev/null || why="Python 3.11 or newer is not installed; apt-get install python3 python3-venv"
[ -n "$why" ] || "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    why="$("$python" --version) is too old: 3.11 is the first whose sqlite3 tells error codes; name a newer one in PYTHON"
[ -n "$why" ] || "$python" -c 'import ensurepip, sqlite3, venv' 2>/dev/null ||
    why="Python has no venv or no sqlite3; apt-get install python3-venv"
[ -z "$why" ] || left_out "${1:-}" workers-python "$why"

home=target/workers/python
lock=workers/python/requirements.lock
mkdir -p "$home"
rm -rf "$home/contend_worker"
cp -r workers/python/contend_worker "$home/"

launcher() {
    # Found from the launcher's own place, so that target/workers can be moved as a whole.
    cat >"target/workers/contend-worker-python-$1.new" <<SCRIPT
#!/bin/sh
home=\$(dirname "\$(readlink -f "\$0")")/python
exec "\$home/venv/bin/python" -I -B "\$home/contend_worker" $2 "\$@"
SCRIPT
    chmod +x "target/workers/contend-worker-python-$1.new"
    mv "target/workers/contend-worker-python-$1.new" "target/workers/contend-worker-python-$1"
}

# Built anew when the interpreter or the lock file changes, else left alone.
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
launcher sqlite3 python-sqlite3
launcher null python-null
rm -f target/workers/contend-worker-python-apsw target/workers/contend-worker-python-psycopg target/workers/contend-worker-python-pymysql
[ -e "$home/stamp" ] || exit 1
launcher apsw apsw
launcher psycopg psycopg
launcher pymysql pymysql
if [ "${1:-}" = --test ]; then
    "$home/venv/bin/python" -B -m unittest discover -q -s workers/python/tests -t workers/python
    ONLY=python- "$home/venv/bin/python" -B -m unittest discover -q -s workers/tests -t workers
fi
