//! The findings of a probe, as a table for people.

use std::fmt::Write as _;

use time::OffsetDateTime;
use tlslab_probe::{
    Accepted, Chain, Compression, FailedProtocol, LargeHello, Named, Order, ProbeRecord,
    Protections, Protocol, Protocols, Refusal, Renegotiation, Resumption, Suite, Topic, Tries,
    TrustCode, TrustVerdict, Unanswered,
};
use tlslab_wire::wording::{counted, grouped};

/// The width of the first column in characters.
const NAME: usize = 26;

/// The longest line of a list in characters.
const WIDTH: usize = 100;

/// The record as a table with two columns.
pub fn table(record: &ProbeRecord) -> String {
    let mut table = Table::default();
    let name = record.server_name.as_deref().unwrap_or("none");
    let service = record.starttls.map(|service| format!(", STARTTLS of {}", service.name()));
    let service = service.unwrap_or_default();
    table.row("target", &format!("{} ({}), SNI {name}{service}", record.target, record.address));
    if let Some(TrustVerdict { code, message }) = &record.trust {
        let not = if *code == TrustCode::Trusted { "" } else { "not " };
        table.row("trust", &format!("{not}trusted: {message}"));
    }
    for found in &record.versions {
        table.row(&found.version.to_string(), &answer(found.accepted, found.refusal.as_ref()));
    }
    record.large_hello.iter().for_each(|found| table.large_hello(found));
    record.suites.iter().for_each(|suites| table.suites(suites));
    record.groups.iter().for_each(|groups| table.names("groups", groups));
    record.signature_schemes.iter().for_each(|schemes| table.names("signature schemes", schemes));
    record.certificates.iter().for_each(|chain| table.chain(chain));
    if let Some(is_asked) = record.client_certificate {
        table.row("client certificate", if is_asked { "asked for" } else { "not asked for" });
    }
    record.alpn.iter().for_each(|alpn| table.protocols(alpn));
    record.resumption.iter().for_each(|resumption| table.resumption(resumption));
    record.compression.iter().for_each(|compression| table.compression(compression));
    record.renegotiation.iter().for_each(|found| table.renegotiation(found));
    record.protections.iter().for_each(|protections| table.protections(protections));
    for (number, offer) in record.offers.iter().enumerate() {
        let answer = answer(offer.accepted, offer.refusal.as_ref());
        table.row(&format!("offer {}", number + 1), &answer);
    }
    for Unanswered { topic, question, refusal } in &record.unanswered {
        // The other answers say so in their own rows.
        if !matches!(topic, Topic::Versions | Topic::Alpn) {
            table.row("not answered", &format!("{question}: the server {refusal}"));
        }
    }
    let connections = grouped(record.connections);
    table.row("connections", &format!("{connections} in {}", time(record.seconds)));
    record.hints.iter().for_each(|hint| table.row("hint", hint));
    if let Some(why) = &record.incomplete {
        table.row("incomplete", why);
    }
    table.text
}

#[derive(Default)]
struct Table {
    text: String,
}

impl Table {
    fn row(&mut self, name: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{name:<NAME$}  {value}");
    }

    /// A list of values, folded into as many lines as needed.
    fn list(&mut self, name: &str, values: &[String]) {
        let mut line = String::new();
        let mut name = name;
        for value in values {
            if !line.is_empty() && NAME + 4 + line.len() + value.len() > WIDTH {
                self.row(name, &line);
                (name, line) = ("", String::new());
            }
            let comma = if line.is_empty() { "" } else { ", " };
            line = format!("{}{comma}{value}", line);
        }
        self.row(name, if line.is_empty() { "none" } else { &line });
    }

    /// What differs between a small and a large ClientHello.
    fn large_hello(&mut self, found: &LargeHello) {
        let LargeHello { bytes, small_bytes, accepted, ref refusal } = *found;
        let answer = answer(accepted, refusal.as_ref());
        let small = if accepted == Some(true) {
            String::new()
        } else {
            format!(" (one of {small_bytes} is accepted: something reads one segment only)")
        };
        self.row("large ClientHello", &format!("{answer}, {}{small}", size(bytes)));
    }

    fn suites(&mut self, found: &Accepted<Suite>) {
        self.row(&format!("suites {}", found.version), &summary(found));
        for suite in &found.accepted {
            let bits = suite.bits.map(|bits| format!("{bits} bits")).unwrap_or_default();
            let group = suite.group.as_deref().unwrap_or("-");
            self.row("", &format!("{:<48} {bits:<8}  {group}", suite.name));
        }
    }

    fn names(&mut self, kind: &str, found: &Accepted<Named>) {
        let names: Vec<String> = found.accepted.iter().map(|named| named.name.clone()).collect();
        let name = format!("{kind} {}", version(found.version));
        self.list(&name, &names);
        self.row("", &summary(found));
    }

    fn chain(&mut self, chain: &Chain) {
        let certificate = &chain.certificate;
        let versions: Vec<String> = chain.versions.iter().map(ToString::to_string).collect();
        self.row("certificate", &format!("{} ({})", certificate.key, versions.join(", ")));
        self.row("  subject", &certificate.subject);
        self.row("  issuer", &certificate.issuer);
        let more = chain.names_count - chain.names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let fits = if chain.name_matches { "" } else { " (not the name asked for)" };
        self.row("  names", &format!("{}{more}{fits}", chain.names.join(", ")));
        let (from, to) = (date(certificate.not_before), date(certificate.not_after));
        self.row("  valid", &format!("{from} to {to}"));
        self.row("  signed by", &format!("{}, {}", chain.signature_algorithm, size(chain.bytes)));
        let order = if chain.in_order { "" } else { ", out of order" };
        let length = format!("{} of {}", certificate.chain_length, size(certificate.chain_bytes));
        self.row("  chain", &format!("{length}{order}"));
        let trusted = match (&chain.trusted, &chain.problem) {
            (None, _) => "not checked".to_owned(),
            (Some(true), _) => "yes".to_owned(),
            (Some(false), problem) => format!("no: {}", problem.as_deref().unwrap_or("unknown")),
        };
        self.row("  trusted", &trusted);
        let staple = chain.staple.as_ref();
        let staple = staple.map(|staple| format!("{}, {}", staple.status, size(staple.bytes)));
        let none =
            if chain.must_staple { "none, and it requires one (must-staple)" } else { "none" };
        self.row("  OCSP staple", &staple.unwrap_or(none.to_owned()));
    }

    fn protocols(&mut self, found: &Protocols) {
        const UNKNOWN: &str = "not known";
        if found.accepted.is_empty() && !found.others_known {
            self.row("ALPN", UNKNOWN);
        } else {
            self.list("ALPN", &found.accepted);
        }
        let otherwise = match &found.refusal {
            _ if !found.others_known => UNKNOWN.to_owned(),
            None => "goes on without".to_owned(),
            Some(refusal) => refusal.to_string(),
        };
        self.row("  any other", &otherwise);
        for FailedProtocol { name, refusal } in &found.failed {
            self.row(&format!("  {name}"), &format!("not known: the server {refusal}"));
        }
    }

    fn resumption(&mut self, found: &Resumption) {
        let sessions = resumes(found.session_id, found.session_id_tries, "sessions");
        self.row("resumption by session ID", &sessions);
        self.row("resumption by ticket", &resumes(found.ticket, found.ticket_tries, "ticket keys"));
        self.row("resumption by PSK", &resumes(found.psk, found.psk_tries, "ticket keys"));
        self.row("PSK without key exchange", yes(found.psk_ke));
        if let Some(tickets) = found.tickets {
            let lifetime =
                found.ticket_lifetime_s.map(|s| format!(", for {s} s")).unwrap_or_default();
            let resumed = match found.tickets_resumed {
                None => String::new(),
                Some(0) => ", none on a resumed connection".to_owned(),
                Some(count) => format!(", {count} on a resumed connection"),
            };
            self.row("tickets of TLS 1.3", &format!("{tickets}{resumed}{lifetime}"));
        }
        let early = match found.max_early_data_bytes {
            None => "-".to_owned(),
            Some(0) => "no".to_owned(),
            Some(bytes) => {
                let tried = match found.early_data_accepted {
                    None => "",
                    Some(true) => ", accepted",
                    Some(false) => ", rejected",
                };
                format!("{}{tried}", counted(bytes, "byte"))
            }
        };
        self.row("early data", &early);
    }

    fn compression(&mut self, found: &Compression) {
        let list = |names: &Option<Vec<String>>| match names.as_deref() {
            None => "-".to_owned(),
            Some([]) => "no".to_owned(),
            Some(names) => names.join(", "),
        };
        self.row("record compression", &list(&found.records));
        self.row("certificate compression", &list(&found.certificates));
    }

    fn renegotiation(&mut self, found: &Renegotiation) {
        self.row("secure renegotiation", yes(found.secure));
        self.row("client may renegotiate", yes(found.client_initiated));
    }

    fn protections(&mut self, found: &Protections) {
        self.row("extended master secret", yes(found.extended_master_secret));
        self.row("encrypt-then-MAC", yes(found.encrypt_then_mac));
        let refusal = found.fallback_refusal.as_ref().map(short).unwrap_or_default();
        self.row("fallback SCSV", &format!("{}{refusal}", yes(found.fallback_scsv)));
        self.row("HelloRetryRequest", yes(found.hello_retry_request));
    }
}

fn summary<T>(found: &Accepted<T>) -> String {
    let order = match found.order {
        Some(Order::Server) => "the server's order",
        Some(Order::Client) => "the client's order",
        Some(Order::Mixed) => "no one's order alone",
        None => "no order",
    };
    let rest = found.refusal.as_ref().map(|r| format!("; to others it {r}")).unwrap_or_default();
    format!("{} accepted, {order}{rest}", found.accepted.len())
}

/// A server's refusal in short, in parentheses.
fn short(refusal: &Refusal) -> String {
    match refusal.class.as_str() {
        "reset" => " (it resets)".to_owned(),
        class if class.starts_with("closed_") => " (it closes)".to_owned(),
        _ => format!(" (it {refusal})"),
    }
}

/// Whether the server accepts what was offered; the reason if not, or if that is not known.
fn answer(accepted: Option<bool>, refusal: Option<&Refusal>) -> String {
    match (accepted, refusal) {
        (Some(true), _) => "yes".to_owned(),
        (Some(false), None) => "no".to_owned(),
        (Some(false), Some(refusal)) => format!("no: {refusal}"),
        (None, Some(refusal)) => format!("not known: the server {refusal}"),
        (None, None) => "not known: not asked after offers without an answer".to_owned(),
    }
}

/// The version as in other tables, without the prefix that nearly all of them share.
fn version(version: Protocol) -> String {
    version.to_string().trim_start_matches("TLS ").to_owned()
}

fn yes(answer: Option<bool>) -> &'static str {
    match answer {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    }
}

/// Whether the server resumes; the share, if it resumed some of the sessions offered to it, as do
/// processes or hosts behind one address that do not share what a session is resumed by.
fn resumes(answer: Option<bool>, tries: Option<Tries>, shared: &str) -> String {
    match tries {
        Some(tries) if tries.any() && !tries.every() => format!(
            "{} of {} tries: the server's processes or hosts do not share {shared}",
            tries.resumed, tries.all
        ),
        Some(Tries { all: all @ 2.., .. }) => format!("{} ({all} tries)", yes(answer)),
        _ => yes(answer).to_owned(),
    }
}

/// Seconds; milliseconds if those would round to zero.
fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

fn size(bytes: usize) -> String {
    counted(bytes as u64, "byte")
}

/// The date of an instant in seconds since 1970.
fn date(seconds: i64) -> String {
    OffsetDateTime::from_unix_timestamp(seconds)
        .map_or_else(|_| format!("{seconds} s"), |moment| moment.date().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (4_102_444_799, "2099-12-31"),
            (i64::MAX, "9223372036854775807 s"),
        ] {
            assert_eq!(date(seconds), day);
        }
    }

    #[test]
    fn protocols_are_none_only_if_an_offer_was_answered() {
        let shown = |others_known| {
            let mut table = Table::default();
            table.protocols(&Protocols { others_known, ..Protocols::default() });
            let rows = table.text.lines().map(|line| line[NAME..].trim().to_owned());
            rows.collect::<Vec<_>>()
        };
        assert_eq!(shown(true), ["none", "goes on without"]);
        assert_eq!(shown(false), ["not known", "not known"]);
    }

    #[test]
    fn a_kind_of_resumption_is_a_share_if_only_some_tries_resumed() {
        let shown = |resumed, all| {
            let tries = Tries { resumed, all };
            resumes(Some(tries.any()), Some(tries), "ticket keys")
        };
        assert_eq!(shown(8, 8), "yes (8 tries)");
        assert_eq!(shown(0, 8), "no (8 tries)");
        assert_eq!(shown(0, 1), "no");
        let some = "4 of 8 tries: the server's processes or hosts do not share ticket keys";
        assert_eq!(shown(4, 8), some);
        assert_eq!(resumes(Some(true), None, "ticket keys"), "yes", "a record of before");
        assert_eq!(resumes(None, None, "ticket keys"), "-");
    }

    #[test]
    fn long_lists_are_broken_between_names() {
        let mut table = Table::default();
        let names: Vec<String> = (0..20).map(|n| format!("name-{n:02}")).collect();
        table.list("names", &names);
        assert_eq!(table.text.lines().count(), 3);
        assert!(table.text.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(table.text.matches("name-").count(), 20);
    }
}
