package tlslab.handshake;

/** What a handshake was. */
public final class Outcome {
    private final String version;
    private final String suite;
    private final int bytes;

    /** The parts, as their accessors describe them. */
    public Outcome(String version, String suite, int bytes) {
        this.version = version;
        this.suite = suite;
        this.bytes = bytes;
    }

    /** As negotiated. */
    public String version() {
        return version;
    }

    /** As negotiated. */
    public String suite() {
        return suite;
    }

    /** On the wire, both directions, to the last handshake message. */
    public int bytes() {
        return bytes;
    }
}
