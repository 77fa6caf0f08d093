//! Invariants of the reader of specifications. Property tests and the fuzz target `spec_json` check
//! them.

use crate::spec::{RequestBody, RunSpec, Secret};
use tlslab_wire::http::message::Messages;

/// Any input is either refused or a specification that survives a round trip through JSON, except
/// for its secret. If the specification can be run, its request is exactly one HTTP request.
///
/// Panics on a violation.
pub fn hold(bytes: &[u8]) {
    let Ok(spec) = serde_json::from_slice::<RunSpec>(bytes) else { return };
    let written = serde_json::to_string(&spec).expect("a specification can be written");
    let again: RunSpec = serde_json::from_str(&written).expect("and read again");
    let mut shown = spec.clone();
    if let Some(own) = &mut shown.tls.client_identity {
        own.key = Secret::new(Secret::WITHHELD.to_owned());
    }
    assert_eq!(again, shown);
    let Ok(checked) = spec.clone().checked() else { return };
    assert_eq!(checked.spec(), &spec);
    let http = &checked.spec().http;
    let content = http.body.as_ref().and_then(RequestBody::bytes).unwrap_or_default();
    let messages = Messages::new(checked.pages(), &http.parts(), checked.spec().load.seed);
    for place in 0..3 {
        let message = messages.at(place);
        for request in [&message.request, &message.last_request] {
            let mut fields = [httparse::EMPTY_HEADER; 80];
            let mut head = httparse::Request::new(&mut fields);
            let length = request.len() - content.len();
            assert_eq!(head.parse(request), Ok(httparse::Status::Complete(length)));
            assert_eq!(&request[length..], content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Fields of a specification with valid values, invalid values, and values of another type.
    const FIELDS: [&str; 34] = [
        r#""schema":"tlslab.spec/1""#,
        r#""schema":"tlslab.spec/9""#,
        r#""connections":18446744073709551615"#,
        r#""connections":64"#,
        r#""threads":4294967295"#,
        r#""threads":-1"#,
        r#""cpus":[0,1,18446744073709551615]"#,
        r#""warmup_ms":86400000"#,
        r#""stop":{"count":0}"#,
        r#""stop":{"duration_ms":1}"#,
        r#""stop":{"count":1,"duration_ms":1}"#,
        r#""requests_per_connection":"unlimited""#,
        r#""requests_per_connection":{"count":7}"#,
        r#""handshake_only":true"#,
        r#""tls":{"versions":["1.2"],"groups":["X25519MLKEM768"]}"#,
        r#""tls":{"suites":["AES128-SHA","TLS_AES_128_GCM_SHA256"],"backend":"openssl"}"#,
        r#""tls":{"trust":{"pem":"\u0000"},"server_name":"\ud83d\ude00"}"#,
        r#""tls":{"trust":"anyone","server_name":"127.0.0.1","authenticate":"sampled"}"#,
        r#""tls":{"client_identity":{"certificate":"","key":"a secret"},"alpn":["h2",""]}"#,
        r#""tls":{"versions":["ssl3","1.0"],"allow_obsolete":true,"dh_bits":0}"#,
        r#""tls":{"server_names":["a","b"],"resume":"psk","resume_ratio":0.1,"early_data":true}"#,
        r#""tls":null"#,
        r#""deadlines":{"connect_ms":4294967295}"#,
        r#""deadlines":{"connect_ms":4294967296}"#,
        r#""allow":["a\nb",""]"#,
        r#""proof":"0123456789abcdef""#,
        r#""proof":"../../0123456789""#,
        r#""http":{"method":"POST","body":{"text":"GET / HTTP/1.1\r\n\r\n"}}"#,
        r#""http":{"method":"G T","expect_status":"any"}"#,
        r#""http":{"headers":[{"name":"Host","value":"a\r\nb"}]}"#,
        r#""http":{"headers":[{"name":"X-A","value":"\u00fc"},{"name":"host","value":""}]}"#,
        r#""http":{"paths":[{"path":"/a b\r\n","weight":3},{"path":"/?\u0000#x"}]}"#,
        r#""connect_to":"localhost:1""#,
        r#""unknown":{}"#,
    ];

    fn spec() -> impl Strategy<Value = String> {
        let url = prop_oneof!["https://[a-z:@/?#%\\.\\[\\]0-9]{0,30}", "\\PC{0,20}"];
        let fields = prop::collection::vec(prop::sample::select(&FIELDS[..]), 0..5);
        (url, fields).prop_map(|(url, fields)| {
            let url = serde_json::to_string(&url).unwrap();
            let stop = if fields.iter().any(|f| f.contains("stop")) { "" } else { STOP };
            let fields: String = fields.iter().map(|field| format!(",{field}")).collect();
            format!(r#"{{"url":{url}{stop}{fields}}}"#)
        })
    }

    /// The field that every specification needs.
    const STOP: &str = r#","stop":{"count":1}"#;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(4096)
        })]

        #[test]
        fn any_json_is_refused_or_comes_back(json in spec()) {
            hold(json.as_bytes());
        }

        #[test]
        fn any_bytes_are_refused_or_come_back(
            json in spec(),
            at in any::<prop::sample::Index>(),
            byte: u8,
        ) {
            let mut bytes = json.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            hold(&bytes);
        }
    }
}
