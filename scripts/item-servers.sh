# For benches of workers, which are in the project's directory when they source it: private servers with the table whose rows
# both sides read, with the fields of their `database` lines in CONTEND_BENCH_POSTGRES and CONTEND_BENCH_MARIADB, over the Unix socket. What a caller has
# started is used. A server that is not installed is left out, with a note, and so are its drivers.

start_item_servers() {
    # As many rows as there are keys to draw from: a key without one fails on both sides.
    local rows=100000
    local table='CREATE TABLE item (rowid BIGINT PRIMARY KEY, id BIGINT, value BIGINT, note VARCHAR(40))'
    start_postgres
    if [ -n "$bin" ]; then
        "$bin/psql" -q -v ON_ERROR_STOP=1 -h "$sockets" -U contend -d postgres -c "$table" -c "INSERT INTO
            item SELECT i, i - 1, i % 100, 'item ' || i FROM generate_series(1, $rows) AS n(i)" -c 'VACUUM ANALYZE item'
        export CONTEND_BENCH_POSTGRES="socket"$'\t'"$sockets/.s.PGSQL.5432"$'\tcontend\tpostgres\t-'
    else
        echo "PostgreSQL is not installed (apt-get install postgresql): its drivers are left out"
    fi
    start_mariadb --skip-grant-tables
    if [ -n "$mariadbd" ]; then
        "${ask[@]}" -e "CREATE DATABASE bench; USE bench; $table; INSERT INTO
            item SELECT seq, seq - 1, seq % 100, concat('item ', seq) FROM seq_1_to_$rows; ANALYZE TABLE item" >/dev/null
        export CONTEND_BENCH_MARIADB="socket"$'\t'"$sockets/mariadb.sock"$'\troot\tbench\t-'
    else
        echo "MariaDB is not installed (apt-get install mariadb-server): its drivers are left out"
    fi
}

if [ -z "${CONTEND_BENCH_SERVERS:-}" ]; then
    # shellcheck source=scripts/private-servers.sh
    . scripts/private-servers.sh
    start_item_servers
    export CONTEND_BENCH_SERVERS=started
fi
