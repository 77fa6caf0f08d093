package tlslab.handshake;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.cert.X509Certificate;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tlslab.Material;
import tlslab.keys.ClientKey;
import tlslab.keys.KeyStores;
import tlslab.keys.Pem;

/** What must be true in either version; each has a class, and so a JVM, of its own. */
abstract class HandshakeTests {
    private final Pinned pinned;
    private Material material;
    private ClientKey key;

    HandshakeTests(String tls) {
        pinned = Pinned.of(tls);
        pinned.install();
    }

    @BeforeEach
    void make() {
        material = Material.get();
        key = KeyStores.open("memory", material.settings());
    }

    private MutualHandshake handshakes(ClientKey client) {
        return new MutualHandshake(Contexts.of(material.settings(), client), pinned);
    }

    @Test
    void handshakesAreFullAndMutualEveryTime() throws Exception {
        MutualHandshake handshake = handshakes(key);
        Outcome first = handshake.run();
        assertEquals(pinned.version, first.version);
        assertEquals(pinned.suite, first.suite);
        // Both chains are in a full handshake, here of one certificate each.
        int chains = encoded("client.certificate") + encoded("server.certificate");
        assertTrue(first.bytes > chains, first + " against chains of " + chains);
        for (int i = 0; i < 20; i++) {
            handshake.runFull(first.bytes);
        }
    }

    private int encoded(String name) throws Exception {
        return Pem.certificates(material.properties.getProperty(name))[0].getEncoded().length;
    }

    @Test
    void aHandshakeOfOtherLengthIsRefused() throws Exception {
        MutualHandshake handshake = handshakes(key);
        int bytes = handshake.run().bytes;
        SSLException error =
                assertThrows(SSLException.class, () -> handshake.runFull(bytes + 1000));
        assertTrue(error.getMessage().startsWith("not a full handshake"), error.getMessage());
    }

    @Test
    void aClientWithoutACertificateIsRefused() {
        ClientKey nobody = new ClientKey(key.privateKey, new X509Certificate[0]);
        assertThrows(SSLException.class, () -> handshakes(nobody).run());
    }

    @Test
    void aClientWithAnothersCertificateIsRefused() {
        X509Certificate[] others = Pem.certificates(material.properties.getProperty("node.certificate"));
        ClientKey thief = new ClientKey(key.privateKey, others);
        assertThrows(SSLException.class, () -> handshakes(thief).run());
    }
}
