//! Sends a probe's ClientHellos, and stores the findings that later questions depend on.

use std::time::Duration;

use super::connection::{Connector, ProbeConnection, Stop};
use super::random::random;
use super::record::Unanswered;
use super::shares;
use super::spec::{CheckedProbe, Topic};
use tlslab_system::guard::Permit;
use tlslab_wire::starttls::Service;
use tlslab_wire::tls::answer::{Flight, Refusal};
use tlslab_wire::tls::client_hello::{ClientHello, extension};
use tlslab_wire::tls::registry::{self, Protocol};

/// The time limit of a second try after a silence, in limits of the first one.
const LONGER: u32 = 3;

/// The number of second tries after a silence that may be in vain. No other is made after them. Of a
/// server that has never answered one shows enough.
const IN_VAIN: u32 = 2;

/// Sends ClientHellos, and stores the findings that later questions depend on.
pub struct Asker {
    connector: Connector,
    /// The name for the certificate check.
    server_name: String,
    /// The name for SNI.
    sni: Option<String>,
    /// The server's versions, newest first.
    versions: Vec<Protocol>,
    /// The highest number of suites that the server accepts in one offer.
    suites_at_once: usize,
    /// The suites of the newest version up to TLS 1.2; empty until known.
    legacy_suites: Vec<u16>,
    /// Whether complete handshakes must do with one segment.
    one_segment: bool,
    /// Whether the server asks for a client certificate; `None` until known.
    client_certificate: Option<bool>,
    /// The topic of the present question; `None` for an offer, which has its own answer.
    topic: Option<Topic>,
    /// What the present question asks for.
    question: String,
    /// The questions without an answer so far.
    unanswered: Vec<Unanswered>,
    /// Second tries after a silence that were in vain.
    in_vain: u32,
    /// Whether the server has answered or ended any connection.
    has_acted: bool,
}

impl Asker {
    /// An asker without findings.
    pub fn new(spec: &CheckedProbe, permit: Permit) -> Self {
        let limits = spec.limits(permit.address.ip().to_canonical().is_loopback());
        Self {
            connector: Connector::new(permit.address, spec.spec().starttls, limits),
            server_name: spec.server_name().to_owned(),
            sni: spec.sni().map(str::to_owned),
            versions: Vec::new(),
            suites_at_once: usize::MAX,
            legacy_suites: Vec::new(),
            one_segment: false,
            client_certificate: None,
            topic: None,
            question: String::new(),
            unanswered: Vec::new(),
            in_vain: 0,
            has_acted: false,
        }
    }

    /// Connections made.
    pub fn connections(&self) -> u32 {
        self.connector.connections
    }

    /// The service that begins in plain text; `None`: TLS begins at once.
    pub fn starttls(&self) -> Option<Service> {
        self.connector.starttls()
    }

    /// The time since the first question.
    pub fn elapsed(&self) -> Duration {
        self.connector.elapsed()
    }

    /// Starts the questions of a topic.
    pub fn begin(&mut self, topic: Topic) {
        self.topic = Some(topic);
    }

    /// Names what the next questions ask for. A silence is noted under this name.
    pub fn about(&mut self, question: impl Into<String>) {
        self.question = question.into();
    }

    /// Forgets the silences of the present question: another one has answered it.
    pub fn settle(&mut self) {
        let (topic, question) = (self.topic, &self.question);
        self.unanswered.retain(|each| Some(each.topic) != topic || each.question != *question);
    }

    /// The questions without an answer so far.
    pub fn unanswered(&self) -> &[Unanswered] {
        &self.unanswered
    }

    /// Notes that the server did not answer the present question in any of these times. An error if
    /// the limit of all connections ended the wait: then the silence says nothing.
    pub fn silence(&mut self, times: &[Duration]) -> Result<Refusal, Stop> {
        self.connector.check_time()?;
        Ok(self.note(Refusal::silence_of(times)))
    }

    /// Notes that an answer leaves the present question open. An error as for a silence.
    pub fn doubt(&mut self, refusal: Refusal) -> Result<(), Stop> {
        if refusal.is_silence() {
            self.connector.check_time()?;
        }
        self.note(refusal);
        Ok(())
    }

    fn note(&mut self, refusal: Refusal) -> Refusal {
        let (topic, question) = (self.topic, &self.question);
        let known = |each: &Unanswered| Some(each.topic) == topic && each.question == *question;
        if let Some(topic) = topic
            && !self.unanswered.iter().any(known)
        {
            let (question, refusal) = (question.clone(), refusal.clone());
            self.unanswered.push(Unanswered { topic, question, refusal });
        }
        refusal
    }

    /// Makes a connection for a question that cannot be repeated: a server may accept a ticket only
    /// once. An end that says nothing is noted: no second try shows whether it was an answer.
    pub fn once<T>(
        &mut self,
        attempt: impl FnOnce(ProbeConnection) -> Result<T, Refusal>,
    ) -> Result<Result<T, Refusal>, Stop> {
        let each = self.connector.each();
        match attempt(self.connector.connect(each)?) {
            Err(end) if end.says_nothing() && !end.is_silence() => Ok(Err(self.note(end))),
            answer => self.heard(answer, &[each]),
        }
    }

    /// Makes a connection for a question, and a second one after a reset or a silence. Any device on
    /// the path may send a reset: only a second one counts as an answer. A busy server may answer
    /// late: after a silence, the second connection may last longer.
    pub fn twice<T>(
        &mut self,
        mut attempt: impl FnMut(ProbeConnection) -> Result<T, Refusal>,
    ) -> Result<Result<T, Refusal>, Stop> {
        let each = self.connector.each();
        let answer = attempt(self.connector.connect(each)?);
        self.has_acted |= !answer.as_ref().is_err_and(Refusal::is_silence);
        match &answer {
            Err(refusal) if refusal.is_reset() => {
                let again = attempt(self.connector.connect(each)?);
                return self.heard(again, &[each]);
            }
            Err(refusal) if refusal.is_silence() => self.connector.check_time()?,
            _ => return Ok(answer),
        }
        let longer = each * LONGER;
        let most = if self.has_acted { IN_VAIN } else { 1 };
        if self.in_vain >= most || !self.connector.has_left(longer) {
            return self.heard(answer, &[each]);
        }
        let again = attempt(self.connector.connect(longer)?);
        self.has_acted |= !again.as_ref().is_err_and(Refusal::is_silence);
        if again.as_ref().is_err_and(Refusal::says_nothing) {
            self.in_vain += 1;
        }
        match again {
            // A server or a device may end a connection only because nothing was sent for long.
            Err(end) if end.says_nothing() && !end.is_silence() => {
                Ok(Err(self.note(Refusal::silence_of(&[each]).then(&end))))
            }
            again => self.heard(again, &[each, longer]),
        }
    }

    /// The answer, with these times if it is a silence.
    fn heard<T>(
        &mut self,
        answer: Result<T, Refusal>,
        times: &[Duration],
    ) -> Result<Result<T, Refusal>, Stop> {
        match answer {
            Err(refusal) if refusal.is_silence() => Ok(Err(self.silence(times)?)),
            answer => Ok(answer),
        }
    }

    /// The name for the certificate check.
    pub fn server_name(&self) -> &str {
        &self.server_name
    }

    /// The name for SNI.
    pub fn sni(&self) -> Option<&str> {
        self.sni.as_deref()
    }

    /// The server's versions, newest first.
    pub fn versions(&self) -> &[Protocol] {
        &self.versions
    }

    /// Stores the server's versions, newest first.
    pub fn learn_versions(&mut self, versions: Vec<Protocol>) {
        self.versions = versions;
    }

    /// The highest number of suites that the server accepts in one offer.
    pub fn suites_at_once(&self) -> usize {
        self.suites_at_once
    }

    /// Limits each offer from now on to N suites.
    pub fn limit_suites(&mut self, suites_at_once: usize) {
        self.suites_at_once = suites_at_once;
    }

    /// The suites of the newest version up to TLS 1.2; empty until known.
    pub fn legacy_suites(&self) -> &[u16] {
        &self.legacy_suites
    }

    /// Stores the suites of the newest version up to TLS 1.2.
    pub fn learn_legacy_suites(&mut self, suites: Vec<u16>) {
        self.legacy_suites = suites;
    }

    /// Whether ClientHellos of complete handshakes must fit into one segment.
    pub fn is_one_segment(&self) -> bool {
        self.one_segment
    }

    /// Lets ClientHellos of complete handshakes fit into one segment: the server takes no others.
    pub fn limit_to_one_segment(&mut self) {
        self.one_segment = true;
    }

    /// Whether the server asks for a client certificate; `None` if that is not known.
    pub fn client_certificate(&self) -> Option<bool> {
        self.client_certificate
    }

    /// Stores whether the server asks for a client certificate. One that asks in any version or for
    /// any kind of its own certificate does so.
    pub fn learn_client_certificate(&mut self, is_asked: bool) {
        self.client_certificate = Some(is_asked || self.client_certificate == Some(true));
    }

    /// A ClientHello of one version that offers everything, with key shares that most servers
    /// accept.
    pub fn hello(&self, version: Protocol) -> ClientHello {
        let usual = [29, 23].map(|group| (group, shares::public_key(group).unwrap_or_default()));
        ClientHello {
            versions: vec![version],
            suites: registry::suites_of(version),
            groups: registry::groups(),
            schemes: registry::schemes(),
            shares: usual.to_vec(),
            server_name: self.sni.clone(),
            compression: Vec::new(),
        }
    }

    /// The same for the newest version up to TLS 1.2, restricted to the server's known suites.
    pub fn legacy_hello(&self) -> Option<ClientHello> {
        self.newest_legacy().map(|version| self.short_hello(version))
    }

    /// The same with no more suites than the server accepts: its known suites.
    pub fn short_hello(&self, version: Protocol) -> ClientHello {
        let mut hello = self.hello(version);
        if Some(version) == self.newest_legacy() && !self.legacy_suites.is_empty() {
            hello.suites.clone_from(&self.legacy_suites);
        }
        hello.suites.truncate(self.suites_at_once);
        hello
    }

    /// True if the server has a version.
    pub fn has(&self, version: Protocol) -> bool {
        self.versions.contains(&version)
    }

    /// The newest of the server's versions up to TLS 1.2.
    pub fn newest_legacy(&self) -> Option<Protocol> {
        self.versions
            .iter()
            .copied()
            .find(|version| (Protocol::Ssl3..=Protocol::Tls12).contains(version))
    }

    /// The server's flight if it continues as offered, otherwise its refusal.
    pub fn ask(&mut self, hello: &ClientHello) -> Result<Result<Flight, Refusal>, Stop> {
        let answer = self.twice(|mut connection| connection.ask(&hello.bytes(random)))?;
        Ok(answer.and_then(|flight| as_offered(hello, flight)))
    }

    /// As [`Self::ask`], for an offer with its own key share. A HelloRetryRequest that asks for no
    /// other one is answered by its cookie: only a ServerHello shows that the server has the group.
    pub fn ask_for_share(&mut self, hello: &ClientHello) -> Result<Result<Flight, Refusal>, Stop> {
        let answer = self.twice(|mut connection| {
            // Both ClientHellos have the same random and session ID.
            let number = random();
            let first = connection.ask(&hello.bytes(|| number))?;
            match first.extension(extension::COOKIE).map(<[u8]>::to_vec) {
                Some(cookie) if first.retry && first.group.is_none() => {
                    connection.ask(&hello.with_cookie(|| number, Some(&cookie)))
                }
                _ => Ok(first),
            }
        })?;
        Ok(answer.and_then(|flight| as_offered(hello, flight)))
    }
}

/// The flight if it is within the offer, otherwise what it has instead.
fn as_offered(hello: &ClientHello, flight: Flight) -> Result<Flight, Refusal> {
    let version = flight.protocol();
    if !version.is_some_and(|version| hello.versions.contains(&version)) {
        let chosen = version.map_or("another version".to_owned(), |chosen| chosen.to_string());
        return Err(Refusal::other("version", format!("chose {chosen}")));
    }
    if !hello.suites.contains(&flight.suite) {
        let words = format!("chose {}, which was not offered", registry::suite_name(flight.suite));
        return Err(Refusal::other("suite", words));
    }
    if let Some(group) = flight.group.filter(|group| !hello.groups.contains(group)) {
        let words = format!("chose group {}, which was not offered", registry::group_name(group));
        return Err(Refusal::other("group", words));
    }
    Ok(flight)
}
