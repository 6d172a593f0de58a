#!/usr/bin/env bash
# The Go workers against a bare loop on the same library: rows by rowid from SQLite, and by primary key from private
# servers over the Unix socket. A server that is not installed is left out, with a note.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v go >/dev/null || { echo "Go workers: Go is not installed"; exit 0; }

# shellcheck source=scripts/item-servers.sh
. scripts/item-servers.sh
said=$(cd workers/go && go test -run '^$' -bench . -benchtime 1x "${@:-./cmd/...}" 2>&1) || {
    tail -20 <<<"$said" >&2
    exit 1
}
grep bare/worker <<<"$said"
