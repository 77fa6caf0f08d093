//! Generated responses, whose meaning is known: valid ones are read with the same facts, those with
//! one fault are rejected. The reader's own parser cannot serve as the oracle.

use proptest::prelude::*;

use super::*;

/// How the end of the body is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Framed {
    Length,
    /// In chunks of these sizes, with or without trailer fields.
    Chunks(Vec<usize>, bool),
    Close,
    /// By the status, which allows no body.
    Bare,
}

#[derive(Debug, Clone)]
struct Response {
    newer: bool,
    status: u16,
    interim: usize,
    framed: Framed,
    body: Vec<u8>,
    /// The values of the Connection fields.
    connection: Vec<&'static str>,
    others: Vec<&'static str>,
    upper: bool,
    space: &'static str,
}

const CONNECTION: [&str; 6] =
    ["close", "Keep-Alive", "keep-alive, x-y", "x-y ,CLOSE", "x-y", "keep-alive, close"];

/// Fields that do not affect the framing.
const OTHERS: [&str; 5] =
    ["Server: a", "X-Length: 5", "Content-Type: text/html", "Trailer: T", "X:"];

/// Faults: a header field before the others, or bytes after the response.
const FAULTY_FIELDS: [&str; 9] = [
    "Content-Length: +1",
    "Content-Length: 1, 2",
    "Content-Length: 18446744073709551616",
    "Content-Length: 0x1",
    "Content-Length:",
    "Transfer-Encoding: gzip",
    "Transfer-Encoding: chunked, gzip",
    "A b: c",
    " folded: x",
];

impl Response {
    fn bytes(&self, first: Option<&str>) -> Vec<u8> {
        let version = if self.newer { "1.1" } else { "1.0" };
        let mut head = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(self.interim);
        head += &format!("HTTP/{version} {} Words\r\n", self.status);
        let mut fields: Vec<String> = first.into_iter().map(str::to_owned).collect();
        fields.extend(self.others.iter().map(|field| (*field).to_owned()));
        let space = self.space;
        let named = |name: &str, value: &str| {
            let name = if self.upper { name.to_uppercase() } else { name.to_owned() };
            format!("{name}:{space}{value}{space}")
        };
        fields.extend(self.connection.iter().map(|value| named("Connection", value)));
        match &self.framed {
            Framed::Length => fields.push(named("Content-Length", &self.body.len().to_string())),
            Framed::Chunks(..) => fields.push(named("Transfer-Encoding", "chunked")),
            Framed::Close | Framed::Bare => {}
        }
        fields.iter().for_each(|field| head += &format!("{field}\r\n"));
        head += "\r\n";
        [head.as_bytes(), &self.content()].concat()
    }

    fn content(&self) -> Vec<u8> {
        let Framed::Chunks(sizes, trailer) = &self.framed else { return self.body.clone() };
        let (mut bytes, mut rest) = (Vec::new(), &self.body[..]);
        for size in sizes.iter().copied().chain([usize::MAX]) {
            let (chunk, behind) = rest.split_at(size.min(rest.len()));
            rest = behind;
            if !chunk.is_empty() {
                bytes.extend(format!("{:X};a=b\r\n", chunk.len()).bytes());
                bytes.extend([chunk, b"\r\n"].concat());
            }
        }
        bytes.extend(if *trailer { &b"0\r\nT: v\r\n\r\n"[..] } else { b"0\r\n\r\n" });
        bytes
    }

    /// RFC 9112, sections 6.1, 6.3 and 9.3.
    fn keeps_alive(&self) -> bool {
        if self.framed == Framed::Close {
            return false;
        }
        let all = self.connection.join(",").to_lowercase();
        let has = |option: &str| all.split(',').any(|one| one.trim() == option);
        let chunks = matches!(self.framed, Framed::Chunks(..));
        !has("close") && (self.newer || (has("keep-alive") && !chunks))
    }
}

fn response() -> impl Strategy<Value = Response> {
    let framed = prop_oneof![
        Just(Framed::Length),
        (prop::collection::vec(1..40_usize, 0..5), any::<bool>())
            .prop_map(|(sizes, trailer)| Framed::Chunks(sizes, trailer)),
        Just(Framed::Close),
        Just(Framed::Bare),
    ];
    (
        (any::<bool>(), prop::sample::select(&[200_u16, 206, 301, 404, 500, 599][..]), 0..3_usize),
        (framed, prop::collection::vec(any::<u8>(), 0..120)),
        prop::collection::vec(prop::sample::select(&CONNECTION[..]), 0..3),
        prop::collection::vec(prop::sample::select(&OTHERS[..]), 0..4),
        (any::<bool>(), prop::sample::select(&["", " ", "\t "][..])),
    )
        .prop_map(|((newer, status, interim), (framed, body), connection, others, form)| {
            let bare = framed == Framed::Bare;
            let (upper, space) = form;
            let (status, body) = if bare { (204, Vec::new()) } else { (status, body) };
            Response { newer, status, interim, framed, body, connection, others, upper, space }
        })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(4_096)
    })]

    #[test]
    fn what_is_valid_is_read_as_it_was_meant(response in response(), piece in 1..80_usize) {
        let bytes = response.bytes(None);
        let mut reader = ResponseReader::default();
        let mut done = Ok(false);
        for part in bytes.chunks(piece) {
            prop_assert_eq!(&done, &Ok(false));
            done = reader.take(part);
        }
        prop_assert_eq!(done, Ok(response.framed != Framed::Close));
        prop_assert!(reader.end());
        prop_assert_eq!(reader.status(), response.status);
        prop_assert_eq!(reader.body.bytes, response.body.len() as u64);
        prop_assert_eq!(reader.head_bytes as usize, bytes.len() - response.content().len());
        prop_assert_eq!(reader.keeps_alive(), response.keeps_alive());
    }

    #[test]
    fn what_has_one_fault_is_refused(
        response in response(),
        field in prop::sample::select(&FAULTY_FIELDS[..]),
        piece in 1..80_usize,
    ) {
        let read = |bytes: &[u8]| {
            let mut reader = ResponseReader::default();
            bytes.chunks(piece).try_for_each(|part| reader.take(part).map(drop))
        };
        prop_assert!(read(&response.bytes(Some(field))).is_err(), "{}", field);
        let bytes = response.bytes(None);
        if response.framed != Framed::Close {
            let surplus = [&bytes[..], b"x"].concat();
            prop_assert_eq!(read(&surplus), Err(HttpError::Surplus));
        }
        // A second framing field, and another length.
        let second = match response.framed {
            Framed::Length => ["Transfer-Encoding: chunked", "Content-Length: 999"],
            Framed::Chunks(..) => ["Content-Length: 1", "Transfer-Encoding: chunked"],
            _ => return Ok(()),
        };
        for second in second {
            prop_assert_eq!(read(&response.bytes(Some(second))), Err(HttpError::Length));
        }
    }
}
