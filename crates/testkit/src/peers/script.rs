//! Acts that a peer plays, one after the other, on any stream.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use openssl::ssl::SslStream;
use socket2::SockRef;

/// What a flood amounts to at most: the biggest header that a test speaks of.
const FLOOD: usize = 1 << 30;

/// One act of a peer.
#[derive(Debug, Clone)]
pub enum Act {
    /// Waits until the client has sent something, and takes it.
    Receive,
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes again and again, until the client has gone or a GiB was sent.
    Flood(Vec<u8>),
    /// Sends these bytes again and again, one at a time with a pause between them.
    Drip(Vec<u8>, Duration),
    /// Says nothing until the client has gone.
    Wait,
    /// Ends its side of the session by close_notify, where there is one.
    CloseNotify,
    /// Ends its side of the TCP connection, and waits until the client has gone.
    Fin,
    /// Resets the TCP connection.
    Reset,
}

/// What acts are played on.
pub trait Stage: Read + Write {
    /// Ends this side of the session by close_notify, where there is a session.
    fn close_notify(&mut self) {}
}

impl Stage for TcpStream {}

impl Stage for SslStream<TcpStream> {
    fn close_notify(&mut self) {
        // The client may have gone already.
        let _ = self.shutdown();
    }
}

/// Plays the acts, until one fails because the client has gone. `stream` lies over `socket`.
pub fn play(stream: &mut impl Stage, socket: &TcpStream, acts: &[Act]) {
    for act in acts {
        if perform(stream, socket, act).is_err() {
            return;
        }
    }
}

fn perform(stream: &mut impl Stage, socket: &TcpStream, act: &Act) -> std::io::Result<()> {
    match act {
        Act::Receive => drop(stream.read(&mut [0; 16 * 1024])?),
        Act::Send(bytes) => stream.write_all(bytes)?,
        Act::Flood(bytes) => {
            // Many at once, so that it is the client that has the most to do.
            let many = bytes.repeat((16 * 1024 / bytes.len()).max(1));
            for _ in 0..FLOOD / many.len() {
                stream.write_all(&many)?;
            }
        }
        Act::Drip(bytes, pause) => {
            for byte in bytes.iter().cycle() {
                stream.write_all(&[*byte])?;
                std::thread::sleep(*pause);
            }
        }
        Act::Wait => while socket.take_error()?.is_none() && stream.read(&mut [0; 4096])? > 0 {},
        Act::CloseNotify => stream.close_notify(),
        Act::Fin => {
            socket.shutdown(Shutdown::Write)?;
            let mut socket = socket;
            while socket.read(&mut [0; 4096])? > 0 {}
        }
        Act::Reset => {
            SockRef::from(socket).set_linger(Some(Duration::ZERO))?;
            // Data that was never read makes no difference: the close that follows resets.
        }
    }
    Ok(())
}
