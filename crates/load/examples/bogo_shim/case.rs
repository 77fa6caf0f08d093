//! The flags of a case of the runner, and their meaning.

use tlslab_tls::EarlyData;

/// The settings and expectations of one connection of a case, by the flags.
#[derive(Default)]
pub struct Case {
    pub client: String,
    pub port: u16,
    pub id: u64,
    pub ipv6: bool,
    pub resumptions: u32,
    pub groups: Vec<u16>,
    pub schemes: Vec<u16>,
    pub alpn: Vec<String>,
    pub host: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
    pub trust: Option<String>,
    pub verify: bool,
    pub early_data: bool,
    pub oldest: u16,
    pub newest: u16,
    pub writes_first: bool,
    pub shuts_down: bool,
    pub check_close: bool,
    pub expect_miss: bool,
    pub expect_verified: bool,
    pub expect_early: Option<EarlyData>,
    pub expect_suite: Option<u16>,
    pub expect_alpn: Option<String>,
    pub expect_group: Option<u16>,
    pub expect_scheme: Option<u16>,
    pub expect_version: Option<u16>,
    pub expect_retry: Option<bool>,
}

/// The reason why a case is not run to its end.
pub enum Stop {
    /// The client does not support this flag.
    Unimplemented(String),
    /// The connection failed, or was not the expected one.
    Failed(String),
}

/// The kind of a connection of a case. Some flags apply to one kind only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    First,
    Resumed,
}

/// Parses the flags that apply to one of the case's connections.
pub fn parse(mut rest: impl Iterator<Item = String>, turn: Turn) -> Result<Case, Stop> {
    let mut case = Case { oldest: 0x0303, newest: 0x0304, ..Case::default() };
    while let Some(flag) = rest.next() {
        let (named, plain) =
            match (flag.strip_prefix("-on-initial"), flag.strip_prefix("-on-resume")) {
                (Some(plain), _) => (Some(Turn::First), plain),
                (_, Some(plain)) => (Some(Turn::Resumed), plain),
                _ => (None, &flag[..]),
            };
        // All connections of a case have the same offer, so other flags cannot be for one of them.
        let is_of_one = plain.starts_with("-expect") || plain == "-shim-writes-first";
        let mut other = Case::default();
        let known = match named {
            Some(_) if !is_of_one => Ok(false),
            Some(named) if named != turn => set(&mut other, plain, &mut rest),
            _ => set(&mut case, plain, &mut rest),
        };
        if !known? {
            return Err(Stop::Unimplemented(flag));
        }
    }
    Ok(case)
}

/// Applies one flag and its value. Returns whether the flag is known.
fn set(case: &mut Case, flag: &str, rest: &mut dyn Iterator<Item = String>) -> Result<bool, Stop> {
    let mut value = || rest.next().ok_or_else(|| Stop::Unimplemented(flag.to_owned()));
    match flag {
        "-client" => case.client = value()?,
        "-port" => case.port = number(&value()?)?,
        "-shim-id" => case.id = number(&value()?)?,
        "-ipv6" => case.ipv6 = true,
        "-note" => drop(value()?),
        "-resume-count" => case.resumptions = number(&value()?)?,
        "-curves" => case.groups.push(number(&value()?)?),
        "-verify-prefs" => case.schemes.push(number(&value()?)?),
        "-advertise-alpn" => case.alpn = protocols(&value()?),
        "-host-name" => case.host = Some(value()?),
        "-cert-file" => case.certificate = Some(value()?),
        "-key-file" => case.key = Some(value()?),
        "-trust-cert" => case.trust = Some(value()?),
        "-verify-peer" => case.verify = true,
        "-enable-early-data" => case.early_data = true,
        "-min-version" => case.oldest = number(&value()?)?,
        "-max-version" => case.newest = number(&value()?)?,
        "-no-tls12" => case.oldest = 0x0304,
        "-shim-writes-first" => case.writes_first = true,
        "-shim-shuts-down" => case.shuts_down = true,
        "-check-close-notify" => case.check_close = true,
        _ => return set_expectation(case, flag, &mut value),
    }
    Ok(true)
}

fn set_expectation(
    case: &mut Case,
    flag: &str,
    value: &mut dyn FnMut() -> Result<String, Stop>,
) -> Result<bool, Stop> {
    match flag {
        "-expect-session-miss" => case.expect_miss = true,
        "-expect-verify-result" => case.expect_verified = true,
        "-expect-alpn" => case.expect_alpn = Some(value()?),
        "-expect-curve-id" => case.expect_group = Some(number(&value()?)?),
        "-expect-cipher" => case.expect_suite = Some(number(&value()?)?),
        "-expect-peer-signature-algorithm" => case.expect_scheme = Some(number(&value()?)?),
        "-expect-version" => case.expect_version = Some(number(&value()?)?),
        "-expect-hrr" => case.expect_retry = Some(true),
        "-expect-no-hrr" => case.expect_retry = Some(false),
        "-expect-accept-early-data" => case.expect_early = Some(EarlyData::Accepted),
        "-expect-reject-early-data" => case.expect_early = Some(EarlyData::Rejected),
        // If the ticket does not allow early data, none is sent, and the server notices that.
        "-expect-ticket-supports-early-data" => {}
        // Every client always requests an OCSP response (ADR 0072).
        "-enable-ocsp-stapling" => {}
        // Sessions never block, make the handshake first or on the first write, and have no TLS
        // before 1.2.
        "-async" | "-implicit-handshake" | "-no-tls1" | "-no-tls11" => {}
        // These select the callbacks of BoringSSL that its own shim uses.
        "-use-custom-verify-callback" | "-use-old-client-cert-callback" => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, Stop> {
    text.parse().map_err(|_| Stop::Unimplemented(format!("the number {text}")))
}

/// The names of a list in wire format, each after its length (RFC 7301, section 3.1).
fn protocols(list: &str) -> Vec<String> {
    let (mut rest, mut names) = (list, Vec::new());
    while let Some(length) = rest.bytes().next() {
        let Some(name) = rest.get(1..=usize::from(length)) else { break };
        names.push(name.to_owned());
        rest = &rest[1 + name.len()..];
    }
    names
}
