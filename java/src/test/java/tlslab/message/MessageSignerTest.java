package tlslab.message;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.security.PublicKey;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tlslab.Material;
import tlslab.keys.ClientKey;
import tlslab.keys.KeyStores;

class MessageSignerTest {
    private static Material material;
    private static ClientKey key;

    @BeforeAll
    static void make() {
        material = Material.get();
        key = KeyStores.open("memory", material.settings());
    }

    @Test
    void aSignedMessageVerifiesAndAnAlteredOneDoesNot() throws Exception {
        PublicKey publicKey = key.chain[0].getPublicKey();
        byte[] signed = new MessageSigner(key).sign(new Drawing(3).draw());
        assertTrue(MessageSigner.verifies(signed, publicKey));

        String text = new String(signed, StandardCharsets.UTF_8);
        String altered = text.replace("<NbOfTxs>1<", "<NbOfTxs>2<");
        assertFalse(altered.equals(text));
        assertFalse(MessageSigner.verifies(altered.getBytes(StandardCharsets.UTF_8), publicKey));
    }

    @Test
    void theSignatureIsEnvelopedWithExclusiveCanonicalisation() throws Exception {
        String signed =
                new String(new MessageSigner(key).sign(new Drawing(3).draw()), StandardCharsets.UTF_8);
        assertTrue(signed.contains("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"));
        assertTrue(signed.contains("http://www.w3.org/2000/09/xmldsig#enveloped-signature"));
        assertTrue(signed.contains("http://www.w3.org/2001/10/xml-exc-c14n#"));
        assertTrue(signed.endsWith("</ds:Signature></Envelope>"));
    }
}
