#!/bin/sh
# Builds the workers in Java into target/workers, where contend looks for them: classes and libraries in target/workers/java,
# and a launcher for each driver. With --test a machine without Java is no error: the
# tests then leave these workers out and say so.
set -eu
cd "$(dirname "$0")/.."

test=${1:-}
missing() {
    echo "workers-java: $1" >&2
    [ "$test" = --test ] && exit 0
    exit 1
}

for program in java javac mvn; do
    command -v $program >/dev/null || missing "$program is not installed; apt-get install openjdk-17-jdk-headless maven"
done
to=target/workers/java
goal=prepare-package
(cd workers/java && mvn -q -B $goal) || missing "mvn $goal failed in workers/java"
rm -rf $to
mkdir -p $to
cp -r target/workers-build/java/classes target/workers-build/java/lib $to/
for driver in sqlite postgres mariadb null; do
    cat >"target/workers/contend-worker-java-$driver" <<END
#!/bin/sh
# Written by scripts/build-workers-java.sh.
here=\$(cd "\$(dirname "\$0")" && pwd)
exec java -cp "\$here/java/classes:\$here/java/lib/*" contend.Main $driver "\$@"
END
    chmod +x "target/workers/contend-worker-java-$driver"
done
