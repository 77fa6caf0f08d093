package tlslab;

import javax.net.ssl.SSLException;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import tlslab.handshake.Contexts;
import tlslab.handshake.MutualHandshake;
import tlslab.handshake.Outcome;
import tlslab.handshake.Pinned;
import tlslab.keys.KeyStores;
import tlslab.keys.Settings;

/** Full handshakes between two SSLEngines, both sides authenticated, without TCP. */
public class Handshakes {
    /** What all threads share: keys, contexts, and what a full handshake weighs. */
    @State(Scope.Benchmark)
    public static class Shared {
        /** The version of TLS. */
        @Param("1.3")
        public String tls;

        /** Where the client's key is. */
        @Param("memory")
        public String keys;

        private Pinned pinned;
        private Contexts contexts;
        private int fullBytes;

        /** The first handshake of new contexts is full: there is nothing to resume. */
        @Setup(Level.Trial)
        public void prepare() throws SSLException {
            pinned = Pinned.of(tls);
            pinned.install();
            Settings settings = Settings.load();
            contexts = Contexts.of(settings, KeyStores.open(keys, settings));
            fullBytes = new MutualHandshake(contexts, pinned).run().bytes;
        }
    }

    /** A thread's own buffers. */
    @State(Scope.Thread)
    public static class Mine {
        private MutualHandshake handshake;

        /** New buffers for each trial. */
        @Setup(Level.Trial)
        public void prepare(Shared shared) {
            handshake = new MutualHandshake(shared.contexts, shared.pinned);
        }
    }

    /** One handshake; one that is not full, not mutual or not the pinned one ends the benchmark. */
    @Benchmark
    public Outcome handshake(Shared shared, Mine mine) throws SSLException {
        return mine.handshake.runFull(shared.fullBytes);
    }
}
