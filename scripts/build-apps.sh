#!/usr/bin/env bash
# The apps that contend serves, and a program for each in target/workers. One with a build.sh of its own is made by that;
# others are in Python, each in a virtual environment of its own made from a lock file with hashes. `--lock` writes those
# lock files again, and that of scripts, with pip-tools. With --may-lack a machine that lacks a language is no error, as
# scripts/left-out.sh says.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/left-out.sh

python=${PYTHON:-$(command -v python3.11 || command -v python3 || true)}
needed='import sys, venv, ensurepip, sqlite3; sys.exit(sys.version_info < (3, 11))'
if [ -z "$python" ] || ! "$python" -c "$needed" 2>/dev/null; then
  echo "The apps need Python 3.11 or newer with venv and sqlite3." >&2
  echo "Install python3 and python3-venv, or name a program in PYTHON." >&2
  may_lack "${1:-}" || exit 2
  python=
fi
environments=$PWD/target/apps

lock() {
  (cd "$1" && "$tools" -m piptools compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header --no-emit-options \
    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file requirements.lock requirements.in)
}
if [ "${1:-}" = --lock ]; then
  tools=$(scripts/python-for-tests.sh)
  lock scripts
fi

# What an older source made must not be tested in place of this one.
leave_out() { rm -f "target/workers/contend-worker-$1"; }

for app in apps/*/; do
  name=$(basename "$app")
  if [ -x "$app/build.sh" ]; then
    "$app/build.sh" || { [ $? = 2 ] && may_lack "${1:-}" && leave_out "$name"; } || exit 1
    continue
  fi
  [ -n "$python" ] || { leave_out "$name"; continue; }
  [ "${1:-}" = --lock ] && lock "$app"
  environment=$environments/$name
  # Made again when the lock file or the interpreter is another one.
  wanted=$(cat "$app/requirements.lock" <("$python" -VV) <(echo "$python") | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$environment/made-from" 2>/dev/null)" != "$wanted" ]; then
    echo "Making the environment of the app $name in $environment"
    rm -rf "$environment"
    "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
      -r "$app/requirements.lock"
    echo "$wanted" >"$environment/made-from"
  fi
  mkdir -p target/workers
  # A copy, so that the program does not change with the sources while a study runs.
  rm -rf "$environment/app" && mkdir -p "$environment/app"
  cp -r "$app/$name" "$environment/app/"
  find "$environment/app" -name __pycache__ -prune -exec rm -rf {} +
  "$environment/bin/python" -m compileall -q "$environment/app"
  cat >target/workers/contend-worker-"$name".new <<PROGRAM
#!/bin/sh
# The app $name as a worker that serves. Made by scripts/build-apps.sh.
case "\$1" in
serve) ;;
*) echo "contend-worker-$name serves only: contend-worker-$name serve" >&2; exit 2 ;;
esac
PYTHONPATH='$environment/app' PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1 \\
  exec '$environment/bin/python' -P -c 'import sys; from $name.worker import main; sys.exit(main())'
PROGRAM
  chmod +x target/workers/contend-worker-"$name".new
  mv target/workers/contend-worker-"$name".new target/workers/contend-worker-"$name"
done
