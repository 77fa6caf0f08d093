package tlslab.handshake;

class Tls12Test extends HandshakeTests {
    Tls12Test() {
        super("1.2");
    }
}
