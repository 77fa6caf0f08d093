//! Record protection by traffic keys (RFC 8446, sections 5.2 to 5.4): one direction, and both.

use aws_lc_rs::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};

use tlslab_wire::tls::fault::{BAD_RECORD_MAC, Fault, INTERNAL_ERROR, RECORD_OVERFLOW, unexpected};
use tlslab_wire::tls::messages::{APPLICATION_DATA, HEADER, RECORD};

/// The number of records that one key may protect; rustls has the same limit for AES-GCM (RFC 8446,
/// section 5.5).
const RECORDS: u64 = 1 << 24;

/// The faults of a record (sections 5.2 and 5.4).
const FORGED: Fault = Fault::new(BAD_RECORD_MAC, "a record that is not authentic");
const OVERFLOWS: Fault = Fault::new(RECORD_OVERFLOW, "a record with more than 16 KiB in it");
const UNSEALED: Fault = Fault::new(INTERNAL_ERROR, "a record cannot be encrypted");
const UNTYPED: Fault = unexpected("a record without a content type");

/// The key of one direction, and the number of records that it has protected.
pub struct Protection {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    sequence: u64,
}

impl Protection {
    /// The protection of the first record under this key.
    pub fn new(key: LessSafeKey, iv: [u8; NONCE_LEN]) -> Self {
        Self { key, iv, sequence: 0 }
    }

    /// The nonce of the next record: its sequence number XOR the IV.
    fn nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        let number = self.sequence.to_be_bytes();
        nonce.iter_mut().skip(NONCE_LEN - number.len()).zip(number).for_each(|(n, s)| *n ^= s);
        self.sequence = self.sequence.wrapping_add(1);
        Nonce::assume_unique_for_key(nonce)
    }

    /// True if the key has reached its limit of records.
    pub fn is_worn(&self) -> bool {
        self.sequence >= RECORDS
    }

    /// Sets the number of protected records to the limit.
    #[cfg(test)]
    pub fn wear(&mut self) {
        self.sequence = RECORDS;
    }

    /// Decrypts a record in place; returns its content type and content. Fails if the record is not
    /// authentic, is too long, or has no content type before its padding.
    pub fn open<'r>(
        &mut self,
        header: [u8; HEADER],
        body: &'r mut [u8],
    ) -> Result<(u8, &'r [u8]), Fault> {
        let nonce = self.nonce();
        let inner = &*self.key.open_in_place(nonce, Aad::from(header), body).map_err(|_| FORGED)?;
        let (kind, length) = content_of(inner)?;
        Ok((kind, &inner[..length]))
    }

    /// As [`Self::open`], into a room that is at least as long as the body. Returns the content type
    /// and the length of the content.
    pub fn open_into(
        &mut self,
        header: [u8; HEADER],
        body: &[u8],
        room: &mut [u8],
    ) -> Result<(u8, usize), Fault> {
        let nonce = self.nonce();
        let length = decrypt(&self.key, nonce, header, body, room).ok_or(FORGED)?;
        content_of(&room[..length])
    }

    /// Appends a record with this content, of at most [`RECORD`] bytes. `None` if the encryption
    /// fails.
    pub fn seal(&mut self, kind: u8, content: &[u8], outgoing: &mut Vec<u8>) -> Option<()> {
        debug_assert!(content.len() <= RECORD);
        let length = content.len() + 1 + self.key.algorithm().tag_len();
        let [high, low] = u16::try_from(length).ok()?.to_be_bytes();
        let header = [APPLICATION_DATA, 3, 3, high, low];
        outgoing.extend_from_slice(&header);
        let start = outgoing.len();
        outgoing.extend_from_slice(content);
        outgoing.push(kind);
        let nonce = self.nonce();
        let inner = &mut outgoing[start..];
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(header), inner).ok()?;
        outgoing.extend_from_slice(tag.as_ref());
        Some(())
    }
}

/// Decrypts a record's body into a room; returns the length. `None` if it is not authentic. The
/// library of the fuzz targets decrypts in place only.
fn decrypt(
    key: &LessSafeKey,
    nonce: Nonce,
    header: [u8; HEADER],
    body: &[u8],
    room: &mut [u8],
) -> Option<usize> {
    let length = body.len().checked_sub(key.algorithm().tag_len())?;
    #[cfg(not(fuzzing))]
    {
        let (sealed, tag) = body.split_at(length);
        let inner = &mut room[..length];
        key.open_separate_gather(nonce, Aad::from(header), sealed, tag, inner).ok()?;
    }
    #[cfg(fuzzing)]
    {
        let inner = &mut room[..body.len()];
        inner.copy_from_slice(body);
        key.open_in_place(nonce, Aad::from(header), inner).ok()?;
    }
    Some(length)
}

/// The content type of a decrypted record, and the length of its content before the type and the
/// padding (RFC 8446, section 5.4).
fn content_of(inner: &[u8]) -> Result<(u8, usize), Fault> {
    let end = inner.iter().rposition(|byte| *byte != 0).ok_or(UNTYPED)?;
    if inner.len() > RECORD + 1 { Err(OVERFLOWS) } else { Ok((inner[end], end)) }
}

/// The current protection of both directions; `None` before the ServerHello.
#[derive(Default)]
pub struct Keys {
    pub sending: Option<Protection>,
    pub receiving: Option<Protection>,
}

impl Keys {
    /// Appends an encrypted record with this content.
    pub fn seal(&mut self, kind: u8, content: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Fault> {
        let sealed = self.sending.as_mut().and_then(|keys| keys.seal(kind, content, outgoing));
        sealed.ok_or(UNSEALED)
    }

    /// True if the sending key has reached its limit of records.
    pub fn is_worn(&self) -> bool {
        self.sending.as_ref().is_some_and(Protection::is_worn)
    }
}
