//! Connections that had to wait because the server's accept queue was full: the kernel's counter,
//! and the note in a record.

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use tlslab_contract::record::SlowConnects;
use tlslab_wire::wording::{counted, grouped};

/// The kernel's counter before a run, if the server is on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Overflows {
    before: Option<u64>,
}

impl Overflows {
    /// Reads the counter, if the server's address is on this machine.
    pub fn begin(server: SocketAddr) -> Self {
        Self { before: is_local(server.ip()).then(current).flatten() }
    }

    /// The number of overflows of an accept queue since then.
    pub fn since(self) -> Option<u64> {
        Some(current()?.saturating_sub(self.before?))
    }
}

/// The note about connections that waited a second or more to connect, if any did.
pub fn note(waited: SlowConnects) -> Option<String> {
    let SlowConnects { count, listen_overflows } = waited;
    let connections = counted(count, "connection");
    let why = match listen_overflows {
        None => "the server's backlog is too short, or packets were lost on the way".to_owned(),
        Some(0) => "and no listen queue of this machine overflowed: packets were lost".to_owned(),
        Some(n) => {
            format!("the server's backlog is too short (ListenOverflows rose by {})", grouped(n))
        }
    };
    let joint = if listen_overflows == Some(0) { "," } else { ":" };
    (count > 0).then(|| format!("{connections} waited 1 s or more to connect{joint} {why}"))
}

/// True if an address is this machine's: only such an address can be bound.
fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// The kernel's current ListenOverflows; `None` if unavailable.
fn current() -> Option<u64> {
    listen_overflows(&fs::read_to_string("/proc/net/netstat").ok()?)
}

/// The file has two lines for each group of counters: names and values.
fn listen_overflows(netstat: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut counters = names.split_whitespace().zip(values.split_whitespace());
    counters.find(|(name, _)| *name == "ListenOverflows")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_by_its_name() {
        let netstat = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\n\
            TcpExt: 7 42 43\nIpExt: InNoRoutes ListenOverflows\nIpExt: 1 2\n";
        assert_eq!(listen_overflows(netstat), Some(42));
        assert_eq!(listen_overflows("TcpExt: SyncookiesSent\nTcpExt: 1\n"), None);
        assert_eq!(listen_overflows("TcpExt: ListenOverflows\n"), None);
        assert_eq!(listen_overflows("TcpExt: ListenOverflows\nTcpExt: many\n"), None);
        assert_eq!(listen_overflows(""), None);
    }

    #[test]
    fn only_this_machines_servers_have_their_overflows_reported() {
        for (server, is_here) in [
            ("127.0.0.1:443", true),
            ("[::1]:443", true),
            // RFC 5737: reserved for documentation.
            ("192.0.2.1:443", false),
        ] {
            let since = Overflows::begin(server.parse().unwrap()).since();
            assert_eq!(since.is_some(), is_here, "{server}");
        }
    }

    #[test]
    fn the_note_names_the_backlog_only_where_it_may_be_the_cause() {
        let note = |count, listen_overflows| note(SlowConnects { count, listen_overflows });
        assert_eq!(note(0, Some(9)), None);
        assert_eq!(
            note(3, Some(9)).unwrap(),
            "3 connections waited 1 s or more to connect: the server's backlog is too short \
             (ListenOverflows rose by 9)"
        );
        assert!(
            note(2_127, Some(1_500)).unwrap().starts_with("2,127 connections waited 1 s or more")
        );
        assert!(note(2_127, Some(1_500)).unwrap().ends_with("(ListenOverflows rose by 1,500)"));
        assert!(note(1, None).unwrap().starts_with("1 connection waited 1 s or more to connect: "));
        assert!(!note(3, Some(0)).unwrap().contains("backlog"));
    }
}
