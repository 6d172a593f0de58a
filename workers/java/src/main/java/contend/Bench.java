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
import java.util.Locale;
import java.util.Random;

/**
 * What the worker costs beside a bare loop on the same driver, reading rows by rowid: bare/worker, so 1 is no cost. In turns
 * and on one thread, so that both see the same machine; and the floor, the null driver alone.
 */
public final class Bench {
    private static final int ROWS = 100_000;
    private static final int READS = 20_000;
    /** Before anything counts, so that both are compiled. */
    private static final int WARM_UP = 5;
    private static final String QUERY = "SELECT id, value, note FROM item WHERE rowid = ?";

    private Bench() {}

    private record Took(double wall, double cpu) {}

    private interface Work {
        void work() throws SQLException;
    }

    /** The argument is the number of turns. */
    public static void main(String[] args) throws Exception {
        int turns = Integer.parseInt(args[0]);
        Path dir = Files.createTempDirectory("contend-bench-java-");
        Path database = dir.resolve("bench.db");
        try {
            load(database);
            long[] keys = new Random(1).longs(READS, 1, ROWS + 1).toArray();
            Driver driver = new SqliteDriver();
            compare(driver, turns, keys, database.toString());
            floor(turns, keys);
        } finally {
            for (String suffix : new String[] {"", "-wal", "-shm"}) {
                Files.deleteIfExists(dir.resolve("bench.db" + suffix));
            }
            Files.delete(dir);
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
        // As the worker does before it is ready: what made the plan is nobody's cost.
        System.gc();
        long cpu = threads.getCurrentThreadCpuTime();
        long begun = System.nanoTime();
        work.work();
        long wall = System.nanoTime() - begun;
        return new Took(wall, threads.getCurrentThreadCpuTime() - cpu);
    }

    private static Took bare(String database, long[] keys) throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:sqlite:" + database);
        PreparedStatement statement = connection.prepareStatement(QUERY);
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

    private static String plan(Driver driver, String database, long[] keys) {
        StringBuilder text = new StringBuilder("contend-plan 2\nworker\t0\ndriver\t" + driver.name() + "\tthread\nconnections\tclient\n"
                + "window\t0\t0\t1000000000\nnow\tclock\ndatabase\t" + database + "\nstatement\t0\t" + QUERY + "\ntransaction\t0\tread\tread\t-"
                + "\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\tp0+0\nretry\t1\t-\t-\t-\nclients\t1\nclient\t0\t0\tclosed\tfinite\t" + keys.length + "\t0\t"
                + keys.length + "\n");
        for (long key : keys) {
            text.append("op\t0\t0\ti").append(key).append('\n');
        }
        return text.append("end\n").toString();
    }

    private static Took worker(Driver driver, String plan) throws SQLException {
        Run run = new Run(PlanReader.read(plan), driver);
        Took took = timed(() -> {
            run.control.open(System.nanoTime(), Long.MAX_VALUE);
            // On this thread, in place of its own.
            run.clients.get(0).run();
        });
        var done = run.done();
        if (!done.get("operations").equals((long) READS) || !done.get("failed").equals(0L)) {
            throw new IllegalStateException("not all reads succeeded: " + done);
        }
        return took;
    }

    private static void compare(Driver driver, int turns, long[] keys, String database) throws SQLException {
        String plan = plan(driver, database, keys);
        double[] walls = new double[turns];
        double[] cpus = new double[turns];
        double[] own = new double[turns];
        double[] ours = new double[turns];
        for (int turn = -WARM_UP; turn < turns; turn++) {
            boolean workerFirst = turn % 2 != 0;
            Took second = workerFirst ? worker(driver, plan) : null;
            Took first = bare(database, keys);
            second = workerFirst ? second : worker(driver, plan);
            if (turn >= 0) {
                walls[turn] = first.wall / second.wall;
                cpus[turn] = first.cpu / second.cpu;
                own[turn] = first.cpu / READS;
                ours[turn] = second.cpu / READS;
            }
        }
        System.out.printf(Locale.ROOT, "%-20s bare/worker %s on the clock, %s of the processor; %d turns of %d reads; processor per read: "
                + "bare %.0f ns, worker %.0f ns%n", driver.name(), range(walls), range(cpus), turns, READS, median(own), median(ours));
    }

    private static void floor(int turns, long[] keys) throws SQLException {
        Driver driver = Drivers.of("null");
        String plan = plan(driver, "none", keys);
        double[] each = new double[turns];
        for (int turn = -WARM_UP; turn < turns; turn++) {
            double ns = worker(driver, plan).wall / READS;
            if (turn >= 0) {
                each[turn] = ns;
            }
        }
        System.out.printf(Locale.ROOT, "%-20s floor %.0f ns per operation (median of %d turns of %d)%n", driver.name(), median(each), turns, READS);
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
