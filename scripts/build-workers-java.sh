#!/bin/sh
# Builds the workers in Java into target/workers, where contend looks for them: classes and libraries in target/workers/java,
# and a launcher for each driver. With --may-lack a machine without Java or Maven is no error, as scripts/left-out.sh says.
# Anything else that goes wrong is one.
set -eu
cd "$(dirname "$0")/.."
. scripts/left-out.sh
. scripts/drivers.sh

may_lack=${1:-}
to=target/workers/java
# What an older source made must not be tested in place of this one.
rm -rf $to
rm -f target/workers/contend-worker-java-*

missing() {
    left_out "$may_lack" workers-java "$1"
}

for program in java javac mvn; do
    command -v $program >/dev/null || missing "$program is not installed; apt-get install default-jdk-headless maven"
done
release=$(javac -version 2>&1 | sed 's/^javac \(1\.\)*\([0-9]*\).*/\2/')
[ "$release" -ge 17 ] || missing "this is Java $release, and the workers need 17 or newer"
(cd workers/java && mvn -q -B prepare-package)
mkdir -p $to
cp -r target/workers-build/java/classes target/workers-build/java/lib $to/
for driver in $(drivers_of java); do
    launcher java "$driver" java
done
