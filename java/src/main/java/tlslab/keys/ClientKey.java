package tlslab.keys;

import java.security.PrivateKey;
import java.security.cert.X509Certificate;

/**
 * The client's private key, wherever it is, and its certificate chain.
 *
 * @param privateKey what {@link java.security.Signature} takes; perhaps only a handle
 * @param chain the certificates, the client's own first
 */
public record ClientKey(PrivateKey privateKey, X509Certificate[] chain) {}
