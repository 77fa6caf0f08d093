package tlslab.keys;

import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.X509Certificate;
import tlslab.cluster.Cluster;

/** Where the client's key may be: {@code memory}, {@code pkcs11}, {@code cluster}. */
public final class KeyStores {
    private KeyStores() {}

    /** Opens the client's key in the key store of that name, and tries it. */
    public static ClientKey open(String name, Settings settings) {
        X509Certificate[] chain = Pem.certificates(settings.text("client.certificate"));
        PrivateKey key = key(name, settings, chain[0]);
        prove(name, key, chain[0]);
        return new ClientKey(key, chain);
    }

    private static PrivateKey key(String name, Settings settings, X509Certificate certificate) {
        switch (name) {
            case "memory":
                return Pem.key(settings.text("client.key"));
            case "pkcs11":
                return Pkcs11.open(settings, certificate);
            case "cluster":
                return Cluster.open(settings, certificate);
            default:
                throw new IllegalArgumentException("no key store '" + name + "'");
        }
    }

    /** One signature, verified: a key that is not the certificate's ends the run at its start. */
    private static void prove(String name, PrivateKey key, X509Certificate certificate) {
        byte[] message = "tlslab".getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        try {
            Signature signer = Signature.getInstance("SHA256withRSA");
            signer.initSign(key);
            signer.update(message);
            byte[] signature = signer.sign();
            Signature verifier = Signature.getInstance("SHA256withRSA");
            verifier.initVerify(certificate);
            verifier.update(message);
            if (!verifier.verify(signature)) {
                throw new IllegalStateException(
                        "the key in '" + name + "' is not that of the client's certificate");
            }
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(
                    "the key in '" + name + "' does not sign: " + Reasons.of(error), error);
        }
    }
}
