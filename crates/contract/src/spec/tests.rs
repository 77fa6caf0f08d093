use super::*;
use tlslab_wire::names::{Group, TlsVersion};

fn spec(json: &str) -> Result<CheckedSpec, SpecError> {
    serde_json::from_str::<RunSpec>(json).expect("well-formed").checked()
}

fn with_tls(tls: &str) -> Result<CheckedSpec, SpecError> {
    spec(&format!(r#"{{"url":"https://localhost/","stop":{{"count":1}},"tls":{tls}}}"#))
}

#[test]
fn a_short_spec_gets_defaults() {
    let checked = spec(r#"{"url":"https://localhost:8443/a?b","stop":{"count":10}}"#).unwrap();
    assert_eq!(checked.target().port, 8443);
    assert_eq!(checked.target().path, "/a?b");
    assert_eq!(checked.target().authority, "localhost:8443");
    assert_eq!(checked.requests_per_connection(), Some(1));
    assert_eq!(checked.spec().deadlines.connect_ms, 10_000);
}

#[test]
fn an_ipv6_host_loses_its_brackets_and_its_authority_keeps_them() {
    let checked = spec(r#"{"url":"https://[::1]:1/","stop":{"count":1}}"#).unwrap();
    assert_eq!(checked.target().host, "::1");
    assert_eq!(checked.target().authority, "[::1]:1");
}

#[test]
fn a_host_alone_is_a_url_of_the_only_scheme_there_is() {
    for (url, host, port, path) in [
        ("localhost:8443", "localhost", 8443, "/"),
        ("localhost", "localhost", 443, "/"),
        ("localhost:8443/a?b", "localhost", 8443, "/a?b"),
        ("[::1]:8443", "::1", 8443, "/"),
    ] {
        let checked = spec(&format!(r#"{{"url":"{url}","stop":{{"count":1}}}}"#)).unwrap();
        let target = checked.target();
        assert_eq!((&*target.host, target.port, &*target.path), (host, port, path));
        assert_eq!(checked.spec().url, url);
    }
}

#[test]
fn other_schemes_and_credentials_are_refused() {
    for url in ["ftp://localhost/", "https://u:p@localhost/", "https://", "u:p@localhost", ""] {
        let result = spec(&format!(r#"{{"url":"{url}","stop":{{"count":1}}}}"#));
        assert!(matches!(result, Err(SpecError::Url { .. })), "{url}: {result:?}");
    }
}

#[test]
fn zeros_are_refused_by_name() {
    let error = spec(r#"{"url":"https://localhost/","stop":{"count":0}}"#).unwrap_err();
    assert_eq!(error.to_string(), "stop.count must be at least 1");
}

#[test]
fn what_would_never_end_is_refused() {
    let url = r#""url":"https://localhost/""#;
    for (rest, words) in [
        (r#""stop":{"count":1},"requests_per_connection":"unlimited""#, "ends by time"),
        (r#""stop":{"duration_ms":18446744073709551615}"#, "stop.duration_ms must not be"),
        (r#""stop":{"count":1},"warmup_ms":86400001"#, "warmup_ms must not be longer"),
        (r#""stop":{"count":1},"connections":2000,"threads":2000"#, "1024 at most"),
    ] {
        let error = spec(&format!("{{{url},{rest}}}")).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_portion_is_a_part_of_the_whole() {
    let with = |portion: &str| {
        let json = r#""url":"https://localhost/","stop":{"count":1},"generators":3"#;
        spec(&format!(r#"{{{json},"portion":{portion}}}"#))
    };
    for right in ["null", "1.0", "0.001"] {
        assert!(with(right).is_ok(), "{right}");
    }
    for wrong in ["0.0", "-0.5", "1.5"] {
        assert!(matches!(with(wrong), Err(SpecError::Portion(_))), "{wrong}");
    }
}

#[test]
fn a_proof_is_a_token_and_no_path() {
    let with = |proof: &str| {
        spec(&format!(r#"{{"url":"https://localhost/","stop":{{"count":1}},"proof":"{proof}"}}"#))
    };
    assert!(with("0123456789abcdef").is_ok());
    for wrong in ["short", "../../../../etc/passwd", "0123456789abcde\\n0"] {
        assert_eq!(with(wrong), Err(SpecError::Proof), "{wrong}");
    }
}

#[test]
fn without_tls_nothing_is_asked_that_needs_it() {
    let with = |more: &str| spec(&format!(r#"{{"url":"http://h/","stop":{{"count":1}}{more}}}"#));
    assert!(with("").is_ok());
    assert!(with(r#","tls":{"trust":"anyone","authenticate":"sampled"}"#).is_ok());
    for (more, field) in [
        (r#","handshake_only":true"#, "handshake_only"),
        (r#","tls":{"versions":["1.3"]}"#, "tls.versions"),
        (r#","tls":{"groups":["X25519"]}"#, "tls.groups"),
        (r#","tls":{"resume":"psk"}"#, "tls.resume"),
        (r#","tls":{"server_name":"h"}"#, "tls.server_name"),
    ] {
        assert_eq!(with(more).map(|_| ()), Err(SpecError::OfTls(field)), "{more}");
    }
}

#[test]
fn a_handshake_alone_carries_neither_early_data_nor_tickets_of_tls_1_3() {
    let with = |tls: &str| {
        let url = r#""url":"https://localhost/","stop":{"count":1}"#;
        spec(&format!(r#"{{{url},"handshake_only":true,"tls":{tls}}}"#)).map(|_| ())
    };
    let early = r#"{"resume":"psk","early_data":true}"#;
    assert_eq!(with(early), Err(SpecError::EarlyDataWithoutRequest));
    assert_eq!(with(r#"{"resume":"psk"}"#), Err(SpecError::TicketsAfterHandshakeOnly));
    assert_eq!(with(r#"{"resume":"ticket"}"#), Ok(()));
}

#[test]
fn an_unknown_field_is_refused() {
    let json = r#"{"url":"https://localhost/","stop":{"count":1},"conections":3}"#;
    let error = serde_json::from_str::<RunSpec>(json).unwrap_err().to_string();
    assert!(error.contains("unknown field `conections`"), "{error}");
}

#[test]
fn suites_groups_and_versions_must_fit() {
    let tls = r#"{"versions":["1.3"],"suites":["AES128-SHA"]}"#;
    assert!(matches!(with_tls(tls), Err(SpecError::SuiteOutsideVersions { .. })));
    let tls = r#"{"versions":["1.2","1.3"],"suites":["AES128-SHA"]}"#;
    assert_eq!(with_tls(tls), Err(SpecError::VersionWithoutSuite(TlsVersion::Tls13)));
    let tls = r#"{"versions":["1.2"],"groups":["X25519MLKEM768"]}"#;
    assert_eq!(with_tls(tls), Err(SpecError::GroupNeedsTls13(Group::X25519MlKem768)));
    let tls = r#"{"versions":["1.2"],"suites":["AES128-SHA"],"groups":["X25519"]}"#;
    assert!(matches!(with_tls(tls), Err(SpecError::GroupWithoutEcdhe(..))));
}
