//! ClientHellos of more than one segment, HelloRetryRequests without a group, and a ChangeCipherSpec
//! before the ServerHello.

use tlslab_probe::{ProbeOffer, ProbeSpec, Protocol, Topic};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{Reset, Wait};
use tlslab_testkit::peers::{Peer, hello_retry, one_segment};
use tlslab_testkit::tls_server::{Settings, Version};
use tlslab_wire::names::{Group, TlsVersion};

use super::{names, of_version, probed, spec, try_probe};

fn settings(version: Option<Version>) -> Settings {
    let identities = vec![Authority::new("tlslab test").issue(Key::P256)];
    let groups = "X25519MLKEM768:X25519".to_owned();
    let groups = if version == Some(Version::Tls12) { String::new() } else { groups };
    Settings { identities, version, groups, ..Settings::default() }
}

#[test]
fn behind_a_device_that_reads_one_segment_everything_is_found_but_what_needs_two() {
    let settings = settings(None);
    let peer = Peer::start(&settings, 0, one_segment(&settings, vec![Reset]));
    let topics = [Topic::Groups, Topic::SignatureSchemes, Topic::Resumption, Topic::Compression];
    let record = probed(peer.address(), &topics);
    let found = record.large_hello.unwrap();
    assert_eq!(found.accepted, Some(false));
    assert_eq!(found.refusal.unwrap().class, "reset");
    assert!(found.small_bytes < 1_400 && found.bytes > 1_400, "{}", found.bytes);
    let groups = of_version(&record.groups, Protocol::Tls13);
    assert_eq!(names(groups), ["X25519"]);
    assert_eq!(groups.refusal.as_ref().unwrap().class, "reset");
    let schemes = of_version(&record.signature_schemes, Protocol::Tls13);
    assert_eq!(names(schemes), ["ecdsa_secp256r1_sha256"]);
    assert_eq!(record.resumption.unwrap().psk, Some(true));
    assert_eq!(record.compression.unwrap().certificates, Some(vec![]));
    assert_eq!(record.unanswered, []);
}

#[test]
fn a_silence_at_a_large_client_hello_is_not_known() {
    let settings = settings(None);
    let peer = Peer::start(&settings, 0, one_segment(&settings, vec![Wait]));
    let limits = tlslab_probe::ProbeLimits { connection_ms: 200, ..Default::default() };
    let spec = ProbeSpec { limits, ..spec(peer.address(), &[Topic::SignatureSchemes]) };
    let record = try_probe(spec).unwrap();
    let found = record.large_hello.unwrap();
    assert_eq!((found.accepted, found.refusal.unwrap().is_silence()), (None, true));
    let question = format!("a ClientHello of {} bytes", found.bytes);
    assert_eq!(record.unanswered[0].question, question);
    let schemes = of_version(&record.signature_schemes, Protocol::Tls13);
    assert_eq!(names(schemes), ["ecdsa_secp256r1_sha256"]);
}

#[test]
fn a_server_takes_a_large_client_hello_whether_or_not_it_has_the_group() {
    for version in [None, Some(Version::Tls12)] {
        let settings = settings(version);
        let record = probed(Peer::honest(&settings).address(), &[Topic::Versions]);
        assert_eq!(record.large_hello.unwrap().accepted, Some(true), "{version:?}");
        let peer = Peer::start(&settings, 0, one_segment(&settings, vec![Reset]));
        let record = probed(peer.address(), &[Topic::Versions]);
        assert_eq!(record.large_hello.unwrap().accepted, Some(false), "{version:?}");
    }
}

/// Also with a ChangeCipherSpec before each ServerHello.
#[test]
fn a_group_is_accepted_if_a_server_hello_has_it() {
    let has = [Group::X25519, Group::P384];
    let points = has.map(Group::code_point).to_vec();
    for always in [false, true] {
        let peer =
            Peer::start(&Settings::default(), 0, hello_retry::by_cookie(points.clone(), always));
        let record = probed(peer.address(), &[Topic::Groups]);
        assert_eq!(record.versions[0].accepted, Some(true), "always {always}");
        let groups = of_version(&record.groups, Protocol::Tls13);
        assert_eq!(names(groups), has.map(Group::name), "always {always}");
        let offers = [Group::P384, Group::X448].map(|group| ProbeOffer {
            versions: vec![TlsVersion::Tls13],
            groups: vec![group],
            ..ProbeOffer::default()
        });
        let spec = ProbeSpec { offers: offers.into(), ..spec(peer.address(), &[]) };
        let accepted = try_probe(spec).unwrap().offers.into_iter().map(|found| found.accepted);
        assert_eq!(accepted.collect::<Vec<_>>(), [Some(true), Some(false)], "always {always}");
    }
}
