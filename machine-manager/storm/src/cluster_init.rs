//! The keys of a cluster: `storm cluster init`, `add` and `user`.
//!
//! All of them are in the directory that `[paths] keys` names, on the manager's host: the authority, which
//! stays there, and a credential for the manager, for each host and for users elsewhere. Invariant: no file
//! is ever overwritten, and what is kept was made by the authority that is there.

use bcs_config::{Config, host_list};
use bcs_credentials::{Authority, Credential, CredentialError, MANAGER, USER_PREFIX};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The file of the authority.
const AUTHORITY: &str = "authority.pem";

/// Why keys cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The directory cannot be made.
    #[error("cannot make the directory of the keys, {}: {error}; run this as who may, or change paths.keys", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There is no authority yet, in this file.
    #[error(
        "there is no authority at {}: make the cluster's keys on the manager's host with storm cluster init",
        .0.display()
    )]
    NoAuthority(PathBuf),
    /// A key cannot be made, kept or read.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// A file that is there does not belong to the cluster, or to whom its name says.
    #[error(
        "{} is the credential of '{name}' of another authority or another member; move it away, and run this again",
        path.display()
    )]
    Foreign {
        /// Which.
        path: PathBuf,
        /// Whose it is.
        name: String,
    },
    /// A host with a name that means something else.
    #[error("no host can be called '{0}': that name stands for the manager, or for a user")]
    HostName(String),
    /// Not one host, as it was written.
    #[error("'{0}' is not the name of one host")]
    NotOneHost(String),
    /// Not a user, as it was written.
    #[error("'{0}' is not the name of a user")]
    UserName(String),
    /// The configuration names no host.
    #[error("the configuration names no host: add a [[nodes]] with hosts = \"c[00-31]\", for example")]
    NoHosts,
    /// One more than is needed.
    #[error("{} is there already; a credential is never made over another one", .0.display())]
    Exists(PathBuf),
}

/// A file of keys, and whether it was made or has been there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it was made now.
    pub is_new: bool,
}

/// What there is after [`init`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The authority's.
    pub authority: KeyFile,
    /// The manager's.
    pub manager: KeyFile,
    /// The hosts', in the order of the configuration.
    pub hosts: Vec<(String, KeyFile)>,
}

/// Makes what is missing of a cluster's keys.
///
/// # Errors
/// What is in the way. What was made before stays, and another run goes on from there.
pub fn init(config: &Config) -> Result<Keys, KeysError> {
    let hosts: Vec<String> = config.nodes().into_iter().map(|node| node.host).collect();
    if hosts.is_empty() {
        return Err(KeysError::NoHosts);
    }
    hosts.iter().try_for_each(|host| check_host(host))?;
    let keys = &config.paths.keys;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(keys)
        .map_err(|error| KeysError::Directory { path: keys.clone(), error })?;
    let path = keys.join(AUTHORITY);
    let is_new = !path.exists();
    let authority = if is_new {
        let authority = Authority::new(&config.cluster.name)?;
        authority.store(&path)?;
        authority
    } else {
        Authority::load(&path)?
    };
    let authority_file = KeyFile { path, is_new };
    let manager = member(&authority, MANAGER, keys)?;
    let hosts = hosts
        .into_iter()
        .map(|host| member(&authority, &host, keys).map(|file| (host, file)))
        .collect::<Result<_, _>>()?;
    Ok(Keys { authority: authority_file, manager, hosts })
}

/// Makes the credential of one more host.
///
/// # Errors
/// It is there, it cannot be, or there is no authority.
pub fn add(config: &Config, host: &str) -> Result<KeyFile, KeysError> {
    match host_list::expand(host).as_deref() {
        Ok([only]) if only == host => {}
        _ => return Err(KeysError::NotOneHost(host.to_owned())),
    }
    check_host(host)?;
    one_more(config, host)
}

/// Makes the credential of a user.
///
/// # Errors
/// It is there, it cannot be, or there is no authority.
pub fn user(config: &Config, name: &str) -> Result<KeyFile, KeysError> {
    if name.is_empty() || name.ends_with('.') {
        return Err(KeysError::UserName(name.to_owned()));
    }
    one_more(config, &format!("{USER_PREFIX}{name}"))
}

fn check_host(host: &str) -> Result<(), KeysError> {
    match host == MANAGER || host == "authority" || host.starts_with(USER_PREFIX) {
        true => Err(KeysError::HostName(host.to_owned())),
        false => Ok(()),
    }
}

fn one_more(config: &Config, name: &str) -> Result<KeyFile, KeysError> {
    let keys = &config.paths.keys;
    let path = keys.join(AUTHORITY);
    if !path.exists() {
        return Err(KeysError::NoAuthority(path));
    }
    let file = member(&Authority::load(&path)?, name, keys)?;
    match file.is_new {
        true => Ok(file),
        false => Err(KeysError::Exists(file.path)),
    }
}

/// Makes a member's credential, if it is not there.
fn member(authority: &Authority, name: &str, keys: &Path) -> Result<KeyFile, KeysError> {
    let path = keys.join(format!("{name}.pem"));
    let fresh = authority.issue(name)?;
    if !path.exists() {
        fresh.store(&path)?;
        return Ok(KeyFile { path, is_new: true });
    }
    let present = Credential::load(&path)?;
    if present.authority() != fresh.authority() || present.name() != name {
        return Err(KeysError::Foreign { path, name: present.name() });
    }
    Ok(KeyFile { path, is_new: false })
}

/// What [`init`] has done, and what is to be done now, for people.
pub fn told(keys: &Keys, config: &Config, config_file: &Path) -> String {
    let mut text = String::new();
    let mut line = |file: &KeyFile, about: &str| {
        let done = if file.is_new { "made" } else { "kept" };
        text.push_str(&format!("{done} {}  {about}\n", file.path.display()));
    };
    line(&keys.authority, "the cluster's authority: whoever has it can become any member; it stays here");
    line(&keys.manager, "for the machine manager, on this host");
    for (host, file) in &keys.hosts {
        line(file, &format!("for {host}"));
    }
    text.push_str(&format!(
        "Copy the configuration to every host, and to each host its own key and no other, readable by root alone:\n\
         \x20 {}  (the same on all hosts)\n\x20 {}/HOST.pem\n",
        config_file.display(),
        config.paths.keys.display()
    ));
    text.push_str(
        "Then start machine-manager here and node-manager on the hosts; storm nodes shows who has come.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn cluster(directory: &Path, hosts: &str) -> Config {
        let keys = directory.join("etc/keys");
        let text = format!("[[nodes]]\nhosts = \"{hosts}\"\n[paths]\nkeys = \"{}\"\n", keys.display());
        Config::parse(&text).unwrap()
    }

    #[test]
    fn everybody_gets_a_credential_of_the_one_authority_and_nobody_a_second_one() {
        let directory = tempfile::tempdir().unwrap();
        let config = cluster(directory.path(), "c[0-2]");
        let keys = init(&config).unwrap();
        assert!(keys.authority.is_new && keys.manager.is_new);
        let mode = std::fs::metadata(&config.paths.keys).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700);
        let manager = Credential::load(&keys.manager.path).unwrap();
        assert_eq!(manager.name(), MANAGER);
        for (host, file) in &keys.hosts {
            let credential = Credential::load(&file.path).unwrap();
            assert_eq!((credential.name(), credential.authority()), (host.clone(), manager.authority()));
        }
        let before = std::fs::read(&keys.hosts[1].1.path).unwrap();
        let wider = cluster(directory.path(), "c[0-3]");
        let again = init(&wider).unwrap();
        assert!(!again.authority.is_new && !again.manager.is_new);
        let new: Vec<_> =
            again.hosts.iter().filter(|(_, file)| file.is_new).map(|(host, _)| host.as_str()).collect();
        assert_eq!(new, ["c3"]);
        assert_eq!(std::fs::read(&keys.hosts[1].1.path).unwrap(), before);
        let told = told(&again, &wider, Path::new("/etc/bcs-mpi/cluster.toml"));
        assert!(
            told.contains("kept") && told.contains("c3.pem  for c3") && told.contains("HOST.pem"),
            "{told}"
        );
    }

    #[test]
    fn hosts_and_users_are_added_one_by_one() {
        let directory = tempfile::tempdir().unwrap();
        let config = cluster(directory.path(), "c0");
        let early = user(&config, "alice").unwrap_err().to_string();
        assert!(early.contains("storm cluster init"), "{early}");
        init(&config).unwrap();
        let file = user(&config, "alice").unwrap();
        assert_eq!(Credential::load(&file.path).unwrap().name(), "user.alice");
        assert!(user(&config, "alice").unwrap_err().to_string().contains("there already"));
        assert_eq!(Credential::load(&add(&config, "c9").unwrap().path).unwrap().name(), "c9");
        for bad in ["manager", "user.bob", "c[0-3]", "../x", ""] {
            assert!(add(&config, bad).is_err(), "{bad}");
        }
        assert!(user(&config, "../../etc/x").is_err() && user(&config, "").is_err());
    }

    #[test]
    fn keys_of_another_cluster_are_not_taken_for_ones_own() {
        let directory = tempfile::tempdir().unwrap();
        let config = cluster(directory.path(), "c0,c1");
        let keys = init(&config).unwrap();
        let foreign = Authority::new("other").unwrap().issue("c1").unwrap();
        std::fs::remove_file(&keys.hosts[1].1.path).unwrap();
        foreign.store(&keys.hosts[1].1.path).unwrap();
        assert!(matches!(init(&config), Err(KeysError::Foreign { .. })));
        std::fs::remove_file(&keys.hosts[1].1.path).unwrap();
        std::fs::rename(&keys.hosts[0].1.path, &keys.hosts[1].1.path).unwrap();
        assert!(matches!(init(&config), Err(KeysError::Foreign { .. })), "c0's is not c1's");
        let none = Config::parse("").unwrap();
        assert!(matches!(init(&none), Err(KeysError::NoHosts)));
    }
}
