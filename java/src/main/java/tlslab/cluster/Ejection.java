package tlslab.cluster;

import java.util.concurrent.TimeUnit;

/**
 * When a node that fails is left out, and for how long.
 *
 * @param failures failures in a row; 0 for never
 * @param millis how long no request goes to it, as long as another node is left
 */
public record Ejection(int failures, int millis) {
    long nanos() {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }
}
