package tlslab.cluster;

import java.util.concurrent.TimeUnit;

/** When a node that fails is left out, and for how long. */
public final class Ejection {
    private final int failures;
    private final int millis;

    /** The parts, as their accessors describe them. */
    public Ejection(int failures, int millis) {
        this.failures = failures;
        this.millis = millis;
    }

    /** Failures in a row; 0 for never. */
    public int failures() {
        return failures;
    }

    /** How long no request goes to it, as long as another node is left. */
    public int millis() {
        return millis;
    }

    long nanos() {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }
}
