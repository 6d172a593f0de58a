#!/bin/sh
# Prints the path of a Python that has the packages of scripts/requirements.lock, in an environment in target/tests-python that
# is made if it is missing, not complete or of another lock file. With --built it is not made, and the exit status is 1 then.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3} home=$PWD/target/tests-python lock=scripts/requirements.lock

mkdir -p target
# Tests that run at the same time need it.
exec 9>target/tests-python.lock
flock 9
wanted="$("$python" -c 'import sys; print(sys.version, sys.base_prefix)') $(sha256sum <$lock)"
if [ "$(cat "$home/made-from" 2>/dev/null)" != "$wanted" ]; then
    [ "${1:-}" != --built ] || exit 1
    rm -rf "$home"
    "$python" -m venv "$home" >&2
    "$home/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $lock >&2
    echo "$wanted" >"$home/made-from"
fi
echo "$home/bin/python"
