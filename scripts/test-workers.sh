#!/bin/sh
# The tests of the workers in one language, as built by scripts/build-workers-LANGUAGE.sh: test-workers.sh LANGUAGE. Where the
# language is missing, they are left out, as scripts/left-out.sh says.
set -eu
cd "$(dirname "$0")/.."
. scripts/left-out.sh

language=$1
# has PROGRAM: a language without PROGRAM is left out.
has() {
    command -v "$1" >/dev/null || left_out --may-lack "workers-$language, tests" "$1 is not installed"
}
# built FILE: a language whose workers were not built is left out.
built() {
    [ -e "$1" ] || left_out --may-lack "workers-$language, tests" "not built (scripts/build-workers-$language.sh)"
}
# Tests of whole workers; they are in Python.
whole() {
    has "$1"
    ONLY=$language- "$1" -B -m unittest discover -q -s workers/tests -t workers
}

case $language in
go)
    has go
    cd workers/go
    go test ./...
    ;;
python)
    python=target/workers/python/venv/bin/python
    built $python
    $python -B -m unittest discover -q -s workers/python/tests -t workers/python
    whole $python
    ;;
php)
    built target/workers/php
    if php -r 'exit((int) !extension_loaded("pdo_sqlite"));'; then php workers/php/tests/run.php; fi
    whole python3
    ;;
node)
    built target/workers/node/.installed
    # The one that the packages were built for.
    PATH=$PWD/target/workers/node/runtime/bin:$PATH
    node --test workers/node/test/*.test.js
    whole python3
    ;;
java)
    built target/workers/java
    java=target/workers/java
    tests=target/workers-build/java/own-tests
    rm -rf $tests
    mkdir -p $tests
    javac -cp "$java/classes:$java/lib/*" -d $tests workers/java/test/contend/*.java
    java -cp "$tests:$java/classes:$java/lib/*" contend.Tests
    whole python3
    ;;
*)
    echo "test-workers: no language $language" >&2
    exit 2
    ;;
esac
