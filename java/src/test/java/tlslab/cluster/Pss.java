package tlslab.cluster;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.interfaces.RSAPrivateKey;

/** RSASSA-PSS over a SHA-256 digest with 32 bytes of salt (RFC 8017, 8.1 and 9.1). */
final class Pss {
    private static final int HASH_BYTES = 32;

    private Pss() {}

    static byte[] sign(RSAPrivateKey key, byte[] digest) throws GeneralSecurityException {
        int length = key.getModulus().bitLength() / 8;
        byte[] salt = new byte[HASH_BYTES];
        java.util.Arrays.fill(salt, (byte) 5);
        MessageDigest sha = MessageDigest.getInstance("SHA-256");
        sha.update(new byte[8]);
        sha.update(digest);
        byte[] hash = sha.digest(salt);
        byte[] block = new byte[length];
        int masked = length - HASH_BYTES - 1;
        block[masked - HASH_BYTES - 1] = 1;
        System.arraycopy(salt, 0, block, masked - HASH_BYTES, HASH_BYTES);
        mask(block, masked, hash);
        block[0] &= 0x7f;
        System.arraycopy(hash, 0, block, masked, HASH_BYTES);
        block[length - 1] = (byte) 0xbc;
        BigInteger made =
                new BigInteger(1, block).modPow(key.getPrivateExponent(), key.getModulus());
        return fixed(made, length);
    }

    private static void mask(byte[] block, int length, byte[] seed) throws GeneralSecurityException {
        MessageDigest sha = MessageDigest.getInstance("SHA-256");
        for (int i = 0; i < length; i++) {
            if (i % HASH_BYTES == 0) {
                sha.update(seed);
                byte[] part = sha.digest(new byte[] {0, 0, 0, (byte) (i / HASH_BYTES)});
                for (int j = 0; j < HASH_BYTES && i + j < length; j++) {
                    block[i + j] ^= part[j];
                }
            }
        }
    }

    private static byte[] fixed(BigInteger number, int length) {
        byte[] bytes = number.toByteArray();
        byte[] out = new byte[length];
        int n = Math.min(bytes.length, length);
        System.arraycopy(bytes, bytes.length - n, out, length - n, n);
        return out;
    }
}
