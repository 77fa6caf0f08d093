//! Certificate authorities, and certificates with any kind of key.

use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::sign::Signer;
use openssl::x509::X509;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::der;

/// The kind of a certificate's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// RSA with a modulus of N bits.
    Rsa(u32),
    /// ECDSA on P-256.
    P256,
    /// ECDSA on P-384.
    P384,
    /// ECDSA on P-521.
    P521,
    /// Ed25519.
    Ed25519,
}

impl Key {
    fn generate(self) -> PKey<Private> {
        let on_curve = |curve| {
            let group = EcGroup::from_curve_name(curve).unwrap();
            PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
        };
        match self {
            Self::Rsa(bits) => PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap(),
            Self::P256 => on_curve(Nid::X9_62_PRIME256V1),
            Self::P384 => on_curve(Nid::SECP384R1),
            Self::P521 => on_curve(Nid::SECP521R1),
            Self::Ed25519 => PKey::generate_ed25519().unwrap(),
        }
    }
}

/// A certificate authority with an ECDSA P-256 key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    key: PKey<Private>,
    certificate: Vec<u8>,
}

/// A certificate and its key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: X509,
    /// The private key.
    pub key: PKey<Private>,
}

impl Identity {
    /// A server certificate for [`NAMES`] that has signed itself.
    pub fn self_signed(key: Key) -> Self {
        let key = key.generate();
        let pem = String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap();
        let signed = server(&NAMES).self_signed(&KeyPair::from_pem(&pem).unwrap()).unwrap();
        Self { certificate: X509::from_der(signed.der()).unwrap(), key }
    }

    /// The certificate and the key, PEM.
    pub fn pem(&self) -> (String, String) {
        let text = |pem| String::from_utf8(pem).unwrap();
        (
            text(self.certificate.to_pem().unwrap()),
            text(self.key.private_key_to_pem_pkcs8().unwrap()),
        )
    }
}

/// The names that [`Authority::issue`] certifies.
pub const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Authority {
    /// An authority with this name and a new key.
    pub fn new(name: &str) -> Self {
        let params = Self::params(name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().to_vec();
        let copy = PKey::private_key_from_pkcs8(key.serialized_der()).unwrap();
        Self { issuer: Issuer::new(params, key), key: copy, certificate }
    }

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
    }

    /// An intermediate authority with this name, whose certificate this authority has issued.
    pub fn subordinate(&self, name: &str) -> Self {
        let Self { issuer, key, .. } = Self::new(name);
        let params = Self::params(name);
        let certificate = params.signed_by(issuer.key(), &self.issuer).unwrap().der().to_vec();
        Self { issuer, key, certificate }
    }

    /// The authority's own certificate, DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// A server certificate for [`NAMES`], which are this host's.
    pub fn issue(&self, key: Key) -> Identity {
        self.issue_for(key, &NAMES)
    }

    /// A server certificate for other names: DNS names or addresses.
    pub fn issue_for(&self, key: Key, names: &[&str]) -> Identity {
        self.sign(key, server(names))
    }

    /// A client certificate.
    pub fn issue_client(&self, key: Key) -> Identity {
        self.sign(key, client())
    }

    /// A client certificate that was valid only in the year 2020.
    pub fn issue_expired_client(&self, key: Key) -> Identity {
        let mut params = client();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 12, 31);
        self.sign(key, params)
    }

    /// The authority's own certificate, PEM.
    pub fn pem(&self) -> String {
        let certificate = X509::from_der(&self.certificate).unwrap();
        String::from_utf8(certificate.to_pem().unwrap()).unwrap()
    }

    /// A server certificate that was valid only in the year 2020.
    pub fn issue_expired(&self, key: Key) -> Identity {
        let mut params = server(&NAMES);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 12, 31);
        self.sign(key, params)
    }

    /// A server certificate that is valid only from the year 4000 on.
    pub fn issue_not_yet_valid(&self, key: Key) -> Identity {
        let mut params = server(&NAMES);
        params.not_before = date_time_ymd(4000, 1, 1);
        params.not_after = date_time_ymd(4000, 12, 31);
        self.sign(key, params)
    }

    /// A server certificate that names a place to fetch its issuer from (RFC 5280, section 4.2.2.1).
    pub fn issue_with_issuers_place(&self, key: Key) -> Identity {
        const AUTHORITY_INFO: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 1];
        const CA_ISSUERS: &[u8] = b"\x30\x16\x30\x14\x06\x08\x2b\x06\x01\x05\x05\x07\x30\x02\
                                    \x86\x08http://a";
        let mut params = server(&NAMES);
        let place = CustomExtension::from_oid_content(&AUTHORITY_INFO, CA_ISSUERS.to_vec());
        params.custom_extensions.push(place);
        self.sign(key, params)
    }

    /// A server certificate with any common name.
    pub fn issue_named(&self, key: Key, common_name: &str) -> Identity {
        let mut params = server(&NAMES);
        params.distinguished_name.push(DnType::CommonName, common_name);
        self.sign(key, params)
    }

    /// A certificate with names that are not valid UTF-8: a T61String in the subject, and invalid
    /// bytes in place of ASCII in the alternative names. (OpenSSL does not parse an invalid
    /// UTF8String.)
    pub fn issue_unreadable(&self, key: Key) -> Identity {
        const READABLE: &str = "unreadable.example";
        let mut params = server(&[READABLE, "127.0.0.1"]);
        params.distinguished_name.push(DnType::CommonName, READABLE);
        let identity = self.sign(key, params);
        let parts = der::parts(der::content(&identity.certificate.to_der().unwrap()));
        let [signed, algorithm, _] = parts.try_into().unwrap();
        let invalid = [0xff; READABLE.len()];
        let text = |tag, bytes| der::value(tag, bytes);
        let (utf8, t61) =
            (text(der::UTF8_STRING, READABLE.as_bytes()), text(der::T61_STRING, &invalid));
        let signed =
            der::replaced(&der::replaced(&signed, &utf8, &t61), READABLE.as_bytes(), &invalid);
        let mut signer = Signer::new(MessageDigest::sha256(), &self.key).unwrap();
        let signature = [&[0][..], &signer.sign_oneshot_to_vec(&signed).unwrap()].concat();
        let whole = [signed, algorithm, der::value(der::BIT_STRING, &signature)].concat();
        let certificate = X509::from_der(&der::value(der::SEQUENCE, &whole)).unwrap();
        Identity { certificate, ..identity }
    }

    /// A server certificate for [`NAMES`], listed after N other names of at most four characters.
    pub fn issue_crowded(&self, key: Key, names: usize) -> Identity {
        let others = (0..names).map(|n| format!("{n:x}"));
        let names: Vec<String> = others.chain(NAMES.map(str::to_owned)).collect();
        self.issue_for(key, &names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A server certificate that requires a stapled OCSP response (RFC 7633).
    pub fn issue_must_staple(&self, key: Key) -> Identity {
        const TLS_FEATURE: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 24];
        const STATUS_REQUEST: [u8; 5] = [0x30, 3, 2, 1, 5];
        let mut params = server(&NAMES);
        let feature = CustomExtension::from_oid_content(&TLS_FEATURE, STATUS_REQUEST.to_vec());
        params.custom_extensions.push(feature);
        self.sign(key, params)
    }

    /// A certificate with N meaningless bytes.
    pub fn issue_bloated(&self, bytes: usize) -> Identity {
        let mut params = server(&NAMES);
        let ballast =
            CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 55555, 1], vec![0; bytes]);
        params.custom_extensions.push(ballast);
        self.sign(Key::P256, params)
    }

    fn sign(&self, key: Key, params: CertificateParams) -> Identity {
        let key = key.generate();
        let pem = String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap();
        let subject = KeyPair::from_pem(&pem).unwrap();
        let certificate = params.signed_by(&subject, &self.issuer).unwrap();
        Identity { certificate: X509::from_der(certificate.der()).unwrap(), key }
    }
}

fn client() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "tlslab test client");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params
}

fn server(names: &[&str]) -> CertificateParams {
    let names = names.iter().map(ToString::to_string);
    let mut params = CertificateParams::new(names.collect::<Vec<_>>()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "tlslab test server");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // Static RSA requires key encipherment; without it OpenSSL does not offer such a suite.
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params
}
