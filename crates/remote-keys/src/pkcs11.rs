//! A key in a token behind a PKCS #11 module.

use std::sync::Mutex;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use openssl::bn::BigNum;
use openssl::rsa::Rsa;

use super::session::{NotSigned, Signed};
use super::{Hash, KeyError, KeySource, Pkcs11Key, RsaScheme, Signs};

/// A token with a logged-in user.
#[derive(Debug)]
pub struct Token {
    module: Pkcs11,
    slot: Slot,
    label: String,
    key: String,
    public_key: Vec<u8>,
    /// Keeps the login of all sessions as long as it is open.
    _login: Mutex<Session>,
}

impl Token {
    /// Loads the module, finds the token, logs in and finds the key.
    pub fn open(asked: &Pkcs11Key) -> Result<Self, KeyError> {
        let failed = |error: Error| explain(asked, &error);
        let module = Pkcs11::new(&asked.module).map_err(failed)?;
        let threads = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
        module.initialize(threads).map_err(failed)?;
        let slot = slot(&module, asked)?;
        let session = module.open_ro_session(slot).map_err(failed)?;
        let pin = AuthPin::from(asked.pin.reveal().to_owned());
        session.login(UserType::User, Some(&pin)).map_err(failed)?;
        let handle = private_key(&session, asked)?;
        let public_key = public_key(&session, handle).map_err(failed)?.ok_or_else(|| {
            KeyError::Unusable(format!("the token does not give the modulus of {}", asked.key))
        })?;
        let (label, key) = (asked.token.clone(), asked.key.clone());
        Ok(Self { module, slot, label, key, public_key, _login: Mutex::new(session) })
    }
}

impl KeySource for Token {
    fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    fn nodes(&self) -> Vec<String> {
        vec![self.label.clone()]
    }

    fn open(&self) -> Result<Box<dyn Signs>, KeyError> {
        let failed = |error: Error| KeyError::Unusable(error.to_string());
        let session = self.module.open_ro_session(self.slot).map_err(failed)?;
        let found = session.find_objects(&template(&self.key)).map_err(failed)?;
        let key = *found.first().ok_or_else(|| {
            KeyError::Unusable(format!("the key {} is gone from its token", self.key))
        })?;
        Ok(Box::new(Seat { session, key }))
    }
}

/// The session of one thread.
#[derive(Debug)]
struct Seat {
    session: Session,
    key: ObjectHandle,
}

impl Signs for Seat {
    fn sign(&mut self, message: &[u8], scheme: RsaScheme) -> Signed {
        let result = self.session.sign(&mechanism(scheme), self.key, message);
        let refused = |e: Error| NotSigned { class: "signing_refused", message: e.to_string() };
        Signed { node: 0, result: result.map_err(refused) }
    }
}

/// The mechanism that hashes and signs. The salt is as long as the hash (RFC 8446, section 4.2.3).
fn mechanism(scheme: RsaScheme) -> Mechanism<'static> {
    let pss = |hash_alg, mgf, length: u64| PkcsPssParams { hash_alg, mgf, s_len: length.into() };
    match (scheme.pss, scheme.hash) {
        (false, Hash::Sha256) => Mechanism::Sha256RsaPkcs,
        (false, Hash::Sha384) => Mechanism::Sha384RsaPkcs,
        (false, Hash::Sha512) => Mechanism::Sha512RsaPkcs,
        (true, Hash::Sha256) => {
            Mechanism::Sha256RsaPkcsPss(pss(MechanismType::SHA256, PkcsMgfType::MGF1_SHA256, 32))
        }
        (true, Hash::Sha384) => {
            Mechanism::Sha384RsaPkcsPss(pss(MechanismType::SHA384, PkcsMgfType::MGF1_SHA384, 48))
        }
        (true, Hash::Sha512) => {
            Mechanism::Sha512RsaPkcsPss(pss(MechanismType::SHA512, PkcsMgfType::MGF1_SHA512, 64))
        }
    }
}

fn template(label: &str) -> [Attribute; 3] {
    [
        Attribute::Class(ObjectClass::PRIVATE_KEY),
        Attribute::KeyType(KeyType::RSA),
        Attribute::Label(label.as_bytes().to_vec()),
    ]
}

fn slot(module: &Pkcs11, asked: &Pkcs11Key) -> Result<Slot, KeyError> {
    let slots = module.get_slots_with_initialized_token().map_err(|e| explain(asked, &e))?;
    let mut labels = Vec::new();
    for slot in slots {
        let token = module.get_token_info(slot).map_err(|e| explain(asked, &e))?;
        if token.label() == asked.token {
            return Ok(slot);
        }
        labels.push(format!("'{}'", token.label()));
    }
    let others = if labels.is_empty() { "none at all".to_owned() } else { labels.join(", ") };
    Err(KeyError::Unusable(format!(
        "the PKCS #11 module has no token '{}'; it has {others}; for SoftHSM2 the environment \
         variable SOFTHSM2_CONF says where its tokens are",
        asked.token
    )))
}

fn private_key(session: &Session, asked: &Pkcs11Key) -> Result<ObjectHandle, KeyError> {
    let found = session.find_objects(&template(&asked.key)).map_err(|e| explain(asked, &e))?;
    found.first().copied().ok_or_else(|| {
        let (token, key) = (&asked.token, &asked.key);
        KeyError::Unusable(format!("token '{token}' has no private RSA key with the label '{key}'"))
    })
}

/// The public half, PKCS #1 in DER.
fn public_key(session: &Session, key: ObjectHandle) -> Result<Option<Vec<u8>>, Error> {
    let asked = [AttributeType::Modulus, AttributeType::PublicExponent];
    let (mut modulus, mut exponent) = (None, None);
    for attribute in session.get_attributes(key, &asked)? {
        match attribute {
            Attribute::Modulus(bytes) => modulus = Some(bytes),
            Attribute::PublicExponent(bytes) => exponent = Some(bytes),
            _ => {}
        }
    }
    let (Some(modulus), Some(exponent)) = (modulus, exponent) else { return Ok(None) };
    let made = || {
        let (n, e) = (BigNum::from_slice(&modulus)?, BigNum::from_slice(&exponent)?);
        Rsa::from_public_components(n, e)?.public_key_to_der_pkcs1()
    };
    Ok(made().ok())
}

/// The fault and its remedy, in one line.
fn explain(asked: &Pkcs11Key, error: &Error) -> KeyError {
    let Pkcs11Key { module, token, .. } = asked;
    KeyError::Unusable(match error {
        Error::LibraryLoading(why) => format!(
            "cannot load the PKCS #11 module '{module}': {why}; give its own file with \
             --pkcs11-module"
        ),
        Error::Pkcs11(RvError::PinIncorrect | RvError::PinInvalid | RvError::PinLenRange, _) => {
            format!("token '{token}' refuses the PIN: it is wrong; correct the PIN's file")
        }
        Error::Pkcs11(RvError::PinLocked, _) => {
            format!("token '{token}' is locked after too many wrong PINs; initialise it anew")
        }
        other => format!("PKCS #11 module '{module}': {other}"),
    })
}
