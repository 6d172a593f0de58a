#!/bin/sh
# Builds the worker of the driver `shim` into target/workers: contend's worker over the system's libsqlite3.so.0 (package
# libsqlite3-dev), the library that answers SQLite's calls from PostgreSQL, and a launcher that loads one into the other.
set -eu
cd "$(dirname "$0")/.."
LIBSQLITE3_SYS_USE_PKG_CONFIG=1 "${CARGO:-cargo}" build ${PROFILE---release} -p contend-worker -p contend-shim \
    --target-dir target/workers-system
built=target/workers-system/$([ -z "${PROFILE---release}" ] && echo debug || echo release)
mkdir -p target/workers/shim
cp "$built/contend-worker" "$built/libcontend_shim.so" target/workers/shim/
launcher=target/workers/contend-worker-shim
cat > "$launcher" <<'END'
#!/bin/sh
home=$(dirname "$(readlink -f "$0")")/shim
LD_PRELOAD=$home/libcontend_shim.so exec "$home/contend-worker" "$@"
END
chmod +x "$launcher"
