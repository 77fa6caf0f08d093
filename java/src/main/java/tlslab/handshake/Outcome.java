package tlslab.handshake;

/** What a handshake was. */
public final class Outcome {
    /** As negotiated. */
    public final String version;

    /** As negotiated. */
    public final String suite;

    /** On the wire, both directions, to the last handshake message. */
    public final int bytes;

    /** The parts, as described above. */
    public Outcome(String version, String suite, int bytes) {
        this.version = version;
        this.suite = suite;
        this.bytes = bytes;
    }
}
