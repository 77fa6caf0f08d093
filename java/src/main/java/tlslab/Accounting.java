package tlslab;

import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.ScalarResult;

/**
 * A JMH profiler: processor time of this JVM and of other processes in each counted iteration.
 *
 * <p>{@code -prof tlslab.Accounting:PID+PID}. Operations are those of the same time, with the ones
 * that JMH leaves out while threads begin and end, so that time per operation is exact.
 */
public final class Accounting implements InternalProfiler {
    private final com.sun.management.OperatingSystemMXBean self =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private final Processes others;
    private long beganNanos;
    private long selfNanos;
    private long othersNanos;

    /** A profiler of this JVM and of the processes that the line names. */
    public Accounting(String line) {
        others = Processes.parse(line);
    }

    @Override
    public String getDescription() {
        return "processor time of this JVM and of signing processes";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        othersNanos = others.cpuNanos();
        selfNanos = self.getProcessCpuTime();
        beganNanos = System.nanoTime();
    }

    @Override
    public Collection<ScalarResult> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        long nanos = System.nanoTime() - beganNanos;
        long used = self.getProcessCpuTime() - selfNanos;
        long signers = others.cpuNanos() - othersNanos;
        return List.of(
                scalar("tlslab.ops", result.getMetadata().getAllOps(), "ops"),
                scalar("tlslab.counted_ops", result.getMetadata().getMeasuredOps(), "ops"),
                scalar("tlslab.seconds", nanos / 1e9, "s"),
                scalar("tlslab.cpu", used / 1e3, "us"),
                scalar("tlslab.signers_cpu", signers / 1e3, "us"));
    }

    private static ScalarResult scalar(String name, double value, String unit) {
        return new ScalarResult(name, value, unit, AggregationPolicy.AVG);
    }
}
