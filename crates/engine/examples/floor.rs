//! The physical floor of one TLS 1.3 connection on this machine, for `make bench`.
//!
//! `floor 127.0.0.1:PORT SECONDS` prints, as JSON and in microseconds of processor time: a bare TCP
//! connection to that port (connect and reset), and each of the primitives that a client of
//! `TLS_AES_128_GCM_SHA256` with X25519 and an ECDSA P-256 certificate cannot do without, one call
//! after another with nothing around them. The library is that of the fast back end.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey, X25519};
use aws_lc_rs::signature::{self, EcdsaKeyPair, KeyPair as _};
use aws_lc_rs::{digest, hmac, rand};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;
use tlslab_engine::socket::Socket;

/// Connections in flight, as in the bench.
const IN_FLIGHT: usize = 50;

/// Connections that are made in one go; then the server's queue (of 4,096) gets time to run empty.
const BURST: usize = 1000;

/// A TCP connection on loopback that takes longer than this will not be made.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a primitive is measured at a time, and how often; the median of these is told.
const ROUND: Duration = Duration::from_millis(10);
const ROUNDS: usize = 9;

/// Payload of the records that nginx with OpenSSL sends: EncryptedExtensions, Certificate (one
/// ECDSA leaf), CertificateVerify, Finished, and the response (head and 2,048 bytes) in one.
const OPENED: [usize; 5] = [6, 560, 80, 36, 2300];

/// Payload of those that the client sends: Finished, and the request.
const SEALED: [usize; 2] = [36, 90];

/// Lengths of ClientHello, ServerHello and the server's encrypted messages, which are hashed.
const HASHED: [usize; 6] = [200, 122, 6, 560, 80, 36];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, seconds] = arguments.as_slice() else { return usage() };
    let (Ok(address), Ok(seconds)) = (address.parse::<SocketAddr>(), seconds.parse::<f32>()) else {
        return usage();
    };
    if !address.ip().is_loopback() {
        return usage();
    }
    match measure(address, Duration::from_secs_f32(seconds)) {
        Ok(found) => {
            let written = writeln!(io::stdout(), "{found}");
            if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "floor: {error}");
            ExitCode::from(3)
        }
    }
}

fn usage() -> ExitCode {
    let _ = writeln!(io::stderr(), "usage: floor LOOPBACK_ADDRESS:PORT SECONDS");
    ExitCode::from(2)
}

fn measure(address: SocketAddr, time: Duration) -> io::Result<serde_json::Value> {
    Ok(json!({
        "tcp": tcp(address, time)?,
        "x25519_generate": x25519_generate(),
        "x25519_agree": x25519_agree(),
        "key_schedule": key_schedule(),
        "transcript": transcript(),
        "records": records(),
        "ecdsa_p256_verify": ecdsa_verify(),
    }))
}

/// Connects and resets in a closed loop with as many connections in flight as the bench's load has,
/// non-blocking and over a poller as there.
fn tcp(address: SocketAddr, time: Duration) -> io::Result<f64> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(IN_FLIGHT);
    let (mut connections, mut used) = (0, 0.0);
    let begin = Instant::now();
    while begin.elapsed() < time {
        let before = cpu_us();
        burst(address, &mut poll, &mut events)?;
        used += cpu_us() - before;
        connections += BURST;
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(used / connections as f64)
}

fn burst(address: SocketAddr, poll: &mut Poll, events: &mut Events) -> io::Result<()> {
    let failed = |failure| io::Error::other(format!("bare TCP connection: {failure}"));
    let open = |poll: &Poll, slot: usize| {
        let socket = Socket::connect(address).map_err(failed)?;
        let fd = socket.as_raw_fd();
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut SourceFd(&fd), Token(slot), interest)?;
        Ok::<_, io::Error>(Some(socket))
    };
    let mut sockets: Vec<Option<Socket>> =
        (0..IN_FLIGHT).map(|slot| open(poll, slot)).collect::<Result<_, _>>()?;
    let (mut opened, mut ended) = (IN_FLIGHT, 0);
    while ended < BURST {
        poll.poll(events, Some(PATIENCE))?;
        if events.is_empty() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the plain port does not answer"));
        }
        for event in events.iter().filter(|event| event.is_writable()) {
            let slot = event.token().0;
            if let Some(failure) = sockets[slot].take().and_then(|s| s.connect_error()) {
                return Err(failed(failure));
            }
            ended += 1;
            if opened < BURST {
                sockets[slot] = open(poll, slot)?;
                opened += 1;
            }
        }
    }
    Ok(())
}

fn x25519_generate() -> f64 {
    each(|| {
        let key = PrivateKey::generate(&X25519).expect("aws-lc draws keys");
        black_box(key.compute_public_key().expect("a key has a public half"));
    })
}

fn x25519_agree() -> f64 {
    let ours = PrivateKey::generate(&X25519).expect("aws-lc draws keys");
    let theirs = PrivateKey::generate(&X25519).expect("aws-lc draws keys");
    let share = theirs.compute_public_key().expect("a key has a public half");
    each(|| {
        let peer = UnparsedPublicKey::new(&X25519, share.as_ref());
        let agreed = agreement::agree(&ours, peer, (), |secret| Ok(secret[0]));
        black_box(agreed.expect("two good keys agree"));
    })
}

/// HKDF over SHA-256 from the shared secret to the application's keys (RFC 8446, section 7.1).
///
/// An Extract and an Expand of up to 32 bytes are one HMAC each. What is the same in every
/// connection without a PSK (the early secret) is left out, and so are the exporter's and the
/// resumption secret.
fn key_schedule() -> f64 {
    let secret = |key: &hmac::Key, length: usize| {
        let tag = hmac::sign(key, &[7; 64][..length]);
        hmac::Key::new(hmac::HMAC_SHA256, tag.as_ref())
    };
    let constant = hmac::Key::new(hmac::HMAC_SHA256, &[1; 32]);
    each(|| {
        let handshake = secret(&constant, 32);
        // Client's and server's traffic secret: each gives key, IV and the key of its Finished.
        for _ in 0..2 {
            let traffic = secret(&handshake, 54);
            black_box((hmac::sign(&traffic, &[7; 19]), hmac::sign(&traffic, &[7; 18])));
            let finished = secret(&traffic, 24);
            black_box(hmac::sign(&finished, &[7; 32]));
        }
        let derived = secret(&handshake, 54);
        let master = secret(&derived, 32);
        for _ in 0..2 {
            let traffic = secret(&master, 54);
            black_box((hmac::sign(&traffic, &[7; 19]), hmac::sign(&traffic, &[7; 18])));
        }
    })
}

/// The transcript's hash, read after ServerHello, CertificateVerify and the server's Finished.
fn transcript() -> f64 {
    let message = [9; 600];
    each(|| {
        let mut context = digest::Context::new(&digest::SHA256);
        for (position, length) in HASHED.into_iter().enumerate() {
            context.update(&message[..length]);
            if matches!(position, 1 | 4 | 5) {
                black_box(context.clone().finish());
            }
        }
    })
}

/// AES-128-GCM: four keys are set up, the server's records opened and the client's sealed.
fn records() -> f64 {
    let new_key = || LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &[3; 16]).expect("16 bytes"));
    let nonce = || Nonce::assume_unique_for_key([5; 12]);
    let mut sealed: Vec<Vec<u8>> = OPENED.iter().map(|length| vec![0; *length]).collect();
    for record in &mut sealed {
        new_key().seal_in_place_append_tag(nonce(), Aad::empty(), record).expect("sealing");
    }
    let mut buffer = vec![0; 4096];
    each(|| {
        let keys = [new_key(), new_key(), new_key(), new_key()];
        for record in &sealed {
            let room = &mut buffer[..record.len()];
            room.copy_from_slice(record);
            black_box(keys[0].open_in_place(nonce(), Aad::empty(), room).expect("opening"));
        }
        for length in SEALED {
            let room = &mut buffer[..length];
            let tag = keys[1].seal_in_place_separate_tag(nonce(), Aad::empty(), room);
            let _ = black_box(tag.expect("sealing"));
        }
        black_box(keys);
    })
}

/// One signature over what a CertificateVerify signs: 98 bytes and a hash (RFC 8446, 4.4.3).
fn ecdsa_verify() -> f64 {
    let random = rand::SystemRandom::new();
    let pair = EcdsaKeyPair::generate(&signature::ECDSA_P256_SHA256_ASN1_SIGNING)
        .expect("aws-lc draws keys");
    let message = [2; 130];
    let signed = pair.sign(&random, &message).expect("a good key signs");
    let public = pair.public_key().as_ref();
    each(|| {
        let key = signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_ASN1, public);
        key.verify(&message, signed.as_ref()).expect("a good signature passes");
    })
}

/// Processor time of one call, in microseconds: the median of some rounds.
fn each(mut call: impl FnMut()) -> f64 {
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        let (begin, before, mut calls) = (Instant::now(), cpu_us(), 0);
        while begin.elapsed() < ROUND {
            (0..16).for_each(|_| call());
            calls += 16;
        }
        *round = (cpu_us() - before) / f64::from(calls);
    }
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// User and system time of this thread so far, in microseconds.
fn cpu_us() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("Linux accounts for threads");
    [usage.user_time(), usage.system_time()]
        .map(|time| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64)
        .iter()
        .sum()
}
