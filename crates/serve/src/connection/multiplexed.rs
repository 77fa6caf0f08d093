//! What a connection to a client does with HTTP/2.

use std::io::{self, ErrorKind};

use super::{Connection, Fate, PATIENCE, QUANTUM};
use crate::context::Context;
use crate::http::Multiplexed;
use crate::tls::Session;
use tlslab_system::clock::Nanos;

impl<S: Session> Connection<S> {
    /// Takes what has arrived, sends a quantum of what is to be sent, or else receives more.
    pub(super) fn multiplex(&mut self, context: &mut Context<'_>) -> io::Result<Option<Fate>> {
        let Some(http2) = &mut self.http2 else { return Err(ErrorKind::InvalidData.into()) };
        let mut broken = false;
        if !self.request.is_empty() {
            broken = http2.take(&self.request, context.now + context.timing.pause).is_err();
            self.request.clear();
            self.deadline = context.now + patience(http2, context);
        }
        let answered = http2.answer_due(context.now, context.responder, || context.shared.stats());
        broken |= answered.is_err();
        for _ in 0..answered.unwrap_or_default() {
            context.counts.requests.count();
        }
        if !self.session.send(self.wire.socket())? {
            return Ok(Some(Fate::Waits));
        }
        if self.close {
            http2.go_away();
        }
        context.plaintext.clear();
        broken |= http2.make(context.plaintext, QUANTUM).is_err();
        if !context.plaintext.is_empty() {
            self.session.write(context.plaintext)?;
            self.deadline = context.now + patience(http2, context);
        } else if broken || http2.is_over() || (http2.is_idle() && (self.ended || self.close)) {
            self.end(context.now);
        } else if self.ended && http2.next_due().is_none() {
            // What is left waits for a window that nobody will open any more.
            return Err(ErrorKind::UnexpectedEof.into());
        } else {
            let due = http2.next_due();
            let fate = if self.ended { Some(Fate::Waits) } else { self.receive(context)? };
            return Ok(match (fate, due) {
                (Some(Fate::Waits), Some(due)) => Some(self.wait_until(due)),
                (fate, _) => fate,
            });
        }
        Ok(None)
    }
}

/// How long a connection with HTTP/2 may be silent.
fn patience(http2: &Multiplexed, context: &Context<'_>) -> Nanos {
    if http2.is_idle() { context.timing.idle } else { context.timing.pause + PATIENCE }
}
