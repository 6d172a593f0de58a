#!/bin/sh
# Builds the workers in Go into target/workers, where contend looks for them. With --test their own tests are
# run as well, and a machine without Go is no error: the tests then leave these workers out and say so.
set -eu
cd "$(dirname "$0")/.."

needed=$(sed -n 's/^go //p' workers/go/go.mod)
if ! command -v go >/dev/null; then
    echo "workers-go: Go $needed or newer is not installed; get it from https://go.dev/dl (for cgo, a C compiler as well)" >&2
    [ "${1:-}" = --test ] && exit 0
    exit 1
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
if [ "${1:-}" = --test ]; then
    go test ./...
fi
