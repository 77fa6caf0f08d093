//! Requests, built once before a run: bytes for HTTP/1.1, fields for HTTP/2, and the order in which
//! connections send them.

use std::fmt::Write as _;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

use super::h2;
use crate::target::Target;

/// The methods whose requests state the length of their body even if it is empty (RFC 9110, section
/// 8.6).
const WITH_CONTENT: [&str; 3] = ["POST", "PUT", "PATCH"];

/// The common part of all requests of a run, for any page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestParts {
    /// The method, in upper case.
    pub method: String,
    /// Header fields, in order. They replace the program's own fields of the same name; an empty
    /// value removes such a field.
    pub fields: Vec<(String, String)>,
    /// The body; empty for none.
    pub content: Vec<u8>,
}

impl Default for RequestParts {
    fn default() -> Self {
        Self { method: "GET".to_owned(), fields: Vec::new(), content: Vec::new() }
    }
}

/// One request, in both HTTP versions.
#[derive(Debug, Clone)]
pub struct Message {
    /// HTTP/1.1: a request that is followed by others on its connection.
    pub request: Vec<u8>,
    /// HTTP/1.1: the last request of its connection.
    pub last_request: Vec<u8>,
    /// HTTP/2.
    pub http2: h2::Request,
}

impl Message {
    /// A GET request for a target with only the program's own fields.
    pub fn get(target: &Target) -> Self {
        Self::new(target, &RequestParts::default())
    }

    /// A request for a target.
    pub fn new(target: &Target, parts: &RequestParts) -> Self {
        let fields = fields(target, parts);
        let scheme = if target.is_plain { "http" } else { "https" };
        let http2 = h2::Request::new(scheme, &parts.method, &target.path, &fields);
        let bytes = |last| http1(target, parts, &fields, last);
        Self { request: bytes(false), last_request: bytes(true), http2 }
    }
}

/// The fields in order: the program's own, as far as they are not replaced, then the given ones.
fn fields(target: &Target, parts: &RequestParts) -> Vec<(String, String)> {
    let own = [
        ("Host", target.authority.clone()),
        ("User-Agent", concat!("tlslab/", env!("CARGO_PKG_VERSION")).to_owned()),
        ("Accept", "*/*".to_owned()),
    ];
    let mut given = parts.fields.clone();
    let mut all = Vec::new();
    for (name, usual) in own {
        let is = |field: &(String, String)| field.0.eq_ignore_ascii_case(name);
        match given.iter().position(is) {
            // Every request has a Host field (RFC 9112, section 3.2).
            Some(place) if name == "Host" && given[place].1.is_empty() => {
                given.remove(place);
                all.push((name.to_owned(), usual));
            }
            Some(place) => all.push(given.remove(place)),
            None => all.push((name.to_owned(), usual)),
        }
    }
    all.extend(given);
    // An empty value removes the program's own field, as in curl.
    all.retain(|(_, value)| !value.is_empty());
    if !parts.content.is_empty() || WITH_CONTENT.contains(&&*parts.method) {
        all.push(("Content-Length".to_owned(), parts.content.len().to_string()));
    }
    all
}

/// The bytes of an HTTP/1.1 request. `last`: the connection ends with its response.
fn http1(
    target: &Target,
    parts: &RequestParts,
    fields: &[(String, String)],
    last: bool,
) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", parts.method, target.path);
    for (name, value) in fields {
        // Writing to a String cannot fail.
        let _ = write!(head, "{name}: {value}\r\n");
    }
    if last {
        head.push_str("Connection: close\r\n");
    }
    head.push_str("\r\n");
    [head.as_bytes(), &parts.content].concat()
}

/// All requests of a run, and their order.
#[derive(Debug, Clone)]
pub struct Messages {
    each: Vec<Message>,
    /// The indices of the requests, each as often as its weight, shuffled.
    order: Vec<u16>,
    /// The body of every request, for HTTP/2.
    content: Option<Arc<[u8]>>,
}

impl Messages {
    /// A single request.
    pub fn one(message: Message) -> Self {
        Self { each: vec![message], order: vec![0], content: None }
    }

    /// Weighted requests for pages. The seed determines their order.
    ///
    /// # Panics
    /// Without a page, or with more than 65,536 pages; a checked specification excludes both.
    pub fn new(pages: &[(Target, u32)], parts: &RequestParts, seed: u64) -> Self {
        let each: Vec<_> = pages.iter().map(|(page, _)| Message::new(page, parts)).collect();
        let weights = pages.iter().map(|(_, weight)| *weight);
        let repeated = weights.enumerate().flat_map(|(index, weight)| {
            let index = u16::try_from(index).expect("pages are few");
            std::iter::repeat_n(index, weight as usize)
        });
        let mut order: Vec<u16> = repeated.collect();
        assert!(!order.is_empty(), "a run asks for something");
        shuffle(&mut order, seed);
        let content = Some(&*parts.content).filter(|bytes| !bytes.is_empty()).map(Arc::from);
        Self { each, order, content }
    }

    /// The request at this position of the order, which repeats.
    pub fn at(&self, place: u32) -> &Message {
        &self.each[usize::from(self.page(place))]
    }

    /// The index of the page that is requested at this position of the order.
    pub fn page(&self, place: u32) -> u16 {
        self.order[place as usize % self.order.len()]
    }

    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.each.len()
    }

    /// The body of every request, if any.
    pub fn content(&self) -> Option<Arc<[u8]>> {
        self.content.clone()
    }
}

/// Fisher-Yates shuffle, the same for the same seed.
fn shuffle(order: &mut [u16], seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for last in (1..order.len()).rev() {
        // A 64-bit remainder of a divisor up to 100,000 has a bias below 10^-14.
        let other = random.next_u64() % (last as u64 + 1);
        order.swap(last, other as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> Target {
        Target::parse(&format!("https://localhost:8443{path}")).unwrap()
    }

    fn text(parts: &RequestParts, last: bool) -> String {
        let message = Message::new(&target("/a?b"), parts);
        String::from_utf8(if last { message.last_request } else { message.request }).unwrap()
    }

    fn field(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    const USER_AGENT: &str = concat!("User-Agent: tlslab/", env!("CARGO_PKG_VERSION"), "\r\n");

    #[test]
    fn a_request_is_a_get_with_the_fields_that_servers_need() {
        let head =
            format!("GET /a?b HTTP/1.1\r\nHost: localhost:8443\r\n{USER_AGENT}Accept: */*\r\n");
        assert_eq!(text(&RequestParts::default(), false), format!("{head}\r\n"));
        assert_eq!(
            text(&RequestParts::default(), true),
            format!("{head}Connection: close\r\n\r\n")
        );
    }

    #[test]
    fn given_fields_take_the_place_of_the_programs_own() {
        let fields = vec![field("host", "a.test"), field("Accept", ""), field("X-A", "1")];
        let parts = RequestParts { fields, ..RequestParts::default() };
        let wanted = format!("GET /a?b HTTP/1.1\r\nhost: a.test\r\n{USER_AGENT}X-A: 1\r\n\r\n");
        assert_eq!(text(&parts, false), wanted);
        let parts = RequestParts { fields: vec![field("Host", "")], ..RequestParts::default() };
        assert!(text(&parts, false).contains("\r\nHost: localhost:8443\r\n"));
    }

    #[test]
    fn a_body_comes_with_its_length_behind_the_head() {
        let (method, content) = ("POST".to_owned(), b"a=1".to_vec());
        let parts = RequestParts { method, content, ..RequestParts::default() };
        assert!(text(&parts, false).starts_with("POST /a?b HTTP/1.1\r\n"));
        assert!(text(&parts, false).ends_with("\r\nContent-Length: 3\r\n\r\na=1"));
        assert!(text(&parts, true).ends_with("\r\nConnection: close\r\n\r\na=1"));
        let parts = RequestParts { method: "PUT".to_owned(), ..RequestParts::default() };
        assert!(text(&parts, false).ends_with("\r\nContent-Length: 0\r\n\r\n"));
    }

    #[test]
    fn each_page_has_its_share_and_the_seed_says_the_order() {
        let pages = [(target("/a"), 3), (target("/b"), 1), (target("/c"), 6)];
        let made = |seed| Messages::new(&pages, &RequestParts::default(), seed);
        let paths = |messages: &Messages| -> Vec<String> {
            let line = |place| String::from_utf8(messages.at(place).request[4..6].to_vec());
            (0..20).map(|place| line(place).unwrap()).collect()
        };
        let first = paths(&made(1));
        let count = |path: &str| first.iter().filter(|each| *each == path).count();
        assert_eq!((count("/a"), count("/b"), count("/c")), (6, 2, 12));
        let named = |place| ["/a", "/b", "/c"][usize::from(made(1).page(place))];
        assert!((0..20).all(|place| named(place) == first[place as usize]));
        assert_eq!(made(1).pages(), 3);
        assert_eq!(first, paths(&made(1)));
        assert!((2..12).any(|seed| paths(&made(seed)) != first));
    }
}
