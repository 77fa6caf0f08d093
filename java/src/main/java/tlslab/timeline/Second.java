package tlslab.timeline;

import java.util.List;
import java.util.Map;
import tlslab.cluster.NodeCount;

/**
 * One slice of a timeline, as a line of JSON; times of operations that ended in it.
 *
 * @param at_s its end, from the start
 * @param seconds its length
 * @param completed operations
 * @param failed operations, by what went wrong
 * @param p50_ms median time of an operation, null without any
 * @param p99_ms its 99th percentile
 * @param max_ms the longest
 * @param nodes how each signing node has answered since the start
 */
record Second(
        double at_s,
        double seconds,
        long completed,
        Map<String, Long> failed,
        Double p50_ms,
        Double p99_ms,
        Double max_ms,
        List<NodeCount> nodes) {}
