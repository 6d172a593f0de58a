package contend;

import contend.Plan.Keep;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.postgresql.util.PGobject;

/** What conformance cases do not reach on every machine. Without a library for tests: scripts/build-workers-java.sh --test runs it. */
public final class Tests {
    private Tests() {}

    private static void check(boolean holds, String words) {
        if (!holds) {
            throw new AssertionError(words);
        }
    }

    /** The arguments are the tables of statements and of addresses, which are those of all workers that look into the text of one. */
    public static void main(String[] args) throws Exception {
        statements(Path.of(args[0]));
        addresses(Path.of(args[1]));
        retriesEndWithTheDrain();
        whatIsCutAtTheEndOfTheDrain();
        jsonIsText();
        columnsAreReadOnce();
        samplesAreHandedOutWhereTheyAre();
        compilationInTheWindowIsToldApart();
        System.out.println("workers-java: tests passed");
    }

    private static void statements(Path table) throws Exception {
        int tested = 0;
        for (String line : Files.readAllLines(table)) {
            String[] fields = line.split("\t", -1);
            for (boolean server : fields.length == 6 ? new boolean[] {false, true} : new boolean[0]) {
                if (!fields[0].equals("any") && !fields[0].equals(server ? "server" : "sqlite")) {
                    continue;
                }
                Sql sql = new Sql(Text.unescape(fields[5]), server);
                List<String> found = List.of(String.valueOf(sql.params), sql.returns ? "1" : "0", sql.changes ? "1" : "0",
                        String.valueOf(sql.upserts));
                check(found.equals(List.of(fields).subList(1, 5)), fields[0] + ": " + sql.text + ": " + found);
                tested++;
            }
        }
        check(tested >= 40, "only " + tested + " lines were found");
    }

    private static void addresses(Path table) throws Exception {
        int tested = 0;
        for (String line : Files.readAllLines(table)) {
            if (line.startsWith("#")) {
                continue;
            }
            String[] fields = line.split("\t", -1);
            List<String> expected = List.of(fields).subList(1, fields.length);
            tested++;
            try {
                Address at = Address.parse(fields[0], "mysql", 3306);
                boolean local = at.socket != null;
                List<String> found = List.of(at.user, local ? "" : at.host, local ? "" : String.valueOf(at.port), local ? at.socket : "",
                        at.database);
                check(found.equals(expected), fields[0] + ": " + found);
            } catch (IllegalArgumentException e) {
                check(fields[1].equals("refused") && e.getMessage().contains(fields[2]) && !e.getMessage().contains("geheim"),
                        fields[0] + ": " + e.getMessage());
            }
        }
        check(tested > 20, "only " + tested + " lines were found");
    }

    private static void retriesEndWithTheDrain() {
        Control control = new Control(500, List.of());
        control.open(1000, 1000);
        check(control.inTime(2499), "before the end of the drain");
        check(!control.inTime(2500), "at its end");
        control.endDrain();
        check(!control.inTime(2499), "it is over");
    }

    private static void whatIsCutAtTheEndOfTheDrain() {
        Driver driver = new MariadbDriver();
        for (int code : new int[] {1317, 2013, 1927}) {
            check(driver.cut(new Failure("mysql", code, "")), String.valueOf(code));
        }
        check(!driver.cut(new Failure("mysql", 1205, "")), "a lock's timeout");
        check(!driver.cut(new Failure("sqlstate", 1317, "")), "of somebody else");
    }

    private static void jsonIsText() throws Exception {
        PGobject json = new PGobject();
        json.setType("json");
        json.setValue("{\"a\": 1}");
        PGobject point = new PGobject();
        point.setType("point");
        ResultSet row = (ResultSet) Proxy.newProxyInstance(Tests.class.getClassLoader(), new Class<?>[] {ResultSet.class},
                (proxy, method, args) -> method.getName().equals("getObject") ? ((Integer) args[0] == 1 ? json : point)
                        : Proxy.newProxyInstance(Tests.class.getClassLoader(), new Class<?>[] {java.sql.ResultSetMetaData.class},
                                (meta, asked, column) -> "point"));
        Driver driver = new PostgresDriver();
        check("{\"a\": 1}".equals(driver.value(row, 1)), "JSON");
        try {
            driver.value(row, 2);
            check(false, "a point is no value");
        } catch (Failure e) {
            check(e.code == Failure.VALUE, e.getMessage());
        }
    }

    private static void columnsAreReadOnce() throws Exception {
        int[] read = new int[4];
        ResultSet row = (ResultSet) Proxy.newProxyInstance(Tests.class.getClassLoader(), new Class<?>[] {ResultSet.class},
                (proxy, method, args) -> {
                    int column = (Integer) args[0];
                    check(method.getName().equals("getObject"), method.getName());
                    read[column]++;
                    return column * 10;
                });
        Keep[] keeping = {new Keep(0, 2, 1), new Keep(1, 2, 2), new Keep(2, 0, 2)};
        List<List<Object>> kept = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        for (int seen = 0; seen < 3; seen++) {
            Attempt.keepRow(new SqliteDriver(), row, 3, keeping, seen, kept);
        }
        check(Arrays.equals(read, new int[] {0, 3, 3, 3}), "three rows: " + Arrays.toString(read));
        check(kept.equals(List.of(List.of(30L), List.of(30L, 30L), List.of(10L, 10L))), kept.toString());
        try {
            Attempt.keepRow(new SqliteDriver(), row, 2, keeping, 0, kept);
            check(false, "a column that is not there");
        } catch (Failure e) {
            check(e.code == Failure.VALUE, e.getMessage());
        }
    }

    private static void samplesAreHandedOutWhereTheyAre() throws Exception {
        Samples samples = new Samples(7);
        for (int i = 0; i < 40_000; i++) {
            samples.add(i, 0, 0, Attempt.NONE, null, 0, 1, i, i, i, 0);
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[][] first = new byte[2][];
        for (int turn = 0; turn < 2; turn++) {
            int now = turn;
            all.reset();
            samples.frames((bytes, length) -> {
                check(length % Samples.BYTES == 0, "whole samples");
                first[now] = first[now] == null ? bytes : first[now];
                all.write(bytes, 0, length);
            });
        }
        check(all.size() == 40_000 * Samples.BYTES, all.size() + " bytes");
        check(first[0] == first[1], "nothing is copied");
    }

    private static void compilationInTheWindowIsToldApart() {
        long[] ms = {100};
        JvmFacts machine = new JvmFacts(1000, () -> ms[0]);
        ms[0] = 130;
        machine.look(999);
        ms[0] = 140;
        machine.look(1000);
        ms[0] = 155;
        machine.look(1001);
        Map<String, Object> facts = Text.facts();
        machine.end(facts);
        check(facts.get("jit_ns").equals(55_000_000L), "in all: " + facts);
        check(facts.get("jit_in_window_ns").equals(15_000_000L), "after the run-in: " + facts);
        Map<String, Object> early = Text.facts();
        new JvmFacts(1000, () -> ms[0]).end(early);
        check(early.containsKey("jit_ns") && !early.containsKey("jit_in_window_ns"), "over before the window: " + early);
    }
}
