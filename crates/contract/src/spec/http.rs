//! The HTTP part of a specification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{
    BODY_LIMIT, ExpectStatus, FIELDS_LIMIT, HeaderField, PATHS_LIMIT, RequestBody, WEIGHTS_LIMIT,
    WeightedPath, is_token,
};
use super::{RequestsPerConnection, RunSpec, SpecError};
use tlslab_wire::http::h2::STREAMS_LIMIT;
use tlslab_wire::http::message::RequestParts;
use tlslab_wire::tls::{HTTP_1_1, HTTP_2};

/// The version of HTTP, the requests, and the checks of the responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSpec {
    /// The version of HTTP. It sets the ALPN offer, and every connection is checked against it.
    pub version: HttpVersion,
    /// Concurrent requests (streams) on a connection, within the server's limit. More than one
    /// requires HTTP/2.
    pub streams: u32,
    /// How response bodies are checked. Their bytes are counted in any case.
    pub check_body: BodyCheck,
    /// The statuses of a successful response: `2xx`, `302`, `401`, `any`, or several separated by
    /// commas. A response with another status fails its connection, with class `http_status`.
    pub expect_status: ExpectStatus,
    /// The method of every request.
    pub method: String,
    /// Header fields of every request. A field replaces the program's own field of the same name.
    pub headers: Vec<HeaderField>,
    /// The body of every request.
    pub body: Option<RequestBody>,
    /// Paths to request instead of the URL's own, in a seeded order in which each path has exactly
    /// the share of its weight.
    pub paths: Vec<WeightedPath>,
}

impl Default for HttpSpec {
    fn default() -> Self {
        Self {
            version: HttpVersion::Http11,
            streams: 1,
            check_body: BodyCheck::Off,
            expect_status: ExpectStatus::default(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: None,
            paths: Vec::new(),
        }
    }
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112).
    #[default]
    #[serde(rename = "1.1")]
    Http11,
    /// HTTP/2 (RFC 9113).
    #[serde(rename = "2")]
    Http2,
}

impl HttpVersion {
    /// The protocol name in ALPN (RFC 7301; IANA "TLS Application-Layer Protocol Negotiation").
    pub fn alpn(self) -> &'static str {
        match self {
            Self::Http11 => HTTP_1_1,
            Self::Http2 => HTTP_2,
        }
    }
}

/// How response bodies are checked. A body that differs fails its connection, with class `body`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BodyCheck {
    /// No check.
    #[default]
    Off,
    /// The length equals that of the preflight's body.
    Length,
    /// The SHA-256 digest equals the one in the response's Repr-Digest field (RFC 9530) or, without
    /// that field, the digest of the preflight's body.
    Hash,
}

impl HttpSpec {
    /// Method, header fields and body of every request.
    pub fn parts(&self) -> RequestParts {
        let field = |field: &HeaderField| (field.name.clone(), field.value.clone());
        RequestParts {
            method: self.method.clone(),
            fields: self.headers.iter().map(field).collect(),
            content: self.body.as_ref().and_then(RequestBody::bytes).unwrap_or_default(),
        }
    }

    /// Checks the HTTP part by itself and against the rest of the specification.
    pub(super) fn check(&self, run: &RunSpec) -> Result<(), SpecError> {
        let streams = self.streams;
        if streams == 0 {
            return Err(SpecError::Zero { field: "http.streams" });
        }
        if streams > STREAMS_LIMIT {
            return Err(SpecError::TooManyStreams(streams));
        }
        if streams > 1 && self.version != HttpVersion::Http2 {
            return Err(SpecError::StreamsNeedHttp2);
        }
        match run.requests_per_connection {
            RequestsPerConnection::Count(requests) if streams > requests => {
                return Err(SpecError::MoreStreamsThanRequests { streams, requests });
            }
            _ => {}
        }
        if run.handshake_only && self.check_body != BodyCheck::Off {
            return Err(SpecError::BodyOfHandshakeOnly);
        }
        if run.tls.server_names.len() > 1 && self.check_body != BodyCheck::Off {
            return Err(SpecError::BodyOfSeveralNames);
        }
        if streams > 1 && run.load.think_us > 0 {
            return Err(SpecError::ThinkWithStreams);
        }
        if self.version == HttpVersion::Http2 && run.tls.early_data {
            return Err(SpecError::EarlyDataOverHttp2);
        }
        self.check_request(run)
    }

    /// Checks method, header fields and body.
    fn check_request(&self, run: &RunSpec) -> Result<(), SpecError> {
        if !is_token(&self.method) || self.method == "CONNECT" {
            return Err(SpecError::Method(self.method.chars().take(40).collect()));
        }
        let is_safe = matches!(&*self.method, "GET" | "HEAD") && self.body.is_none();
        if run.tls.early_data && !is_safe {
            return Err(SpecError::EarlyDataNotSafe);
        }
        if self.method == "HEAD" && self.check_body != BodyCheck::Off {
            return Err(SpecError::BodyOfHead);
        }
        if self.headers.len() > FIELDS_LIMIT {
            return Err(SpecError::TooManyHeaders(self.headers.len()));
        }
        if let Some(fault) = self.headers.iter().find_map(HeaderField::fault) {
            return Err(SpecError::Header(fault));
        }
        match self.body.as_ref().map(RequestBody::bytes) {
            Some(None) => return Err(SpecError::BodyNotBase64),
            Some(Some(bytes)) if bytes.len() > BODY_LIMIT => return Err(SpecError::BodyTooLong),
            _ => {}
        }
        self.check_paths()
    }

    fn check_paths(&self) -> Result<(), SpecError> {
        let weights = self.paths.iter().map(|path| u64::from(path.weight)).sum::<u64>();
        if self.paths.len() > PATHS_LIMIT || weights > u64::from(WEIGHTS_LIMIT) {
            return Err(SpecError::TooManyPaths);
        }
        if self.paths.iter().any(|path| path.weight == 0) {
            return Err(SpecError::Zero { field: "http.paths: weight" });
        }
        if self.paths.len() > 1 && self.check_body != BodyCheck::Off {
            return Err(SpecError::BodyOfSeveralPaths);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(http: &str, more: &str) -> Result<(), SpecError> {
        let json = format!(
            r#"{{"url":"https://localhost/","stop":{{"duration_ms":9}},"http":{http}{more}}}"#
        );
        serde_json::from_str::<RunSpec>(&json).expect("well-formed").checked().map(|_| ())
    }

    #[test]
    fn streams_are_of_http2_and_have_requests_to_carry() {
        let unlimited = r#","requests_per_connection":"unlimited""#;
        assert_eq!(check(r#"{"version":"2","streams":100}"#, unlimited), Ok(()));
        assert_eq!(check(r#"{"streams":2}"#, unlimited), Err(SpecError::StreamsNeedHttp2));
        let refused = Err(SpecError::MoreStreamsThanRequests { streams: 2, requests: 1 });
        assert_eq!(check(r#"{"version":"2","streams":2}"#, ""), refused);
        let refused = Err(SpecError::TooManyStreams(1001));
        assert_eq!(check(r#"{"version":"2","streams":1001}"#, unlimited), refused);
        let refused = Err(SpecError::Zero { field: "http.streams" });
        assert_eq!(check(r#"{"version":"2","streams":0}"#, ""), refused);
    }

    #[test]
    fn without_a_request_there_is_no_body_to_check() {
        let more = r#","handshake_only":true"#;
        assert_eq!(check(r#"{"check_body":"hash"}"#, more), Err(SpecError::BodyOfHandshakeOnly));
        assert_eq!(check(r#"{"version":"2"}"#, more), Ok(()));
    }

    #[test]
    fn the_body_of_one_name_says_nothing_of_another_ones() {
        let more = r#","tls":{"server_names":["a.test","b.test"]}"#;
        assert_eq!(check(r#"{"check_body":"length"}"#, more), Err(SpecError::BodyOfSeveralNames));
        assert_eq!(check("{}", more), Ok(()));
    }

    #[test]
    fn think_time_is_of_one_stream_and_early_data_of_http_1_1() {
        let more = r#","load":{"think_us":5},"requests_per_connection":{"count":9}"#;
        assert_eq!(check(r#"{"version":"2"}"#, more), Ok(()));
        let several = check(r#"{"version":"2","streams":2}"#, more);
        assert_eq!(several, Err(SpecError::ThinkWithStreams));
        let more = r#","tls":{"resume":"psk","early_data":true}"#;
        assert_eq!(check(r#"{"version":"2"}"#, more), Err(SpecError::EarlyDataOverHttp2));
        assert_eq!(check("{}", more), Ok(()));
        assert_eq!(check(r#"{"version":"2"}"#, r#","tls":{"resume":"psk"}"#), Ok(()));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        use SpecError::*;
        for (http, error) in [
            (r#"{"method":"G T"}"#, Method("G T".to_owned())),
            (r#"{"method":"CONNECT"}"#, Method("CONNECT".to_owned())),
            (r#"{"method":"HEAD","check_body":"length"}"#, BodyOfHead),
            (r#"{"body":{"base64":"!"}}"#, BodyNotBase64),
            (r#"{"paths":[{"path":"a"}]}"#, Path("a".to_owned())),
            (r#"{"paths":[{"path":"/","weight":100001}]}"#, TooManyPaths),
            (r#"{"paths":[{"path":"/","weight":0}]}"#, Zero { field: "http.paths: weight" }),
            (r#"{"paths":[{"path":"/"},{"path":"/a"}],"check_body":"length"}"#, BodyOfSeveralPaths),
        ] {
            assert_eq!(check(http, ""), Err(error), "{http}");
        }
        let early = r#","tls":{"resume":"psk","early_data":true}"#;
        assert_eq!(check(r#"{"method":"POST"}"#, early), Err(EarlyDataNotSafe));
        assert_eq!(check(r#"{"method":"HEAD"}"#, early), Ok(()));
        let field = r#"{"headers":[{"name":"Content-Length","value":"9"}]}"#;
        assert!(matches!(check(field, ""), Err(Header(_))));
        let status = r#"{"url":"a","stop":{"count":1},"http":{"expect_status":"ok"}}"#;
        let error = serde_json::from_str::<RunSpec>(status).unwrap_err().to_string();
        assert!(error.contains("'ok' names no statuses; write 2xx"), "{error}");
    }

    #[test]
    fn an_older_specification_speaks_http_1_1() {
        let spec: RunSpec =
            serde_json::from_str(r#"{"url":"https://localhost/","stop":{"count":1}}"#).unwrap();
        assert_eq!(spec.http, HttpSpec::default());
        assert_eq!(serde_json::to_value(&spec.http).unwrap()["version"], "1.1");
    }
}
