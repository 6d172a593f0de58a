#!/usr/bin/env bash
# Everything that tests need, built side by side: installers of other languages mostly wait for the network or compile one
# large file, so cargo works meanwhile. Nothing is built in two profiles: tests use the tool of the profile dev.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
mkdir -p target
log=$(mktemp -p target others.XXXXXX.log)
setsid make workers-node workers-java workers-go apps workers-python workers-php >"$log" 2>&1 &
others=$!
trap 'kill -- -$others 2>/dev/null || true; rm -f "$log"' EXIT

"$cargo" test --workspace --no-run
make worker-sqlx
# Where a language is missing, its own tests say so; with CONTEND_TESTS_MUST_HAVE_WORKERS=1 that is an error there.
wait $others || cat "$log"
trap 'rm -f "$log"' EXIT
