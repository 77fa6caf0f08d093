//! The flags for the kinds of handshake: resumed, with early data, with a HelloRetryRequest.

use clap::{Args, ValueEnum};
use tlslab_contract::spec::{HelloRetry, Resume, TlsSpec};
use tlslab_wire::names::Group;

/// The kinds of handshake.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub struct ResumptionArguments {
    /// Resume an earlier session: by id or ticket (TLS 1.2), by psk or psk-only (TLS 1.3, with and
    /// without a key exchange). Sessions are collected before the warm-up, by full handshakes that
    /// are not counted; a ticket of TLS 1.3 is used once
    #[arg(long, value_enum, default_value = "none", value_name = "KIND")]
    resume: ResumeName,

    /// The share of connections that resume, 0 to 1; the others are full handshakes [default: 1]
    #[arg(long, value_name = "SHARE")]
    resume_ratio: Option<f64>,

    /// Send the first request of each resumed connection as early data; a rejected one is sent
    /// again
    #[arg(long)]
    early_data: bool,

    /// Send a key share that hardly any server accepts, so that the server asks for another by a
    /// HelloRetryRequest
    #[arg(long)]
    hello_retry: bool,

    /// The same with a key share of this group, which the server must lack; --group names the
    /// others
    #[arg(long, value_name = "GROUP", conflicts_with = "hello_retry")]
    offer_share: Option<Group>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ResumeName {
    None,
    Id,
    Ticket,
    Psk,
    PskOnly,
}

impl ResumptionArguments {
    /// The specification with what these flags ask for.
    pub fn added_to(&self, spec: TlsSpec) -> TlsSpec {
        TlsSpec {
            resume: match self.resume {
                ResumeName::None => Resume::None,
                ResumeName::Id => Resume::Id,
                ResumeName::Ticket => Resume::Ticket,
                ResumeName::Psk => Resume::Psk,
                ResumeName::PskOnly => Resume::PskOnly,
            },
            resume_ratio: self.resume_ratio,
            early_data: self.early_data,
            hello_retry: match self.offer_share {
                Some(group) => Some(HelloRetry::Share(group)),
                None => self.hello_retry.then_some(HelloRetry::Decoy),
            },
            ..spec
        }
    }
}
