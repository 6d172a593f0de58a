package contend;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

/** What the virtual machine did while a run went on: collections of garbage and compilation. It counts in milliseconds. */
final class JvmFacts {
    private static final long NS = 1_000_000;

    private final AtomicLong longestMs = new AtomicLong();
    private final NotificationListener listener = this::heard;
    private final long collections;
    private final long collectionMs;
    private final long compilationMs;

    JvmFacts() {
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            ((NotificationEmitter) bean).addNotificationListener(listener, null, null);
        }
        collections = sum(GarbageCollectorMXBean::getCollectionCount);
        collectionMs = sum(GarbageCollectorMXBean::getCollectionTime);
        compilationMs = compilation();
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

    /** Adds the facts to those of {@code done}. */
    void end(Map<String, Object> facts) {
        long count = sum(GarbageCollectorMXBean::getCollectionCount) - collections;
        long total = (sum(GarbageCollectorMXBean::getCollectionTime) - collectionMs) * NS;
        // Notices come a little later; without them the mean is a bound from below.
        long longest = Math.max(longestMs.get() * NS, count == 0 ? 0 : total / count);
        facts.put("gc_pauses", count);
        facts.put("gc_pause_ns", total);
        facts.put("gc_pause_ns_max", longest);
        facts.put("jit_ns", (compilation() - compilationMs) * NS);
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            try {
                ((NotificationEmitter) bean).removeNotificationListener(listener);
            } catch (javax.management.ListenerNotFoundException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
