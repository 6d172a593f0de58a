#!/bin/sh
# Installs the workers for Node into target/workers, where contend looks for them: their source and packages in
# target/workers/node, and a launcher for each driver. With --test a machine without Node is no error: the tests then leave
# these workers out and say so. Anything else that goes wrong is one.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "workers-node: $1" >&2
    exit 1
}

# No runtime that could carry them out.
missing() {
    [ "$test" = --test ] || fail "$1"
    echo "workers-node: left out: $1" >&2
    exit 0
}

test=${1:-}
# What an older source made must not be tested in place of this one.
rm -f target/workers/contend-worker-node-*
for program in node npm; do
    command -v $program >/dev/null || missing "$program is not installed; apt-get install nodejs npm, or https://nodejs.org (20 or newer)"
done
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || missing "Node $(node -v) is too old; 20 or newer is needed, https://nodejs.org"

to=target/workers/node
mkdir -p $to
# Packages are the slow part: only when what is wanted has changed.
wanted=$(cat workers/node/package.json workers/node/package-lock.json; node -v)
if [ "$(cat $to/.installed 2>/dev/null)" != "$wanted" ]; then
    cp workers/node/package.json workers/node/package-lock.json $to/
    # Compiled here, from what the registry has: ready-made binaries would come from elsewhere, without a hash. Node's headers lie
    # beside it.
    export npm_config_build_from_source=true
    prefix=$(node -p 'require("path").dirname(require("path").dirname(fs.realpathSync(process.execPath)))')
    if [ -z "${npm_config_nodedir:-}" ] && [ -f "$prefix/include/node/node.h" ]; then
        export npm_config_nodedir=$prefix
    fi
    (cd $to && npm ci --no-audit --no-fund --loglevel=error) ||
        fail "npm ci failed in $to; what it compiles needs a C++ compiler, make and python3 (apt-get install build-essential python3)"
    printf '%s\n' "$wanted" >$to/.installed
fi
rm -rf $to/src
cp -r workers/node/src $to/src

launcher() {
    cat >"target/workers/contend-worker-$1" <<END
#!/bin/sh
# Written by scripts/build-workers-node.sh.
here=\$(cd "\$(dirname "\$0")" && pwd)
$3exec node --expose-gc "\$here/node/src/main.js" $2 "\$@"
END
    chmod +x "target/workers/contend-worker-$1"
}

failed=
for driver in better-sqlite3 sqlite3 libsql pg mysql2 null; do
    if ! (cd $to && node -e "require('./src/drivers/$driver.js').versions()") >&2; then
        failed="$failed $driver"
        continue
    fi
    # node-sqlite3 waits for locks on libuv's threads. With as few as by default, those who wait keep the holder of the lock
    # from coming to its COMMIT.
    threads=
    [ $driver = sqlite3 ] && threads='export UV_THREADPOOL_SIZE="${UV_THREADPOOL_SIZE:-64}"
'
    launcher "node-$driver" $driver "$threads"
done
[ -z "$failed" ] || fail "cannot be loaded:$failed"
if [ "$test" = --test ]; then
    node --test workers/node/test
fi
