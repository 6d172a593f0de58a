# For scripts that start servers of their own: a directory `work` on the disk for their data, a short one for sockets, the
# words `as` before what may not run as root, and `start_postgres` and `start_mariadb`. Other users can enter neither directory:
# the servers ask for no password, and can write files and start programs. The script that sources it is in the project's
# directory; everything ends and is removed with the script.

as=()
servers=()
mkdir -p target
work=$PWD/$(mktemp -d -p target "$(basename "$0" .sh).XXXXXX")
# The path of a socket must be short.
sockets=$(mktemp -d /tmp/cb.XXXXXX)
if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups --)
    chown nobody "$work" "$sockets"
fi
"${as[@]}" test -w "$work" || {
    echo "$(basename "$0"): servers do not run as root, and user nobody cannot enter $work: use a checkout that others may enter" >&2
    rm -rf "$work" "$sockets"
    exit 2
}

# What is on them is thrown away: none writes it back first. Each with its signal for that.
stop_servers() {
    local server signal
    for server in "${servers[@]}"; do
        signal=${server% *} server=${server#* }
        kill "-$signal" "$server" 2>/dev/null || true
        while kill -0 "$server" 2>/dev/null; do wait "$server" 2>/dev/null || true; done
    done
    servers=()
}
finish() {
    stop_servers
    rm -rf "$work" "$sockets"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The newest of what a pattern finds; else what PATH has.
program() {
    local found
    found=$(compgen -G "$2" | sort -V | tail -1 || true)
    [ -n "$found" ] && echo "$found" || type -P "$1" || true
}

# Waits until a command succeeds.
until_it_works() {
    for _ in $(seq 600); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    echo "$(basename "$0"): the server does not answer; its log ends:" >&2
    tail -5 "$work/log" >&2
    exit 1
}

# With these further arguments of the server; sets `bin` to the directory of its programs, to nothing if there are none.
# Commits do not wait for the disk: it is clients that are compared.
start_postgres() {
    bin=$(program postgres '/usr/lib/postgresql/*/bin/postgres')
    bin=${bin%/postgres}
    [ -n "$bin" ] || return 0
    "${as[@]}" "$bin/initdb" -D "$work/pg" -U contend --auth=trust --no-locale --encoding=UTF8 -N >"$work/log"
    "${as[@]}" "$bin/postgres" -D "$work/pg" -c listen_addresses= -c unix_socket_directories="$sockets" \
        -c unix_socket_permissions=0700 -c synchronous_commit=off -c autovacuum=off "$@" >"$work/log" 2>&1 &
    servers+=("QUIT $!")
    until_it_works "$bin/psql" -h "$sockets" -U contend -d postgres -c 'SELECT 1'
}

# The same; sets `mariadbd` to its program, and `ask` to a client. A server that starts removes what others left in its tmpdir.
start_mariadb() {
    mariadbd=$(program mariadbd /usr/sbin/mariadbd)
    type -P mariadb >/dev/null || mariadbd=
    [ -n "$mariadbd" ] || return 0
    ask=(mariadb --no-defaults -S "$sockets/mariadb.sock" -u root)
    "${as[@]}" mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
        --skip-name-resolve --datadir="$work/maria" --tmpdir="$work" >"$work/log" 2>&1
    "${as[@]}" "$mariadbd" --no-defaults --datadir="$work/maria" --tmpdir="$work/maria" --socket="$sockets/mariadb.sock" \
        --skip-networking "$@" >"$work/log" 2>&1 &
    servers+=("KILL $!")
    until_it_works "${ask[@]}" -e 'SELECT 1'
}
