package tlslab.cluster;

import java.util.Locale;

/** What can go wrong with one request to one node. */
public enum Fault {
    /** No answer within the time-out. */
    TIMEOUT,
    /** No connection, or one that broke. */
    CONNECTION,
    /** An answer with a status other than 200. */
    STATUS,
    /** An answer that is no signature. */
    MALFORMED,
    /** A signature that does not verify. */
    WRONG_SIGNATURE;

    /** The name in records. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
