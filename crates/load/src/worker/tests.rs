use std::cell::RefCell;
use std::net::TcpListener;
use std::rc::Rc;

use super::*;
use crate::connection::tests::script;
use crate::pacing::Curve;
use tlslab_contract::spec::RunSpec;
use tlslab_system::clock::{ManualClock, MonotonicClock, SECOND};
use tlslab_system::socket::Socket;
use tlslab_tls::{Negotiated, Progress, Session, Urgent};
use tlslab_wire::outcome::Failure;

mod recv_low_water;

/// The calls on sessions, in order.
type Log = Rc<RefCell<Vec<String>>>;

/// Creates sessions that log their calls and wait for the server forever.
struct Noted {
    log: Log,
    opened: usize,
}

struct NotedSession {
    log: Log,
    number: usize,
}

impl Backend for Noted {
    type Session = NotedSession;

    fn open(&mut self) -> Result<NotedSession, Failure> {
        self.opened += 1;
        self.log.borrow_mut().push(format!("opened {}", self.opened));
        Ok(NotedSession { log: Rc::clone(&self.log), number: self.opened })
    }

    fn resume(&mut self) -> Result<Option<NotedSession>, Failure> {
        Ok(None)
    }

    fn resumable(&self) -> usize {
        0
    }

    fn keep(&mut self, _: usize) {}
}

impl Session for NotedSession {
    fn unsent(&self) -> usize {
        0
    }

    fn handshake(&mut self, _: &mut Socket, _: Urgent<'_>) -> Result<Progress, Failure> {
        self.log.borrow_mut().push(format!("hello of {}", self.number));
        Ok(Progress::WantRead)
    }

    fn send_early(&mut self, _: &[u8]) -> Result<usize, Failure> {
        Ok(0)
    }

    fn facts(&self) -> Option<Negotiated> {
        unreachable!("the handshake never ends")
    }

    fn write(&mut self, _: &mut Socket, _: &[u8]) -> Result<Progress, Failure> {
        unreachable!("the handshake never ends")
    }

    fn flush(&mut self, _: &mut Socket) -> Result<Progress, Failure> {
        unreachable!("the handshake never ends")
    }

    fn send_close_notify(&mut self, _: &mut Socket) -> Result<(), Failure> {
        Ok(())
    }

    fn read(&mut self, _: &mut Socket, _: &mut [u8]) -> Result<Progress, Failure> {
        unreachable!("the handshake never ends")
    }

    fn peer_certificates(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

#[test]
fn of_arrivals_that_are_due_at_once_all_connect_before_any_says_hello() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = script(&listener);
    let json = r#"{"url":"https://localhost/","warmup_ms":1000,"stop":{"duration_ms":1000},
        "connections":4,"load":{"rate":{"constant":10}}}"#;
    let spec: RunSpec = serde_json::from_str(json).unwrap();
    let schedule = Schedule::new(&spec, 0);
    let curve = Curve::new(spec.load.rate.as_ref().unwrap(), 0, &schedule);
    let status = WorkerStatus::default();
    let share = Share {
        script: &script,
        levels: vec![4],
        arrivals: Some(Arrivals::new(curve, spec.load.arrivals, 1, 0, 1)),
        patience: None,
        count: None,
        mix: Mix::new(0),
        primed: 0,
        refill: None,
        schedule,
        trace: 0,
        processor: None,
        status: &status,
    };
    let log = Log::default();
    let backend = Noted { log: Rc::clone(&log), opened: 0 };
    let mut worker = Worker::new(share, backend, ManualClock::default()).unwrap();
    let Worker { events, load } = &mut worker;
    // Ten arrivals a second, the first after half a distance: three are due in the first 0.3
    // seconds.
    events.clock().advance(3 * SECOND / 10);
    load.keep_time(events);
    load.admit(events);
    assert_eq!(*log.borrow(), ["opened 1", "opened 2", "opened 3", "hello of 3"]);

    // The other connections send their ClientHello after the next poll, which reports their
    // sockets.
    while log.borrow().len() < 6 {
        let ready = events.wait(MonotonicClock.now() + SECOND).unwrap();
        assert!(ready > 0, "{log:?}");
        events.serve_ready(load);
    }
    let mut said = log.borrow()[3..].to_vec();
    said.sort();
    assert_eq!(said, ["hello of 1", "hello of 2", "hello of 3"]);
}
