package tlslab.cluster;

import java.math.BigInteger;
import java.security.PrivateKey;
import java.security.interfaces.RSAKey;
import java.security.interfaces.RSAPublicKey;

/**
 * A handle of an RSA key on the cluster. It has no encoding, and is no {@code RSAPrivateKey}, so
 * that no other provider takes it; JSSE reads its length off {@link RSAKey}.
 */
public final class ClusterKey implements PrivateKey, RSAKey {
    private static final long serialVersionUID = 1L;

    private final transient Cluster cluster;
    private final transient RSAPublicKey publicKey;

    ClusterKey(Cluster cluster, RSAPublicKey publicKey) {
        this.cluster = cluster;
        this.publicKey = publicKey;
    }

    /** The cluster that holds the key. */
    public Cluster cluster() {
        return cluster;
    }

    RSAPublicKey publicKey() {
        return publicKey;
    }

    @Override
    public BigInteger getModulus() {
        return publicKey.getModulus();
    }

    @Override
    public String getAlgorithm() {
        return "RSA";
    }

    @Override
    public String getFormat() {
        return null;
    }

    @Override
    public byte[] getEncoded() {
        return null;
    }
}
