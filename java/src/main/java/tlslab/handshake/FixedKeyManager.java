package tlslab.handshake;

import java.net.Socket;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;
import tlslab.keys.ClientKey;

/** A key manager with one key, for the client: a key that is elsewhere fits no JDK key store. */
final class FixedKeyManager extends X509ExtendedKeyManager {
    private static final String ALIAS = "client";

    private final ClientKey key;

    FixedKeyManager(ClientKey key) {
        this.key = key;
    }

    @Override
    public String chooseEngineClientAlias(String[] types, Principal[] issuers, SSLEngine engine) {
        return ALIAS;
    }

    @Override
    public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
        return ALIAS;
    }

    @Override
    public String[] getClientAliases(String type, Principal[] issuers) {
        return new String[] {ALIAS};
    }

    @Override
    public String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
        return null;
    }

    @Override
    public String[] getServerAliases(String type, Principal[] issuers) {
        return null;
    }

    @Override
    public X509Certificate[] getCertificateChain(String alias) {
        return key.chain.clone();
    }

    @Override
    public PrivateKey getPrivateKey(String alias) {
        return key.privateKey;
    }
}
