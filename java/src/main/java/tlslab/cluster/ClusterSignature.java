package tlslab.cluster;

import java.io.ByteArrayOutputStream;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.InvalidAlgorithmParameterException;
import java.security.InvalidKeyException;
import java.security.InvalidParameterException;
import java.security.PrivateKey;
import java.security.ProviderException;
import java.security.PublicKey;
import java.security.SignatureException;
import java.security.SignatureSpi;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;

/** Signatures over SHA-256 by a {@link ClusterKey}; it does not verify. */
abstract class ClusterSignature extends SignatureSpi {
    private final Algorithm algorithm;
    private final ByteArrayOutputStream message = new ByteArrayOutputStream();
    private ClusterKey key;

    private ClusterSignature(Algorithm algorithm) {
        this.algorithm = algorithm;
    }

    /** RSASSA-PKCS1-v1_5. */
    public static final class Pkcs1 extends ClusterSignature {
        public Pkcs1() {
            super(Algorithm.PKCS1);
        }
    }

    /** RSASSA-PSS with SHA-256, MGF1 with SHA-256 and 32 bytes of salt. */
    public static final class Pss extends ClusterSignature {
        public Pss() {
            super(Algorithm.PSS);
        }
    }

    @Override
    protected void engineInitSign(PrivateKey wanted) throws InvalidKeyException {
        if (!(wanted instanceof ClusterKey)) {
            throw new InvalidKeyException("not a key of the cluster");
        }
        key = (ClusterKey) wanted;
        message.reset();
    }

    @Override
    protected void engineInitVerify(PublicKey unused) throws InvalidKeyException {
        throw new InvalidKeyException("the cluster signs only");
    }

    @Override
    protected void engineUpdate(byte one) {
        message.write(one);
    }

    @Override
    protected void engineUpdate(byte[] bytes, int offset, int length) {
        message.write(bytes, offset, length);
    }

    @Override
    protected byte[] engineSign() throws SignatureException {
        byte[] bytes = message.toByteArray();
        message.reset();
        try {
            return key.cluster().sign(algorithm, bytes, key.publicKey());
        } catch (SignatureException error) {
            throw error;
        } catch (GeneralSecurityException error) {
            throw new ProviderException(error);
        }
    }

    @Override
    protected boolean engineVerify(byte[] signature) {
        throw new UnsupportedOperationException("the cluster signs only");
    }

    @Override
    protected void engineSetParameter(AlgorithmParameterSpec wanted)
            throws InvalidAlgorithmParameterException {
        if (wanted == null) {
            return;
        }
        boolean known =
                algorithm == Algorithm.PSS
                        && wanted instanceof PSSParameterSpec
                        && isSigned((PSSParameterSpec) wanted);
        if (!known) {
            throw new InvalidAlgorithmParameterException("the cluster signs with SHA-256 only");
        }
    }

    private static boolean isSigned(PSSParameterSpec pss) {
        return pss.getDigestAlgorithm().equals("SHA-256")
                && pss.getSaltLength() == Algorithm.PSS_SHA256.getSaltLength()
                && pss.getMGFParameters() instanceof MGF1ParameterSpec
                && ((MGF1ParameterSpec) pss.getMGFParameters())
                        .getDigestAlgorithm()
                        .equals("SHA-256");
    }

    @Override
    protected AlgorithmParameters engineGetParameters() {
        return null;
    }

    @Override
    @Deprecated
    protected void engineSetParameter(String name, Object value) {
        throw new InvalidParameterException(name);
    }

    @Override
    @Deprecated
    protected Object engineGetParameter(String name) {
        throw new InvalidParameterException(name);
    }
}
