package tlslab.cluster;

import java.security.Provider;
import java.util.List;
import java.util.Map;

/** A JCA provider whose signatures the cluster makes; it takes {@link ClusterKey} only. */
public final class ClusterProvider extends Provider {
    static final String NAME = "TlslabCluster";

    private static final long serialVersionUID = 1L;

    /** The provider; it is to be registered, and is then found by the kind of key. */
    public ClusterProvider() {
        super(NAME, "1", "RSA signatures made by remote nodes");
        offer("SHA256withRSA", ClusterSignature.Pkcs1.class);
        offer("RSASSA-PSS", ClusterSignature.Pss.class);
    }

    private void offer(String algorithm, Class<?> type) {
        Map<String, String> only = Map.of("SupportedKeyClasses", ClusterKey.class.getName());
        putService(new Service(this, "Signature", algorithm, type.getName(), List.of(), only));
    }
}
