//! The target that a URL names.

use std::net::IpAddr;

use url::Url;

use crate::sanitize::sanitize;

/// The highest length of a URL in bytes: servers accept no longer request line.
const URL_LIMIT: usize = 8 * 1024;

/// The highest number of characters of a URL that an error shows.
const SHOWN: usize = 200;

/// A URL that cannot be loaded, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("url '{url}': {why}")]
pub struct UrlError {
    /// The URL, shortened.
    pub url: String,
    /// The fault, and the required form.
    pub why: String,
}

/// Scheme, host, port and path of a target. `HOST:PORT` alone means `https://HOST:PORT/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The host: an address without brackets, or a DNS name in the form of [`server_name`].
    pub host: String,
    /// Whether the name was given with its trailing dot, and is resolved without search domains.
    pub is_absolute: bool,
    /// The TCP port.
    pub port: u16,
    /// Path and query, beginning with `/`.
    pub path: String,
    /// The value of the Host header field.
    pub authority: String,
    /// Whether the URL names a port, the default one or another.
    pub has_port: bool,
    /// Whether the scheme is http: connections have no TLS.
    pub is_plain: bool,
}

impl Target {
    /// Parses a URL. An error names the required form.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let refuse = |why: String| UrlError { url: sanitize(text, SHOWN), why };
        if text.len() > URL_LIMIT {
            return Err(refuse(format!("is longer than {URL_LIMIT} bytes")));
        }
        // A host with a port, which other tools accept, is a URL with TLS.
        let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        if is_list(&whole) {
            let words = "names several servers; give one, and write a comma in its path as %2C";
            return Err(refuse(words.to_owned()));
        }
        // The parser would leave some of them out, so that another host is meant.
        if text.contains(char::is_control) || authority(&whole).contains(char::is_whitespace) {
            return Err(refuse(
                "holds a blank or a line break, and no host's name does".to_owned(),
            ));
        }
        let url = Url::parse(&whole)
            .map_err(|e| refuse(format!("{e}; it has the form https://HOST[:PORT]/PATH")))?;
        let is_plain = url.scheme() == "http";
        if url.scheme() != "https" && !is_plain {
            let words = "has another scheme than https and http; write https://HOST[:PORT]/PATH";
            return Err(refuse(words.to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("must not carry a user name or a password".to_owned()));
        }
        let host = url.host_str().ok_or_else(|| refuse("names no host".to_owned()))?;
        // The parser lets a comma pass, which is in no name and in no address.
        if host.contains(',') {
            return Err(refuse("has a comma in its host; give one server".to_owned()));
        }
        let is_absolute = host.ends_with('.');
        let host = host.strip_suffix('.').unwrap_or(host);
        if host.is_empty() || host.ends_with('.') {
            return Err(refuse("has an empty label in its host".to_owned()));
        }
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let port = url.port_or_known_default().unwrap_or(443);
        if port == 0 {
            return Err(refuse("port 0 is no port to connect to".to_owned()));
        }
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let has_port = has_port(&whole);
        Ok(Self { host, is_absolute, port, path, authority, has_port, is_plain })
    }

    /// As [`Self::parse`], for what needs TLS: refuses http.
    pub fn parse_tls(text: &str) -> Result<Self, UrlError> {
        let target = Self::parse(text)?;
        match target.is_plain {
            true => Err(UrlError {
                url: sanitize(text, SHOWN),
                why: "has no TLS; write https://HOST[:PORT]/PATH".to_owned(),
            }),
            false => Ok(target),
        }
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.is_plain { "http" } else { "https" }
    }

    /// The name to resolve: with its trailing dot, if it was given. `localhost` is the same with and
    /// without (RFC 6761, section 6.3), but hosts files have it without.
    pub fn dns_name(&self) -> String {
        let dot = if self.is_absolute && self.host != "localhost" { "." } else { "" };
        format!("{}{dot}", self.host)
    }

    /// `HOST:PORT`, an IPv6 address in brackets.
    pub fn place(&self) -> String {
        let bracketed = self.host.contains(':');
        let host = if bracketed { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}", self.port)
    }

    /// The address of a target whose host is a name, in brackets behind a blank: ` (127.0.0.1)`.
    /// Empty if the host is the address.
    pub fn address_in_words(&self, address: IpAddr) -> String {
        if self.host.parse::<IpAddr>().is_ok() { String::new() } else { format!(" ({address})") }
    }
}

/// A name for SNI and for the certificate check: in lower case, without the trailing dot that SNI
/// must not have (RFC 6066, section 3; RFC 9525, section 6.3).
pub fn server_name(text: &str) -> String {
    text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase()
}

/// Whether a URL is a list: another URL follows a comma or blank, or anything follows the slash of
/// an origin. The lab has the same rule (`servers_in` of python/tlslab/cli/values.py).
fn is_list(url: &str) -> bool {
    let is_url = |part: &str| {
        part.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    let mut parts = url.trim().split(|c: char| c == ',' || c.is_whitespace());
    let first = parts.next().unwrap_or_default();
    let is_origin = first.matches('/').count() == 3 && first.ends_with('/');
    let mut others = parts.filter(|part| !part.is_empty());
    others.any(|part| is_origin || is_url(part))
}

/// The host in one of the forms of [`Target::host`]: a name, an IPv6 address with or without
/// brackets, `HOST:PORT`, or the URL of a page.
///
/// # Errors
/// The text contains no host, or a network.
pub fn host_of(text: &str) -> Result<String, UrlError> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    let refuse = |why: &str| UrlError { url: sanitize(text, SHOWN), why: why.to_owned() };
    let target = Target::parse(text)?;
    if !text.contains("://") && target.path != "/" {
        return Err(refuse("is no host; a network has to be listed host by host"));
    }
    Ok(target.host)
}

/// The part of a URL that names the host, as given.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#', '\\']).next().unwrap_or_default()
}

/// True if the authority of a valid URL ends with a port. The parser drops the default port.
fn has_port(url: &str) -> bool {
    let port = authority(url).rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_in_every_form_that_a_target_has() {
        for (text, host) in [
            ("bed.example", "bed.example"),
            ("Bed.Example", "bed.example"),
            ("bed.example:8443", "bed.example"),
            ("bed.example/", "bed.example"),
            ("https://bed.example/", "bed.example"),
            ("https://bed.example:8443/page?x", "bed.example"),
            ("192.0.2.1:443", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:DB8:0::1]:8443", "2001:db8::1"),
        ] {
            assert_eq!(host_of(text).as_deref(), Ok(host), "{text}");
        }
    }

    #[test]
    fn a_list_of_servers_is_no_url() {
        for text in [
            "https://127.0.0.1:1/,https://127.0.0.1:2/",
            "https://a, https://b/x",
            "https://a/x https://b/y",
            "https://a/,nginx",
            "nginx,https://a/",
        ] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains("names several servers"), "{text}: {error}");
        }
        for text in ["https://h/a/,b", "https://h/a,b:80", "https://h/?t=1,12:30", "https://h/,"] {
            assert!(Target::parse(text).is_ok(), "{text}");
        }
        for text in ["a,b", "https://a,b/", "https://a%2Cb/"] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains("has a comma in its host"), "{text}: {error}");
            assert!(host_of(text).is_err(), "{text}");
        }
        for (text, path) in [
            ("https://a/b,c", "/b,c"),
            ("https://a/?b,c=https://d/", "/?b,c=https://d/"),
            ("https://a/%2Chttps://b/", "/%2Chttps://b/"),
            ("https://a/,", "/,"),
        ] {
            assert_eq!(Target::parse(text).map(|target| target.path), Ok(path.to_owned()));
        }
    }

    #[test]
    fn http_is_a_target_without_tls_on_its_own_port() {
        let target = Target::parse("http://h/a").unwrap();
        assert_eq!((target.is_plain, target.scheme(), target.port), (true, "http", 80));
        assert!(!Target::parse("h:80").unwrap().is_plain);
        let error = Target::parse_tls("http://h/a").unwrap_err().to_string();
        assert!(error.contains("has no TLS"), "{error}");
        assert!(Target::parse("ftp://h/").is_err());
    }

    #[test]
    fn line_breaks_and_blanks_are_no_part_of_a_host() {
        for text in ["https://a\nb/", "a\nb:443", "a\tb", "https://a/b\tc", " a", "https://a b/"] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains("holds a blank or a line break"), "{error}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
        assert_eq!(Target::parse("https://a/b c").map(|t| t.path), Ok("/b%20c".to_owned()));
    }

    #[test]
    fn a_trailing_dot_is_for_the_resolver_only() {
        let target = Target::parse("https://Bed.Example.:8443/x").unwrap();
        assert_eq!((&*target.host, &*target.authority), ("bed.example", "bed.example:8443"));
        assert_eq!(target.dns_name(), "bed.example.");
        for (text, name) in [("bed.example", "bed.example"), ("localhost.:1", "localhost")] {
            assert_eq!(Target::parse(text).unwrap().dns_name(), name);
        }
        assert_eq!(host_of("bed.example.").as_deref(), Ok("bed.example"));
        assert_eq!(host_of("127.0.0.1.").as_deref(), Ok("127.0.0.1"));
        assert_eq!(server_name("Dot.Test."), "dot.test");
        for text in ["https://./", "https://a../", ".:1"] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_place_names_the_port_and_the_address_of_a_name() {
        let said = |text: &str| {
            let target = Target::parse(text).unwrap();
            target.place() + &target.address_in_words("::1".parse().unwrap())
        };
        assert_eq!(said("https://localhost:1/"), "localhost:1 (::1)");
        assert_eq!(said("https://[::1]:1/"), "[::1]:1");
    }

    #[test]
    fn what_names_no_host_is_refused() {
        for text in ["", "a b", "a\nb", "ftp://h/", "10.0.0.0/8", "h:99999", "[::1", "u@h"] {
            assert!(host_of(text).is_err(), "{text}");
        }
    }
}
