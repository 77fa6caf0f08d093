//! Builds ClientHellos for probes: the server's answer shows what it accepts, without a key
//! exchange.

use super::registry::Protocol;

/// Numbers of the extensions that are written or read here (IANA "TLS ExtensionType Values").
pub mod extension {
    /// The extension `server_name`.
    pub const SERVER_NAME: u16 = 0;
    /// The extension `status_request`.
    pub const STATUS_REQUEST: u16 = 5;
    /// The extension `supported_groups`.
    pub const SUPPORTED_GROUPS: u16 = 10;
    /// The extension `point_formats`.
    pub const POINT_FORMATS: u16 = 11;
    /// The extension `signature_algorithms`.
    pub const SIGNATURE_ALGORITHMS: u16 = 13;
    /// The extension `encrypt_then_mac`.
    pub const ENCRYPT_THEN_MAC: u16 = 22;
    /// The extension `extended_master_secret`.
    pub const EXTENDED_MASTER_SECRET: u16 = 23;
    /// The extension `session_ticket`.
    pub const SESSION_TICKET: u16 = 35;
    /// The extension `supported_versions`.
    pub const SUPPORTED_VERSIONS: u16 = 43;
    /// The extension `cookie`.
    pub const COOKIE: u16 = 44;
    /// The extension `psk_modes`.
    pub const PSK_MODES: u16 = 45;
    /// The extension `key_share`.
    pub const KEY_SHARE: u16 = 51;
    /// The extension `renegotiation_info`.
    pub const RENEGOTIATION_INFO: u16 = 0xff01;
}

/// Compression methods (RFC 3749, RFC 3943).
pub const NO_COMPRESSION: u8 = 0;
/// DEFLATE and LZS, the only registered methods.
pub const COMPRESSIONS: [(u8, &str); 2] = [(1, "DEFLATE"), (64, "LZS")];

/// The content type of handshake records, and the type of a ClientHello.
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// The offer of a ClientHello.
#[derive(Debug, Clone)]
pub struct ClientHello {
    /// The versions, newest first.
    pub versions: Vec<Protocol>,
    /// Suites, preferred first.
    pub suites: Vec<u16>,
    /// Groups, preferred first; empty: no such extension.
    pub groups: Vec<u16>,
    /// Signature schemes, preferred first; sent from TLS 1.2 on.
    pub schemes: Vec<u16>,
    /// For TLS 1.3: key shares, each a group and a public key. Without shares the server must ask
    /// for one and thereby names its preferred group (RFC 8446, section 4.2.8).
    pub shares: Vec<(u16, Vec<u8>)>,
    /// The name for SNI.
    pub server_name: Option<String>,
    /// Compression methods besides null.
    pub compression: Vec<u8>,
}

impl ClientHello {
    /// The ClientHello as one record. `random` generates the contents of its random and its session
    /// ID.
    pub fn bytes(&self, random: impl Fn() -> [u8; 32]) -> Vec<u8> {
        self.with_cookie(random, None)
    }

    /// As [`Self::bytes`], with the data of a HelloRetryRequest's `cookie` extension (RFC 8446,
    /// section 4.2.2). `random` must return what it returned for the first ClientHello.
    pub fn with_cookie(&self, random: impl Fn() -> [u8; 32], cookie: Option<&[u8]>) -> Vec<u8> {
        let newest = self.versions.iter().max().copied().unwrap_or(Protocol::Tls12);
        let mut body = Vec::with_capacity(1024);
        body.extend(newest.min(Protocol::Tls12).number().to_be_bytes());
        body.extend(random());
        if newest == Protocol::Tls13 {
            // A session ID for compatibility with middleboxes (RFC 8446, appendix D.4).
            prefixed::<1>(&mut body, |id| id.extend(random()));
        } else {
            body.push(0);
        }
        prefixed::<2>(&mut body, |list| numbers(list, &self.suites));
        prefixed::<1>(&mut body, |list| {
            list.extend(&self.compression);
            list.push(NO_COMPRESSION);
        });
        if newest > Protocol::Ssl3 {
            prefixed::<2>(&mut body, |list| {
                self.extensions(newest, list);
                if let Some(cookie) = cookie {
                    add(list, extension::COOKIE, |data| data.extend(cookie));
                }
            });
        }
        let mut record = vec![HANDSHAKE];
        record.extend(newest.min(Protocol::Tls10).number().to_be_bytes());
        prefixed::<2>(&mut record, |record| {
            record.push(CLIENT_HELLO);
            prefixed::<3>(record, |message| message.extend(&body));
        });
        record
    }

    fn extensions(&self, newest: Protocol, list: &mut Vec<u8>) {
        use extension as e;
        if let Some(name) = &self.server_name {
            add(list, e::SERVER_NAME, |data| {
                prefixed::<2>(data, |names| {
                    names.push(0);
                    prefixed::<2>(names, |text| text.extend(name.as_bytes()));
                });
            });
        }
        if !self.groups.is_empty() {
            add(list, e::SUPPORTED_GROUPS, |data| {
                prefixed::<2>(data, |groups| numbers(groups, &self.groups));
            });
            add(list, e::POINT_FORMATS, |data| data.extend([1, 0]));
        }
        if newest >= Protocol::Tls12 && !self.schemes.is_empty() {
            add(list, e::SIGNATURE_ALGORITHMS, |data| {
                prefixed::<2>(data, |schemes| numbers(schemes, &self.schemes));
            });
        }
        // An OCSP status request without responder IDs and extensions (RFC 6066, section 8).
        add(list, e::STATUS_REQUEST, |data| data.extend([1, 0, 0, 0, 0]));
        if self.versions.iter().any(|version| *version <= Protocol::Tls12) {
            for bare in [e::ENCRYPT_THEN_MAC, e::EXTENDED_MASTER_SECRET, e::SESSION_TICKET] {
                add(list, bare, |_| ());
            }
            add(list, e::RENEGOTIATION_INFO, |data| data.push(0));
        }
        if newest == Protocol::Tls13 {
            self.extensions_of_tls13(list);
        }
    }

    fn extensions_of_tls13(&self, list: &mut Vec<u8>) {
        let versions: Vec<u16> = self.versions.iter().map(|version| version.number()).collect();
        add(list, extension::SUPPORTED_VERSIONS, |data| {
            prefixed::<1>(data, |list| numbers(list, &versions));
        });
        // Only resumption with a key exchange.
        add(list, extension::PSK_MODES, |data| data.extend([1, 1]));
        add(list, extension::KEY_SHARE, |data| {
            prefixed::<2>(data, |shares| {
                for (group, key) in &self.shares {
                    shares.extend(group.to_be_bytes());
                    prefixed::<2>(shares, |share| share.extend(key));
                }
            });
        });
    }
}

/// An SSL 2.0 CLIENT-HELLO with that protocol's seven kinds of cipher and without a session
/// (draft-hickman-netscape-ssl-00, section 2.5).
pub fn ssl2(challenge: [u8; 16]) -> Vec<u8> {
    const KINDS: [[u8; 3]; 7] = [
        [1, 0, 0x80],
        [2, 0, 0x80],
        [3, 0, 0x80],
        [4, 0, 0x80],
        [5, 0, 0x80],
        [6, 0, 0x40],
        [7, 0, 0xc0],
    ];
    let kinds = KINDS.concat();
    let mut body = vec![CLIENT_HELLO];
    for number in [Protocol::Ssl2.number(), kinds.len() as u16, 0, challenge.len() as u16] {
        body.extend(number.to_be_bytes());
    }
    body.extend(kinds);
    body.extend(challenge);
    let mut record = (0x8000 | body.len() as u16).to_be_bytes().to_vec();
    record.extend(body);
    record
}

fn add(list: &mut Vec<u8>, kind: u16, data: impl FnOnce(&mut Vec<u8>)) {
    list.extend(kind.to_be_bytes());
    prefixed::<2>(list, data);
}

/// Writes a field after its length of N bytes.
fn prefixed<const BYTES: usize>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; BYTES]);
    write(out);
    let length = (out.len() - at - BYTES).to_be_bytes();
    out[at..at + BYTES].copy_from_slice(&length[length.len() - BYTES..]);
}

fn numbers(out: &mut Vec<u8>, numbers: &[u16]) {
    out.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::invariants::hellos::Read;

    fn hello(versions: &[Protocol]) -> ClientHello {
        ClientHello {
            versions: versions.to_vec(),
            suites: vec![0x1301, 0xc02b],
            groups: vec![29, 23],
            schemes: vec![0x0403],
            shares: vec![(29, vec![9; 32])],
            server_name: Some("example.org".to_owned()),
            compression: vec![1],
        }
    }

    fn numbers_of(read: &Read) -> Vec<u16> {
        read.extensions.iter().map(|extension| extension.0).collect()
    }

    #[test]
    fn a_hello_of_tls13_hides_its_version_in_an_extension() {
        let read = Read::new(&hello(&[Protocol::Tls13]).bytes(|| [7; 32]));
        assert_eq!((read.version, &read.suites[..]), (0x0303, &[0x1301, 0xc02b][..]));
        assert_eq!(read.compression, [1, 0]);
        assert_eq!(numbers_of(&read), [0, 10, 11, 13, 5, 43, 45, 51]);
    }

    #[test]
    fn a_hello_of_tls12_asks_for_what_became_of_tls12() {
        let read = Read::new(&hello(&[Protocol::Tls12]).bytes(|| [7; 32]));
        assert_eq!(
            (read.version, numbers_of(&read)),
            (0x0303, vec![0, 10, 11, 13, 5, 22, 23, 35, 0xff01])
        );
        let read = Read::new(&hello(&[Protocol::Tls10]).bytes(|| [7; 32]));
        assert_eq!(
            (read.version, numbers_of(&read)),
            (0x0301, vec![0, 10, 11, 5, 22, 23, 35, 0xff01])
        );
    }

    #[test]
    fn a_hello_of_ssl3_has_no_extensions() {
        let bytes = hello(&[Protocol::Ssl3]).bytes(|| [7; 32]);
        assert_eq!(&bytes[..3], [22, 3, 0]);
        let read = Read::new(&bytes);
        assert_eq!((read.version, numbers_of(&read)), (0x0300, vec![]));
    }

    #[test]
    fn a_hello_of_ssl2_says_its_own_length() {
        let bytes = ssl2([7; 16]);
        assert_eq!(usize::from(u16::from_be_bytes([bytes[0] & 0x7f, bytes[1]])), bytes.len() - 2);
        assert_eq!(bytes[2..5], [1, 0, 2]);
    }
}
