//! The flags about HTTP: the version, the requests, and the statuses that count as success.

use std::fs;
use std::path::Path;

use clap::{Args, ValueEnum};
use tlslab_contract::spec::{
    BodyCheck, ExpectStatus, HeaderField, HttpSpec, HttpVersion, RequestBody,
};

use crate::load::problem::Problem;

/// The version of HTTP, and the check of bodies.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub struct HttpArguments {
    /// HTTP version, 1.1 or 2; sets ALPN, and is checked on every connection. Without TLS, 2 is
    /// spoken with prior knowledge (RFC 9113, section 3.3)
    #[arg(long, value_enum, default_value = "1.1", value_name = "VERSION")]
    http: VersionName,

    /// With HTTP/2: concurrent requests on each connection, within the server's limit
    #[arg(long, default_value_t = 1, value_name = "N")]
    streams: u32,

    #[command(flatten)]
    request: RequestArguments,

    /// Check of each body: its length against that of the preflight, or its SHA-256 digest (hash)
    /// against Repr-Digest, else against that of the preflight
    #[arg(long, value_enum, default_value = "off", value_name = "HOW")]
    check_body: CheckName,
}

/// The requests, and the statuses that count as success.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub struct RequestArguments {
    /// Header field of every request (repeatable). Replaces the program's Host, User-Agent or
    /// Accept; 'NAME:' without a value removes it
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<HeaderField>,

    /// Same as -H 'User-Agent: NAME'
    #[arg(short = 'A', long, value_name = "NAME")]
    user_agent: Option<String>,

    /// Method of every request [default: GET; POST with --body]
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,

    /// Body of every request: the text, or the contents of a file with @FILE. No Content-Type is
    /// sent unless -H gives one
    #[arg(long, value_name = "TEXT|@FILE")]
    body: Option<String>,

    /// HTTP statuses that count as success: 2xx, 302, 401, any, or several: 2xx,302. By default a
    /// redirect or a login page is a failure
    #[arg(long, default_value = "2xx", value_name = "STATUS,...")]
    expect_status: ExpectStatus,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VersionName {
    #[value(name = "1.1")]
    Http11,
    #[value(name = "2")]
    Http2,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CheckName {
    Off,
    Length,
    Hash,
}

impl HttpArguments {
    /// The part of the specification that the flags set.
    pub fn spec(&self) -> Result<HttpSpec, Problem> {
        Ok(HttpSpec {
            version: match self.http {
                VersionName::Http11 => HttpVersion::Http11,
                VersionName::Http2 => HttpVersion::Http2,
            },
            streams: self.streams,
            check_body: match self.check_body {
                CheckName::Off => BodyCheck::Off,
                CheckName::Length => BodyCheck::Length,
                CheckName::Hash => BodyCheck::Hash,
            },
            ..self.request.spec()?
        })
    }
}

impl RequestArguments {
    /// The part of the specification that these flags set, for HTTP/1.1.
    pub fn spec(&self) -> Result<HttpSpec, Problem> {
        let body = self.body.as_deref().map(body).transpose()?;
        let usual = if body.is_some() { "POST" } else { "GET" };
        Ok(HttpSpec {
            expect_status: self.expect_status.clone(),
            method: self.method.clone().unwrap_or_else(|| usual.to_owned()),
            headers: self.all_headers(),
            body,
            ..HttpSpec::default()
        })
    }

    fn all_headers(&self) -> Vec<HeaderField> {
        let agent = self
            .user_agent
            .iter()
            .map(|value| HeaderField { name: "User-Agent".to_owned(), value: value.clone() });
        agent.chain(self.headers.iter().cloned()).collect()
    }
}

/// Reads `NAME: VALUE`, or `NAME:` without a value.
fn header(text: &str) -> Result<HeaderField, String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| format!("'{text}' is no header field; write 'NAME: VALUE'"))?;
    Ok(HeaderField { name: name.to_owned(), value: value.trim().to_owned() })
}

/// A body: text, or the bytes of a file by `@FILE`. The name of an existing file without `@` is
/// refused as a probable mistake.
fn body(words: &str) -> Result<RequestBody, Problem> {
    let Some(path) = words.strip_prefix('@') else {
        if Path::new(words).is_file() {
            let message = format!(
                "--body '{words}' is the name of a file: --body '@{words}' sends what it holds"
            );
            return Err(Problem::usage(message));
        }
        return Ok(RequestBody::Text(words.to_owned()));
    };
    let bytes = fs::read(path);
    bytes.map(Into::into).map_err(|e| Problem::usage(format!("cannot read '{path}': {e}")))
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;
    use clap::Parser as _;

    fn http(flags: &[&str]) -> Result<HttpSpec, String> {
        let all = [&["tlslab-load"], flags, &["localhost:8443"]].concat();
        let arguments = Arguments::try_parse_from(all).map_err(|error| error.to_string())?;
        let spec = arguments.spec().map_err(|problem| format!("{problem:?}"))?;
        Ok(spec.http)
    }

    #[test]
    fn requests_say_what_the_flags_say() {
        let flags = ["-H", "X-A: b: c", "-H", "Accept:", "-A", "me/1", "--expect-status", "302"];
        let spec = http(&flags).unwrap();
        let fields: Vec<_> =
            spec.headers.iter().map(|field| (&*field.name, &*field.value)).collect();
        assert_eq!(fields, [("User-Agent", "me/1"), ("X-A", "b: c"), ("Accept", "")]);
        assert_eq!(spec.method, "GET");
        assert!(spec.expect_status.set().contains(302) && !spec.expect_status.set().contains(200));
        assert!(http(&["-H", "no colon"]).unwrap_err().contains("write 'NAME: VALUE'"));
        let error = http(&["--expect-status", "ok"]).unwrap_err();
        assert!(error.contains("'ok' names no statuses; write 2xx"), "{error}");
    }

    #[test]
    fn a_body_is_posted_as_text_or_from_a_file() {
        let spec = http(&["--body", "a=1"]).unwrap();
        assert_eq!((&*spec.method, spec.body), ("POST", Some(RequestBody::Text("a=1".to_owned()))));
        assert_eq!(http(&["--body", "a", "-X", "PUT"]).unwrap().method, "PUT");
        assert!(http(&["--body", "@/no/such"]).unwrap_err().contains("cannot read '/no/such'"));
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let Some(RequestBody::Text(text)) = http(&["--body", &format!("@{file}")]).unwrap().body
        else {
            panic!("text")
        };
        assert!(text.starts_with("[package]"));
        let error = http(&["--body", file]).unwrap_err();
        assert!(error.contains("Cargo.toml' sends what it holds"), "{error}");
    }
}
