//! The buffer that carries bytes from one side to the other.

use std::io::{self, ErrorKind, Read, Write};

/// The initial size in bytes: room for the flights of a handshake with a certificate chain.
const USUAL: usize = 16 * 1024;

/// A buffer that is written at its end and read at its start. Reuse needs no allocation, and memory
/// to be overwritten is not cleared.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    read: usize,
    filled: usize,
}

impl Buffer {
    /// An empty buffer of the usual size.
    pub fn new() -> Self {
        Self { bytes: vec![0; USUAL], read: 0, filled: 0 }
    }

    /// An empty buffer without memory.
    pub fn empty() -> Self {
        Self { bytes: Vec::new(), read: 0, filled: 0 }
    }

    /// The number of unread bytes.
    pub fn len(&self) -> usize {
        self.filled - self.read
    }

    /// True if there are no unread bytes.
    pub fn is_empty(&self) -> bool {
        self.read == self.filled
    }

    /// Discards the unread bytes.
    pub fn clear(&mut self) {
        (self.read, self.filled) = (0, 0);
    }

    /// The unread bytes. The reader may decrypt them in place.
    pub fn unread(&mut self) -> &mut [u8] {
        &mut self.bytes[self.read..self.filled]
    }

    /// Notes that N bytes were read.
    pub fn consume(&mut self, length: usize) {
        self.read += length;
        if self.is_empty() {
            self.clear();
        }
    }

    /// The memory after the unread bytes.
    pub fn spare(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// Notes that N bytes of that memory were written.
    pub fn fill(&mut self, length: usize) {
        self.filled += length;
    }

    /// Reserves memory for N more bytes.
    pub fn reserve(&mut self, length: usize) {
        if self.bytes.len() < self.filled + length {
            self.bytes.resize(self.filled + length, 0);
        }
    }
}

impl Read for Buffer {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len().min(self.len());
        if length == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        into[..length].copy_from_slice(&self.bytes[self.read..self.read + length]);
        self.consume(length);
        Ok(length)
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.reserve(bytes.len());
        self.spare()[..bytes.len()].copy_from_slice(bytes);
        self.fill(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in_and_an_empty_buffer_would_block() {
        let mut buffer = Buffer::new();
        let sent: Vec<u8> = (0..50_000u32).map(|n| n as u8).collect();
        for part in sent.chunks(7001) {
            buffer.write_all(part).unwrap();
        }
        let mut found = vec![0; 50_000];
        buffer.read_exact(&mut found[..30_000]).unwrap();
        assert_eq!(buffer.len(), 20_000);
        buffer.read_exact(&mut found[30_000..]).unwrap();
        assert_eq!(found, sent);
        assert!(buffer.is_empty());
        assert_eq!(buffer.read(&mut found).unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn what_is_written_in_place_is_read_in_place() {
        let mut buffer = Buffer::new();
        buffer.spare()[..3].copy_from_slice(b"abc");
        buffer.fill(3);
        buffer.consume(1);
        assert_eq!(buffer.unread(), b"bc");
    }
}
