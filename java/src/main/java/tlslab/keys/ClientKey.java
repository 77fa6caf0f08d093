package tlslab.keys;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;

/** The client's private key, wherever it is, and its certificate chain. */
public final class ClientKey {
    /** What {@link java.security.Signature} takes; perhaps only a handle. */
    public final PrivateKey privateKey;

    /** The certificates, the client's own first. */
    public final X509Certificate[] chain;

    /** The parts, as described above. */
    public ClientKey(PrivateKey privateKey, X509Certificate[] chain) {
        this.privateKey = privateKey;
        this.chain = chain;
    }
}
