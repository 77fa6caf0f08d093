package tlslab.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import tlslab.Material;

/** A signing node that speaks the API with a key of its own, and misbehaves on request. */
final class StubNode implements AutoCloseable {
    /** What it does with a request. */
    enum Manner {
        RIGHT,
        SILENT,
        SLOW,
        REFUSES,
        GARBAGE,
        WRONG
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final byte[] SHA256_PREFIX = {
        0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, (byte) 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
        0x01, 0x05, 0x00, 0x04, 0x20
    };

    final List<String> algorithms = new CopyOnWriteArrayList<>();
    volatile Manner manner = Manner.RIGHT;
    private final HttpsServer server;
    private final PrivateKey key;

    StubNode(Material material, PrivateKey key) {
        this.key = key;
        try {
            KeyManagerFactory factory = KeyManagerFactory.getInstance("SunX509");
            factory.init(material.store("node"), material.password());
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(factory.getKeyManagers(), null, null);
            server = HttpsServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
            server.setHttpsConfigurator(new HttpsConfigurator(context));
            server.createContext("/v1/transit/sign/client/sha2-256", this::answer);
            server.setExecutor(Executors.newCachedThreadPool(StubNode::daemon));
            server.start();
        } catch (IOException | GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "stub-node");
        thread.setDaemon(true);
        return thread;
    }

    String address() {
        return "https://127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        JsonNode asked = JSON.readTree(exchange.getRequestBody());
        algorithms.add(asked.path("signature_algorithm").asText());
        boolean known = "secret".equals(exchange.getRequestHeaders().getFirst("X-Vault-Token"));
        switch (known ? manner : Manner.REFUSES) {
            case RIGHT -> reply(exchange, 200, signed(asked, 0));
            case WRONG -> reply(exchange, 200, signed(asked, 1));
            case GARBAGE -> reply(exchange, 200, "<html>");
            case REFUSES -> reply(exchange, 403, "{\"errors\": [\"permission denied\"]}");
            case SILENT -> {}
            case SLOW -> {
                pause();
                reply(exchange, 200, signed(asked, 0));
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(900);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private String signed(JsonNode asked, int spoil) {
        try {
            byte[] digest = Base64.getDecoder().decode(asked.path("input").asText());
            digest[0] ^= (byte) spoil;
            byte[] signature = asked.path("signature_algorithm").asText().equals("pss")
                    ? pss(digest) : pkcs1(digest);
            String text = "vault:v1:" + Base64.getEncoder().encodeToString(signature);
            return "{\"data\": {\"signature\": \"" + text + "\"}}";
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    private byte[] pkcs1(byte[] digest) throws GeneralSecurityException {
        Signature signature = Signature.getInstance("NONEwithRSA");
        signature.initSign(key);
        signature.update(SHA256_PREFIX);
        signature.update(digest);
        return signature.sign();
    }

    /** EMSA-PSS of a digest that is given (RFC 8017, 9.1.1): the JDK's signs messages only. */
    private byte[] pss(byte[] digest) throws GeneralSecurityException {
        return Pss.sign((java.security.interfaces.RSAPrivateKey) key, digest);
    }

    private static void reply(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes();
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }
}
