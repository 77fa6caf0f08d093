package tlslab.timeline;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import tlslab.cluster.ClusterKey;
import tlslab.cluster.NodeCount;
import tlslab.keys.ClientKey;
import tlslab.keys.Reasons;
import tlslab.keys.Settings;

/**
 * A closed loop of operations whose failures are counted, a line of JSON for each slice of time:
 * what a benchmark that ends at the first failure cannot show.
 *
 * <p>{@code java -Dtlslab.settings=FILE -cp benchmarks.jar tlslab.timeline.Timeline BENCHMARK KEYS
 * THREADS SECONDS [SLICE_MS]}, after as long a warm-up as is asked for with {@code
 * -Dtlslab.warmup_ms}. Exit status 1: it could not begin.
 */
public final class Timeline {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Counters counters = new Counters();
    private final ClientKey key;
    private final int sliceMillis;

    private Timeline(ClientKey key, int sliceMillis) {
        this.key = key;
        this.sliceMillis = sliceMillis;
    }

    /** Runs a timeline. */
    public static void main(String[] arguments) throws Exception {
        String benchmark = arguments[0];
        int threads = Integer.parseInt(arguments[2]);
        double seconds = Double.parseDouble(arguments[3]);
        int slice = arguments.length > 4 ? Integer.parseInt(arguments[4]) : 1000;
        try {
            Settings settings = Settings.load();
            ClientKey key = Work.key(benchmark, arguments[1], settings);
            Work.Source work = Work.of(benchmark, settings, key);
            work.of(0).run();
            new Timeline(key, slice).run(work, threads, seconds);
        } catch (Exception error) {
            System.err.println(Reasons.of(error));
            System.exit(1);
        }
        // Threads that wait for a node are not waited for.
        System.exit(0);
    }

    private void run(Work.Source source, int threads, double seconds) throws Exception {
        for (int i = 0; i < threads; i++) {
            Work work = source.of(i);
            Thread thread = new Thread(() -> repeat(work), "work-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(Integer.getInteger("tlslab.warmup_ms", 0));
        counters.times();
        counters.failures();
        System.out.println(JSON.writeValueAsString(Map.of("event", "begun")));
        long start = System.nanoTime();
        long last = start;
        for (int slice = 1; slice * (long) sliceMillis <= Math.round(seconds * 1000); slice++) {
            long due = start + TimeUnit.MILLISECONDS.toNanos(slice * (long) sliceMillis);
            TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
            long now = System.nanoTime();
            System.out.println(JSON.writeValueAsString(second(start, last, now)));
            last = now;
        }
    }

    private void repeat(Work work) {
        while (true) {
            long start = System.nanoTime();
            try {
                work.run();
                counters.completed(System.nanoTime() - start);
            } catch (Exception error) {
                counters.failed(error);
            }
        }
    }

    private Second second(long start, long last, long now) {
        Histogram times = counters.times();
        boolean any = times.getTotalCount() > 0;
        return new Second(
                (now - start) / 1e9,
                (now - last) / 1e9,
                times.getTotalCount(),
                counters.failures(),
                any ? times.getValueAtPercentile(50) / 1e6 : null,
                any ? times.getValueAtPercentile(99) / 1e6 : null,
                any ? times.getMaxValue() / 1e6 : null,
                nodes());
    }

    private List<NodeCount> nodes() {
        return key.privateKey instanceof ClusterKey
                ? ((ClusterKey) key.privateKey).cluster().counts()
                : new ArrayList<>();
    }
}
