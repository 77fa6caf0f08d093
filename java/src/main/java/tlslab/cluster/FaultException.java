package tlslab.cluster;

import java.security.SignatureException;

/** A signature that could not be had, and what went wrong at the last node asked. */
public final class FaultException extends SignatureException {
    private final Fault fault;

    FaultException(Fault fault, String message, Throwable cause) {
        super(message, cause);
        this.fault = fault;
    }

    /** What went wrong. */
    public Fault fault() {
        return fault;
    }
}
