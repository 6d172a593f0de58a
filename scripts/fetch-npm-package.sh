#!/bin/sh
# Fetches an npm package of a pinned version and SHA-256 hash into a directory and prints the archive's path:
#
#   scripts/fetch-npm-package.sh PACKAGE VERSION SHA256 DIRECTORY
#
# An archive that is there already is used if it has this hash. Ends with 1 if npm cannot fetch it or if it is not what it was
# when it was pinned; it is removed then.
set -eu
package=$1@$2 sha256=$3 directory=$4

# As npm names it.
archive=$directory/$(echo "$1" | tr -d @ | tr / -)-$2.tgz
is_pinned() { echo "$sha256  $archive" | sha256sum --check --status - 2>/dev/null; }
if ! is_pinned; then
    if ! (cd "$directory" && npm pack --silent "$package" >/dev/null); then
        echo "npm cannot fetch $package" >&2
        exit 1
    fi
    if ! is_pinned; then
        rm -f "$archive"
        echo "$package is not what it was: its hash differs from the pinned one, $sha256" >&2
        exit 1
    fi
fi
echo "$archive"
