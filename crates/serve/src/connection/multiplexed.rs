//! What a connection to a client does with HTTP/2.

use std::io::{self, ErrorKind};

use super::{Connection, Fate, PATIENCE, QUANTUM};
use crate::http::Multiplexed;
use crate::lent::Lent;
use crate::tls::Session;
use tlslab_system::clock::Nanos;

impl<S: Session> Connection<S> {
    /// Takes what has arrived, sends a quantum of what is to be sent, or else receives more.
    pub(super) fn multiplex(&mut self, lent: &mut Lent<'_>) -> io::Result<Option<Fate>> {
        let Some(http2) = &mut self.http2 else { return Err(ErrorKind::InvalidData.into()) };
        let mut broken = false;
        if !self.request.is_empty() {
            broken = http2.take(&self.request, lent.now + lent.timing.pause).is_err();
            self.request.clear();
            self.deadline = lent.now + patience(http2, lent);
        }
        let answered = http2.answer_due(lent.now, lent.responder, || lent.shared.stats());
        broken |= answered.is_err();
        for _ in 0..answered.unwrap_or_default() {
            lent.counts.requests.count();
        }
        if !self.session.send(self.wire.socket())? {
            return Ok(Some(Fate::Waits));
        }
        if self.close {
            http2.go_away();
        }
        lent.plaintext.clear();
        broken |= http2.make(lent.plaintext, QUANTUM).is_err();
        if !lent.plaintext.is_empty() {
            self.session.write(lent.plaintext)?;
            self.deadline = lent.now + patience(http2, lent);
        } else if broken || http2.is_over() || (http2.is_idle() && (self.ended || self.close)) {
            self.end(lent.now);
        } else if self.ended && http2.next_due().is_none() {
            // What is left waits for a window that nobody will open any more.
            return Err(ErrorKind::UnexpectedEof.into());
        } else {
            let due = http2.next_due();
            let fate = if self.ended { Some(Fate::Waits) } else { self.receive(lent)? };
            return Ok(match (fate, due) {
                (Some(Fate::Waits), Some(due)) => Some(self.wait_until(due)),
                (fate, _) => fate,
            });
        }
        Ok(None)
    }
}

/// How long a connection with HTTP/2 may be silent.
fn patience(http2: &Multiplexed, lent: &Lent<'_>) -> Nanos {
    if http2.is_idle() { lent.timing.idle } else { lent.timing.pause + PATIENCE }
}
