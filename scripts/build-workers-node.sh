#!/bin/sh
# Installs the workers for Node into target/workers, where contend looks for them: their source and packages in
# target/workers/node, and a launcher for each driver. With --test a machine without Node is no error: the tests then leave
# these workers out and say so.
set -eu
cd "$(dirname "$0")/.."

missing() {
    echo "workers-node: $1" >&2
    [ "$test" = --test ] && exit 0
    exit 1
}

test=${1:-}
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
    # What has no ready-made binary is compiled; Debian has Node's headers in a place of its own.
    if [ -z "${npm_config_nodedir:-}" ] && [ -f /usr/include/node/node.h ]; then
        export npm_config_nodedir=/usr
    fi
    (cd $to && npm ci --no-audit --no-fund --loglevel=error) ||
        missing "npm ci failed in $to; what it compiles needs a C++ compiler, make and python3 (apt-get install build-essential python3)"
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
        rm -f "target/workers/contend-worker-node-$driver"
        continue
    fi
    # node-sqlite3 waits for locks on libuv's threads. With as few as by default, those who wait keep the holder of the lock
    # from coming to its COMMIT.
    threads=
    [ $driver = sqlite3 ] && threads='export UV_THREADPOOL_SIZE="${UV_THREADPOOL_SIZE:-64}"
'
    launcher "node-$driver" $driver "$threads"
done
if [ -n "$failed" ]; then
    missing "not built:$failed"
fi
if [ "$test" = --test ]; then
    node --test workers/node/test
fi
