package tlslab.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tlslab.Material;
import tlslab.handshake.Contexts;
import tlslab.handshake.MutualHandshake;
import tlslab.handshake.Pinned;
import tlslab.keys.ClientKey;
import tlslab.keys.KeyStores;
import tlslab.keys.Pem;
import tlslab.message.Drawing;
import tlslab.message.MessageSigner;

class ClusterTest {
    private Material material;
    private StubNode one;
    private StubNode two;

    @BeforeEach
    void start() {
        Pinned.of("1.2").install();
        material = Material.get();
        PrivateKey key = Pem.key(material.properties.getProperty("client.key"));
        one = new StubNode(material, key);
        two = new StubNode(material, key);
        material.properties.setProperty("cluster.nodes", one.address() + " 50, " + two.address() + " 50");
        material.properties.setProperty("cluster.ca", material.properties.getProperty("trust"));
        material.properties.setProperty("cluster.token", "secret");
        material.properties.setProperty("cluster.key", "client");
        material.properties.setProperty("cluster.timeout_ms", "300");
    }

    @AfterEach
    void stop() {
        one.close();
        two.close();
    }

    private ClientKey open() {
        return KeyStores.open("cluster", material.settings());
    }

    private static byte[] sign(ClientKey key, String algorithm) throws Exception {
        Signature signature = Signature.getInstance(algorithm);
        // Parameters before the key would choose a provider that has none of it.
        signature.initSign(key.privateKey);
        if (algorithm.equals("RSASSA-PSS")) {
            signature.setParameter(Algorithm.PSS_SHA256);
        }
        signature.update(new byte[] {1, 2, 3});
        return signature.sign();
    }

    private static FaultException failure(ClientKey key) {
        return assertInstanceOf(
                FaultException.class,
                assertThrows(Exception.class, () -> sign(key, "SHA256withRSA")));
    }

    @Test
    void whatItSignsVerifies() throws Exception {
        ClientKey key = open();
        PublicKey publicKey = key.chain[0].getPublicKey();
        for (Algorithm algorithm : Algorithm.values()) {
            String name = algorithm == Algorithm.PSS ? "RSASSA-PSS" : "SHA256withRSA";
            assertTrue(algorithm.verifies(publicKey, new byte[] {1, 2, 3}, sign(key, name)));
        }
        assertTrue(MessageSigner.verifies(new MessageSigner(key).sign(new Drawing(1).draw()), publicKey));
    }

    @Test
    void aHandshakeOfTls12MakesOnePkcs1Signature() throws Exception {
        ClientKey key = open();
        MutualHandshake handshake =
                new MutualHandshake(Contexts.of(material.settings(), key), Pinned.of("1.2"));
        one.algorithms.clear();
        two.algorithms.clear();
        int bytes = handshake.run().bytes;
        handshake.runFull(bytes);
        assertEquals(List.of("pkcs1v15"), one.algorithms);
        assertEquals(List.of("pkcs1v15"), two.algorithms);
    }

    @Test
    void aHandshakeOfTls13MakesOnePssSignature() throws Exception {
        ClientKey key = open();
        MutualHandshake handshake =
                new MutualHandshake(Contexts.of(material.settings(), key), Pinned.of("1.3"));
        one.algorithms.clear();
        two.algorithms.clear();
        handshake.run();
        handshake.run();
        assertEquals(List.of("pss"), one.algorithms);
        assertEquals(List.of("pss"), two.algorithms);
    }

    @Test
    void weightsShareTheWorkOut() throws Exception {
        material.properties.setProperty("cluster.nodes", one.address() + " 75, " + two.address() + " 25");
        ClientKey key = open();
        for (int i = 0; i < 11; i++) {
            sign(key, "SHA256withRSA");
        }
        List<Long> answered =
                ((ClusterKey) key.privateKey)
                        .cluster().counts().stream().map(count -> count.answered).toList();
        // Eleven, and the one with which the key was tried.
        assertEquals(List.of(9L, 3L), answered);
    }

    @Test
    void aRequestHasMoreTimeWhileTheJvmIsCold() throws Exception {
        material.properties.setProperty("cluster.patient_ms", "60000");
        one.manner = StubNode.Manner.SLOW;
        two.manner = StubNode.Manner.SLOW;
        sign(open(), "SHA256withRSA");
        material.properties.setProperty("cluster.patient_ms", "0");
        one.manner = StubNode.Manner.RIGHT;
        two.manner = StubNode.Manner.RIGHT;
        ClientKey key = open();
        one.manner = StubNode.Manner.SLOW;
        two.manner = StubNode.Manner.SLOW;
        assertEquals(Fault.TIMEOUT, failure(key).fault());
    }

    @Test
    void whatANodeDoesWrongIsNamedByItsFault() {
        ClientKey key = open();
        Map<StubNode.Manner, Fault> faults =
                Map.of(
                        StubNode.Manner.SILENT, Fault.TIMEOUT,
                        StubNode.Manner.REFUSES, Fault.STATUS,
                        StubNode.Manner.GARBAGE, Fault.MALFORMED,
                        StubNode.Manner.WRONG, Fault.WRONG_SIGNATURE);
        faults.forEach(
                (manner, fault) -> {
                    one.manner = manner;
                    two.manner = manner;
                    assertEquals(fault, failure(key).fault());
                });
        one.close();
        two.close();
        assertEquals(Fault.CONNECTION, failure(key).fault());
    }

    @Test
    void theNodesOwnWordsAreInTheMessage() {
        material.properties.setProperty("cluster.token", "stolen");
        IllegalStateException error = assertThrows(IllegalStateException.class, this::open);
        assertTrue(error.getMessage().contains("status 403 permission denied"), error.getMessage());
    }

    @Test
    void withoutRetriesEverySecondSignatureFails() throws Exception {
        ClientKey key = open();
        one.manner = StubNode.Manner.REFUSES;
        int failed = 0;
        for (int i = 0; i < 8; i++) {
            try {
                sign(key, "SHA256withRSA");
            } catch (FaultException error) {
                failed++;
            }
        }
        assertEquals(4, failed);
    }

    @Test
    void anotherNodeIsTriedAndTheBadOneLeftOut() throws Exception {
        material.properties.setProperty("cluster.retries", "1");
        material.properties.setProperty("cluster.ejection.failures", "2");
        material.properties.setProperty("cluster.ejection.ms", "60000");
        ClientKey key = open();
        one.manner = StubNode.Manner.REFUSES;
        for (int i = 0; i < 20; i++) {
            sign(key, "SHA256withRSA");
        }
        List<NodeCount> counts = ((ClusterKey) key.privateKey).cluster().counts();
        assertEquals(Map.of("status", 2L), counts.get(0).failed);
        assertEquals(Map.of(), counts.get(1).failed);
    }
}
