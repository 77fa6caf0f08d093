package tlslab.cluster;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.Security;
import java.security.cert.X509Certificate;
import java.security.interfaces.RSAPublicKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import tlslab.keys.Pem;
import tlslab.keys.Reasons;
import tlslab.keys.Settings;

/**
 * A key on a cluster of signing nodes.
 *
 * <p>Settings: {@code cluster.nodes} (addresses with their weights: {@code https://HOST:PORT 50,
 * https://HOST:PORT 50}), {@code cluster.ca} (PEM), {@code cluster.token}, {@code cluster.key} (its
 * name there), {@code cluster.timeout_ms} (1000; a whole request), {@code cluster.patient_ms} (for so
 * long after the opening a request has more time, since a cold JVM is no fault of a node; 0), {@code cluster.retries} (how
 * many more nodes a signature is tried at; 0), {@code cluster.ejection.failures} and {@code
 * cluster.ejection.ms} (a node that has failed so often in a row is left out for so long; 0: never).
 *
 * <p>Every signature is verified with the public key, which takes little beside making one: a node that answers wrongly is a fault of its own, not an invalid message somewhere else.
 */
public final class Cluster {
    /** The first request loads the client's classes and makes the first connection. */
    private static final Duration FIRST_CONTACT = Duration.ofSeconds(20);

    private final Transit transit;
    private final Rota rota;
    private final List<Node> nodes;
    private final Ejection ejection;
    private final int retries;
    private final Duration timeout;
    private final long patientUntil;

    private Cluster(
            Transit transit,
            List<Node> nodes,
            Ejection ejection,
            int retries,
            Duration timeout,
            Duration patient) {
        this.timeout = timeout;
        this.patientUntil = System.nanoTime() + patient.toNanos();
        this.transit = transit;
        this.nodes = nodes;
        this.rota = new Rota(nodes);
        this.ejection = ejection;
        this.retries = retries;
    }

    /** Registers the provider of such keys, and gives the handle of the certificate's key. */
    public static PrivateKey open(Settings settings, X509Certificate certificate) {
        if (!(certificate.getPublicKey() instanceof RSAPublicKey)) {
            throw new IllegalStateException("the cluster signs with RSA keys only");
        }
        if (Security.getProvider(ClusterProvider.NAME) == null) {
            Security.addProvider(new ClusterProvider());
        }
        Cluster cluster = of(settings);
        cluster.meet();
        return new ClusterKey(cluster, (RSAPublicKey) certificate.getPublicKey());
    }

    private static Cluster of(Settings settings) {
        Duration timeout = Duration.ofMillis(settings.number("cluster.timeout_ms", 1000));
        HttpClient client =
                HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_1_1)
                        .sslContext(trusting(settings.text("cluster.ca")))
                        .build();
        String key = settings.text("cluster.key");
        Transit transit = new Transit(client, key, settings.text("cluster.token"));
        Ejection ejection =
                new Ejection(
                        settings.number("cluster.ejection.failures", 0),
                        settings.number("cluster.ejection.ms", 5000));
        int retries = settings.number("cluster.retries", 0);
        List<Node> nodes = nodes(settings.text("cluster.nodes"));
        Duration patient = Duration.ofMillis(settings.number("cluster.patient_ms", 0));
        return new Cluster(transit, nodes, ejection, retries, timeout, patient);
    }

    private static List<Node> nodes(String text) {
        List<Node> nodes = new ArrayList<>();
        for (String part : text.split(",")) {
            String[] words = part.strip().split("\\s+");
            nodes.add(new Node(URI.create(words[0]), Integer.parseInt(words[1])));
        }
        return nodes;
    }

    private static SSLContext trusting(String file) {
        try {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            X509Certificate[] certificates = Pem.certificates(file);
            for (int i = 0; i < certificates.length; i++) {
                store.setCertificateEntry("ca" + i, certificates[i]);
            }
            TrustManagerFactory factory =
                    TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, factory.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IOException error) {
            throw new IllegalStateException("cluster.ca: " + error, error);
        }
    }

    /** Has each node sign once, with more time than later. */
    private void meet() {
        try {
            for (Node node : nodes) {
                transit.sign(node, Algorithm.PKCS1, new byte[32], FIRST_CONTACT);
            }
        } catch (FaultException error) {
            throw new IllegalStateException("the cluster does not sign: " + Reasons.of(error), error);
        }
    }

    /** The signature of a message, by the node whose turn it is, or by another if that one fails. */
    byte[] sign(Algorithm algorithm, byte[] message, RSAPublicKey key)
            throws GeneralSecurityException {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(message);
        Node node = null;
        for (int tried = 0; ; tried++) {
            long now = System.nanoTime();
            node = rota.take(now, node);
            try {
                Duration time = now - patientUntil < 0 ? FIRST_CONTACT : timeout;
                byte[] signature = transit.sign(node, algorithm, digest, time);
                if (!algorithm.verifies(key, message, signature)) {
                    String text = node.address.getAuthority() + ": a signature that is wrong";
                    throw new FaultException(Fault.WRONG_SIGNATURE, text, null);
                }
                node.succeeded();
                return signature;
            } catch (FaultException error) {
                node.failed(error.fault(), ejection, System.nanoTime());
                if (tried >= retries) {
                    throw error;
                }
            }
        }
    }

    /** How each node has answered so far. */
    public List<NodeCount> counts() {
        return nodes.stream().map(Node::count).collect(Collectors.toList());
    }
}
