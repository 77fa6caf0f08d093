//! Connections whose server sends tickets before its response, and later stops doing so.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use super::super::*;
use crate::connection::tests::{negotiated, script};
use tlslab_contract::spec::RunSpec;
use tlslab_system::clock::{MonotonicClock, SECOND};
use tlslab_system::socket::Socket;
use tlslab_tls::{Negotiated, Progress, Session, Urgent};
use tlslab_wire::http::message::{Message, Messages};
use tlslab_wire::outcome::Failure;
use tlslab_wire::target::Target;

const FLIGHT: &[u8] = &[b'f'; 200];
const TICKETS: &[u8] = &[b't'; 100];
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Connections that receive tickets; the connections after them receive none.
const WITH_TICKETS: u64 = 30;
const WITHOUT: u64 = 10;

/// Opens sessions without encryption, and counts how often tickets alone woke one.
#[derive(Default)]
struct Plain {
    in_vain: Rc<Cell<u32>>,
}

impl Backend for Plain {
    type Session = PlainSession;

    fn open(&mut self) -> Result<PlainSession, Failure> {
        Ok(PlainSession { said_hello: false, in_vain: Rc::clone(&self.in_vain) })
    }

    fn resume(&mut self) -> Result<Option<PlainSession>, Failure> {
        Ok(None)
    }

    fn resumable(&self) -> usize {
        0
    }

    fn keep(&mut self, _: usize) {}
}

struct PlainSession {
    said_hello: bool,
    in_vain: Rc<Cell<u32>>,
}

impl Session for PlainSession {
    fn unsent(&self) -> usize {
        0
    }

    fn handshake(&mut self, socket: &mut Socket, _: Urgent<'_>) -> Result<Progress, Failure> {
        if !self.said_hello {
            socket.send(b"h").unwrap();
            self.said_hello = true;
        }
        // Larger than needed: a short read shows that nothing is left.
        let mut flight = [0; 2 * FLIGHT.len()];
        Ok(match socket.receive(&mut flight).unwrap() {
            None => Progress::WantRead,
            Some(length) => {
                assert_eq!(length, FLIGHT.len());
                Progress::Done(0)
            }
        })
    }

    fn send_early(&mut self, _: &[u8]) -> Result<usize, Failure> {
        Ok(0)
    }

    fn facts(&self) -> Option<Negotiated> {
        Some(negotiated())
    }

    fn write(&mut self, socket: &mut Socket, plaintext: &[u8]) -> Result<Progress, Failure> {
        Ok(Progress::Done(socket.send(plaintext).unwrap().unwrap()))
    }

    fn flush(&mut self, _: &mut Socket) -> Result<Progress, Failure> {
        Ok(Progress::Done(0))
    }

    fn send_close_notify(&mut self, _: &mut Socket) -> Result<(), Failure> {
        Ok(())
    }

    fn read(&mut self, socket: &mut Socket, plaintext: &mut [u8]) -> Result<Progress, Failure> {
        let Some(length) = socket.receive(plaintext).unwrap() else {
            return Ok(Progress::WantRead);
        };
        let tickets = plaintext[..length].iter().take_while(|byte| **byte == b't').count();
        if tickets == length {
            self.in_vain.set(self.in_vain.get() + 1);
            return Ok(Progress::WantRead);
        }
        plaintext.copy_within(tickets..length, 0);
        Ok(Progress::Done(length - tickets))
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

fn serve(mut peer: TcpStream, tickets: bool) {
    // TLS servers set TCP_NODELAY; without it the response would wait for the tickets'
    // acknowledgement.
    peer.set_nodelay(true).unwrap();
    peer.read_exact(&mut [0]).unwrap();
    peer.write_all(FLIGHT).unwrap();
    peer.read_exact(&mut [0; 3]).unwrap();
    if tickets {
        peer.write_all(TICKETS).unwrap();
        // A client that the tickets wake has woken up by now.
        thread::sleep(Duration::from_millis(5));
    }
    peer.write_all(RESPONSE).unwrap();
    // Reads until the end of the connection, which is a reset.
    _ = peer.read(&mut [0]);
}

#[test]
fn tickets_wake_nobody_twice_and_who_waits_for_them_in_vain_is_looked_after() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = Script {
        messages: Messages::one(Message {
            request: b"ask".to_vec(),
            last_request: b"ask".to_vec(),
            ..Message::get(&Target::parse("https://localhost/").unwrap())
        }),
        deadlines: [5 * SECOND; 4],
        ..script(&listener)
    };
    let server = thread::spawn(move || {
        for number in 0..WITH_TICKETS + WITHOUT {
            serve(listener.accept().unwrap().0, number < WITH_TICKETS);
        }
    });
    let json = format!(
        r#"{{"url":"https://localhost/","warmup_ms":0,"connections":1,"stop":{{"count":{}}}}}"#,
        WITH_TICKETS + WITHOUT
    );
    let spec: RunSpec = serde_json::from_str(&json).unwrap();
    let status = WorkerStatus::default();
    let share = Share {
        script: &script,
        levels: vec![1],
        arrivals: None,
        patience: None,
        count: Some(WITH_TICKETS + WITHOUT),
        mix: Mix::new(0),
        primed: 0,
        refill: None,
        schedule: Schedule::new(&spec, MonotonicClock.now()),
        trace: 0,
        processor: None,
        status: &status,
    };
    let backend = Plain::default();
    let in_vain = Rc::clone(&backend.in_vain);
    let report = Worker::new(share, backend, MonotonicClock).unwrap().run().unwrap();
    server.join().unwrap();
    assert_eq!(report.recorder.ended(), (WITH_TICKETS + WITHOUT, 0));
    // Once, or more often if the tickets of one connection arrived in two parts.
    assert!((1..=3).contains(&in_vain.get()), "{} times", in_vain.get());
}
