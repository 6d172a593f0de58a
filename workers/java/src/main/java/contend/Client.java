package contend;

import contend.Plan.Kind;
import contend.Plan.Operation;
import contend.Plan.Transaction;
import java.sql.SQLException;

/**
 * The loop of one client, on its own thread: which operation is next and when, and what happens after a failed
 * attempt.
 */
final class Client implements Runnable {
    private static final int INTERRUPTED = 2;
    /** Pause that keeps the failures of a client whose server is gone from filling the memory. */
    private static final long GONE_NS = 10_000_000;

    private final Run run;
    final Plan.Client spec;
    final Samples samples;
    final Attempt attempt;
    /** The client's own connection; null with a pool. */
    Conn conn;
    Pool pool;
    private int operation;
    private int next;
    private long nextUnique;
    private int jitterTurn;
    private long previousEnd;
    private long acquireNs;
    boolean exhausted;
    volatile long operations;
    volatile long failed;
    /** Whether no further operation begins; the connection may still be open. */
    volatile boolean over;
    volatile Throwable broken;

    Client(Run run, Plan.Client spec) {
        this.run = run;
        this.spec = spec;
        this.samples = new Samples(spec.id());
        this.attempt = new Attempt(run, spec);
    }

    @Override
    public void run() {
        try {
            previousEnd = Plan.saturatingAdd(run.control.start, spec.start());
            while (turn()) { }
        } catch (RuntimeException | Error e) {
            broken = e;
        }
        // From here on nothing is interrupted: only closing remains, which may take time.
        over = true;
        attempt.current = null;
        try {
            if (conn != null && conn.open()) {
                run.readBack(conn);
            }
            close();
        } catch (RuntimeException | Error e) {
            broken = broken == null ? e : broken;
        }
    }

    /** Carries out the next operation once it is due, with all its attempts; false if there is none. */
    private boolean turn() {
        Control control = run.control;
        if (spec.limit() != 0 && operation >= spec.limit()) {
            return false;
        }
        if (next >= spec.operations().size()) {
            exhausted = !spec.open() && previousEnd < control.windowEnd;
            return false;
        }
        Operation op = spec.operations().get(next);
        long due = Plan.saturatingAdd(spec.open() ? control.start : previousEnd, op.time());
        if (due >= control.windowEnd) {
            return false;
        }
        // The previous operation ended a moment ago; reading the clock again would only cost time.
        long now = previousEnd;
        if (operation == 0 || now < due) {
            now = control.sleepUntil(due, () -> due >= control.windowEnd || spec.open() && System.nanoTime() >= control.windowEnd);
        }
        if (now < due || due >= control.windowEnd || spec.open() && now >= control.windowEnd) {
            return false;
        }
        int number = 0;
        for (long started = now; started >= 0; number++) {
            started = attemptOnce(op, number, due, started);
        }
        return true;
    }

    /**
     * Makes an attempt. Returns the start of the next attempt of the same operation, or a negative number if there is
     * none.
     */
    private long attemptOnce(Operation op, int number, long due, long started) {
        Plan plan = run.plan;
        Transaction t = plan.transactions.get(op.transaction());
        attempt.reset(operation, op.args(), nextUnique);
        acquireNs = 0;
        if (pool == null) {
            onOwn(t);
        } else {
            onShared(t);
        }
        long finished = System.nanoTime();
        Failure failure = attempt.failure;
        boolean cut = failure != null && run.control.drainIsOver && (run.driver.cut(failure) || failure.is(run.driver.cutShort()));
        samples.add(operation, op.transaction(), number, attempt.failedStep, failure, cut ? INTERRUPTED : 0, attempt.rows, due, started,
                finished, acquireNs);
        boolean worth = failure != null && number + 1 < plan.tries && plan.retryCodes.contains(Plan.retryCode(failure.space, failure.code));
        if (worth) {
            long until = Plan.saturatingAdd(finished, backoff(number));
            if (run.control.inTime(until)) {
                long again = run.control.sleepUntil(until, () -> run.control.drainIsOver);
                // A busy machine may be too late here: attempts in flight must end with the drain.
                if (again >= until && run.control.inTime(again)) {
                    return again;
                }
            }
        }
        end(t, finished, failure != null);
        return -1;
    }

    private void end(Transaction t, long finished, boolean failure) {
        nextUnique += t.uniques();
        operation++;
        next++;
        if (spec.cyclic() && next == spec.operations().size()) {
            next = 0;
        }
        previousEnd = finished;
        operations = operation;
        if (failure) {
            failed = failed + 1;
        }
    }

    private long backoff(int number) {
        long[] entries = run.plan.backoff;
        int[] jitter = run.plan.jitter;
        long wait = entries.length == 0 ? 0 : entries[Math.min(number, entries.length - 1)];
        int permille = jitter.length == 0 ? 1000 : jitter[jitterTurn % jitter.length];
        jitterTurn++;
        return wait / 1000 * permille + wait % 1000 * permille / 1000;
    }

    private void onOwn(Transaction t) {
        boolean connects = !t.steps().isEmpty() && t.steps().get(0).kind() == Kind.CONNECT;
        if (connects || conn == null || conn.lost) {
            try {
                attempt.current = null;
                close();
                conn = run.connect(spec.database());
                attempt.current = conn;
            } catch (SQLException e) {
                gone(connects || t.begin() == null ? 0 : Attempt.BEGIN, e);
                return;
            }
        }
        attempt.part(conn, t, 0, t.steps().size());
    }

    private void gone(int step, SQLException e) {
        attempt.fails(step, Attempt.failureOf(e, run.driver));
        if (run.driver.server()) {
            run.control.pause(GONE_NS);
        }
    }

    /** A connection for the length of an operation, returned during its pauses if no transaction is open. */
    private void onShared(Transaction t) {
        int end = t.steps().size();
        if (t.begin() != null) {
            shared(t, 0, end);
            return;
        }
        for (int from = 0; from < end && attempt.failure == null;) {
            if (t.steps().get(from).kind() == Kind.PAUSE) {
                if (!run.control.pause(t.steps().get(from).ns())) {
                    attempt.fails(from, run.driver.cutShort());
                }
                from++;
                continue;
            }
            int to = from;
            while (to < end && t.steps().get(to).kind() != Kind.PAUSE) {
                to++;
            }
            shared(t, from, to);
            from = to;
        }
    }

    private void shared(Transaction t, int from, int to) {
        long begun = System.nanoTime();
        Pool.Lease lease;
        try {
            lease = pool.take(run.control);
        } catch (SQLException e) {
            acquireNs += System.nanoTime() - begun;
            gone(t.begin() != null ? Attempt.BEGIN : from, e);
            return;
        } catch (Failure interrupted) {
            acquireNs += System.nanoTime() - begun;
            attempt.fails(t.begin() != null ? Attempt.BEGIN : from, interrupted);
            return;
        }
        acquireNs += System.nanoTime() - begun;
        attempt.current = lease.conn();
        attempt.part(lease.conn(), t, from, to);
        attempt.current = null;
        pool.giveBack(lease);
    }

    void close() {
        if (conn != null) {
            conn.close();
            conn = null;
        }
    }
}
