package tlslab;

import org.apache.xml.security.exceptions.XMLSecurityException;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import tlslab.handshake.Pinned;
import tlslab.keys.ClientKey;
import tlslab.keys.KeyStores;
import tlslab.keys.Settings;
import tlslab.message.Drawing;
import tlslab.message.MessageSigner;

/** XML signatures of freshly drawn messages, and the drawing alone. */
public class Signatures {
    /** One signer for all threads. */
    @State(Scope.Benchmark)
    public static class Shared {
        /** Where the key is. */
        @Param("memory")
        public String keys;

        private MessageSigner signer;

        /** Opens the key, signs one message and verifies it. */
        @Setup(Level.Trial)
        public void prepare() throws XMLSecurityException {
            Pinned.of("1.3").install();
            ClientKey key = KeyStores.open(keys, Settings.load());
            signer = new MessageSigner(key);
            byte[] signed = signer.sign(new Drawing(0).draw());
            if (!MessageSigner.verifies(signed, key.chain[0].getPublicKey())) {
                throw new IllegalStateException("a signed message does not verify");
            }
        }
    }

    /** A thread's own source of messages, seeded by its number. */
    @State(Scope.Thread)
    public static class Mine {
        private Drawing drawing;

        /** The same messages in each trial. */
        @Setup(Level.Trial)
        public void prepare(org.openjdk.jmh.infra.ThreadParams thread) {
            drawing = new Drawing(1L + thread.getThreadIndex());
        }
    }

    /** One message, drawn and signed. */
    @Benchmark
    public byte[] sign(Shared shared, Mine mine) throws XMLSecurityException {
        return shared.signer.sign(mine.drawing.draw());
    }

    /** One message, drawn. */
    @Benchmark
    public byte[] draw(Mine mine) {
        return mine.drawing.draw();
    }
}
