package contend;

import contend.Plan.Keep;
import contend.Plan.Kind;
import contend.Plan.Source;
import contend.Plan.Step;
import contend.Plan.Transaction;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One attempt of an operation: its steps, the values of their placeholders, the values they keep, and the rollback.
 */
final class Attempt {
    static final int NONE = 65535;
    static final int BEGIN = 65534;
    static final int COMMIT = 65533;
    private static final Object[] NO_VALUES = {};
    private static final AtomicInteger TOLD = new AtomicInteger();

    private final Run run;
    private final Driver driver;
    private final long firstOfClient;
    private final List<List<Object>> kept = new ArrayList<>();
    private final Conn.Rows keeper = this::keepRow;
    private Keep[] keeping;
    private int seen;
    private int operation;
    private Object[] args;
    private long firstUnique;

    long rows;
    int failedStep;
    Failure failure;
    /** The connection in use, for the supervisor to interrupt. */
    volatile Conn current;

    Attempt(Run run, Plan.Client client) {
        this.run = run;
        this.driver = run.driver;
        this.firstOfClient = client.id() * Plan.UNIQUES;
        int slots = run.plan.transactions.stream().mapToInt(Transaction::slots).max().orElse(0);
        for (int i = 0; i < slots; i++) {
            kept.add(new ArrayList<>());
        }
    }

    /** Resets the state of the previous attempt. */
    void reset(int ofOperation, Object[] arguments, long unique) {
        operation = ofOperation;
        args = arguments;
        firstUnique = unique;
        rows = 0;
        failedStep = NONE;
        failure = null;
        kept.forEach(List::clear);
    }

    void fails(int step, Failure why) {
        failedStep = step;
        failure = why;
    }

    /** The failure for an error. Errors without a code of the engine are printed, a few times. */
    static Failure failureOf(Exception error, Driver driver) {
        if (error instanceof Failure failure) {
            return failure;
        }
        Failure found = error instanceof SQLException sql ? driver.failure(sql) : null;
        if (found != null) {
            return found;
        }
        if (TOLD.incrementAndGet() <= 20) {
            System.err.println("contend worker: an error of " + driver.name() + " itself: " + error);
        }
        return new Failure("worker", Failure.DRIVER, String.valueOf(error.getMessage()));
    }

    /** Carries out some steps of a transaction; begin and commit only if all of them are included. */
    void part(Conn conn, Transaction t, int from, int to) {
        int at = BEGIN;
        boolean begun = false;
        try {
            Sql begin = run.begins[t.number()];
            if (begin != null) {
                execute(conn, begin);
                begun = true;
            }
            for (at = from; at < to; at++) {
                step(conn, t.steps().get(at));
            }
            at = COMMIT;
            if (begin != null) {
                execute(conn, run.commit);
            }
        } catch (SQLException | Failure e) {
            fails(at, failureOf(e, driver));
            // PostgreSQL has ended a transaction whose COMMIT it rejects.
            boolean ended = at == COMMIT && failure.isSqlstate();
            // On a server this is a round trip, which belongs to the attempt.
            if (begun && !ended || !driver.server()) {
                rollBack(conn);
            }
        }
    }

    private void execute(Conn conn, Sql sql) throws SQLException {
        if (!driver.nothing()) {
            conn.run(sql, NO_VALUES, null);
        }
    }

    /**
     * Not every driver reports whether a transaction is open. If a needed rollback fails, the next begin reports it.
     */
    private void rollBack(Conn conn) {
        if (driver.nothing() || conn.lost) {
            return;
        }
        // An interrupt must not hit the rollback: a lock that stays blocks all other clients.
        current = null;
        for (int tries = 0; tries < 3; tries++) {
            try {
                conn.run(run.rollback, NO_VALUES, null);
                break;
            } catch (SQLException e) {
                if (!driver.server() || conn.lost) {
                    break;
                }
            }
        }
        current = conn;
    }

    private void step(Conn conn, Step step) throws SQLException {
        if (step.kind() == Kind.HOLD || step.kind() == Kind.PAUSE) {
            if (!run.control.pause(step.ns())) {
                throw driver.cutShort();
            }
        } else if (step.kind() == Kind.SQL) {
            for (int repetition = 0; repetition < step.repeat(); repetition++) {
                once(conn, step, repetition);
            }
        }
    }

    private void once(Conn conn, Step step, int repetition) throws SQLException {
        // An interrupt only affects a running statement, so each statement checks first.
        if (run.control.drainIsOver) {
            throw driver.cutShort();
        }
        Source[] sources = step.sources();
        Object[] values = new Object[sources.length];
        for (int i = 0; i < sources.length; i++) {
            values[i] = resolve(sources[i], repetition);
        }
        for (Keep keep : step.keep()) {
            kept.get(keep.slot()).clear();
        }
        keeping = step.keep();
        seen = 0;
        long count = driver.nothing() ? nothing(step) : conn.run(run.steps[step.statement()], values, keeping.length > 0 ? keeper : null);
        rows = Math.min(rows + count, Plan.ANY_ROWS);
        if (count < step.min() || count > step.max()) {
            throw Failure.worker(Failure.ROWS);
        }
    }

    private long nothing(Step step) {
        for (Keep keep : step.keep()) {
            kept.get(keep.slot()).add(1L);
        }
        return step.min();
    }

    private void keepRow(ResultSet row, int columns) throws SQLException {
        keepRow(driver, row, columns, keeping, seen, kept);
        seen++;
    }

    /** Reads each column of row number {@code seen} once, and stores those that are to be kept. */
    static void keepRow(Driver driver, ResultSet row, int columns, Keep[] keeping, int seen, List<List<Object>> kept) throws SQLException {
        for (Keep keep : keeping) {
            if (keep.column() >= columns && seen < keep.rows()) {
                throw Failure.worker(Failure.VALUE);
            }
        }
        for (int i = 0; i < columns; i++) {
            Object value = row.getObject(i + 1);
            for (Keep keep : keeping) {
                if (keep.column() == i && seen < keep.rows()) {
                    kept.get(keep.slot()).add(driver.plain(value, row, i + 1));
                }
            }
        }
    }

    private Object resolve(Source source, int repetition) {
        switch (source.kind()) {
            case 'v':
                return source.value();
            case 'p':
                return args[source.a() + (int) source.b() * repetition];
            case 'k':
                if (kept.get(source.a()).isEmpty()) {
                    throw Failure.worker(Failure.NOT_KEPT);
                }
                return plus(kept.get(source.a()).get(0), source.b());
            case 'K':
                List<Object> slot = kept.get(source.a());
                return source.b() < slot.size() ? slot.get((int) source.b()) : null;
            case 'u':
                return firstOfClient + firstUnique + source.a() + source.b() * repetition;
            default:
                return now() / source.b();
        }
    }

    private long now() {
        Plan plan = run.plan;
        if (plan.fixed) {
            return plan.nowBase + plan.nowStep * operation;
        }
        java.time.Instant now = java.time.Instant.now();
        return now.getEpochSecond() * 1_000_000_000 + now.getNano();
    }

    /** NULL plus anything is NULL, as in SQL; a number that exceeds its type is not a value. */
    private static Object plus(Object value, long number) {
        if (number == 0 || value == null) {
            return value;
        }
        if (value instanceof Double real) {
            return real + number;
        }
        try {
            if (value instanceof Long integer) {
                return Math.addExact(integer, number);
            }
        } catch (ArithmeticException e) {
            // Reported below.
        }
        throw Failure.worker(Failure.VALUE);
    }
}
