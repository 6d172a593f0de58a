package contend;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

/** Garbage collections and compilation of the virtual machine during a run, in milliseconds. */
final class JvmFacts {
    private static final long NS = 1_000_000;

    private final AtomicLong longestMs = new AtomicLong();
    private final NotificationListener listener = this::heard;
    private final long collections;
    private final long collectionMs;
    private final long windowStart;
    private final LongSupplier compilation;
    private final long compilationMs;
    private long beforeWindowMs = -1;

    /** Starts counting for a run whose run-in ends at this reading of the monotonic clock. */
    JvmFacts(long windowStart) {
        this(windowStart, JvmFacts::compilation);
    }

    /** As above, with another source of the compiler's milliseconds, for tests. */
    JvmFacts(long windowStart, LongSupplier compilation) {
        this.windowStart = windowStart;
        this.compilation = compilation;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            ((NotificationEmitter) bean).addNotificationListener(listener, null, null);
        }
        collections = sum(GarbageCollectorMXBean::getCollectionCount);
        collectionMs = sum(GarbageCollectorMXBean::getCollectionTime);
        compilationMs = compilation.getAsLong();
    }

    private static long sum(java.util.function.ToLongFunction<GarbageCollectorMXBean> of) {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(of).filter(n -> n > 0).sum();
    }

    private static long compilation() {
        var bean = ManagementFactory.getCompilationMXBean();
        return bean != null && bean.isCompilationTimeMonitoringSupported() ? bean.getTotalCompilationTime() : 0;
    }

    private void heard(Notification notification, Object ignored) {
        if (notification.getUserData() instanceof CompositeData data) {
            long ms = GarbageCollectionNotificationInfo.from(data).getGcInfo().getDuration();
            longestMs.accumulateAndGet(ms, Math::max);
        }
    }

    /** To be called every few milliseconds: stores the compilation time at the end of the run-in. */
    void look(long now) {
        if (beforeWindowMs < 0 && now >= windowStart) {
            beforeWindowMs = compilation.getAsLong();
        }
    }

    /** Adds the facts to those of {@code done}. */
    void end(Map<String, Object> facts) {
        long count = sum(GarbageCollectorMXBean::getCollectionCount) - collections;
        long total = (sum(GarbageCollectorMXBean::getCollectionTime) - collectionMs) * NS;
        // Notifications arrive slightly later; without them the mean is a lower bound.
        long longest = Math.max(longestMs.get() * NS, count == 0 ? 0 : total / count);
        facts.put("gc_pauses", count);
        facts.put("gc_pause_ns", total);
        facts.put("gc_pause_ns_max", longest);
        long compiledMs = compilation.getAsLong();
        facts.put("jit_ns", (compiledMs - compilationMs) * NS);
        // A run that ended before the first call had no window.
        if (beforeWindowMs >= 0) {
            facts.put("jit_in_window_ns", (compiledMs - beforeWindowMs) * NS);
        }
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            try {
                ((NotificationEmitter) bean).removeNotificationListener(listener);
            } catch (javax.management.ListenerNotFoundException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
