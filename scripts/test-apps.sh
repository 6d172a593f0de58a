#!/usr/bin/env bash
# The tests of the apps, as built by scripts/build-apps.sh, on servers of their own. Apps in a language that is missing are left
# out, as scripts/left-out.sh says.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/left-out.sh
for app in apps/*/; do
  name=$(basename "$app")
  if [ ! -e "target/workers/contend-worker-$name" ] && may_lack --may-lack; then
    echo "NOT VERIFIED: the app $name is not built (make apps)"
    continue
  fi
  echo "Testing the app $name"
  if [ -f "$app/tests/run.php" ]; then
    timeout --foreground --kill-after=10 300 php "$app/tests/run.php" "${@}"
    continue
  fi
  (cd "$app" && PYTHONPATH=$PWD/../../target/apps/$name/app PYTHONDONTWRITEBYTECODE=1 PROGRAMS=$PWD/../../target/workers \
    timeout --foreground --kill-after=10 900 "$PWD/../../target/apps/$name/bin/python" -W ignore::ResourceWarning -m unittest discover \
    -s tests -t . "${@}")
done
