import java.io.ByteArrayInputStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

/** A server on JSSE that sets nothing of TLS itself: PORT, then pairs of CERTIFICATE and KEY. */
public class JsseServer {
    public static void main(String[] arguments) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        char[] password = "test".toCharArray();
        for (int at = 1; at < arguments.length; at += 2) {
            byte[] pem = Files.readAllBytes(Path.of(arguments[at]));
            Certificate[] chain = CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(pem)).toArray(new Certificate[0]);
            PrivateKey key = KeyFactory.getInstance(chain[0].getPublicKey().getAlgorithm())
                .generatePrivate(new PKCS8EncodedKeySpec(decoded(Path.of(arguments[at + 1]))));
            store.setKeyEntry("key" + at, key, password, chain);
        }
        KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
        keys.init(store, password);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        SSLServerSocket listener = (SSLServerSocket) context.getServerSocketFactory()
            .createServerSocket(Integer.parseInt(arguments[0]), 100, InetAddress.getLoopbackAddress());
        ExecutorService workers = Executors.newCachedThreadPool();
        while (true) {
            SSLSocket socket = (SSLSocket) listener.accept();
            workers.submit(() -> {
                try (socket) {
                    socket.setSoTimeout(5000);
                    socket.startHandshake();
                    socket.getInputStream().read();
                } catch (Exception refused) {
                    return;
                }
            });
        }
    }

    private static byte[] decoded(Path pem) throws Exception {
        String text = Files.readString(pem).replaceAll("-----[A-Z ]+-----", "");
        return Base64.getMimeDecoder().decode(text);
    }
}
