package tlslab.handshake;

/**
 * What a handshake was.
 *
 * @param version as negotiated
 * @param suite as negotiated
 * @param bytes on the wire, both directions, to the last handshake message
 */
public record Outcome(String version, String suite, int bytes) {}
