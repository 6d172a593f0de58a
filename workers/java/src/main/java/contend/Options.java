package contend;

import contend.Plan.Pair;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Options of driver and model that are not SQL; an unknown one is an error. */
final class Options {
    private static final int POOL_SIZE = 4;
    private static final List<String> OF_POOL = List.of("pool_size", "pool_init");

    /** Negative: the driver's default. */
    int busyTimeoutMs = -1;
    boolean each;
    String foreignKeys;
    int poolSize = POOL_SIZE;
    /** Whether session statements go to the pool as one string, as its configuration requires. */
    boolean initString;
    private final Set<String> named = new HashSet<>();

    static Options parse(Driver driver, List<Pair> pairs) {
        Options options = new Options();
        for (Pair pair : pairs) {
            options.set(driver, pair.name(), pair.text());
            options.named.add(pair.name());
        }
        return options;
    }

    private static String oneOf(String name, String value, String... words) {
        if (!Arrays.asList(words).contains(value)) {
            throw new IllegalArgumentException(
                    "option " + name + ": `" + value + "` is not one of its values (" + String.join(", ", words) + ")");
        }
        return value;
    }

    private static int number(String name, String value, int low, int high) {
        if (value.matches("[0-9]{1,10}") && Long.parseLong(value) >= low && Long.parseLong(value) <= high) {
            return Integer.parseInt(value);
        }
        throw new IllegalArgumentException("option " + name + ": `" + value + "` is not a number from " + low + " to " + high);
    }

    private void set(Driver driver, String name, String value) {
        if (driver.server() && (name.equals("busy_timeout_ms") || name.equals("foreign_keys"))) {
            throw new IllegalArgumentException(
                    "option " + name + ": it is SQLite's, and driver " + driver.name() + " connects to a server");
        }
        switch (name) {
            case "busy_timeout_ms" -> busyTimeoutMs = number(name, value, 0, Integer.MAX_VALUE);
            case "statements" -> each = oneOf(name, value, "prepared", "each").equals("each");
            case "foreign_keys" -> foreignKeys = oneOf(name, value, "on", "off");
            case "pool_size" -> poolSize = number(name, value, 1, 10_000);
            case "pool_init" -> initString = oneOf(name, value, "statements", "string").equals("string");
            case "lock_wait" -> {
                if (oneOf(name, value, "measured", "off").equals("measured")) {
                    throw new IllegalArgumentException(
                            "option lock_wait: driver " + driver.name() + " cannot measure what it waits for locks");
                }
            }
            default -> throw new IllegalArgumentException("option " + name + ": this worker has no such option");
        }
    }

    void checkModel(String model) {
        for (String name : OF_POOL) {
            if (named.contains(name) && !model.equals("pool")) {
                throw new IllegalArgumentException("option " + name + ": model " + model + " has no pool");
            }
        }
    }

    /** Statements for the options, run on a new SQLite connection before those of the session. */
    List<Sql> before() {
        List<String> statements = new ArrayList<>();
        if (busyTimeoutMs >= 0) {
            statements.add("PRAGMA busy_timeout = " + busyTimeoutMs);
        }
        if (foreignKeys != null) {
            statements.add("PRAGMA foreign_keys = " + foreignKeys);
        }
        return statements.stream().map(Sql::query).toList();
    }

    /** The pool options of the plan, with the values in effect. */
    void tell(java.util.Map<String, Object> facts) {
        if (named.contains("pool_size")) {
            facts.put("pool_size", poolSize);
        }
        if (named.contains("pool_init")) {
            facts.put("pool_init", initString ? "string" : "statements");
        }
    }
}
