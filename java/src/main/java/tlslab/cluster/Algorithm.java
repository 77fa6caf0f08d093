package tlslab.cluster;

import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;

/** The two ways in which the cluster signs a SHA-256 digest with RSA. */
enum Algorithm {
    PKCS1("pkcs1v15"),
    PSS("pss");

    static final PSSParameterSpec PSS_SHA256 =
            new PSSParameterSpec("SHA-256", "MGF1", MGF1ParameterSpec.SHA256, 32, 1);

    final String apiName;

    Algorithm(String apiName) {
        this.apiName = apiName;
    }

    /** Whether a signature of a message is right; the JDK's own providers do it. */
    boolean verifies(PublicKey key, byte[] message, byte[] signature)
            throws GeneralSecurityException {
        Signature verifier = Signature.getInstance(this == PSS ? "RSASSA-PSS" : "SHA256withRSA");
        if (this == PSS) {
            verifier.setParameter(PSS_SHA256);
        }
        verifier.initVerify(key);
        verifier.update(message);
        return verifier.verify(signature);
    }
}
