package tlslab.handshake;

class Tls13Test extends HandshakeTests {
    Tls13Test() {
        super("1.3");
    }
}
