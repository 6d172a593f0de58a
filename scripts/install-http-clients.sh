#!/bin/sh
# The programs that contend's HTTP client is held against: wrk and hey from the system's packages, oha with cargo and
# vegeta with go into target/tools. Fails, and says which, where one is missing and cannot be had.
set -eu
cd "$(dirname "$0")/.."
# Debian has no oha. This version with the system's OpenSSL needs no cmake and 5 minutes of processor time, once; TLS is not used here.
oha_version=1.8.0
vegeta_version=12.13.0

missing=
for tool in wrk hey; do
    command -v $tool >/dev/null || missing="$missing $tool"
done
if [ -n "$missing" ]; then
    as=
    [ "$(id -u)" -eq 0 ] || as=sudo
    if ! command -v apt-get >/dev/null || ! { $as apt-get update -qq && $as apt-get install -y -qq $missing; } >&2; then
        echo "$0: cannot install$missing; install it with your package manager, then try again" >&2
        exit 2
    fi
fi
if ! target/tools/bin/oha --version 2>/dev/null | grep -qF "oha $oha_version"; then
    echo "$0: building oha $oha_version, once" >&2
    # Optimised, but not as one piece: that would take most of the time.
    if ! CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 nice -n 10 cargo install oha --quiet --locked \
        --version $oha_version --no-default-features --features native-tls --root target/tools --target-dir target/tools/build >&2
    then
        echo "$0: cannot build oha $oha_version; it needs a network for crates, pkg-config and OpenSSL's headers" \
            "(apt-get install pkg-config libssl-dev)" >&2
        exit 2
    fi
    rm -rf target/tools/build
fi
if ! [ -x target/tools/bin/vegeta ]; then
    if ! GOBIN="$PWD/target/tools/bin" go install "github.com/tsenart/vegeta/v12@v$vegeta_version" >&2; then
        echo "$0: cannot build vegeta $vegeta_version; it needs Go and a network for its modules" >&2
        exit 2
    fi
fi
