package tlslab.handshake;

import java.nio.ByteBuffer;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;

/**
 * Makes one handshake after the other between two engines, without sockets; for one thread.
 *
 * <p>Engines are created without a peer's name and port, so that JSSE has nothing to find a session
 * by. That each handshake was full follows from its bytes: a resumption leaves out both chains.
 */
public final class MutualHandshake {
    /** RSA signatures and X25519 shares have one length each; some leave for odd encodings. */
    private static final int TOLERANCE_BYTES = 32;

    /** A full mutual handshake has about ten flights; one that goes on for ever is ended. */
    private static final int LIMIT_ROUNDS = 200;

    private final Contexts contexts;
    private final Pinned pinned;
    private final ByteBuffer toServer;
    private final ByteBuffer toClient;
    private final ByteBuffer nothing = ByteBuffer.allocate(0);
    private final ByteBuffer application;
    private int bytes;

    /** Handshakes of these contexts. */
    public MutualHandshake(Contexts contexts, Pinned pinned) {
        this.contexts = contexts;
        this.pinned = pinned;
        SSLEngine probe = contexts.client.createSSLEngine();
        int packet = probe.getSession().getPacketBufferSize();
        toServer = ByteBuffer.allocate(packet);
        toClient = ByteBuffer.allocate(packet);
        application = ByteBuffer.allocate(probe.getSession().getApplicationBufferSize());
    }

    /** One handshake, both sides done. Throws when it fails or is not mutual. */
    public Outcome run() throws SSLException {
        SSLEngine client = engine(contexts.client, true);
        SSLEngine server = engine(contexts.server, false);
        toServer.clear();
        toClient.clear();
        bytes = 0;
        client.beginHandshake();
        server.beginHandshake();
        for (int round = 0; round < LIMIT_ROUNDS; round++) {
            boolean moved = step(client, toServer, toClient) | step(server, toClient, toServer);
            if (!moved) {
                return outcome(client, server);
            }
        }
        throw new SSLException("the handshake does not end");
    }

    /** The same, and that it was the handshake that was asked for, of as many bytes as a full one. */
    public Outcome runFull(int expectedBytes) throws SSLException {
        Outcome outcome = run();
        if (Math.abs(outcome.bytes - expectedBytes) > TOLERANCE_BYTES) {
            throw new SSLException(
                    String.format(
                            "not a full handshake: %d bytes rather than %d",
                            outcome.bytes, expectedBytes));
        }
        return outcome;
    }

    private SSLEngine engine(SSLContext context, boolean client) {
        SSLEngine engine = context.createSSLEngine();
        SSLParameters parameters = engine.getSSLParameters();
        parameters.setProtocols(new String[] {pinned.version});
        parameters.setCipherSuites(new String[] {pinned.suite});
        parameters.setNeedClientAuth(!client);
        engine.setSSLParameters(parameters);
        engine.setUseClientMode(client);
        return engine;
    }

    /** Lets one side do what it can; whether it did anything. */
    private boolean step(SSLEngine engine, ByteBuffer out, ByteBuffer in) throws SSLException {
        switch (engine.getHandshakeStatus()) {
            case NEED_WRAP:
                return wrap(engine, out);
            case NEED_TASK:
                return work(engine);
            default:
                return unwrap(engine, in);
        }
    }

    private boolean wrap(SSLEngine engine, ByteBuffer out) throws SSLException {
        SSLEngineResult result = engine.wrap(nothing, out);
        bytes += result.bytesProduced();
        switch (result.getStatus()) {
            case OK:
                return true;
            case BUFFER_OVERFLOW:
                return false;
            default:
                throw unexpected(result);
        }
    }

    private boolean unwrap(SSLEngine engine, ByteBuffer in) throws SSLException {
        if (in.position() == 0) {
            return false;
        }
        in.flip();
        SSLEngineResult result = engine.unwrap(in, application);
        in.compact();
        switch (result.getStatus()) {
            case OK:
                return result.bytesConsumed() > 0 || needsWork(result);
            case BUFFER_UNDERFLOW:
                return false;
            default:
                throw unexpected(result);
        }
    }

    private static boolean needsWork(SSLEngineResult result) {
        return result.getHandshakeStatus() == HandshakeStatus.NEED_TASK
                || result.getHandshakeStatus() == HandshakeStatus.NEED_WRAP;
    }

    private static boolean work(SSLEngine engine) {
        for (Runnable task; (task = engine.getDelegatedTask()) != null; ) {
            task.run();
        }
        return true;
    }

    private static SSLException unexpected(SSLEngineResult result) {
        return new SSLException("unexpected in a handshake: " + result);
    }

    private Outcome outcome(SSLEngine client, SSLEngine server) throws SSLException {
        boolean done =
                client.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING
                        && server.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING;
        if (!done) {
            throw new SSLException("the handshake came to a standstill");
        }
        // Both throw SSLPeerUnverifiedException when the other side has shown no certificate.
        client.getSession().getPeerCertificates();
        server.getSession().getPeerCertificates();
        String version = server.getSession().getProtocol();
        String suite = server.getSession().getCipherSuite();
        if (!version.equals(pinned.version) || !suite.equals(pinned.suite)) {
            throw new SSLException("negotiated " + version + " " + suite);
        }
        return new Outcome(version, suite, bytes);
    }
}
