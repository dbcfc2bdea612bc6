//! A cluster in a directory of its own: keys, a configuration, and a machine manager that ends with it.

use bcs_credentials::{Authority, Credential};
use bcs_harness::waiting::{await_some, until};
use bcs_harness::{built, processes};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Nothing in these tests may take longer.
pub const BOUND: Duration = Duration::from_secs(60);

pub struct Cluster {
    directory: TempDir,
    pub authority: Authority,
    pub address: SocketAddr,
    pub manager: Option<Child>,
}

/// An address of this machine that nobody else uses: a port that was free a moment ago may not be any more.
fn own_address() -> Ipv4Addr {
    static LAST: AtomicU8 = AtomicU8::new(0);
    let [.., high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, high | 0x80, low, LAST.fetch_add(1, Ordering::Relaxed) + 1)
}

/// Hosts that may miss so many heartbeats of 100 ms before they are dead: a machine that is busy with other
/// things must not look like one that is.
pub const PATIENT: u32 = 100;

/// The UDP ports that networks may take by the configuration.
pub const PORTS: &str = "22000-22999";

impl Cluster {
    /// A machine manager for these hosts.
    pub fn start(hosts: &str, missed: u32) -> Self {
        Self::start_with(hosts, missed, "")
    }

    /// The same, with this in its configuration's table `[users]`.
    pub fn start_with(hosts: &str, missed: u32, users: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let keys = directory.path().join("keys");
        fs::create_dir(&keys).unwrap();
        let authority = Authority::new("test").unwrap();
        authority.issue("manager").unwrap().store(&keys.join("manager.pem")).unwrap();
        let address = own_address();
        let run = directory.path().join("run");
        let text = format!(
            "[cluster]\nname = \"test\"\nmanager = \"{address}\"\n\
             [[nodes]]\nhosts = \"{hosts}\"\ncores = 2\n[heartbeat]\nperiod = \"100ms\"\nmissed = {missed}\n\
             [network]\nports = \"{PORTS}\"\n[paths]\nrun = {run:?}\nkeys = {keys:?}\n[users]\n{users}\n",
        );
        fs::write(directory.path().join("cluster.toml"), text).unwrap();
        let address = SocketAddr::new(address.into(), 7410);
        let mut cluster = Self { directory, authority, address, manager: None };
        cluster.start_manager();
        cluster
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("run/manager.sock")
    }

    /// Changes the configuration's table `[users]`, and has the manager read it.
    pub fn change_users(&self, users: &str) {
        let file = self.directory.path().join("cluster.toml");
        let text = fs::read_to_string(&file).unwrap();
        let (rest, _) = text.split_once("[users]").unwrap();
        fs::write(&file, format!("{rest}[users]\n{users}\n")).unwrap();
        self.signal(libc::SIGHUP);
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(built::program("machine-manager"));
        command.arg("--config").arg(self.directory.path().join("cluster.toml"));
        command.args(["--log", "debug"]).stdin(Stdio::null());
        command
    }

    /// Starts the manager, and waits until it is ready.
    pub fn start_manager(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_path()).unwrap();
        self.manager = Some(self.command().stderr(log).spawn().unwrap());
        until("the manager is ready", || UnixStream::connect(self.socket()).is_ok());
    }

    fn log_path(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    pub fn credential(&self, name: &str) -> Credential {
        self.authority.issue(name).unwrap()
    }

    pub fn signal(&self, signal: i32) {
        processes::signal(self.manager.as_ref().unwrap().id(), signal);
    }

    /// Waits for the end of the manager, and answers with its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let manager = self.manager.as_mut().unwrap();
        let status = await_some("the manager's end", || manager.try_wait().unwrap());
        self.manager = None;
        status.code()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut manager) = self.manager.take() {
            let _ = manager.kill();
            let _ = manager.wait();
        }
        if std::thread::panicking() {
            eprintln!("the manager's log:\n{}", self.log());
        }
    }
}
