package tlslab.timeline;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
import tlslab.cluster.FaultException;

/** What all threads have done since the last look. */
final class Counters {
    private final Recorder nanos = new Recorder(3);
    private final Map<String, LongAdder> failed = new ConcurrentHashMap<>();
    private Histogram spare;

    void completed(long took) {
        nanos.recordValue(took);
    }

    void failed(Throwable error) {
        failed.computeIfAbsent(kind(error), kind -> new LongAdder()).increment();
    }

    private static String kind(Throwable error) {
        for (Throwable at = error; at != null; at = at.getCause()) {
            if (at instanceof FaultException) {
                return ((FaultException) at).fault().label();
            }
        }
        return "other";
    }

    /** The times of the operations that ended since the last call. */
    Histogram times() {
        spare = nanos.getIntervalHistogram(spare);
        return spare;
    }

    /** The failures since the last call, by what went wrong. */
    Map<String, Long> failures() {
        Map<String, Long> counts = new TreeMap<>();
        failed.forEach(
                (kind, adder) -> {
                    long count = adder.sumThenReset();
                    if (count > 0) {
                        counts.put(kind, count);
                    }
                });
        return counts;
    }
}
