package tlslab.handshake;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import tlslab.keys.ClientKey;
import tlslab.keys.Pem;
import tlslab.keys.Settings;

/**
 * Both sides' contexts. The server has its key in memory, with the JDK's own key manager (SunX509,
 * its default: PKIX takes more than twice the handshake's time); both sides check the other's chain
 * with the JDK's own trust manager.
 */
public final class Contexts {
    private static final char[] NO_PASSWORD = {};

    /** Authenticates itself with the given key. */
    public final SSLContext client;

    /** Demands that it does. */
    public final SSLContext server;

    /** The parts, as described above. */
    public Contexts(SSLContext client, SSLContext server) {
        this.client = client;
        this.server = server;
    }

    /** The contexts of a client with this key, and of the settings' server. */
    public static Contexts of(Settings settings, ClientKey clientKey) {
        try {
            TrustManager[] trust = trust(Pem.certificates(settings.text("trust")));
            KeyManager[] serverKeys = serverKeys(settings);
            KeyManager[] clientKeys = {new FixedKeyManager(clientKey)};
            return new Contexts(context(clientKeys, trust), context(serverKeys, trust));
        } catch (GeneralSecurityException | IOException error) {
            throw new IllegalStateException("TLS cannot be set up: " + error, error);
        }
    }

    private static SSLContext context(KeyManager[] keys, TrustManager[] trust)
            throws GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys, trust, null);
        return context;
    }

    private static TrustManager[] trust(X509Certificate[] anchors)
            throws GeneralSecurityException, IOException {
        KeyStore store = empty();
        for (int i = 0; i < anchors.length; i++) {
            store.setCertificateEntry("anchor" + i, anchors[i]);
        }
        TrustManagerFactory factory =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }

    private static KeyManager[] serverKeys(Settings settings)
            throws GeneralSecurityException, IOException {
        KeyStore store = empty();
        X509Certificate[] chain = Pem.certificates(settings.text("server.certificate"));
        store.setKeyEntry("server", Pem.key(settings.text("server.key")), NO_PASSWORD, chain);
        KeyManagerFactory factory = KeyManagerFactory.getInstance("SunX509");
        factory.init(store, NO_PASSWORD);
        return factory.getKeyManagers();
    }

    private static KeyStore empty() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }
}
