//! `storm` on a host that is not the manager's: TLS, and the credential of a user.

use crate::hosts::Cluster;
use bcs_harness::installation::prefix;
use bcs_harness::repository;
use bcs_harness::runs::{Ended, run};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An account without rights that every system has, by number and by name.
const NOBODY: u32 = 65534;
const NAME: &str = "nobody";

/// A host from which the manager's Unix socket cannot be reached, as all the hosts share this machine's
/// files.
struct Elsewhere<'a> {
    cluster: &'a Cluster,
    place: TempDir,
}

impl<'a> Elsewhere<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let place = TempDir::new().expect("a directory");
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("a mode");
        let configuration =
            fs::read_to_string(repository().join("target/cluster/cluster.toml")).expect("a cluster");
        let is_run = |line: &&str| line.starts_with("run = ");
        let own: Vec<&str> = configuration.lines().filter(|line| !is_run(line)).collect();
        assert_ne!(own.len(), configuration.lines().count(), "{configuration}");
        let own = own.join("\n") + "\nrun = \"/nowhere\"\n";
        fs::write(place.path().join("cluster.toml"), own).expect("a configuration");
        Self { cluster, place }
    }

    /// A copy of a key of the cluster, for a user, with this mode.
    fn credential(&self, key: &str, mode: u32) -> PathBuf {
        let file = self.place.path().join(format!("{key}-{mode:o}"));
        fs::copy(repository().join("target/cluster/keys").join(key), &file).expect("a key");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("a mode");
        chown(&file, Some(NOBODY), Some(NOBODY)).expect("an owner");
        file
    }

    /// `storm run` on a host, as a user without rights, with this credential.
    fn runs(&self, credential: &Path, words: &[&str]) -> Ended {
        let storm = prefix().join("bin/storm").display().to_string();
        let configuration = format!("BCS_CONFIG={}", self.place.path().join("cluster.toml").display());
        let credential = format!("BCS_CREDENTIAL={}", credential.display());
        let number = NOBODY.to_string();
        let mut all = vec!["env", &configuration, &credential];
        all.extend(["setpriv", "--reuid", &number, "--regid", &number, "--clear-groups", &storm]);
        all.extend(words);
        run(&mut self.cluster.on("c3", &all))
    }
}

/// Makes the credential of a user, unless an earlier run has.
fn make(cluster: &Cluster, user: &str) -> String {
    let key = format!("user.{user}.pem");
    if !repository().join("target/cluster/keys").join(&key).exists() {
        let configuration = repository().join("target/cluster/cluster.toml").display().to_string();
        run(&mut cluster.login("storm", &["cluster", "user", user, "--config", &configuration])).succeeds();
    }
    key
}

#[test]
fn a_user_with_a_credential_runs_jobs_from_another_host_as_that_user() {
    let cluster = Cluster::take();
    let elsewhere = Elsewhere::new(&cluster);
    let credential = elsewhere.credential(&make(&cluster, NAME), 0o600);
    let words = ["run", "-n", "2", "--ppn", "1", "--host", "c0,c1", "--wdir", "/"];
    let ended =
        elsewhere.runs(&credential, &[&words[..], &["sh", "-c", "echo $(id -u) $(hostname)"]].concat());
    let ended = ended.succeeds();
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, [format!("{NOBODY} c0"), format!("{NOBODY} c1")]);
    let failed = elsewhere.runs(&credential, &[&words[..], &["sh", "-c", "exit $((BCS_RANK * 7))"]].concat());
    assert_eq!((failed.code(), failed.stderr.as_str()), (7, "storm: rank 1 on c1 exited with code 7\n"));
}

#[test]
fn a_credential_that_others_can_read_that_is_of_nobody_or_of_a_host_gets_no_job() {
    let cluster = Cluster::take();
    let elsewhere = Elsewhere::new(&cluster);
    let key = make(&cluster, NAME);
    let open = elsewhere.credential(&key, 0o644);
    let ghost = elsewhere.credential(&make(&cluster, "no-such-user"), 0o600);
    let host = elsewhere.credential("c3.pem", 0o600);
    let none = elsewhere.place.path().join("none");
    for (credential, why) in
        [(open, "600"), (ghost, "no-such-user"), (host, "the credential of host 'c3'"), (none, "none")]
    {
        let refused = elsewhere.runs(&credential, &["run", "-n", "1", "--wdir", "/", "echo", "here"]);
        assert_ne!(refused.code(), 0, "{refused:?}");
        assert_eq!(refused.stdout, "", "{refused:?}");
        assert!(refused.stderr.starts_with("storm: ") && refused.stderr.contains(why), "{refused:?}");
    }
    assert_eq!(cluster.up(), crate::hosts::HOSTS, "no host is lost");
}
