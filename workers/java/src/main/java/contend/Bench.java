package contend;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * The worker's cost compared with a bare loop on the same driver, reading rows by rowid from SQLite, and by primary
 * key from the servers that the environment names: bare/worker, so 1 means no cost. Both alternate on one thread, so
 * that both have the same machine. Also the overhead, with the null driver alone.
 */
public final class Bench {
    private static final int ROWS = 100_000;
    private static final String QUERY = "SELECT id, value, note FROM item WHERE rowid = ";

    private Bench() {}

    /**
     * Number of reads in a turn and number of turns; the turns before are not counted, so that both sides are
     * compiled.
     */
    private record Often(int reads, int turns, int before) {
        static Often of(int reads, int turns, int before) {
            String wanted = System.getenv("CONTEND_BENCH_TURNS");
            return new Often(reads, wanted == null ? turns : Integer.parseInt(wanted), before);
        }
    }

    private static final Often EMBEDDED = Often.of(20_000, 101, 5);
    private static final Often SERVER = Often.of(2_000, 31, 30);

    /** A driver's database, its placeholder in the plan (JDBC's is a question mark), and the number of reads. */
    private record Side(Driver driver, String database, String placeholder, Often often) {}

    private record Took(double wall, double cpu) {}

    private interface Work {
        void work() throws SQLException;
    }

    /**
     * The argument is a driver: code of both sides is compiled for the one it meets. `null` measures the overhead.
     */
    public static void main(String[] args) throws Exception {
        long[] keys = new Random(1).longs(EMBEDDED.reads, 1, ROWS + 1).toArray();
        switch (args[0]) {
            case "sqlite" -> onFile(args[0], keys);
            case "postgres" -> onServer(args[0], "CONTEND_BENCH_POSTGRES", "$1", keys);
            case "mariadb" -> onServer(args[0], "CONTEND_BENCH_MARIADB", "?", keys);
            case "null" -> floor(keys);
            default -> throw new IllegalArgumentException("the drivers are sqlite, postgres, mariadb, null");
        }
    }

    private static void onFile(String name, long[] keys) throws Exception {
        Path dir = Files.createTempDirectory("contend-bench-java-");
        Path database = dir.resolve("bench.db");
        try {
            load(database);
            compare(new Side(Drivers.of("java-" + name), "file\t" + database, "?", EMBEDDED), keys);
        } finally {
            for (String suffix : new String[] {"", "-wal", "-shm"}) {
                Files.deleteIfExists(dir.resolve("bench.db" + suffix));
            }
            Files.delete(dir);
        }
    }

    private static void onServer(String name, String variable, String placeholder, long[] keys) throws SQLException {
        String database = System.getenv(variable);
        if (database == null) {
            String words = "%-20s left out: %s names no server; scripts/bench-workers-java.sh starts one%n";
            System.out.printf(words, "java-" + name, variable);
        } else {
            compare(new Side(Drivers.of("java-" + name), database, placeholder, SERVER), Arrays.copyOf(keys, SERVER.reads));
        }
    }

    private static void load(Path database) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + database); Statement s = connection.createStatement()) {
            s.execute("PRAGMA journal_mode = WAL");
            s.executeUpdate("CREATE TABLE item (id INTEGER, value INTEGER, note TEXT)");
            s.executeUpdate("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " + (ROWS - 1)
                    + ") INSERT INTO item SELECT i, i % 100, 'item ' || i FROM n");
        }
    }

    private static Took timed(Work work) throws SQLException {
        var threads = ManagementFactory.getThreadMXBean();
        // As the worker does before it is ready: preparing the plan is no side's cost.
        System.gc();
        long cpu = threads.getCurrentThreadCpuTime();
        long begun = System.nanoTime();
        work.work();
        long wall = System.nanoTime() - begun;
        return new Took(wall, threads.getCurrentThreadCpuTime() - cpu);
    }

    private static Took bare(Side side, long[] keys) throws SQLException {
        Connection connection = side.driver.connect(Database.of(side.database.split("\t")), Options.parse(side.driver, List.of()));
        PreparedStatement statement = connection.prepareStatement(QUERY + "?");
        return timed(() -> {
            for (long key : keys) {
                statement.setLong(1, key);
                try (ResultSet row = statement.executeQuery()) {
                    int count = 0;
                    while (row.next()) {
                        row.getObject(1);
                        row.getObject(2);
                        row.getObject(3);
                        count++;
                    }
                    if (count != 1) {
                        throw new IllegalStateException("a read without a row");
                    }
                }
            }
            statement.close();
            connection.close();
        });
    }

    private static String plan(Side side, long[] keys) {
        StringBuilder text = new StringBuilder("contend-plan 3\nworker\t0\ndriver\t" + side.driver.name()
                + "\tthread\nconnections\tclient\nwindow\t0\t0\t1000000000\nnow\tclock\ndatabase\t" + side.database + "\nstatement\t0\trows\t" + QUERY.length()
                + (side.placeholder.equals("$1") ? ":1\t" : "\t") + QUERY + side.placeholder
                + "\ntransaction\t0\tread\tread\t-\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\tp0+0\nretry\t1\t-\t-\t-\nclients\t1\n"
                + "client\t0\t0\tclosed\tfinite\t" + keys.length + "\t0\t" + keys.length + "\n");
        for (long key : keys) {
            text.append("op\t0\t0\ti").append(key).append('\n');
        }
        return text.append("end\t").append(Text.digest(text.toString())).append('\n').toString();
    }

    private static Took worker(Side side, String plan) throws SQLException {
        Run run = new Run(PlanReader.read(plan), side.driver);
        Took took = timed(() -> {
            run.control.open(System.nanoTime(), Long.MAX_VALUE);
            // Runs on this thread instead of its own.
            run.clients.get(0).run();
        });
        var done = run.done();
        if (!done.get("operations").equals((long) side.often.reads) || !done.get("failed").equals(0L)) {
            throw new IllegalStateException("not all reads succeeded: " + done);
        }
        return took;
    }

    private static void compare(Side side, long[] keys) throws SQLException {
        String plan = plan(side, keys);
        int turns = side.often.turns;
        int reads = side.often.reads;
        double[] walls = new double[turns];
        double[] cpus = new double[turns];
        double[] own = new double[turns];
        double[] ours = new double[turns];
        for (int turn = -side.often.before; turn < turns; turn++) {
            boolean workerFirst = turn % 2 != 0;
            Took second = workerFirst ? worker(side, plan) : null;
            Took first = bare(side, keys);
            second = workerFirst ? second : worker(side, plan);
            if (turn >= 0) {
                walls[turn] = first.wall / second.wall;
                cpus[turn] = first.cpu / second.cpu;
                own[turn] = first.cpu / reads;
                ours[turn] = second.cpu / reads;
            }
        }
        System.out.printf(Locale.ROOT, "%-20s bare/worker %s on the clock, %s of the processor; %d turns of %d reads; processor per read: "
                + "bare %.0f ns, worker %.0f ns%n", side.driver.name(), range(walls), range(cpus), turns, reads, median(own), median(ours));
    }

    private static void floor(long[] keys) throws SQLException {
        Side side = new Side(Drivers.of("java-null"), "none", "?", EMBEDDED);
        String plan = plan(side, keys);
        double[] each = new double[EMBEDDED.turns];
        for (int turn = -EMBEDDED.before; turn < EMBEDDED.turns; turn++) {
            double ns = worker(side, plan).wall / EMBEDDED.reads;
            if (turn >= 0) {
                each[turn] = ns;
            }
        }
        System.out.printf(Locale.ROOT, "%-20s floor %.0f ns per operation (median of %d turns of %d)%n", side.driver.name(), median(each),
                EMBEDDED.turns, EMBEDDED.reads);
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static String range(double[] values) {
        return String.format(Locale.ROOT, "%.3f (%.3f to %.3f)", median(values), Arrays.stream(values).min().orElse(0),
                Arrays.stream(values).max().orElse(0));
    }
}
