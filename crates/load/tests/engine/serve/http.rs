//! The responses of the server, with both back ends.

use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use openssl::x509::X509;
use tlslab_serve::ServerBackend::{Openssl, Rustls};
use tlslab_serve::{Server, Stats};
use tlslab_wire::names::KeyKind;

use super::client::{Client, context, serve, tcp};

fn both() -> impl Iterator<Item = (Server, Vec<X509>)> {
    [Openssl, Rustls].into_iter().map(|backend| serve(backend, &[KeyKind::EcdsaP256]))
}

#[test]
fn bodies_are_what_their_digests_say() {
    for (server, trusted) in both() {
        let mut client = Client::connect(&server, context(&trusted));
        for length in [0, 1, 4788, 16_384, 100_000, 3_000_000] {
            let response = client.get(&format!("/bytes/{length}"));
            assert_eq!((response.status, response.body.len()), (200, length));
            assert!(response.is_intact(), "{length}");
        }
    }
}

#[test]
fn the_counts_are_what_the_client_did() {
    for (server, trusted) in both() {
        let mut client = Client::connect(&server, context(&trusted));
        for _ in 0..3 {
            assert_eq!(client.get("/bytes/10").status, 200);
        }
        let asked: Stats = serde_json::from_slice(&client.get("/stats").body).unwrap();
        assert_eq!((asked.connections, asked.handshakes.full, asked.requests), (1, 1, 3));
        Client::connect(&server, context(&trusted)).get("/nothing");
        let stats = server.stop().unwrap();
        assert_eq!((stats.connections, stats.handshakes.full, stats.requests), (2, 2, 5));
        assert_eq!((stats.handshakes.resumed, stats.handshakes.failed), (0, 0));
        assert!(stats.cpu.total_us() > 0);
    }
}

#[test]
fn handshakes_that_fail_are_counted_and_probes_are_not() {
    for (server, trusted) in both() {
        drop(tcp(server.address()));
        let mut garbage = tcp(server.address());
        // A handshake record without a known message.
        garbage.write_all(&[0x16, 3, 1, 0, 4, 99, 0, 0, 0]).unwrap();
        let mut answer = Vec::new();
        garbage.read_to_end(&mut answer).unwrap();
        // An alert: type 21, and nothing after it.
        assert_eq!((answer[0], answer.len()), (21, 7));
        let mut half = tcp(server.address());
        half.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
        drop(half);
        // A client that rejects this server's certificate sends an alert instead of Finished.
        assert!(Client::try_connect(&server, &context(&[]).build()).is_err());
        Client::connect(&server, context(&trusted)).get("/bytes/1");
        let stats = server.stop().unwrap();
        assert_eq!((stats.connections, stats.handshakes.full, stats.handshakes.failed), (5, 1, 3));
    }
}

#[test]
fn errors_have_their_statuses_and_keep_the_connection_where_they_can() {
    for (server, trusted) in both() {
        let mut client = Client::connect(&server, context(&trusted));
        assert_eq!(client.get("/nothing").status, 404);
        assert_eq!(client.get("/bytes/1073741825").status, 404);
        client.send("DELETE /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n");
        let response = client.response();
        assert_eq!((response.status, response.field("Allow")), (405, Some("GET, HEAD")));
        client.send("HEAD /bytes/5000 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!((client.head().length, client.get("/bytes/2").body), (5000, vec![0, 1]));

        client.send("GET / HTTP/9\r\n\r\n");
        assert_eq!(client.response().status, 400);
        assert!(client.is_ended());
        let mut client = Client::connect(&server, context(&trusted));
        client.send(&format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(40_000)));
        assert_eq!(client.response().status, 431);
        assert!(client.is_ended());
    }
}

#[test]
fn the_end_of_the_connection_destroys_nothing() {
    for (server, trusted) in both() {
        let mut client = Client::connect(&server, context(&trusted));
        // Unread bytes follow the request; closing now would reset the connection.
        client.send(
            "GET /bytes/5000000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nunread bytes",
        );
        thread::sleep(Duration::from_millis(50));
        let response = client.response();
        assert_eq!(response.field("Connection"), Some("close"));
        assert!(response.is_intact() && client.is_ended());
    }
}

#[test]
fn a_body_that_is_not_read_ends_the_connection() {
    for (server, trusted) in both() {
        let mut client = Client::connect(&server, context(&trusted));
        client.send("POST /bytes/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 36\r\n\r\n");
        client.send("GET /stats HTTP/1.1\r\nHost: a\r\n\r\n.....");
        assert_eq!(client.response().status, 405);
        assert!(client.is_ended());
    }
}

#[test]
fn requests_may_come_all_at_once_or_byte_by_byte() {
    for (server, trusted) in both() {
        let mut client = Client::connect(&server, context(&trusted));
        let request = |length| format!("GET /bytes/{length} HTTP/1.1\r\nHost: a\r\n\r\n");
        client.send(&(request(1) + &request(70_000) + &request(0)));
        for length in [1, 70_000, 0] {
            let response = client.response();
            assert!(response.is_intact() && response.body.len() == length);
        }
        for byte in request(7).chars() {
            client.send(&byte.to_string());
        }
        assert_eq!(client.response().body.len(), 7);
    }
}

#[test]
fn older_clients_learn_that_the_connection_stays() {
    for (server, trusted) in both() {
        let mut client = Client::connect(&server, context(&trusted));
        client.send("GET /bytes/3 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        assert_eq!(client.response().field("Connection"), Some("keep-alive"));
        client.send("GET /bytes/3 HTTP/1.0\r\n\r\n");
        assert_eq!(client.response().field("Connection"), Some("close"));
        assert!(client.is_ended());
    }
}

#[test]
fn a_client_that_reads_slowly_holds_up_nobody() {
    for (server, trusted) in both() {
        let mut slow = Client::connect(&server, context(&trusted));
        slow.send("GET /bytes/20000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = slow.head();
        let mut quick = Client::connect(&server, context(&trusted));
        for _ in 0..20 {
            assert_eq!(quick.get("/bytes/100").status, 200);
        }
        let mut body = vec![0; head.length];
        slow.0.read_exact(&mut body).unwrap();
        assert!(super::client::Response { body, ..head }.is_intact());
    }
}
