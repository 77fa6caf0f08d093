package tlslab.cluster;

import java.util.Map;

/**
 * How a node has answered so far.
 *
 * @param address host and port
 * @param answered signatures that were right
 * @param failed requests that failed, by what went wrong
 */
public record NodeCount(String address, long answered, Map<String, Long> failed) {}
