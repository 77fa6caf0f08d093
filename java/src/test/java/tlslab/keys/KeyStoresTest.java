package tlslab.keys;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import tlslab.Material;

class KeyStoresTest {
    @Test
    void aKeyThatIsNotTheCertificatesIsRefused() {
        Material material = Material.get();
        String other = material.properties.getProperty("server.key");
        material.properties.setProperty("client.key", other);
        IllegalStateException error =
                assertThrows(
                        IllegalStateException.class,
                        () -> KeyStores.open("memory", material.settings()));
        assertTrue(error.getMessage().contains("not that of the client's certificate"));
    }

    @Test
    void aModuleThatIsNotThereIsNamed() {
        Material material = Material.get();
        material.properties.setProperty("pkcs11.library", "/nowhere/module.so");
        material.properties.setProperty("pkcs11.pin", "1234");
        IllegalStateException error =
                assertThrows(
                        IllegalStateException.class,
                        () -> KeyStores.open("pkcs11", material.settings()));
        assertTrue(error.getMessage().contains("/nowhere/module.so"), error.getMessage());
    }

    @Test
    void reasonsNameEachCauseOnce() {
        Exception inner = new IllegalArgumentException("CKR_PIN_INCORRECT");
        Exception outer = new IllegalStateException("no login", inner);
        assertEquals("no login: CKR_PIN_INCORRECT", Reasons.of(outer));
        assertEquals("x", Reasons.of(new IllegalStateException("x", new IllegalStateException("x"))));
    }
}
