#!/usr/bin/env bash
# Everything that tests need, built side by side: installers of other languages mostly wait for the network or compile one
# large file, so cargo works meanwhile. Nothing is built in two profiles: tests use the tool of the profile dev. Examples
# are left to clippy.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
mkdir -p target
logs=$(mktemp -d -p target others.XXXXXX)
others=()
trap 'for group in "${others[@]}"; do kill -- "-$group" 2>/dev/null || true; done; rm -rf "$logs"' EXIT
# chain NAME COMMANDS: builds one after the other, because they share a download.
chain() {
    setsid bash -euc "$2" >"$logs/$1" 2>&1 &
    others+=($!)
}
workers=scripts/build-workers
chain node "$workers-node.sh --may-lack"
chain go-java "$workers-go.sh --may-lack; $workers-java.sh --may-lack"
chain apps-php-python "scripts/build-apps.sh --may-lack; $workers-php.sh --may-lack; $workers-python.sh --may-lack"
chain sqlx-shim "make worker-sqlx worker-shim"

"$cargo" test --workspace --tests --no-run
failed=
for group in "${others[@]}"; do wait "$group" || failed=1; done
others=()
# What was left out is in the logs.
tail -n 100 "$logs"/*
[ -z "$failed" ]
