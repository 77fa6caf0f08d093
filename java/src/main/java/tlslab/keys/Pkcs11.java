package tlslab.keys;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.ProviderException;
import java.security.Security;
import java.security.cert.X509Certificate;
import java.util.Collections;

/**
 * A key behind a PKCS #11 module, by the JDK's SunPKCS11.
 *
 * <p>Settings: {@code pkcs11.library}, {@code pkcs11.pin}, {@code pkcs11.slot_list_index} (0), and
 * {@code pkcs11.label}, where the token has several keys.
 */
final class Pkcs11 {
    private Pkcs11() {}

    static PrivateKey open(Settings settings, X509Certificate certificate) {
        try {
            Provider provider = Security.getProvider("SunPKCS11").configure(configuration(settings));
            Security.addProvider(provider);
            KeyStore store = KeyStore.getInstance("PKCS11", provider);
            store.load(null, settings.text("pkcs11.pin").toCharArray());
            return find(store, settings, certificate);
        } catch (GeneralSecurityException | IOException | ProviderException error) {
            throw new IllegalStateException("PKCS #11: " + Reasons.of(error), error);
        }
    }

    /** A configuration in place of a file: SunPKCS11 knows it by its two dashes. */
    private static String configuration(Settings settings) {
        return "--name=tlslab\n"
                + ("library=" + settings.text("pkcs11.library") + "\n")
                + ("slotListIndex=" + settings.number("pkcs11.slot_list_index", 0) + "\n");
    }

    private static PrivateKey find(KeyStore store, Settings settings, X509Certificate certificate)
            throws GeneralSecurityException {
        String wanted = settings.text("pkcs11.label", "");
        for (String alias : Collections.list(store.aliases())) {
            boolean ours =
                    certificate.equals(store.getCertificate(alias))
                            && (wanted.isEmpty() || wanted.equals(alias));
            if (ours && store.getKey(alias, null) instanceof PrivateKey) {
                return (PrivateKey) store.getKey(alias, null);
            }
        }
        throw new IllegalStateException(
                "PKCS #11: the token has no key with the client's certificate; it has "
                        + Collections.list(store.aliases()));
    }
}
