//! The key log: secrets of connections, for the decryption of packet captures.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::Mutex;

/// Writes secrets in the NSS key log format (RFC 9850): `LABEL CLIENT_RANDOM SECRET`, in hex.
///
/// All workers share the log behind a lock. A run with a key log is slower, and its record says so.
/// The first write error is kept until [`KeyLog::finish`].
pub struct KeyLog(Mutex<Sink>);

struct Sink {
    writer: BufWriter<Box<dyn Write + Send>>,
    error: Option<io::Error>,
}

impl KeyLog {
    /// A key log that writes to a sink, buffered.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        let writer = BufWriter::new(Box::new(sink) as Box<dyn Write + Send>);
        Self(Mutex::new(Sink { writer, error: None }))
    }

    /// Writes one line and adds the line break.
    pub(super) fn line(&self, line: fmt::Arguments<'_>) {
        self.with(|writer| writeln!(writer, "{line}"));
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// The first error, either here or in an earlier write.
    pub fn finish(&self) -> io::Result<()> {
        self.with(Write::flush);
        let mut sink = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        sink.error.take().map_or(Ok(()), Err)
    }

    /// Uses the writer, unless an earlier write has failed.
    fn with(&self, write: impl FnOnce(&mut BufWriter<Box<dyn Write + Send>>) -> io::Result<()>) {
        let mut sink = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if sink.error.is_none() {
            sink.error = write(&mut sink.writer).err();
        }
    }
}

impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyLog")
    }
}

impl rustls::KeyLog for KeyLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        self.line(format_args!("{label} {} {}", Hex(client_random), Hex(secret)));
    }
}

/// Bytes in lower-case hex.
struct Hex<'b>(&'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use tlslab_testkit::memory::Memory;

    use super::*;

    #[test]
    fn lines_have_the_format_of_nss() {
        let memory = Memory::default();
        let log = KeyLog::new(memory.clone());
        rustls::KeyLog::log(&log, "CLIENT_RANDOM", &[0x0a, 0xff], &[1, 2]);
        log.line(format_args!("EXPORTER_SECRET 00 11"));
        log.finish().unwrap();
        assert_eq!(memory.text(), "CLIENT_RANDOM 0aff 0102\nEXPORTER_SECRET 00 11\n");
    }

    #[test]
    fn a_full_disk_is_reported_at_the_end() {
        let log = KeyLog::new(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        log.line(format_args!("A B C"));
        assert_eq!(log.finish().unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    }
}
