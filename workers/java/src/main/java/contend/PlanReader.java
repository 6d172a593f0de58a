package contend;

import contend.Plan.Client;
import contend.Plan.Keep;
import contend.Plan.Kind;
import contend.Plan.Operation;
import contend.Plan.Pair;
import contend.Plan.Source;
import contend.Plan.Step;
import contend.Plan.Transaction;
import contend.Text.FormatError;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Reads a plan and checks every reference in it; an error names the line. */
final class PlanReader {
    private static final int VERSION = 2;
    private static final int U16 = 65535;
    private static final long U32 = Plan.ANY_ROWS;
    private static final BigInteger U64 = BigInteger.ONE.shiftLeft(64);

    private final String text;
    private int at;
    private int number;
    private String line;
    private int arguments;

    private PlanReader(String text) {
        this.text = text;
        next();
    }

    static Plan read(String text) {
        return new PlanReader(text).plan();
    }

    private FormatError wrong(String words) {
        return new FormatError("plan line " + number + ": " + words);
    }

    /** Whatever is wrong with a field is told with its line. */
    private <T> T guard(Supplier<T> read) {
        try {
            return read.get();
        } catch (FormatError e) {
            throw wrong(e.getMessage());
        }
    }

    private void next() {
        int end = text.indexOf('\n', at);
        number++;
        if (end < 0) {
            line = text.substring(Math.min(at, text.length()));
            at = text.length() + 1;
            return;
        }
        line = text.substring(at, end);
        at = end + 1;
    }

    /** The fields of one line after its kind. */
    private final class Fields {
        private final String kind;
        private final String of;
        private int from;

        Fields(String kind, String of) {
            this.kind = kind;
            this.of = of;
            this.from = of.length() == kind.length() ? -1 : kind.length() + 1;
        }

        boolean more() {
            return from >= 0;
        }

        String raw(String what) {
            if (from < 0) {
                throw wrong("a `" + kind + "` line without its " + what);
            }
            int tab = of.indexOf('\t', from);
            String field = tab < 0 ? of.substring(from) : of.substring(from, tab);
            from = tab < 0 ? -1 : tab + 1;
            return field;
        }

        String text(String what) {
            String field = raw(what);
            return guard(() -> Text.unescape(field));
        }

        /** A whole number of up to 64 bits; of durations beyond 2^63 only their being endless matters. */
        long number(String what, long most) {
            String field = raw(what);
            boolean digits = !field.isEmpty() && field.length() <= 20 && field.chars().allMatch(c -> c >= '0' && c <= '9');
            if (digits && field.length() < 19) {
                long value = Long.parseLong(field);
                if (value <= most) {
                    return value;
                }
            } else if (digits && most == Long.MAX_VALUE) {
                BigInteger value = new BigInteger(field);
                if (value.compareTo(U64) < 0) {
                    return value.min(BigInteger.valueOf(most)).longValueExact();
                }
            }
            throw wrong(what + " `" + Text.crop(field) + "` is not a number that fits");
        }

        long ns(String what) {
            return number(what, Long.MAX_VALUE);
        }

        int count(String what) {
            return (int) number(what, Integer.MAX_VALUE);
        }

        void index(int expected) {
            long found = ns("number");
            if (found != expected) {
                throw wrong("expected number " + expected + ", found " + found);
            }
        }

        /** Whether the field is the second of two words. */
        boolean either(String first, String second) {
            String field = raw(first + " or " + second);
            if (!field.equals(first) && !field.equals(second)) {
                throw wrong("`" + Text.crop(field) + "` is not " + first + " or " + second);
            }
            return field.equals(second);
        }

        /** A list of items separated by commas; {@code read} throws if it cannot read one. */
        <T> List<T> list(String what, Function<String, T> read) {
            String field = raw(what);
            List<T> found = new ArrayList<>();
            for (String item : field.equals("-") ? new String[0] : field.split(",", -1)) {
                try {
                    found.add(read.apply(item));
                } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
                    throw wrong("`" + Text.crop(item) + "` in the list of " + what);
                }
            }
            return found;
        }

        void end() {
            if (more()) {
                throw wrong("a field too many: `" + Text.crop(of.substring(from)) + "`");
            }
        }
    }

    private Fields nextIf(String kind) {
        boolean found = line.startsWith(kind) && (line.length() == kind.length() || line.charAt(kind.length()) == '\t');
        return found ? new Fields(kind, line) : null;
    }

    private Fields expect(String kind) {
        Fields fields = nextIf(kind);
        if (fields == null) {
            throw wrong("expected a `" + kind + "` line, found `" + Text.crop(line) + "`");
        }
        return fields;
    }

    private void one(String kind, Consumer<Fields> read) {
        Fields fields = expect(kind);
        read.accept(fields);
        fields.end();
        next();
    }

    private <T> List<T> all(String kind, Function<Fields, T> read) {
        List<T> found = new ArrayList<>();
        for (Fields f = nextIf(kind); f != null; f = nextIf(kind)) {
            found.add(read.apply(f));
            f.end();
            next();
        }
        return found;
    }

    private List<String> numbered(String kind) {
        int[] count = {0};
        return all(kind, f -> {
            f.index(count[0]++);
            return f.text("text");
        });
    }

    private Plan plan() {
        guard(() -> {
            Text.checkVersion("contend-plan", VERSION, line);
            return null;
        });
        next();
        Plan p = new Plan();
        head(p);
        int[] count = {0};
        one("clients", f -> count[0] = f.count("count"));
        p.clients = new ArrayList<>();
        for (int i = 0; i < count[0]; i++) {
            p.clients.add(client(p));
        }
        expect("end").end();
        if (at != text.length()) {
            throw wrong("cut off, or text after the `end` line");
        }
        return p;
    }

    private void head(Plan p) {
        one("worker", f -> f.number("number", U32));
        one("driver", f -> {
            p.driver = f.text("driver");
            p.model = f.text("model");
        });
        one("connections", f -> p.shared = f.either("client", "database"));
        one("window", f -> {
            p.runIn = f.ns("run-in");
            p.length = f.ns("length");
            p.drain = f.ns("drain");
        });
        one("now", f -> {
            p.fixed = f.either("clock", "fixed");
            if (p.fixed) {
                p.nowBase = f.ns("base");
                p.nowStep = f.ns("step");
            }
        });
        Function<Fields, Pair> pair = f -> new Pair(f.text("name"), f.text("text"));
        p.options = all("option", pair);
        p.databases = all("database", f -> f.text("database"));
        p.session = all("session", f -> f.text("SQL"));
        p.readbacks = all("readback", pair);
        p.statements = numbered("statement");
        p.texts = numbered("text");
        p.transactions = new ArrayList<>();
        for (Fields f = nextIf("transaction"); f != null; f = nextIf("transaction")) {
            transaction(p, f);
        }
        one("retry", f -> retry(p, f));
    }

    private void transaction(Plan p, Fields f) {
        f.index(p.transactions.size());
        String name = f.text("name");
        f.either("read", "write");
        String begin = f.text("begin");
        int uniques = (int) f.number("count of unique numbers", U16);
        int slots = (int) f.number("count of slots", U16);
        int count = f.count("count of steps");
        f.end();
        next();
        arguments = 0;
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Fields step = expect("step");
            steps.add(step(p, step, i, uniques, slots, name));
            step.end();
            next();
        }
        int number = p.transactions.size();
        p.transactions.add(new Transaction(number, name, begin.equals("-") ? null : begin, uniques, slots, arguments, steps));
    }

    private Step step(Plan p, Fields f, int index, int uniques, int slots, String name) {
        String kind = f.raw("kind");
        switch (kind) {
            case "sql":
                return sqlStep(p, f, uniques, slots, name);
            case "hold", "pause":
                return new Step(kind.equals("hold") ? Kind.HOLD : Kind.PAUSE, f.ns("length"), 0, 0, 0, 0, null, null);
            case "connect":
                if (index > 0) {
                    throw wrong("`connect` must be the first step of a transaction");
                }
                return new Step(Kind.CONNECT, 0, 0, 0, 0, 0, null, null);
            default:
                throw wrong("`" + Text.crop(kind) + "` is not a kind of step this worker knows");
        }
    }

    private Step sqlStep(Plan p, Fields f, int uniques, int slots, String name) {
        int statement = f.count("statement");
        String rows = f.raw("rows");
        long min;
        long max;
        try {
            String[] bounds = rows.split("\\.\\.", -1);
            min = small(bounds[0], U32);
            max = bounds[1].equals("*") ? U32 : small(bounds[1], U32);
            if (bounds.length != 2 || min > max) {
                throw new IllegalArgumentException(rows);
            }
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw wrong("rows `" + Text.crop(rows) + "` are not of the form MIN..MAX or MIN..*");
        }
        int repeat = f.count("repeat");
        if (repeat == 0) {
            throw wrong("a step is repeated at least once");
        }
        List<Keep> keep = f.list("keep", item -> {
            String[] n = item.split(":", -1);
            Keep one = new Keep((int) small(n[0], U16), (int) small(n[1], U16), (int) small(n[2], U16));
            if (n.length != 3 || one.rows() == 0) {
                throw new IllegalArgumentException(item);
            }
            return one;
        });
        if (statement >= p.statements.size()) {
            throw wrong("statement " + statement + " is not in the plan");
        }
        keep.forEach(one -> checkSlot(one.slot(), slots, name));
        List<Source> sources = new ArrayList<>();
        while (f.more()) {
            sources.add(source(p, f.raw("source"), repeat, uniques, slots, name));
        }
        return new Step(Kind.SQL, 0, statement, min, max, repeat, keep.toArray(new Keep[0]), sources.toArray(new Source[0]));
    }

    private void checkSlot(int slot, int slots, String name) {
        if (slot >= slots) {
            throw wrong("slot " + slot + " is beyond the " + slots + " of `" + name + "`");
        }
    }

    private Source source(Plan p, String field, int repeat, int uniques, int slots, String name) {
        if (field.isEmpty()) {
            throw wrong("an empty field where the source of an argument was expected");
        }
        char kind = field.charAt(0);
        if ("nirtTx".indexOf(kind) >= 0) {
            return new Source('v', value(p, field), 0, 0);
        }
        try {
            return fromPlan(kind, field, repeat, uniques, slots, name);
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw wrong("`" + Text.crop(field) + "` is not the source of an argument");
        }
    }

    private Source fromPlan(char kind, String field, int repeat, int uniques, int slots, String name) {
        if (kind == 'c') {
            return new Source(kind, null, 0, atLeastOne(small(field.substring(1), Long.MAX_VALUE)));
        }
        int plus = field.indexOf('+');
        int a = (int) small(field.substring(1, plus), U16);
        String rest = field.substring(plus + 1);
        long b = kind == 'k' ? Long.parseLong(rest) : small(rest, U16);
        long last = a + b * (repeat - 1);
        switch (kind) {
            case 'k', 'K' -> checkSlot(a, slots, name);
            case 'p' -> {
                arguments = (int) Math.max(arguments, last + 1);
            }
            case 'u' -> {
                if (last >= uniques) {
                    throw wrong("`" + name + "` announces " + uniques + " unique numbers, this step needs more");
                }
            }
            default -> throw new IllegalArgumentException(field);
        }
        return new Source(kind, null, a, b);
    }

    private static long atLeastOne(long value) {
        if (value == 0) {
            throw new IllegalArgumentException("0");
        }
        return value;
    }

    /** A whole number without a sign. */
    static long small(String text, long most) {
        if (!text.matches("[0-9]{1,19}")) {
            throw new IllegalArgumentException(text);
        }
        long value = Long.parseLong(text);
        if (value > most) {
            throw new IllegalArgumentException(text);
        }
        return value;
    }

    private Object value(Plan p, String field) {
        Object value = guard(() -> Text.parseValue(field));
        if (!(value instanceof Text.Reference reference)) {
            return value;
        }
        if (reference.number() >= p.texts.size()) {
            throw wrong("text " + reference.number() + " is not in the plan");
        }
        return p.texts.get(reference.number());
    }

    private void retry(Plan p, Fields f) {
        p.tries = (int) f.number("number of tries", U16);
        if (p.tries == 0) {
            throw wrong("the number of tries must be at least 1");
        }
        p.backoff = f.list("back-off", item -> small(item, Long.MAX_VALUE)).stream().mapToLong(n -> n).toArray();
        p.jitter = f.list("jitter", item -> (int) small(item, U16)).stream().mapToInt(n -> n).toArray();
        p.retryCodes = new HashSet<>(f.list("codes", item -> {
            String[] code = item.split(":", -1);
            int space = Failure.SPACES.indexOf(code[0]);
            if (space < 0 || code.length != 2) {
                throw new IllegalArgumentException(item);
            }
            return Plan.retryCode(space, (int) small(code[1], U32));
        }));
    }

    private Client client(Plan p) {
        Fields f = expect("client");
        long id = f.number("number", U32);
        int database = f.count("database");
        if (database >= p.databases.size()) {
            throw wrong("client " + id + " uses database " + database + "; the plan has " + p.databases.size());
        }
        boolean open = f.either("closed", "open");
        boolean cyclic = !f.either("cyclic", "finite");
        if (open && cyclic) {
            throw wrong("an open loop cannot be cyclic: its due times are drawn in advance");
        }
        long limit = f.number("limit", U32);
        long start = f.ns("start");
        int count = f.count("count of operations");
        f.end();
        next();
        List<Operation> operations = new ArrayList<>();
        long previous = 0;
        for (int i = 0; i < count; i++) {
            Operation op = operation(p);
            if (open && op.time() < previous) {
                throw wrong("due times of an open loop must not go back");
            }
            previous = op.time();
            operations.add(op);
            next();
        }
        return new Client(id, database, open, cyclic, limit, start, operations);
    }

    private Operation operation(Plan p) {
        Fields f = expect("op");
        long time = f.ns("time");
        int number = (int) f.number("transaction", U16);
        if (number >= p.transactions.size()) {
            throw wrong("transaction " + number + " is not in the plan");
        }
        List<Object> args = new ArrayList<>();
        while (f.more()) {
            args.add(value(p, f.raw("value")));
        }
        Transaction t = p.transactions.get(number);
        if (args.size() != t.arguments()) {
            throw wrong("`" + t.name() + "` takes " + t.arguments() + " arguments, found " + args.size());
        }
        return new Operation(time, number, args.toArray());
    }
}
