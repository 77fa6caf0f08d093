//! Key exchanges by OpenSSL's EVP interface, which supports all groups by name.
//!
//! The `openssl` crate wraps neither key generation by name nor encapsulation.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use ::openssl::error::ErrorStack;
use ::openssl::pkey::{PKey, Private};
use foreign_types::ForeignType;
use openssl_sys as sys;

use tlslab_wire::names::Group;

unsafe extern "C" {
    fn EVP_PKEY_CTX_set_group_name(context: *mut sys::EVP_PKEY_CTX, name: *const c_char) -> c_int;
    fn EVP_PKEY_get1_encoded_public_key(key: *mut sys::EVP_PKEY, public: *mut *mut u8) -> usize;
    fn EVP_PKEY_set1_encoded_public_key(
        key: *mut sys::EVP_PKEY,
        public: *const u8,
        length: usize,
    ) -> c_int;
}

/// OpenSSL's names for a group: the kind of its keys, and a group name if the kind has several.
pub struct Named {
    kind: &'static CStr,
    group: Option<&'static CStr>,
    /// Whether the group is a KEM: the server then encapsulates.
    is_kem: bool,
}

impl Named {
    /// OpenSSL's names for a group.
    pub fn of(group: Group) -> Self {
        let named = |kind, group, is_kem| Self { kind, group, is_kem };
        match group {
            Group::X25519 => named(c"X25519", None, false),
            Group::X448 => named(c"X448", None, false),
            Group::P256 => named(c"EC", Some(c"P-256"), false),
            Group::P384 => named(c"EC", Some(c"P-384"), false),
            Group::P521 => named(c"EC", Some(c"P-521"), false),
            Group::Ffdhe2048 => named(c"DH", Some(c"ffdhe2048"), false),
            Group::Ffdhe3072 => named(c"DH", Some(c"ffdhe3072"), false),
            Group::Ffdhe4096 => named(c"DH", Some(c"ffdhe4096"), false),
            Group::MlKem768 => named(c"ML-KEM-768", None, true),
            Group::X25519MlKem768 => named(c"X25519MLKEM768", None, true),
            Group::SecP256r1MlKem768 => named(c"SecP256r1MLKEM768", None, true),
            Group::SecP384r1MlKem1024 => named(c"SecP384r1MLKEM1024", None, true),
        }
    }

    /// Generates a key pair. Returns the private key and the public key as a key share.
    pub fn generate(&self) -> Result<(PKey<Private>, Vec<u8>), ErrorStack> {
        // SAFETY: the names are C strings; every pointer comes from the call before and is checked,
        // and is freed once.
        unsafe {
            let context = Context::named(self.kind)?;
            checked(sys::EVP_PKEY_keygen_init(context.0))?;
            if let Some(group) = self.group {
                checked(EVP_PKEY_CTX_set_group_name(context.0, group.as_ptr()))?;
            }
            let mut key = ptr::null_mut();
            checked(sys::EVP_PKEY_keygen(context.0, &mut key))?;
            let key = PKey::<Private>::from_ptr(key);
            let mut public = ptr::null_mut();
            let length = EVP_PKEY_get1_encoded_public_key(key.as_ptr(), &mut public);
            if length == 0 {
                return Err(ErrorStack::get());
            }
            let share = std::slice::from_raw_parts(public, length).to_vec();
            sys::OPENSSL_free(public.cast());
            Ok((key, share))
        }
    }

    /// Answers a client's share: with the server's own share, or with a ciphertext.
    pub fn answer(&self, client: &PKey<Private>, share: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        if self.is_kem {
            return encapsulate(&peer(client, share)?);
        }
        let (ours, answer) = self.generate()?;
        agree(&ours, &peer(client, share)?)?;
        Ok(answer)
    }

    /// Derives the secret from the answer to the client's share.
    pub fn complete(&self, ours: &PKey<Private>, answer: &[u8]) -> Result<(), ErrorStack> {
        if self.is_kem { decapsulate(ours, answer) } else { agree(ours, &peer(ours, answer)?) }
    }
}

/// A key context, freed on drop.
struct Context(*mut sys::EVP_PKEY_CTX);

impl Context {
    /// A context for keys of a kind.
    fn named(kind: &CStr) -> Result<Self, ErrorStack> {
        // SAFETY: the name is a C string; no library context and no properties are the defaults.
        let context =
            unsafe { sys::EVP_PKEY_CTX_new_from_name(ptr::null_mut(), kind.as_ptr(), ptr::null()) };
        if context.is_null() { Err(ErrorStack::get()) } else { Ok(Self(context)) }
    }

    /// A context for operations with a key.
    fn of(key: &PKey<Private>) -> Result<Self, ErrorStack> {
        // SAFETY: the key is alive; the context counts a reference to it.
        let context = unsafe { sys::EVP_PKEY_CTX_new(key.as_ptr(), ptr::null_mut()) };
        if context.is_null() { Err(ErrorStack::get()) } else { Ok(Self(context)) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: this value owns the pointer.
        unsafe { sys::EVP_PKEY_CTX_free(self.0) };
    }
}

fn checked(result: c_int) -> Result<(), ErrorStack> {
    if result > 0 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// The peer's public key from its share, with the parameters of our own key.
fn peer(ours: &PKey<Private>, share: &[u8]) -> Result<PKey<Private>, ErrorStack> {
    // SAFETY: both keys are alive, and pointer and length describe the share.
    unsafe {
        let key = sys::EVP_PKEY_new();
        if key.is_null() {
            return Err(ErrorStack::get());
        }
        let key = PKey::from_ptr(key);
        checked(sys::EVP_PKEY_copy_parameters(key.as_ptr(), ours.as_ptr()))?;
        checked(EVP_PKEY_set1_encoded_public_key(key.as_ptr(), share.as_ptr(), share.len()))?;
        Ok(key)
    }
}

fn agree(ours: &PKey<Private>, theirs: &PKey<Private>) -> Result<(), ErrorStack> {
    let context = Context::of(ours)?;
    let mut secret = [0; 512];
    let mut length = secret.len();
    // SAFETY: keys and context are alive; the secret's buffer has the given size.
    unsafe {
        checked(sys::EVP_PKEY_derive_init(context.0))?;
        checked(sys::EVP_PKEY_derive_set_peer(context.0, theirs.as_ptr()))?;
        checked(sys::EVP_PKEY_derive(context.0, secret.as_mut_ptr(), &mut length))
    }
}

fn encapsulate(theirs: &PKey<Private>) -> Result<Vec<u8>, ErrorStack> {
    let context = Context::of(theirs)?;
    let (mut ciphertext, mut secret) = (vec![0; 2048], [0; 128]);
    let (mut length, mut secret_length) = (ciphertext.len(), secret.len());
    // SAFETY: key and context are alive; both buffers have the given sizes.
    unsafe {
        checked(sys::EVP_PKEY_encapsulate_init(context.0, ptr::null()))?;
        checked(sys::EVP_PKEY_encapsulate(
            context.0,
            ciphertext.as_mut_ptr(),
            &mut length,
            secret.as_mut_ptr(),
            &mut secret_length,
        ))?;
    }
    ciphertext.truncate(length);
    Ok(ciphertext)
}

fn decapsulate(ours: &PKey<Private>, ciphertext: &[u8]) -> Result<(), ErrorStack> {
    let context = Context::of(ours)?;
    let mut secret = [0; 128];
    let mut length = secret.len();
    // SAFETY: key and context are alive; the secret's buffer has the given size.
    unsafe {
        checked(sys::EVP_PKEY_decapsulate_init(context.0, ptr::null()))?;
        checked(sys::EVP_PKEY_decapsulate(
            context.0,
            secret.as_mut_ptr(),
            &mut length,
            ciphertext.as_ptr(),
            ciphertext.len(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_answered_and_completed() {
        for group in Group::all() {
            let named = Named::of(group);
            let (ours, share) = named.generate().unwrap();
            let answer = named.answer(&ours, &share).unwrap();
            named.complete(&ours, &answer).unwrap_or_else(|e| panic!("{group}: {e}"));
        }
    }
}
