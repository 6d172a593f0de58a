#!/bin/sh
# Installs the workers for Node into target/workers, where contend looks for them: their source and packages in
# target/workers/node, and a launcher for each driver. Where Node is older than the packages need (Debian 12 has 18), the Node
# pinned below is fetched with npm, also if NODE_PINNED=1. With --may-lack a machine without Node is no error, as
# scripts/left-out.sh says. Anything else that goes wrong is one.
set -eu
cd "$(dirname "$0")/.."
. scripts/left-out.sh
. scripts/drivers.sh

fail() {
    echo "workers-node: $1" >&2
    exit 1
}

# No runtime that could carry them out.
missing() {
    left_out "$may_lack" workers-node "$1"
}

may_lack=${1:-}
# What an older source made must not be tested in place of this one.
rm -f target/workers/contend-worker-node-*
for program in node npm; do
    command -v $program >/dev/null || missing "$program is not installed; apt-get install nodejs npm"
done

to=target/workers/node
mkdir -p $to

# A package of the registry that holds nothing but Node and its headers, with its hash.
pinned=20.20.2
case $(uname -m) in
x86_64) processor=x64 hash=3de1d033cc007661ed640d66068732819c6ce4b8945adb097b3413901774898f7cecaa46ac3d4edad544c9dbcc662b9771e45a9f1b7bae34e70c407038fba3a1 ;;
aarch64) processor=arm64 hash=2c25c99cd4c58b21ae601c36819488e4e04531b92300fb7cb2a0ff34aad6a04d90983812b9b4ea16783a19a349f4427c1e9c413067165a96db72ce15a3e0a71a ;;
*) processor= ;;
esac
node=node
fetch_node() {
    [ -n "$processor" ] || missing "Node $(node -v) is too old, and none is pinned for $(uname -m); 20 or newer is needed, https://nodejs.org"
    runtime=$to/runtime
    if [ "$("$runtime/bin/node" -v 2>/dev/null)" != "v$pinned" ]; then
        echo "workers-node: fetching Node $pinned" >&2
        rm -rf $runtime $runtime.new
        mkdir -p $runtime.new
        (cd $runtime.new && npm pack --silent "node-linux-$processor@$pinned" >/dev/null) ||
            missing "Node $(node -v) is too old, and npm cannot fetch the package node-linux-$processor"
        archive=$runtime.new/node-linux-$processor-$pinned.tgz
        echo "$hash  $archive" | sha512sum --check --quiet || fail "the package node-linux-$processor is not the pinned one"
        tar xzf "$archive" -C $runtime.new --strip-components=1
        rm "$archive"
        mv $runtime.new $runtime
    fi
    # npm is started by whatever `node` is found first.
    PATH=$PWD/$runtime/bin:$PATH
    node='"$home/runtime/bin/node"'
}
if [ -n "${NODE_PINNED:-}" ] || [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
    fetch_node
fi

# Packages are the slow part: only when what is wanted has changed.
wanted=$(cat workers/node/package.json workers/node/package-lock.json; node -v)
if [ "$(cat $to/.installed 2>/dev/null)" != "$wanted" ]; then
    cp workers/node/package.json workers/node/package-lock.json $to/
    # Compiled here, from what the registry has: ready-made binaries would come from elsewhere, without a hash. Node's headers lie
    # next to it.
    export npm_config_build_from_source=true
    prefix=$(node -p 'require("path").dirname(require("path").dirname(fs.realpathSync(process.execPath)))')
    if [ -z "${npm_config_nodedir:-}" ] && [ -f "$prefix/include/node/node.h" ]; then
        export npm_config_nodedir=$prefix
    fi
    # Two packages bring an SQLite each, which takes minutes: on few processors npm builds one package at a time, and node-gyp one file,
    # unless it is told otherwise.
    export JOBS="${JOBS:-max}"
    (cd $to && npm ci --no-audit --no-fund --loglevel=error) ||
        fail "npm ci failed in $to; what it compiles needs a C++ compiler, make and python3 (apt-get install build-essential python3)"
    printf '%s\n' "$wanted" >$to/.installed
fi
rm -rf $to/src
cp -r workers/node/src $to/src

failed=
for driver in $(drivers_of node); do
    if (cd $to && node -e "require('./src/drivers/$driver.js').versions()") >&2; then
        launcher node "$driver" "$node"
    else
        failed="$failed $driver"
    fi
done
[ -z "$failed" ] || fail "cannot be loaded:$failed"
