//! Replaces, in messages, the fields of a specification by the options of the command line.

/// Fields of a specification, and the options that set them.
const OPTIONS: &[(&str, &str)] = &[
    ("allow_obsolete", "--allow-obsolete"),
    ("alpn", "--alpn"),
    ("connect_to", "--connect-to"),
    ("connection_steps", "the numbers of --connections"),
    ("deadlines.body_ms", "--timeout"),
    ("deadlines.connect_ms", "--timeout"),
    ("deadlines.first_byte_ms", "--timeout"),
    ("deadlines.handshake_ms", "--timeout"),
    ("dh_bits", "--dh-bits"),
    ("finished", "--finished"),
    ("handshake_only", "--handshake-only"),
    ("hello_retry", "--hello-retry"),
    ("http.body", "--body"),
    ("http.check_body", "--check-body"),
    ("http.headers", "--header"),
    ("http.method", "--method"),
    ("http.paths", "the URLs"),
    ("http.streams", "--streams"),
    ("http.version", "--http"),
    ("limits.all_ms", "--probe-time"),
    ("limits.connection_ms", "--timeout"),
    ("limits.connections", "--probe-connections"),
    ("limits.rate", "--probe-rate"),
    ("load.think_us", "--think"),
    ("open_within_ms", "--open-within"),
    ("proof", "--proof"),
    ("requests_per_connection", "--requests-per-connection"),
    ("resume_ratio", "--resume-ratio"),
    ("server_name", "--sni"),
    ("server_names", "--sni"),
    ("stop.count", "--count"),
    ("stop.duration_ms", "--duration"),
    ("tls.alpn", "--alpn"),
    ("tls.backend", "--backend"),
    ("tls.client_identity", "--client-cert"),
    ("tls.dh_bits", "--dh-bits"),
    ("tls.early_data", "--early-data"),
    ("tls.groups", "--group"),
    ("tls.hello_retry", "--hello-retry"),
    ("tls.ocsp_stapling", "--ocsp-stapling"),
    ("tls.resume", "--resume"),
    ("tls.server_name", "--sni"),
    ("tls.server_names", "--sni"),
    ("tls.signature_schemes", "--sigalg"),
    ("tls.suites", "--suite"),
    ("tls.versions", "--tls"),
    ("warmup_ms", "--warmup"),
];

/// A message about a specification, with options in place of fields.
pub fn in_options(words: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut said = String::with_capacity(words.len());
    // Text in quotes comes from the user and stays unchanged.
    for (number, part) in words.split('\'').enumerate() {
        if number > 0 {
            said.push('\'');
        }
        if number % 2 == 1 {
            said.push_str(part);
            continue;
        }
        for piece in part.split_inclusive(|c| !is_part(c)) {
            let word = piece.trim_end_matches(|c| !is_part(c));
            let option = OPTIONS.iter().find(|(field, _)| *field == word);
            said.push_str(option.map_or(word, |(_, option)| option));
            said.push_str(&piece[word.len()..]);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_as_options_and_nothing_else_is_touched() {
        for (said, expected) in [
            ("stop.duration_ms must be at least 1", "--duration must be at least 1"),
            ("deadlines.connect_ms must be at least 1", "--timeout must be at least 1"),
            ("http.method 'proof' is no method", "--method 'proof' is no method"),
            ("exist in HTTP/2 only; give http.version 2", "exist in HTTP/2 only; give --http 2"),
            ("(http.streams), as asked", "(--streams), as asked"),
            ("url 'http.body it's': ends", "url 'http.body it's': ends"),
        ] {
            assert_eq!(in_options(said), expected);
        }
    }
}
