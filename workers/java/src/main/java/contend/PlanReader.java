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
import java.util.Arrays;
import java.util.HashSet;

/**
 * Parses a plan. The tool has checked it, and the digest shows that it is unchanged, so its content is not checked
 * again.
 */
final class PlanReader {
    private static final int VERSION = 3;

    private final Plan p = new Plan();

    private PlanReader() {}

    static Plan read(String text) {
        try {
            Text.checkVersion("contend-plan", VERSION, text.lines().findFirst().orElse(""));
        } catch (FormatError e) {
            throw new FormatError("plan line 1: " + e.getMessage());
        }
        String body = Text.opened("plan", text);
        PlanReader reader = new PlanReader();
        int number = 1;
        try {
            for (int at = body.indexOf('\n') + 1; at < body.length(); ) {
                int end = body.indexOf('\n', at);
                number++;
                reader.line(body.substring(at, end).split("\t", -1));
                at = end + 1;
            }
        } catch (FormatError | NumberFormatException | IndexOutOfBoundsException e) {
            throw new FormatError("plan line " + number + ": " + e.getMessage());
        }
        return reader.p;
    }

    private void line(String[] f) {
        switch (f[0]) {
            case "op" -> p.clients.get(p.clients.size() - 1).operations().add(operation(f));
            case "client" -> p.clients.add(new Client(Long.parseLong(f[1]), Integer.parseInt(f[2]), f[3].equals("open"),
                    f[4].equals("cyclic"), Long.parseLong(f[5]), ns(f[6]), new ArrayList<>(Integer.parseInt(f[7]))));
            case "step" -> step(f);
            case "transaction" -> p.transactions.add(new Transaction(p.transactions.size(), Text.unescape(f[2]),
                    f[4].equals("-") ? null : Text.unescape(f[4]), Integer.parseInt(f[5]), Integer.parseInt(f[6]), new ArrayList<>()));
            case "retry" -> retry(f);
            default -> setting(f);
        }
    }

    private void setting(String[] f) {
        switch (f[0]) {
            case "worker", "clients" -> { }
            case "driver" -> {
                p.driver = Text.unescape(f[1]);
                p.model = Text.unescape(f[2]);
            }
            case "connections" -> p.shared = f[1].equals("database");
            case "window" -> {
                p.runIn = ns(f[1]);
                p.length = ns(f[2]);
                p.drain = ns(f[3]);
            }
            case "now" -> {
                p.fixed = f[1].equals("fixed");
                p.nowBase = p.fixed ? ns(f[2]) : 0;
                p.nowStep = p.fixed ? ns(f[3]) : 0;
            }
            case "option" -> p.options.add(new Pair(Text.unescape(f[1]), Text.unescape(f[2])));
            case "database" -> p.databases.add(Database.of(Arrays.copyOfRange(f, 1, f.length)));
            case "session" -> p.session.add(new Sql(Text.unescape(f[2]), f[1], "-"));
            case "readback" -> p.readbacks.add(new Pair(Text.unescape(f[1]), Text.unescape(f[2])));
            case "statement" -> p.statements.add(new Sql(Text.unescape(f[4]), f[2], f[3]));
            case "text" -> p.texts.add(Text.unescape(f[2]));
            default -> throw new FormatError("`" + Text.crop(f[0]) + "` is a line of plans over HTTP, which databases know nothing of");
        }
    }

    private void step(String[] f) {
        Transaction t = p.transactions.get(p.transactions.size() - 1);
        t.steps().add(switch (f[1]) {
            case "hold" -> wait(Kind.HOLD, ns(f[2]));
            case "pause" -> wait(Kind.PAUSE, ns(f[2]));
            case "connect" -> wait(Kind.CONNECT, 0);
            case "sql" -> sql(f);
            default -> throw new FormatError("`" + t.name() + "` sends HTTP requests, which only the driver http does");
        });
    }

    private static Step wait(Kind kind, long ns) {
        return new Step(kind, ns, 0, 0, 0, 0, null, null);
    }

    private Step sql(String[] f) {
        String[] rows = f[3].split("\\.\\.");
        long max = rows[1].equals("*") ? Plan.ANY_ROWS : Long.parseLong(rows[1]);
        Keep[] keep = Text.items(f[5]).stream().map(item -> {
            String[] n = item.split(":");
            return new Keep(Integer.parseInt(n[0]), Integer.parseInt(n[1]), Integer.parseInt(n[2]));
        }).toArray(Keep[]::new);
        Source[] sources = Arrays.stream(f, 6, f.length).map(this::source).toArray(Source[]::new);
        return new Step(Kind.SQL, 0, Integer.parseInt(f[2]), Long.parseLong(rows[0]), max, Integer.parseInt(f[4]), keep, sources);
    }

    private Source source(String field) {
        char kind = field.charAt(0);
        if ("pkKuc".indexOf(kind) < 0) {
            return new Source('v', value(field), 0, 0);
        }
        int plus = field.indexOf('+');
        int a = plus < 0 ? 0 : Integer.parseInt(field.substring(1, plus));
        return new Source(kind, null, a, Long.parseLong(field.substring(Math.max(plus, 0) + 1)));
    }

    private Object value(String field) {
        Object value = Text.parseValue(field);
        return value instanceof Text.Reference reference ? p.texts.get(reference.number()) : value;
    }

    private void retry(String[] f) {
        p.tries = Integer.parseInt(f[1]);
        p.backoff = Text.items(f[2]).stream().mapToLong(PlanReader::ns).toArray();
        p.jitter = Text.items(f[3]).stream().mapToInt(Integer::parseInt).toArray();
        p.retryCodes = new HashSet<>();
        for (String item : Text.items(f[4])) {
            String[] code = item.split(":");
            p.retryCodes.add(Plan.retryCode(Failure.SPACES.indexOf(code[0]), Integer.parseUnsignedInt(code[1])));
        }
    }

    private Operation operation(String[] f) {
        Object[] args = new Object[f.length - 3];
        for (int i = 0; i < args.length; i++) {
            args[i] = value(f[i + 3]);
        }
        return new Operation(ns(f[1]), Integer.parseInt(f[2]), args);
    }

    /** An unsigned number of up to 64 bits. Durations beyond 2^63 are never reached. */
    private static long ns(String field) {
        return field.length() < 19 ? Long.parseLong(field) : new BigInteger(field).min(BigInteger.valueOf(Long.MAX_VALUE)).longValueExact();
    }
}
