package contend;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Everything that one worker needs. Durations and times are in nanoseconds. */
final class Plan {
    /** An upper bound that means "no limit". */
    static final long ANY_ROWS = 0xffff_ffffL;
    /** Distance between the unique numbers of two clients. */
    static final long UNIQUES = 1L << 40;

    record Pair(String name, String text) {}

    enum Kind { SQL, HOLD, PAUSE, CONNECT }

    /** A step; the fields from {@code statement} on are for SQL. */
    record Step(Kind kind, long ns, int statement, long min, long max, int repeat, Keep[] keep, Source[] sources) {}

    /** Stores the first {@code rows} rows of a column in a slot. */
    record Keep(int slot, int column, int rows) {}

    /**
     * Source of a placeholder's value: literal (v), argument a + b x repetition (p), slot a plus b (k), row b of
     * slot a (K), unique number a + b x repetition (u), the time in units of b ns (c).
     */
    record Source(char kind, Object value, int a, long b) {}

    record Transaction(int number, String name, String begin, int uniques, int slots, List<Step> steps) {}

    record Operation(long time, int transaction, Object[] args) {}

    record Client(long id, int database, boolean open, boolean cyclic, long limit, long start, List<Operation> operations) {}

    String driver;
    String model;
    boolean shared;
    long runIn;
    long length;
    long drain;
    boolean fixed;
    long nowBase;
    long nowStep;
    final List<Pair> options = new ArrayList<>();
    final List<Database> databases = new ArrayList<>();
    final List<Sql> session = new ArrayList<>();
    final List<Pair> readbacks = new ArrayList<>();
    final List<Sql> statements = new ArrayList<>();
    final List<String> texts = new ArrayList<>();
    final List<Transaction> transactions = new ArrayList<>();
    int tries;
    long[] backoff;
    int[] jitter;
    Set<Long> retryCodes;
    final List<Client> clients = new ArrayList<>();

    static long retryCode(int space, int code) {
        return (long) space << 32 | code;
    }

    /** Offset from the start after which no operation begins. */
    long end() {
        return length == 0 ? Long.MAX_VALUE : saturatingAdd(runIn, length);
    }

    static long saturatingAdd(long a, long b) {
        return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
    }
}
