package tlslab.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The nodes in turn, each as often as its weight says, evenly interleaved (the smooth weighted
 * round robin of nginx, worked out once for a whole turn).
 */
final class Rota {
    private final List<Node> turn = new ArrayList<>();
    private final AtomicInteger next = new AtomicInteger();

    Rota(List<Node> nodes) {
        int divisor = nodes.stream().mapToInt(node -> node.weight).reduce(0, Rota::gcd);
        int total = nodes.stream().mapToInt(node -> node.weight).sum();
        int[] credit = new int[nodes.size()];
        for (int place = 0; place < total / divisor; place++) {
            int best = 0;
            for (int i = 0; i < credit.length; i++) {
                credit[i] += nodes.get(i).weight;
                best = credit[i] > credit[best] ? i : best;
            }
            credit[best] -= total;
            turn.add(nodes.get(best));
        }
    }

    private static int gcd(int a, int b) {
        return b == 0 ? a : gcd(b, a % b);
    }

    /**
     * The next node that is not left out and is not {@code avoided}. When there is none such: one
     * that is not avoided, or else any.
     */
    Node take(long now, Node avoided) {
        int start = next.getAndIncrement();
        Node second = null;
        for (int i = 0; i < turn.size(); i++) {
            Node node = turn.get(Math.floorMod(start + i, turn.size()));
            if (node == avoided) {
                continue;
            }
            if (!node.ejected(now)) {
                return node;
            }
            second = second == null ? node : second;
        }
        return second == null ? turn.get(Math.floorMod(start, turn.size())) : second;
    }
}
