package tlslab.timeline;

import java.util.List;
import java.util.Map;
import tlslab.cluster.NodeCount;

/** One slice of a timeline, as a line of JSON; times of operations that ended in it. */
final class Second {
    /** Its end, from the start. */
    public final double at_s;

    /** Its length. */
    public final double seconds;

    /** Operations. */
    public final long completed;

    /** Operations, by what went wrong. */
    public final Map<String, Long> failed;

    /** Median time of an operation, null without any. */
    public final Double p50_ms;

    /** Its 99th percentile. */
    public final Double p99_ms;

    /** The longest. */
    public final Double max_ms;

    /** How each signing node has answered since the start. */
    public final List<NodeCount> nodes;

    Second(
            double at_s,
            double seconds,
            long completed,
            Map<String, Long> failed,
            Double p50_ms,
            Double p99_ms,
            Double max_ms,
            List<NodeCount> nodes) {
        this.at_s = at_s;
        this.seconds = seconds;
        this.completed = completed;
        this.failed = failed;
        this.p50_ms = p50_ms;
        this.p99_ms = p99_ms;
        this.max_ms = max_ms;
        this.nodes = nodes;
    }
}
