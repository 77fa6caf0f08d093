//! Handshakes with a HelloRetryRequest, where it is asked for.

use super::{SERVERS, reference, resuming, settings};
use crate::harness::{BACKENDS, measured, try_run};
use tlslab_contract::spec::{HelloRetry, Resume};
use tlslab_serve::Resumption;
use tlslab_testkit::peers::Peer;
use tlslab_testkit::tls_server::Version;
use tlslab_wire::names::Group;

#[test]
fn a_hello_retry_request_is_forced_and_seen_on_every_connection() {
    for server_backend in SERVERS {
        let (server, trust) = reference(server_backend, Resumption::default());
        for backend in BACKENDS {
            for groups in [vec![], vec![Group::P256]] {
                let mut spec = resuming(server.address(), backend, Resume::None, 10);
                spec.tls.hello_retry = Some(HelloRetry::Decoy);
                spec.tls.groups = groups;
                let record = measured(spec, trust.clone());
                assert_eq!((record.outcomes.completed, record.facts.len()), (10, 1));
                assert!(record.facts[0].facts.hello_retry_request);
            }
        }
    }
}

#[test]
fn a_share_that_the_server_lacks_is_asked_to_be_replaced_and_one_that_it_has_is_not() {
    let (mut settings, trust) = settings(Version::Tls13);
    settings.groups = "X25519:P-256".to_owned();
    let peer = Peer::honest(&settings);
    for backend in BACKENDS {
        let mut spec = resuming(peer.address(), backend, Resume::None, 10);
        spec.tls.groups = vec![Group::P256];
        spec.tls.hello_retry = Some(HelloRetry::Share(Group::P384));
        let record = measured(spec.clone(), trust.clone());
        assert_eq!((record.outcomes.completed, record.facts.len()), (10, 1));
        assert!(record.facts[0].facts.hello_retry_request);
        assert_eq!(record.facts[0].facts.group, "P-256");
        spec.tls.hello_retry = Some(HelloRetry::Share(Group::X25519));
        let error = try_run(spec, trust.clone()).unwrap_err();
        assert_eq!(error.class(), "unexpected_hello_retry_request", "{error}");
    }
}
