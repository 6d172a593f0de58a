#!/usr/bin/env bash
# The tests of the apps, as built by scripts/build-apps.sh, on servers of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
for app in apps/*/; do
  name=$(basename "$app")
  echo "Testing the app $name"
  if [ -f "$app/tests/run.php" ]; then
    timeout --foreground --kill-after=10 300 php "$app/tests/run.php" "${@}"
    continue
  fi
  (cd "$app" && PYTHONPATH=$PWD/../../target/apps/$name/app PYTHONDONTWRITEBYTECODE=1 PROGRAMS=$PWD/../../target/workers \
    timeout --foreground --kill-after=10 900 "$PWD/../../target/apps/$name/bin/python" -W ignore::ResourceWarning -m unittest discover \
    -s tests -t . "${@}")
done
