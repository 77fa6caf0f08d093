//! Options for a private key outside this process.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Deserialize;
use tlslab_microbench::in_memory::{
    ClusterKey, HandshakeForm, KeyAway, KeyPlace, KeySide, Pkcs11Key, Secret, SigningNode,
};

use crate::load::problem::Problem;

/// The environment variable with the PIN, if there is no PIN file.
const PIN_VARIABLE: &str = "TLSLAB_PKCS11_PIN";

/// The format of the file that describes signing nodes.
const SIGNERS_SCHEMA: &str = "tlslab.signers/1";

/// A private key outside this process: behind PKCS #11, or on signing nodes.
#[derive(Debug, Args)]
pub struct KeyArguments {
    /// Side whose private key is outside this process [default: client in mutual handshakes, else
    /// server]
    #[arg(long, value_enum, value_name = "SIDE")]
    key_side: Option<SideName>,

    /// Sign by this PKCS #11 module, a shared library
    #[arg(long, value_name = "FILE", conflicts_with = "signers",
        requires_all = ["pkcs11_token", "pkcs11_key"])]
    pkcs11_module: Option<PathBuf>,

    /// Label of the token
    #[arg(long, value_name = "LABEL", requires = "pkcs11_module")]
    pkcs11_token: Option<String>,

    /// Label of the RSA private key in the token
    #[arg(long, value_name = "LABEL", requires = "pkcs11_module")]
    pkcs11_key: Option<String>,

    /// File with the PIN [default: the environment variable TLSLAB_PKCS11_PIN]
    #[arg(long, value_name = "FILE", requires = "pkcs11_module")]
    pkcs11_pin_file: Option<PathBuf>,

    /// Sign on the nodes that this file (JSON, tlslab.signers/1) describes
    #[arg(long, value_name = "FILE")]
    signers: Option<PathBuf>,

    /// Address of signing nodes that may be used although it is not loopback (repeatable)
    #[arg(long, value_name = "ADDRESS", requires = "signers")]
    allow: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SideName {
    Client,
    Server,
}

impl KeyArguments {
    /// The key and its location. Files are read here, because the engine reads none.
    pub fn key_away(self, form: HandshakeForm) -> Result<Option<KeyAway>, Problem> {
        let side = match (self.key_side, form) {
            (Some(SideName::Client), _) | (None, HandshakeForm::Mutual) => KeySide::Client,
            (Some(SideName::Server) | None, _) => KeySide::Server,
        };
        let place = match (&self.pkcs11_module, &self.signers) {
            (Some(module), _) => KeyPlace::Pkcs11(Pkcs11Key {
                module: module.to_string_lossy().into_owned(),
                token: self.pkcs11_token.clone().unwrap_or_default(),
                key: self.pkcs11_key.clone().unwrap_or_default(),
                pin: self.pin()?,
            }),
            (None, Some(file)) => KeyPlace::Cluster(cluster(file, self.allow.clone())?),
            (None, None) if self.key_side.is_some() => {
                let words = "--key-side needs --pkcs11-module or --signers";
                return Err(Problem::usage(words.to_owned()));
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(KeyAway { side, place }))
    }

    fn pin(&self) -> Result<Secret, Problem> {
        if let Some(file) = &self.pkcs11_pin_file {
            return read(file).map(|text| Secret::new(&text));
        }
        env::var(PIN_VARIABLE).map(|pin| Secret::new(&pin)).map_err(|_| {
            Problem::usage(format!(
                "the token wants a PIN: give --pkcs11-pin-file FILE, or set {PIN_VARIABLE}"
            ))
        })
    }
}

/// The parts of the file that this program uses; other keys are for other readers.
#[derive(Debug, Deserialize)]
struct Signers {
    schema: String,
    nodes: Vec<SigningNode>,
    authority: PathBuf,
    token_file: PathBuf,
    public_key: PathBuf,
    key: String,
    timeout_ms: u32,
}

fn cluster(file: &Path, allow: Vec<String>) -> Result<ClusterKey, Problem> {
    let wrong = |why: String| Problem::usage(format!("{}: {why}", file.display()));
    let text = read(file)?;
    let said: Signers = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    if said.schema != SIGNERS_SCHEMA {
        return Err(wrong(format!("schema '{}' is not {SIGNERS_SCHEMA}", said.schema)));
    }
    Ok(ClusterKey {
        nodes: said.nodes,
        key: said.key,
        public_key: read(&said.public_key)?,
        authority: read(&said.authority)?,
        timeout_ms: said.timeout_ms,
        allow,
        token: Secret::new(&read(&said.token_file)?),
    })
}

fn read(file: &Path) -> Result<String, Problem> {
    fs::read_to_string(file)
        .map_err(|e| Problem::usage(format!("cannot read {}: {e}", file.display())))
}
