package tlslab.timeline;

import tlslab.handshake.Contexts;
import tlslab.handshake.MutualHandshake;
import tlslab.handshake.Pinned;
import tlslab.keys.ClientKey;
import tlslab.keys.KeyStores;
import tlslab.keys.Settings;
import tlslab.message.Drawing;
import tlslab.message.MessageSigner;

/** One operation, made again and again by one thread. */
@FunctionalInterface
interface Work {
    void run() throws Exception;

    /** Makes the operation of each thread, given its number. */
    @FunctionalInterface
    interface Source {
        Work of(int thread) throws Exception;
    }

    /** The operations that {@code benchmark} names, with this key. */
    static Source of(String benchmark, Settings settings, ClientKey key) {
        if (benchmark.equals("sign")) {
            MessageSigner signer = new MessageSigner(key);
            return thread -> {
                Drawing drawing = new Drawing(1L + thread);
                return () -> signer.sign(drawing.draw());
            };
        }
        Pinned pinned = pinned(benchmark);
        Contexts contexts = Contexts.of(settings, key);
        return thread -> {
            MutualHandshake handshake = new MutualHandshake(contexts, pinned);
            return handshake::run;
        };
    }

    /** The version of TLS that a benchmark pins. */
    static Pinned pinned(String benchmark) {
        return Pinned.of(benchmark.equals("handshake-tls12") ? "1.2" : "1.3");
    }

    /** Opens the key, with JSSE set up as the benchmark needs it. */
    static ClientKey key(String benchmark, String keys, Settings settings) {
        pinned(benchmark).install();
        return KeyStores.open(keys, settings);
    }
}
