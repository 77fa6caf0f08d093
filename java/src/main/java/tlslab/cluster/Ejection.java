package tlslab.cluster;

import java.util.concurrent.TimeUnit;

/** When a node that fails is left out, and for how long. */
public final class Ejection {
    /** Failures in a row; 0 for never. */
    public final int failures;

    /** How long no request goes to it, as long as another node is left. */
    public final int millis;

    /** The parts, as described above. */
    public Ejection(int failures, int millis) {
        this.failures = failures;
        this.millis = millis;
    }

    long nanos() {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }
}
