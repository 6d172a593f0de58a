package contend;

import contend.Plan.Keep;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Proxy;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.postgresql.util.PGobject;

/**
 * Properties that conformance cases do not reach on every machine. Without a test library:
 * scripts/test-workers.sh java runs it.
 */
public final class Tests {
    private Tests() {}

    private static void check(boolean holds, String words) {
        if (!holds) {
            throw new AssertionError(words);
        }
    }

    public static void main(String[] args) throws Exception {
        statements();
        databases();
        whatIsCutOrChangedIsRefused();
        retriesEndWithTheDrain();
        whatIsCutAtTheEndOfTheDrain();
        jsonIsText();
        columnsAreReadOnce();
        samplesAreHandedOutWhereTheyAre();
        compilationInTheWindowIsToldApart();
        System.out.println("workers-java: tests passed");
    }

    private static void statements() {
        Sql sql = new Sql("SELECT 'é', $2, $1, $2", "rows", "13:2,17:1,21:2");
        check(sql.params == 2 && sql.returns && !sql.changes && sql.jdbc.equals("SELECT 'é', ?, ?, ?"), sql.jdbc);
        check(List.of(1, 0, 1).equals(java.util.Arrays.stream(sql.order).boxed().toList()), "the order of values");
        Sql replace = new Sql("REPLACE INTO t VALUES (?), (?)", "changes,upserts=2", "23,28");
        check(replace.params == 2 && replace.changes && !replace.returns && replace.upserts == 2, replace.text);
        check(List.of(replace.parts(22)).equals(List.of("(", "), (", ")")), "the parts of " + replace.text);
        check(replace.before(22).equals("REPLACE INTO t VALUES "), replace.before(22));
        check(Sql.plain("BEGIN").isPlain() && !Sql.query("SELECT 1").isPlain(), "plain statements");
    }

    private static String refusal(Runnable what) {
        try {
            what.run();
            return "";
        } catch (RuntimeException e) {
            return e.getMessage();
        }
    }

    private static void databases() {
        Database at = Database.of(new String[] {"tcp", "::1", "5433", "me", "d\\t", "-"});
        check(at.toString().equals("me@::1:5433/d\t") && at.password().isEmpty(), at.toString());
        for (String found : List.of("env:CONTEND_NOT_SET", "file:/no/pw")) {
            String why = refusal(() -> Database.of(new String[] {"socket", "/s", "me", "d", found}).password());
            check(why.contains(found.split(":")[1]), why);
        }
    }

    private static void whatIsCutOrChangedIsRefused() {
        String body = "contend-plan 3\nworker\t0\n";
        String whole = body + "end\t" + Text.digest(body) + "\n";
        check(Text.opened("plan", whole).equals(body), "a whole text");
        for (String cut : List.of(whole.substring(0, whole.length() - 1), body, body + "end\n", whole + "x\n")) {
            String why = refusal(() -> Text.opened("plan", cut));
            check(why.contains("cut off"), cut + why);
        }
        String why = refusal(() -> Text.opened("plan", whole.replace("\t0", "\t1")));
        check(why.contains("changed after"), why);
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
