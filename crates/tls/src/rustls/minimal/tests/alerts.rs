//! The effect of alerts on the minimal client and on rustls.

use rustls::unbuffered::ConnectionState;

use super::*;
use crate::rustls::failure::failure;
use crate::rustls::flight::encode_flight;

/// The minimal client's result after an unencrypted alert, before or after the ServerHello.
fn says_to(alert: [u8; 2], times: usize, behind: bool) -> Result<(), Failure> {
    let (mut client, outgoing) = begun(&template(Group::X25519));
    let mut incoming = if behind { server_hello_to(&outgoing) } else { Vec::new() };
    (0..times).for_each(|_| incoming.extend([&[21, 3, 3, 0, 2], &alert[..]].concat()));
    feed(&mut client, &mut incoming, &mut Vec::new()).map(|_| ())
}

/// The result of rustls after the same alert.
fn rustls_says_to(alert: [u8; 2], times: usize, behind: bool) -> Result<(), Failure> {
    let suites = SUITES.each_ref().map(|suite| suite.code_point);
    let mut library =
        UnbufferedClientConnection::new(config(Group::X25519, &suites), name()).unwrap();
    let (mut incoming, mut outgoing, mut used) = (Vec::new(), Vec::new(), 0);
    loop {
        let status = library.process_tls_records(&mut incoming[used..]);
        used += status.discard;
        match status.state {
            Ok(ConnectionState::EncodeTlsData(mut flight)) => {
                encode_flight(&mut outgoing, &mut flight);
            }
            Ok(ConnectionState::TransmitTlsData(flight)) => {
                flight.done();
                if incoming.is_empty() && behind {
                    incoming = server_hello_to(&outgoing);
                }
                if used == 0 {
                    (0..times).for_each(|_| {
                        incoming.extend([&[21, 3, 3, 0, 2], &alert[..]].concat());
                    });
                }
            }
            Ok(_) => return Ok(()),
            Err(error) => return Err(failure(&error, false)),
        }
    }
}

/// The first record of a server's answer.
fn server_hello_to(hello: &[u8]) -> Vec<u8> {
    let mut server = server(server_config(false));
    server.read_tls(&mut &hello[..]).unwrap();
    server.process_new_packets().unwrap();
    let mut flight = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut flight).unwrap();
    }
    flight.truncate(record_length(&flight).unwrap().unwrap());
    flight
}

/// Alerts in the clear mean what they mean to rustls, which takes warnings before the ServerHello
/// for warnings. RFC 8446 (6.1, 6.2) does so for user_canceled alone.
#[test]
fn alerts_in_the_clear_are_errors_whatever_their_level() {
    for level in 0..=3 {
        for alert in [CLOSE_NOTIFY, 40, USER_CANCELED, 112] {
            for behind in [false, true] {
                for times in [1, 4, 5] {
                    let alert = [level, alert];
                    let theirs = match alert {
                        [_, CLOSE_NOTIFY] if !behind => Err(Failure::Closed(Step::Handshake)),
                        [WARNING, 40 | 112] if !behind => Err(Failure::Alert(alert[1])),
                        _ => rustls_says_to(alert, times, behind),
                    };
                    let ours = says_to(alert, times, behind);
                    assert_eq!(ours, theirs, "{alert:?}, {times} times, behind: {behind}");
                }
            }
        }
    }
}

#[test]
fn an_alert_in_place_of_a_server_hello_is_named() {
    let mut config = server_config(false);
    config.alpn_protocols = vec![b"other".to_vec()];
    let (mut client, outgoing) = begun(&template(Group::X25519));
    let mut server = server(config);
    server.read_tls(&mut &outgoing[..]).unwrap();
    server.process_new_packets().unwrap_err();
    let mut incoming = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut incoming).unwrap();
    }
    // no_application_protocol (RFC 7301, section 3.2).
    assert_eq!(feed(&mut client, &mut incoming, &mut Vec::new()), Err(Failure::Alert(120)));
}
