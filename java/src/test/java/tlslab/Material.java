package tlslab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Base64;
import java.util.Properties;
import tlslab.keys.Settings;

/**
 * Keys and certificates of a server, a client and a signing node, made by the JDK's keytool once for
 * each JVM. The properties are a test's own.
 */
public final class Material {
    private static final char[] PASSWORD = "changeit".toCharArray();
    private static final Material MADE = new Material();

    public final Path folder;
    public final Properties properties = new Properties();

    /** The JVM's material, with properties that a test may change. */
    public static Material get() {
        return new Material(MADE);
    }

    private Material(Material made) {
        folder = made.folder;
        properties.putAll(made.properties);
    }

    private Material() {
        try {
            folder = Files.createTempDirectory("tlslab-test-");
            folder.toFile().deleteOnExit();
            StringBuilder trust = new StringBuilder();
            for (String name : new String[] {"server", "client", "node"}) {
                KeyStore store = make(name);
                X509Certificate certificate = (X509Certificate) store.getCertificate(name);
                String text = pem("CERTIFICATE", certificate.getEncoded());
                PrivateKey key = (PrivateKey) store.getKey(name, PASSWORD);
                properties.setProperty(name + ".certificate", write(name + ".pem", text));
                properties.setProperty(
                        name + ".key", write(name + ".key.pem", pem("PRIVATE KEY", key.getEncoded())));
                trust.append(text);
            }
            properties.setProperty("trust", write("trust.pem", trust.toString()));
        } catch (IOException | GeneralSecurityException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    public Settings settings() {
        return new Settings(properties);
    }

    /** The key store with the keys of one name. */
    public KeyStore store(String name) {
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            try (var stream = Files.newInputStream(folder.resolve(name + ".p12"))) {
                store.load(stream, PASSWORD);
            }
            return store;
        } catch (IOException | GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    public char[] password() {
        return PASSWORD.clone();
    }

    private KeyStore make(String name) throws IOException, InterruptedException {
        String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        Process process =
                new ProcessBuilder(
                                keytool, "-genkeypair", "-alias", name, "-keyalg", "RSA",
                                "-keysize", "2048", "-dname", "CN=" + name, "-validity", "30",
                                "-ext", "SAN=ip:127.0.0.1", "-storetype", "PKCS12",
                                "-storepass", new String(PASSWORD),
                                "-keystore", folder.resolve(name + ".p12").toString())
                        .redirectErrorStream(true)
                        .start();
        String words = new String(process.getInputStream().readAllBytes());
        if (process.waitFor() != 0) {
            throw new IOException(words);
        }
        folder.resolve(name + ".p12").toFile().deleteOnExit();
        return store(name);
    }

    private String write(String name, String text) throws IOException {
        Path file = Files.writeString(folder.resolve(name), text);
        file.toFile().deleteOnExit();
        return file.toString();
    }

    private static String pem(String kind, byte[] bytes) {
        String base64 = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        return "-----BEGIN " + kind + "-----\n" + base64 + "\n-----END " + kind + "-----\n";
    }
}
