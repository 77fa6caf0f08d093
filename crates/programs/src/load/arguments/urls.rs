//! The flags for the target: URLs with weights, a file of URLs, another address to connect to.

use std::fs;

use clap::Args;
use tlslab_contract::spec::{HttpSpec, WeightedPath};
use tlslab_wire::target::Target;

use crate::load::problem::Problem;

/// The URLs to request.
#[derive(Debug, Args)]
pub struct UrlArguments {
    /// URL to request: https://HOST:PORT/PATH or HOST:PORT; http:// without TLS. Several URLs must
    /// have one host and port; they are requested in random order. For several servers, start one tlslab-load each
    #[arg(
        value_name = "URL",
        required_unless_present_any =
            ["spec", "print_schema", "probe", "urls_file", "completion", "man"],
        conflicts_with = "spec"
    )]
    pub urls: Vec<String>,

    /// Weight of each URL, in the order of the URLs: 3,1,1 [default: 1 each]
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        conflicts_with = "urls_file",
        help_heading = "Requests"
    )]
    weight: Vec<u32>,

    /// Read URLs from this file, one per line, each followed by its weight if that is not 1; lines
    /// that start with # are ignored
    #[arg(
        id = "urls_file", long = "urls", value_name = "FILE", conflicts_with_all = ["urls", "spec"],
        help_heading = "Requests"
    )]
    file: Option<String>,

    /// Connect to this host and port instead of the URL's; SNI, header fields and the certificate
    /// check still use the URL's
    #[arg(long, value_name = "HOST:PORT", help_heading = "Requests")]
    pub connect_to: Option<String>,
}

impl UrlArguments {
    /// The URL of the origin. Adds the paths to request there to the specification.
    pub fn spec(&self, http: &mut HttpSpec) -> Result<String, Problem> {
        let urls = match &self.file {
            Some(file) => of_file(file)?,
            None => self.weighted()?,
        };
        let Some((first, _)) = urls.first() else { return Ok(String::new()) };
        if urls.len() > 1 {
            http.paths = paths(&urls)?;
        }
        Ok(first.clone())
    }

    fn weighted(&self) -> Result<Vec<(String, u32)>, Problem> {
        let (urls, weights) = (self.urls.len(), self.weight.len());
        if weights > 0 && weights != urls {
            let message = format!("--weight has {weights} for {urls} URLs; give one for each");
            return Err(Problem::usage(message));
        }
        let weights = self.weight.iter().copied().chain(std::iter::repeat(1));
        Ok(self.urls.iter().cloned().zip(weights).collect())
    }
}

/// The paths of URLs that all have the origin of the first.
fn paths(urls: &[(String, u32)]) -> Result<Vec<WeightedPath>, Problem> {
    let mut origin: Option<(&str, String, u16)> = None;
    let mut paths = Vec::new();
    for (url, weight) in urls {
        let target = Target::parse(url).map_err(|error| Problem::usage(error.to_string()))?;
        let here = (target.scheme(), target.host.to_ascii_lowercase(), target.port);
        let first = origin.get_or_insert_with(|| here.clone());
        if *first != here {
            let message = format!(
                "'{url}' is on another host, port or scheme than '{}'; a run loads one server, because one \
                 rate over two servers describes neither: start one tlslab-load for each, at the same \
                 time, each on its own processors (--cpu) and with its own record (-o)",
                urls[0].0
            );
            return Err(Problem::usage(message));
        }
        paths.push(WeightedPath { path: target.path, weight: *weight });
    }
    Ok(paths)
}

/// The URLs of a file with their weights.
fn of_file(file: &str) -> Result<Vec<(String, u32)>, Problem> {
    let text = fs::read_to_string(file)
        .map_err(|e| Problem::usage(format!("cannot read '{file}': {e}")))?;
    let mut urls = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<_> = line.split_whitespace().collect();
        match *words {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            [url] => urls.push((url.to_owned(), 1)),
            [url, weight] if weight.parse::<u32>().is_ok() => {
                urls.push((url.to_owned(), weight.parse().unwrap_or(1)));
            }
            _ => {
                let message = format!("{file}, line {number}: a line is URL or URL WEIGHT");
                return Err(Problem::usage(message));
            }
        }
    }
    if urls.is_empty() {
        return Err(Problem::usage(format!("'{file}' holds no URL")));
    }
    Ok(urls)
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;
    use clap::Parser as _;
    use tlslab_contract::spec::RunSpec;

    fn spec(flags: &[&str]) -> Result<RunSpec, String> {
        let arguments = Arguments::try_parse_from([&["tlslab-load"], flags].concat());
        let arguments = arguments.map_err(|error| error.to_string())?;
        arguments.spec().map_err(|problem| format!("{problem:?}"))
    }

    #[test]
    fn several_urls_of_one_origin_share_the_requests() {
        let spec = spec(&["localhost:1/a", "https://LOCALHOST:1/b?c", "--weight", "3,1"]).unwrap();
        assert_eq!(spec.url, "localhost:1/a");
        let path = |path: &str, weight| WeightedPath { path: path.to_owned(), weight };
        assert_eq!(spec.http.paths, [path("/a", 3), path("/b?c", 1)]);
        assert_eq!(spec.checked().unwrap().pages().len(), 2);
    }

    #[test]
    fn one_url_is_its_own_page() {
        let spec = spec(&["localhost:8443", "--connect-to", "[::1]:9"]).unwrap();
        assert!(spec.http.paths.is_empty());
        let checked = spec.checked().unwrap();
        assert_eq!((&*checked.target().host, checked.target().port), ("localhost", 8443));
        assert_eq!((&*checked.peer().host, checked.peer().port), ("::1", 9));
        assert_eq!(checked.pages(), [(checked.target().clone(), 1)]);
    }

    #[test]
    fn what_is_no_set_of_urls_is_refused() {
        for (flags, words) in [
            (
                &["https://a/", "https://b/"][..],
                "is on another host, port or scheme than 'https://a/'",
            ),
            (&["https://a/", "https://b/"], "start one tlslab-load for each, at the same time"),
            (&["https://a/", "https://a:444/"], "is on another host, port or scheme"),
            (&["https://a/", "--weight", "1,2"], "--weight has 2 for 1 URLs"),
            (&["--urls", "/no/such"], "cannot read '/no/such'"),
            (&["--urls", "f", "https://a/"], "cannot be used with"),
        ] {
            let error = spec(flags).unwrap_err();
            assert!(error.contains(words), "{flags:?}: {error}");
        }
        for to in ["localhost", "a b:1", "https://a:1", "a:99999", "u@h:1"] {
            let checked = spec(&["https://a/", "--connect-to", to]).unwrap().checked();
            assert!(checked.unwrap_err().to_string().contains("; write HOST:PORT"), "{to}");
        }
    }
}
