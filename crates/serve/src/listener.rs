//! Listening sockets: one per worker, all on the same address.

use std::io;
use std::net::SocketAddr;

use mio::net::TcpListener;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// Length of the accept queue; the kernel limits it to net.core.somaxconn.
const BACKLOG: i32 = 4096;

/// Binds one listening socket per worker. The kernel distributes connections over them
/// (SO_REUSEPORT), so that workers share no queue.
///
/// # Errors
/// The address is in use or not this machine's, or the limit of open files is reached.
pub(super) fn bind(address: SocketAddr, workers: usize) -> io::Result<Vec<TcpListener>> {
    let first = socket_for(address)?;
    first.bind(&address.into())?;
    // Only after the first bind: before it, the option would silently share a port with another
    // server of the same user instead of refusing the port.
    first.set_reuse_port(workers > 1)?;
    let bound = first.local_addr()?;
    let mut sockets = vec![first];
    for _ in 1..workers {
        sockets.push(bind_beside(&bound, address)?);
    }
    sockets.into_iter().map(listen).collect()
}

fn bind_beside(bound: &SockAddr, address: SocketAddr) -> io::Result<Socket> {
    let socket = socket_for(address)?;
    socket.set_reuse_port(true)?;
    socket.bind(bound)?;
    Ok(socket)
}

fn socket_for(address: SocketAddr) -> io::Result<Socket> {
    let kind = Type::STREAM.nonblocking().cloexec();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
    // Connections of an earlier server may still be in TIME_WAIT on this port.
    socket.set_reuse_address(true)?;
    // Accepted sockets inherit the option: one system call here instead of one per connection.
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}

fn listen(socket: Socket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)?;
    Ok(TcpListener::from_std(socket.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    #[test]
    fn all_workers_listen_on_the_same_port() {
        let listeners = bind(ANY, 3).unwrap();
        let address = listeners[0].local_addr().unwrap();
        assert!(listeners.iter().all(|l| l.local_addr().unwrap() == address));
        for _ in 0..8 {
            std::net::TcpStream::connect(address).unwrap();
        }
    }

    #[test]
    fn a_port_of_a_running_server_is_refused_and_not_shared() {
        for (first, second) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
            let running = bind(ANY, first).unwrap();
            let address = running[0].local_addr().unwrap();
            assert_eq!(bind(address, second).unwrap_err().kind(), ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn accepted_sockets_do_not_delay() {
        let listener = bind(ANY, 1).unwrap().remove(0);
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = loop {
            match listener.accept() {
                Ok((accepted, _)) => break accepted,
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
        };
        assert!(accepted.nodelay().unwrap());
    }
}
