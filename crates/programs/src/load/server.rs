//! The server's processor time, if the server is on this machine: the processes that hold its
//! listening socket, found in /proc.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// The state LISTEN in /proc/net/tcp (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// The length of a clock tick in microseconds: USER_HZ is 100 on every architecture that Linux
/// supports (time(7)).
pub const TICK_US: u64 = 10_000;

/// The highest number of processes that are read.
const PROCESSES_LIMIT: usize = 10_000;

/// The processes of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerProcesses {
    ids: Vec<u32>,
    name: String,
}

/// A server's usage between two instants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUsage {
    /// The name of the server's program.
    pub name: String,
    /// The number of its processes.
    pub processes: usize,
    /// Processor time in clock ticks: user space, kernel.
    pub ticks: (u64, u64),
}

impl ServerProcesses {
    /// The processes that listen on an address, as far as this user may read them.
    pub fn listening_on(address: SocketAddr) -> Option<Self> {
        let sockets: BTreeSet<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok())
            .flat_map(|table| listening(&table, address))
            .collect();
        if sockets.is_empty() {
            return None;
        }
        let processes = fs::read_dir("/proc").ok()?.take(PROCESSES_LIMIT).flatten();
        let ids: Vec<u32> = processes
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|id| holds(*id, &sockets))
            .collect();
        let name = fs::read_to_string(format!("/proc/{}/comm", ids.first()?)).ok()?;
        Some(Self { ids, name: name.trim().to_owned() })
    }

    /// Their processor time so far, in clock ticks; `None` once one of them has ended.
    pub fn ticks(&self) -> Option<(u64, u64)> {
        self.ids.iter().try_fold((0, 0), |(user, system), id| {
            let more = ticks(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?;
            Some((user + more.0, system + more.1))
        })
    }

    /// Their usage since the reading `before`.
    pub fn usage_since(&self, before: (u64, u64)) -> Option<ServerUsage> {
        let now = self.ticks()?;
        Some(ServerUsage {
            name: self.name.clone(),
            processes: self.ids.len(),
            ticks: (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1)),
        })
    }
}

/// The inodes of listening sockets that accept connections to the address.
fn listening(table: &str, address: SocketAddr) -> Vec<String> {
    let is_it = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let local = fields.get(1).and_then(|field| field.rsplit_once(':'));
        let (Some((host, port)), Some(&LISTEN)) = (local, fields.get(3)) else { return false };
        let any = host.bytes().all(|digit| digit == b'0');
        u16::from_str_radix(port, 16) == Ok(address.port())
            && (any || host == hexadecimal(address.ip()))
    };
    let inode =
        |line: &str| line.split_whitespace().nth(9).map(|inode| format!("socket:[{inode}]"));
    table.lines().skip(1).filter(is_it).filter_map(inode).collect()
}

/// An address in the form of the kernel's tables: 32-bit words in the machine's byte order.
fn hexadecimal(ip: IpAddr) -> String {
    let words = |octets: &[u8]| -> String {
        let word = |part: &[u8]| u32::from_ne_bytes(part.try_into().unwrap_or_default());
        octets.chunks(4).map(|part| format!("{:08X}", word(part))).collect()
    };
    match ip {
        IpAddr::V4(v4) => words(&v4.octets()),
        IpAddr::V6(v6) => words(&v6.octets()),
    }
}

fn holds(process: u32, sockets: &BTreeSet<String>) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    let is_socket = |path: &Path| {
        fs::read_link(path)
            .is_ok_and(|link| link.to_str().is_some_and(|link| sockets.contains(link)))
    };
    files.flatten().any(|file| is_socket(&file.path()))
}

/// User and system time in a line of /proc/PID/stat: fields 14 and 15, counted after the name,
/// which may contain any characters (proc_pid_stat(5)).
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn this_process_is_found_by_the_socket_that_it_listens_on() {
        for local in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(local).unwrap();
            let port = listener.local_addr().unwrap().port();
            let found = ServerProcesses::listening_on(([127, 0, 0, 1], port).into()).unwrap();
            assert_eq!(found.ids, [std::process::id()]);
            let before = found.ticks().unwrap();
            assert_eq!(found.usage_since(before).unwrap().processes, 1);
            drop(listener);
            assert_eq!(ServerProcesses::listening_on(([127, 0, 0, 1], port).into()), None);
        }
    }

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 41 42 0 0";
        assert_eq!(ticks(stat), Some((41, 42)));
        assert_eq!(ticks("7 (a"), None);
    }
}
