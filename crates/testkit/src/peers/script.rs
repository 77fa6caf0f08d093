//! Acts that a peer performs in order on any stream.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use openssl::ssl::SslStream;
use socket2::SockRef;

/// The highest length of a flood in bytes: the largest header in any test.
const FLOOD: usize = 1 << 30;

/// One act of a peer.
#[derive(Debug, Clone)]
pub enum Act {
    /// Waits for bytes of the client, and reads them.
    Receive,
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes repeatedly, until the client has closed or a GiB was sent.
    Flood(Vec<u8>),
    /// Sends these bytes repeatedly, one byte at a time with a pause in between.
    Drip(Vec<u8>, Duration),
    /// Does nothing for this time.
    Sleep(Duration),
    /// Sends nothing until the client has closed.
    Wait,
    /// Ends its side of the session with close_notify, if there is a session.
    CloseNotify,
    /// Ends its side of the TCP connection, and waits until the client has closed.
    Fin,
    /// Resets the TCP connection.
    Reset,
}

/// A stream that acts are performed on.
pub trait Stage: Read + Write {
    /// Ends this side of the session with close_notify, if there is a session.
    fn close_notify(&mut self) {}
}

impl Stage for TcpStream {}

impl Stage for SslStream<TcpStream> {
    fn close_notify(&mut self) {
        // The client may have closed already.
        let _ = self.shutdown();
    }
}

/// Performs the acts, until one fails because the client has closed. `stream` lies over `socket`.
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
            // Many at once, so that the client has more work than the server.
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
        Act::Sleep(time) => std::thread::sleep(*time),
        Act::Reset => {
            SockRef::from(socket).set_linger(Some(Duration::ZERO))?;
            // Unread data makes no difference: the close that follows resets the connection.
        }
    }
    Ok(())
}
