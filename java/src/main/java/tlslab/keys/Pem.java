package tlslab.keys;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;

/** Reads certificates and keys from PEM files. */
public final class Pem {
    private Pem() {}

    /** All certificates of a file, in its order. */
    public static X509Certificate[] certificates(String file) {
        try (InputStream stream = Files.newInputStream(Path.of(file))) {
            CertificateFactory factory = CertificateFactory.getInstance("X.509");
            return factory.generateCertificates(stream).toArray(new X509Certificate[0]);
        } catch (IOException | GeneralSecurityException error) {
            throw new IllegalStateException(file + ": no certificates: " + error, error);
        }
    }

    /** The RSA key of a file, in PKCS #8 without a password. */
    public static PrivateKey key(String file) {
        try {
            String text = Files.readString(Path.of(file));
            String base64 = text.replaceAll("-----[A-Z ]+-----", "").replaceAll("\\s", "");
            byte[] bytes = Base64.getDecoder().decode(base64);
            return KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(bytes));
        } catch (IOException | GeneralSecurityException | IllegalArgumentException error) {
            throw new IllegalStateException(file + ": no RSA key in PKCS #8: " + error, error);
        }
    }
}
