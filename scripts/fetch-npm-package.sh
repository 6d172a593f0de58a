#!/bin/sh
# Fetches an npm package of a pinned version and SHA-256 hash into a directory and prints the archive's path:
#
#   scripts/fetch-npm-package.sh PACKAGE VERSION SHA256 DIRECTORY
#
# Ends with 1 if npm cannot fetch it or if it is not what it was when it was pinned.
set -eu
package=$1@$2 sha256=$3 directory=$4

if ! name=$(cd "$directory" && npm pack --silent "$package"); then
    echo "npm cannot fetch $package" >&2
    exit 1
fi
archive=$directory/$(echo "$name" | tail -1)
if ! echo "$sha256  $archive" | sha256sum --check --quiet - >/dev/null 2>&1; then
    echo "$package is not what it was: its hash differs from the pinned one, $sha256" >&2
    exit 1
fi
echo "$archive"
