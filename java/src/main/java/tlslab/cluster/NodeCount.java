package tlslab.cluster;

import java.util.Map;

/** How a node has answered so far. */
public final class NodeCount {
    /** Host and port. */
    public final String address;

    /** Signatures that were right. */
    public final long answered;

    /** Requests that failed, by what went wrong. */
    public final Map<String, Long> failed;

    /** The parts, as described above. */
    public NodeCount(String address, long answered, Map<String, Long> failed) {
        this.address = address;
        this.answered = answered;
        this.failed = failed;
    }
}
