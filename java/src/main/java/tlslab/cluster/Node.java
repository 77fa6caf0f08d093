package tlslab.cluster;

import java.net.URI;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** One signing node: where it is, its weight, and how it has answered. */
final class Node {
    final URI address;
    final int weight;
    private final LongAdder answered = new LongAdder();
    private final Map<Fault, LongAdder> faults = new EnumMap<>(Fault.class);
    private final AtomicInteger inARow = new AtomicInteger();
    private final AtomicLong ejectedUntil = new AtomicLong(Long.MIN_VALUE);

    Node(URI address, int weight) {
        this.address = address;
        this.weight = weight;
        for (Fault fault : Fault.values()) {
            faults.put(fault, new LongAdder());
        }
    }

    void succeeded() {
        answered.increment();
        inARow.set(0);
    }

    /** Counts a failure; after as many in a row as the policy says, the node is left out. */
    void failed(Fault fault, Ejection policy, long now) {
        faults.get(fault).increment();
        if (inARow.incrementAndGet() >= policy.failures && policy.failures > 0) {
            ejectedUntil.set(now + policy.nanos());
        }
    }

    boolean ejected(long now) {
        long until = ejectedUntil.get();
        return until != Long.MIN_VALUE && now - until < 0;
    }

    NodeCount count() {
        Map<String, Long> counts = new java.util.TreeMap<>();
        faults.forEach((fault, n) -> {
            if (n.sum() > 0) {
                counts.put(fault.label(), n.sum());
            }
        });
        return new NodeCount(address.getAuthority(), answered.sum(), counts);
    }
}
