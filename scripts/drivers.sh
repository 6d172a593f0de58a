# For scripts that build workers; sourced, by sh. It reads workers/LANGUAGE/worker.toml with awk, as nothing else is there before
# the tool is built: values that scripts need stand on one line each. tests/drivers.rs holds it against the tool's reading.

# drivers_of LANGUAGE: names of its drivers.
drivers_of() {
    sed -n 's/^\[driver\.\([a-z0-9-]*\)\]$/\1/p' "workers/$1/worker.toml"
}

# driver_says LANGUAGE DRIVER KEY: a text of the driver's table; empty if the key is not there.
driver_says() {
    awk -v table="[driver.$2]" -v key="$3" '
        /^\[/ { inside = $0 == table }
        inside && $1 == key && $2 == "=" { sub(/^[^"]*"/, ""); sub(/"[^"]*$/, ""); print; exit }
    ' "workers/$1/worker.toml"
}

# run_words LANGUAGE DRIVER: the words of `run` between double quotes, for a launcher, but for the first, which is the interpreter.
run_words() {
    sed -n 's/^run = \["[^"]*", \(.*\)\]$/\1/p' "workers/$1/worker.toml" |
        sed -e 's/", "/" "/g' -e "s/{driver}/$2/" -e 's/{home}/$home/'g
}

# launcher LANGUAGE DRIVER INTERPRETER: the driver's program in target/workers, which starts the interpreter (text for a shell, where
# $home is the directory with the worker). Found from its own place, so that target/workers can be moved as a whole.
launcher() {
    program=target/workers/$(driver_says "$1" "$2" program)
    env=$(driver_says "$1" "$2" env)
    {
        echo '#!/bin/sh'
        echo "# Written by scripts/build-workers-$1.sh from workers/$1/worker.toml."
        echo "home=\$(dirname \"\$(readlink -f \"\$0\")\")/$1"
        [ -z "$env" ] || echo "export ${env%%=*}=\"\${${env%%=*}:-${env#*=}}\""
        echo "exec $3 $(run_words "$1" "$2") \"\$@\""
    } >"$program.new"
    chmod +x "$program.new"
    mv "$program.new" "$program"
}
