//! Who may be on a network: certificate authorities, and the credentials of members (design §6, security).
//!
//! A network has an authority of its own, which vouches for names. A member has a key, and a certificate of
//! the authority for its name; it shows both when a link comes up. Invariants: a private key is in memory, or
//! in a file that only its owner can read (one that others can read is refused); an authority's key issues
//! certificates and is shown to nobody; a member's certificate cannot issue others.
//!
//! Certificates do not expire: nodes boot with wrong clocks, and a network ends when its authority is thrown
//! away. That is what a job does at its end; its authority lives for as long as it takes to [`mint`] its
//! keys.

pub mod tls;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The name of the machine manager's credential, which everybody who connects to it asks for.
pub const MANAGER: &str = "manager";

/// What the names of users' credentials begin with, so that no user is taken for a host: `user.alice`.
pub const USER_PREFIX: &str = "user.";

/// The permissions of a file with a private key: its owner's only.
const FILE_MODE: u32 = 0o600;

/// No file of credentials is longer than this, in bytes: four blocks of less than 1 KiB each.
const FILE_BYTES_LIMIT: u64 = 16 * 1024;

/// Why credentials cannot be made, kept or read.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// A name that no certificate can be for.
    #[error("'{0}' cannot be the name of a member: use letters, digits, '-' and '.', as in host names")]
    Name(String),
    /// A key or certificate could not be made.
    #[error("cannot make a {what} for '{name}': {reason}")]
    Issue {
        /// What.
        what: &'static str,
        /// Whose.
        name: String,
        /// Why.
        reason: String,
    },
    /// A file that cannot be read or written.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// What was to be done with it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file that others than its owner can get at, or that belongs to somebody else.
    #[error(
        "{} holds a private key, but has mode {mode:03o} and owner {owner}; \
         it must be a file of user {expected_owner} (or root) with mode 600: chmod 600 it, or make new keys",
        path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// Its owner.
        owner: u32,
        /// Who should own it.
        expected_owner: u32,
    },
    /// Not the PEM text of credentials.
    #[error("not {what}: {reason}")]
    Format {
        /// What it should have been.
        what: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// The authority of a network: it vouches for the names of members.
pub struct Authority {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority, with a new key. The name is for people.
    ///
    /// # Errors
    /// [`CredentialError::Issue`] when the system has no randomness to give.
    pub fn new(name: &str) -> Result<Self, CredentialError> {
        let failed = cannot_issue("certificate authority", name);
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(&failed)?;
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = parameters.self_signed(&key).map_err(failed)?.der().clone();
        Ok(Self { certificate, key })
    }

    /// Makes the key and the certificate of a member.
    ///
    /// # Errors
    /// The name cannot be one, or the system has no randomness to give.
    pub fn issue(&self, member: &str) -> Result<Credential, CredentialError> {
        let Ok(ServerName::DnsName(_)) = ServerName::try_from(member) else {
            return Err(CredentialError::Name(member.into()));
        };
        let failed = cannot_issue("certificate", member);
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(&failed)?;
        let mut parameters = CertificateParams::new([member.to_owned()]).map_err(&failed)?;
        parameters.distinguished_name.push(DnType::CommonName, member);
        parameters.use_authority_key_identifier_extension = true;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // Either end of a link may dial.
        parameters.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let issuer = Issuer::from_ca_cert_der(&self.certificate, &self.key).map_err(&failed)?;
        let certificate = parameters.signed_by(&key, &issuer).map_err(failed)?.der().clone();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Ok(Credential { authority: self.certificate.clone(), certificate, key })
    }

    /// Writes the authority, its private key included, to a new file that only its owner can read.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn store(&self, path: &Path) -> Result<(), CredentialError> {
        let text = [pem_block("CERTIFICATE", &self.certificate), self.key.serialize_pem()].concat();
        write_secret(path, &text)
    }

    /// Reads what [`Authority::store`] has written.
    ///
    /// # Errors
    /// The file cannot be read, others can read it, or it is not an authority.
    pub fn load(path: &Path) -> Result<Self, CredentialError> {
        const WHAT: &str = "the file of a certificate authority (a certificate and its key)";
        let text = read_secret(path)?;
        let format = |reason: String| CredentialError::Format { what: WHAT, reason };
        let [certificate] = &certificates(&text, WHAT)?[..] else {
            return Err(format("one certificate is needed".into()));
        };
        let key = private_key(&text, WHAT)?;
        let key = KeyPair::try_from(key.secret_pkcs8_der()).map_err(|error| format(error.to_string()))?;
        let issuer = Issuer::from_ca_cert_der(certificate, &key);
        issuer.map_err(|error| format(error.to_string()))?;
        Ok(Self { certificate: certificate.clone(), key })
    }
}

/// What a member shows on its links: its certificate and the key that belongs to it. With them goes the
/// certificate of the authority, by which it checks the others.
pub struct Credential {
    authority: CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Clone for Credential {
    fn clone(&self) -> Self {
        Self {
            authority: self.authority.clone(),
            certificate: self.certificate.clone(),
            key: self.key.clone_key(),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Credential {
    /// The certificate of the network's authority.
    pub fn authority(&self) -> &CertificateDer<'static> {
        &self.authority
    }

    /// The member's certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The member's private key.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }

    /// The member's name, as its certificate says it; empty when it says none.
    pub fn name(&self) -> String {
        name_in(&self.certificate).unwrap_or_default()
    }

    /// The credential as text, private key included: for a file, or for a link that is itself protected.
    pub fn to_pem(&self) -> String {
        [
            pem_block("CERTIFICATE", &self.certificate),
            pem_block("CERTIFICATE", &self.authority),
            pem_block("PRIVATE KEY", self.key.secret_pkcs8_der()),
        ]
        .concat()
    }

    /// The credential from its text.
    ///
    /// # Errors
    /// The text is not that of a credential, or its key does not belong to its certificate.
    pub fn from_pem(text: &str) -> Result<Self, CredentialError> {
        const WHAT: &str = "a credential (a member's certificate, its authority's, and the member's key)";
        let format = |reason: String| CredentialError::Format { what: WHAT, reason };
        let [certificate, authority] = &certificates(text, WHAT)?[..] else {
            return Err(format("two certificates are needed".into()));
        };
        let key = private_key(text, WHAT)?;
        let signing = rustls::crypto::ring::sign::any_eddsa_type(&key);
        let signing = signing.map_err(|error| format(error.to_string()))?;
        rustls::sign::CertifiedKey::new(vec![certificate.clone()], signing)
            .keys_match()
            .map_err(|error| format(error.to_string()))?;
        if name_in(certificate).is_none() {
            return Err(format("the first certificate is for no name".into()));
        }
        Ok(Self { authority: authority.clone(), certificate: certificate.clone(), key })
    }

    /// Writes the credential to a new file that only its owner can read.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn store(&self, path: &Path) -> Result<(), CredentialError> {
        write_secret(path, &self.to_pem())
    }

    /// Reads what [`Credential::store`] has written.
    ///
    /// # Errors
    /// The file cannot be read, others can read it, or it is not a credential.
    pub fn load(path: &Path) -> Result<Self, CredentialError> {
        Self::from_pem(&read_secret(path)?)
    }
}

/// Makes the keys of a network that exists only in memory, as a job's does: an authority, a credential for
/// each name, and then the authority is gone, so that nobody else can ever become a member.
///
/// # Errors
/// A name cannot be one, or the system has no randomness to give.
pub fn mint<'a>(
    network: &str,
    members: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Credential>, CredentialError> {
    let authority = Authority::new(network)?;
    members.into_iter().map(|member| authority.issue(member)).collect()
}

/// The name that a certificate is for.
pub fn name_in(certificate: &CertificateDer<'_>) -> Option<String> {
    let parsed = webpki::EndEntityCert::try_from(certificate).ok()?;
    let mut names = parsed.valid_dns_names();
    names.next().map(str::to_owned)
}

fn cannot_issue(what: &'static str, name: &str) -> impl Fn(rcgen::Error) -> CredentialError {
    move |error| CredentialError::Issue { what, name: name.to_owned(), reason: error.to_string() }
}

fn pem_block(label: &str, der: &[u8]) -> String {
    pem::encode(&pem::Pem::new(label, der))
}

fn pem_blocks(text: &str, what: &'static str) -> Result<Vec<pem::Pem>, CredentialError> {
    pem::parse_many(text).map_err(|error| CredentialError::Format { what, reason: error.to_string() })
}

fn certificates(text: &str, what: &'static str) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let blocks = pem_blocks(text, what)?.into_iter().filter(|block| block.tag() == "CERTIFICATE");
    Ok(blocks.map(|block| CertificateDer::from(block.into_contents())).collect())
}

fn private_key(text: &str, what: &'static str) -> Result<PrivatePkcs8KeyDer<'static>, CredentialError> {
    let blocks = pem_blocks(text, what)?.into_iter();
    let mut keys = blocks.filter(|block| block.tag() == "PRIVATE KEY");
    match (keys.next(), keys.next()) {
        (Some(key), None) => Ok(PrivatePkcs8KeyDer::from(key.into_contents())),
        _ => Err(CredentialError::Format { what, reason: "one private key is needed".into() }),
    }
}

fn write_secret(path: &Path, text: &str) -> Result<(), CredentialError> {
    let failed = |error| CredentialError::File {
        what: "write credentials to the new file",
        path: path.to_owned(),
        error,
    };
    // The mode is there from the start: at no time can others read the file.
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path).map_err(failed)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| {
        // Half a file is of no use to anybody, and would be in the way of the next attempt.
        let _ = std::fs::remove_file(path);
        failed(error)
    })
}

fn read_secret(path: &Path) -> Result<String, CredentialError> {
    let failed =
        |error| CredentialError::File { what: "read credentials from", path: path.to_owned(), error };
    let file = File::open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    let (mode, owner) = (about.mode() & 0o7777, about.uid());
    let expected_owner = rustix::process::geteuid().as_raw();
    if !about.is_file() || mode & 0o077 != 0 || (owner != expected_owner && owner != 0) {
        return Err(CredentialError::Exposed { path: path.to_owned(), mode, owner, expected_owner });
    }
    let mut text = String::new();
    file.take(FILE_BYTES_LIMIT).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn credentials_are_read_as_they_were_written() {
        let directory = tempfile::tempdir().unwrap();
        let (ca, member) = (directory.path().join("ca.pem"), directory.path().join("c01.pem"));
        let authority = Authority::new("crescendo").unwrap();
        authority.store(&ca).unwrap();
        let authority = Authority::load(&ca).unwrap();
        let credential = authority.issue("c01.example").unwrap();
        credential.store(&member).unwrap();
        let read = Credential::load(&member).unwrap();
        assert_eq!(read.to_pem(), credential.to_pem());
        assert_eq!(read.name(), "c01.example");
        assert_eq!(read.authority(), &authority.certificate);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_and_none_is_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c01.pem");
        let [credential, other] = &mint("job", ["c01", "c02"]).unwrap()[..] else {
            panic!("two were asked for")
        };
        credential.store(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, FILE_MODE);
        assert!(matches!(other.store(&path), Err(CredentialError::File { .. })));
        assert_eq!(Credential::load(&path).unwrap().name(), "c01");
        for mode in [0o640, 0o604, 0o620, 0o610] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let refused = Credential::load(&path).unwrap_err();
            assert!(matches!(refused, CredentialError::Exposed { .. }), "{mode:o}: {refused}");
            assert!(refused.to_string().contains("chmod 600"), "{refused}");
        }
        assert!(matches!(Credential::load(directory.path()), Err(CredentialError::Exposed { .. })));
        assert!(matches!(Authority::load(&directory.path().join("none")), Err(CredentialError::File { .. })));
    }

    #[test]
    fn names_that_are_no_host_names_are_refused() {
        let authority = Authority::new("crescendo").unwrap();
        for name in ["", "a b", "10.0.0.1", "::1", "a/b", "-x-.", "naïve", &"x".repeat(64)] {
            let refused = authority.issue(name).unwrap_err();
            assert!(matches!(refused, CredentialError::Name(_)), "{name}: {refused}");
        }
        for name in ["c01", "node-7.rack_2.example"] {
            assert_eq!(authority.issue(name).unwrap().name(), name);
        }
    }

    #[test]
    fn text_that_is_no_credential_is_refused() {
        let [a, b] = &mint("job", ["a", "b"]).unwrap()[..] else { panic!("two were asked for") };
        let (text, blocks) = (a.to_pem(), pem::parse_many(a.to_pem()).unwrap());
        let with_key_of_b =
            [pem::encode_many(&blocks[..2]), pem_block("PRIVATE KEY", b.key.secret_pkcs8_der())];
        let refused = [
            String::new(),
            "-----BEGIN CERTIFICATE-----\n".into(),
            pem::encode_many(&blocks[..2]),
            pem::encode_many(&blocks[1..]),
            [text.as_str(), &text].concat(),
            with_key_of_b.concat(),
            text.replace("CERTIFICATE", "SOMETHING"),
        ];
        for text in refused {
            assert!(matches!(Credential::from_pem(&text), Err(CredentialError::Format { .. })), "{text}");
        }
        assert!(Credential::from_pem(&text).is_ok());
    }

    #[test]
    fn what_is_printed_of_credentials_holds_no_key() {
        let authority = Authority::new("crescendo").unwrap();
        let credential = authority.issue("c01").unwrap();
        assert_eq!(
            format!("{authority:?} {credential:?}"),
            "Authority { .. } Credential { name: \"c01\", .. }"
        );
    }
}
