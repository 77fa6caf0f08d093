package tlslab.cluster;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;

/** How a node has answered so far. */
public final class NodeCount {
    private final String address;
    private final long answered;
    private final Map<String, Long> failed;

    /** The parts, as their accessors describe them. */
    public NodeCount(String address, long answered, Map<String, Long> failed) {
        this.address = address;
        this.answered = answered;
        this.failed = failed;
    }

    /** Host and port. */
    @JsonProperty
    public String address() {
        return address;
    }

    /** Signatures that were right. */
    @JsonProperty
    public long answered() {
        return answered;
    }

    /** Requests that failed, by what went wrong. */
    @JsonProperty
    public Map<String, Long> failed() {
        return failed;
    }
}
