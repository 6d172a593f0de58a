#!/bin/sh
# Builds the workers in Go into target/workers, where contend looks for them. With --may-lack a machine without Go is
# no error, as scripts/left-out.sh says.
set -eu
cd "$(dirname "$0")/.."
. scripts/left-out.sh

needed=$(sed -n 's/^go //p' workers/go/go.mod)
if ! command -v go >/dev/null; then
    left_out "${1:-}" workers-go "Go $needed or newer is not installed; get it from https://go.dev/dl (for cgo, a C compiler as well)"
fi
mkdir -p target/workers
cd workers/go
failed=
# One by one, so that a library that cannot be had or built here keeps none of the others from it.
for program in cmd/*; do
    go build -o ../../target/workers/ "./$program" || failed="$failed ${program#cmd/}"
done
if [ -n "$failed" ]; then
    echo "workers-go: not built:$failed" >&2
    exit 1
fi
