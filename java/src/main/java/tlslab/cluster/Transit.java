package tlslab.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import tlslab.keys.Reasons;

/**
 * The signing API of the transit engine of OpenBao and Vault: {@code POST
 * /v1/transit/sign/KEY/sha2-256} with a digest. Connections are kept open.
 */
final class Transit {
    /** Far more than an RSA signature's answer needs. */
    private static final int LIMIT_ANSWER_BYTES = 65_536;

    private static final ObjectMapper JSON = new ObjectMapper();

    private final HttpClient client;
    private final String path;
    private final String token;

    Transit(HttpClient client, String key, String token) {
        this.client = client;
        this.path = "/v1/transit/sign/" + key + "/sha2-256";
        this.token = token;
    }

    /** The signature of a SHA-256 digest, as the node gives it, within a time. */
    byte[] sign(Node node, Algorithm algorithm, byte[] digest, Duration timeout)
            throws FaultException {
        HttpResponse<byte[]> response = ask(node, body(algorithm, digest), timeout);
        if (response.statusCode() != 200) {
            String said = "status " + response.statusCode() + " " + errors(response.body());
            throw fault(node, Fault.STATUS, said.strip(), null);
        }
        return signature(node, response.body());
    }

    private HttpResponse<byte[]> ask(Node node, byte[] body, Duration timeout)
            throws FaultException {
        HttpRequest request =
                HttpRequest.newBuilder(node.address.resolve(path))
                        .header("X-Vault-Token", token)
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofByteArray(body))
                        .build();
        CompletableFuture<HttpResponse<byte[]>> answer =
                client.sendAsync(request, info -> new LimitedBody(LIMIT_ANSWER_BYTES));
        try {
            return answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException error) {
            answer.cancel(true);
            String text = "no answer within " + timeout.toMillis() + " ms";
            throw fault(node, Fault.TIMEOUT, text, error);
        } catch (ExecutionException error) {
            Throwable cause = error.getCause();
            boolean late = cause instanceof HttpTimeoutException;
            throw fault(node, late ? Fault.TIMEOUT : Fault.CONNECTION, Reasons.of(cause), cause);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw fault(node, Fault.CONNECTION, "interrupted", error);
        }
    }

    private static byte[] body(Algorithm algorithm, byte[] digest) {
        Map<String, Object> body =
                Map.of(
                        "input", Base64.getEncoder().encodeToString(digest),
                        "prehashed", true,
                        "signature_algorithm", algorithm.apiName,
                        "salt_length", "hash",
                        "marshaling_algorithm", "asn1");
        try {
            return JSON.writeValueAsBytes(body);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    /** An answer is {@code {"data": {"signature": "vault:v1:BASE64"}}}. */
    private static byte[] signature(Node node, byte[] answer) throws FaultException {
        try {
            JsonNode text = JSON.readTree(answer).path("data").path("signature");
            String[] parts = text.asText().split(":", 3);
            if (parts.length == 3) {
                return Base64.getDecoder().decode(parts[2]);
            }
            throw fault(node, Fault.MALFORMED, "the answer has no signature", null);
        } catch (IOException | IllegalArgumentException error) {
            throw fault(node, Fault.MALFORMED, "the answer is no signature in JSON", error);
        }
    }

    private static String errors(byte[] answer) {
        try {
            String text = JSON.readTree(answer).path("errors").path(0).asText();
            return text.substring(0, Math.min(200, text.length()));
        } catch (IOException error) {
            return "";
        }
    }

    private static FaultException fault(Node node, Fault fault, String text, Throwable cause) {
        return new FaultException(fault, node.address.getAuthority() + ": " + text, cause);
    }
}
