//! The flags about HTTP.

use clap::{Args, ValueEnum};
use tlslab_engine::spec::{BodyCheck, HttpSpec, HttpVersion};

/// What is spoken over TLS.
#[derive(Debug, Args)]
pub struct HttpArguments {
    /// HTTP version, 1.1 or 2; sets ALPN, and every connection is checked against it
    #[arg(long, value_enum, default_value = "1.1", value_name = "VERSION")]
    http: VersionName,

    /// With HTTP/2: requests under way at once on a connection, as far as the server allows
    #[arg(long, default_value_t = 1, value_name = "N")]
    streams: u32,

    /// Check the length or the SHA-256 digest of each body, against Repr-Digest or the preflight's
    #[arg(long, value_enum, default_value = "off", value_name = "HOW")]
    check_body: CheckName,
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
    /// The part of the specification that the flags stand for.
    pub fn spec(&self) -> HttpSpec {
        HttpSpec {
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
        }
    }
}
