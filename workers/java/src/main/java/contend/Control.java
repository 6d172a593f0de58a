package contend;

import java.util.Collection;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** The window as the clients see it. Times are readings of System.nanoTime, which is the monotonic clock on Linux. */
final class Control {
    private final long drain;
    private final Collection<Thread> threads;
    volatile long windowEnd = Long.MAX_VALUE;
    volatile boolean drainIsOver;
    long start;

    Control(long drain, Collection<Thread> threads) {
        this.drain = drain;
        this.threads = threads;
    }

    void open(long startNs, long length) {
        start = startNs;
        windowEnd = Plan.saturatingAdd(startNs, length);
    }

    /** Ends the window now, unless it is over already. */
    void stop(long now) {
        windowEnd = Math.min(windowEnd, now);
        threads.forEach(LockSupport::unpark);
    }

    void endDrain() {
        drainIsOver = true;
        threads.forEach(LockSupport::unpark);
    }

    /** Whether an attempt may still begin at this time. */
    boolean inTime(long at) {
        return !drainIsOver && at < drainEnd();
    }

    long drainEnd() {
        return Plan.saturatingAdd(windowEnd, drain);
    }

    /** Waits until {@code due}, or until {@code over} holds; returns the time. */
    long sleepUntil(long due, BooleanSupplier over) {
        long now = System.nanoTime();
        while (now < due && !over.getAsBoolean()) {
            LockSupport.parkNanos(due - now);
            now = System.nanoTime();
        }
        return now;
    }

    /** Waits this long; false if the end of the drain interrupted it. */
    boolean pause(long ns) {
        long until = Plan.saturatingAdd(System.nanoTime(), ns);
        return sleepUntil(until, () -> drainIsOver) >= until;
    }
}
