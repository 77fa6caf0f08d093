package tlslab.handshake;

import java.util.Map;

/** A version of TLS, and all that is pinned with it. */
public final class Pinned {
    /** Certificates are signed with PKCS #1; connections to signing nodes may need the others. */
    private static final Map<String, Pinned> VERSIONS =
            Map.of(
                    "1.2",
                    new Pinned(
                            "TLSv1.2",
                            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                            "rsa_pkcs1_sha256,rsa_pss_rsae_sha256,ecdsa_secp256r1_sha256"),
                    "1.3",
                    new Pinned(
                            "TLSv1.3",
                            "TLS_AES_128_GCM_SHA256",
                            "rsa_pss_rsae_sha256,rsa_pkcs1_sha256,ecdsa_secp256r1_sha256"));

    /** The JDK's name of the protocol. */
    public final String version;

    /** The one suite that both sides offer. */
    public final String suite;

    /** Signature schemes, the one that both sides are to sign with first. */
    public final String schemes;

    /** The parts, as described above. */
    public Pinned(String version, String suite, String schemes) {
        this.version = version;
        this.suite = suite;
        this.schemes = schemes;
    }

    /** What is pinned for {@code 1.2} or {@code 1.3}. */
    public static Pinned of(String tls) {
        Pinned found = VERSIONS.get(tls);
        if (found == null) {
            throw new IllegalArgumentException("no TLS version '" + tls + "'");
        }
        return found;
    }

    /**
     * Sets what JSSE takes from system properties only, for the whole JVM: to be called before
     * anything else has touched TLS. The group X25519 comes first, P-256 is for signing nodes that
     * have such a certificate. No tickets: a handshake that nothing can be resumed from has no use
     * for them, and the JDK's stateless ones carry the client's chain.
     */
    public void install() {
        System.setProperty("jdk.tls.namedGroups", "x25519,secp256r1");
        System.setProperty("jdk.tls.client.SignatureSchemes", schemes);
        System.setProperty("jdk.tls.server.SignatureSchemes", schemes);
        System.setProperty("jdk.tls.server.enableSessionTicketExtension", "false");
        System.setProperty("jdk.tls.client.enableSessionTicketExtension", "false");
        System.setProperty("jdk.tls.server.newSessionTicketCount", "0");
    }
}
