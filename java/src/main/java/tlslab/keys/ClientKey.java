package tlslab.keys;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;

/** The client's private key, wherever it is, and its certificate chain. */
public final class ClientKey {
    private final PrivateKey privateKey;
    private final X509Certificate[] chain;

    /** The parts, as their accessors describe them. */
    public ClientKey(PrivateKey privateKey, X509Certificate[] chain) {
        this.privateKey = privateKey;
        this.chain = chain;
    }

    /** What {@link java.security.Signature} takes; perhaps only a handle. */
    public PrivateKey privateKey() {
        return privateKey;
    }

    /** The certificates, the client's own first. */
    public X509Certificate[] chain() {
        return chain;
    }
}
