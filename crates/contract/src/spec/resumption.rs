//! Kinds of handshake: resumption, early data, HelloRetryRequest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SpecError, TlsSpec};
use tlslab_wire::names::{Group, TlsVersion};

pub use tlslab_wire::tls::Resume;

/// The key share that provokes a HelloRetryRequest. Its group is offered first, and no other share
/// is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HelloRetry {
    /// A share of a group that hardly any server accepts.
    Decoy,
    /// A share of this group, which the server must not accept.
    Share(Group),
}

impl TlsSpec {
    /// The versions to offer; empty: the back end's default. Resumption by one method and
    /// HelloRetryRequest each require one version, which is then the only one.
    pub fn offered_versions(&self) -> Vec<TlsVersion> {
        match self.needed_version() {
            Some(version) => vec![version],
            None => self.versions.clone(),
        }
    }

    /// The share of connections that resume, in parts per million.
    pub fn resume_millionths(&self) -> u32 {
        match self.resume {
            Resume::None => 0,
            _ => (self.resume_ratio.unwrap_or(1.0) * 1e6).round() as u32,
        }
    }

    fn needed_version(&self) -> Option<TlsVersion> {
        self.resume.version().or(self.hello_retry.map(|_| TlsVersion::Tls13))
    }

    pub(super) fn check_resumption(&self) -> Result<(), SpecError> {
        if let Some(ratio) = self.resume_ratio {
            if self.resume == Resume::None {
                return Err(SpecError::RatioOfNothing);
            }
            if !(0.0..=1.0).contains(&ratio) {
                return Err(SpecError::ResumeRatio(ratio.to_string()));
            }
        }
        if self.early_data && self.resume.version() != Some(TlsVersion::Tls13) {
            return Err(SpecError::EarlyDataWithoutPsk);
        }
        if self.server_names.len() > 1 && self.resume != Resume::None {
            return Err(SpecError::NamesWithResumption);
        }
        if self.hello_retry.is_some() && self.resume != Resume::None {
            return Err(SpecError::RetryOfResumed);
        }
        if let Some(HelloRetry::Share(group)) = self.hello_retry
            && self.groups.contains(&group)
        {
            return Err(SpecError::ShareIsWanted(group));
        }
        match (self.needed_version(), self.versions.as_slice()) {
            (None, _) | (Some(_), []) => Ok(()),
            (Some(needs), versions) if versions.iter().all(|version| *version == needs) => Ok(()),
            (Some(needs), _) => {
                let what = match self.resume {
                    Resume::None => "a HelloRetryRequest".to_owned(),
                    resume => format!("resumption by {resume}"),
                };
                Err(SpecError::OneVersionOnly { what, needs })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::HttpVersion;

    fn checked(tls: &str) -> Result<TlsSpec, SpecError> {
        let spec: TlsSpec = serde_json::from_str(tls).expect("well-formed");
        spec.check(HttpVersion::Http11, false).map(|()| spec)
    }

    #[test]
    fn resumption_and_hello_retry_settle_the_version() {
        let cases = [
            (r#"{"resume":"id"}"#, vec![TlsVersion::Tls12]),
            (r#"{"resume":"ticket","versions":["1.2"]}"#, vec![TlsVersion::Tls12]),
            (r#"{"resume":"psk-only"}"#, vec![TlsVersion::Tls13]),
            (r#"{"hello_retry":"decoy"}"#, vec![TlsVersion::Tls13]),
            (r#"{"resume":"none"}"#, vec![]),
        ];
        for (tls, versions) in cases {
            assert_eq!(checked(tls).unwrap().offered_versions(), versions, "{tls}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_in_words() {
        let cases = [
            (r#"{"resume":"id","versions":["1.3"]}"#, "resumption by id exists in TLS 1.2 only"),
            (r#"{"resume":"psk","versions":["1.2","1.3"]}"#, "resumption by psk exists in TLS 1.3"),
            (r#"{"hello_retry":"decoy","versions":["1.2"]}"#, "a HelloRetryRequest exists in TLS"),
            (r#"{"resume":"id","groups":["MLKEM768"]}"#, "MLKEM768 exists in TLS 1.3 only"),
            (r#"{"resume_ratio":0.5}"#, "needs a kind of resumption"),
            (r#"{"resume":"psk","resume_ratio":1.01}"#, "(1.01) must lie between 0 and 1"),
            (r#"{"resume":"psk","resume_ratio":-0.1}"#, "(-0.1) must lie between 0 and 1"),
            (r#"{"early_data":true}"#, "early data needs resumption by psk"),
            (r#"{"resume":"ticket","early_data":true}"#, "early data needs resumption by psk"),
            (r#"{"resume":"psk","hello_retry":"decoy"}"#, "needs full handshakes"),
            (r#"{"resume":"id","server_names":["a","b"]}"#, "server_names need full handshakes"),
            (r#"{"groups":["P-256"],"hello_retry":{"share":"P-256"}}"#, "share of P-256"),
        ];
        for (tls, words) in cases {
            let error = checked(tls).unwrap_err().to_string();
            assert!(error.contains(words), "{tls}: {error}");
        }
    }

    #[test]
    fn the_share_that_resumes_is_counted_in_millionths() {
        let millionths = |tls| checked(tls).unwrap().resume_millionths();
        assert_eq!(millionths(r#"{"resume":"psk","resume_ratio":0.6}"#), 600_000);
        assert_eq!(millionths(r#"{"resume":"psk"}"#), 1_000_000);
        assert_eq!(millionths("{}"), 0);
    }
}
