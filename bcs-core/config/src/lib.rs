//! The configuration of a cluster: one TOML file, read by all daemons.
//!
//! Everything has a default, so the empty file is a configuration: one node, this one. Invariant: a
//! [`Config`] that was read is valid as a whole; a key that is not known or a value that cannot be is refused
//! with its name, because a mistyped key that is silently ignored is a cluster that silently runs otherwise.
//!
//! ```
//! let config = bcs_config::Config::parse(r#"
//!     [cluster]
//!     name = "crescendo"
//!     manager = "login"
//!
//!     [[nodes]]
//!     hosts = "c[00-31]"
//!     cores = 2
//!
//!     [slices]
//!     length = "500us"
//! "#)?;
//! assert_eq!(config.nodes()[31].host, "c31");
//! # Ok::<(), bcs_config::ConfigError>(())
//! ```

pub mod host_list;

use bcs_core::ids::NodeId;
use bcs_core::units::{SliceLength, TimeSpan};
use bcs_core::{PortRange, TransportChoice};
use host_list::HostListError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that names the file; where it is empty, a machine is alone.
pub const VARIABLE: &str = "BCS_CONFIG";

/// The file where the variable is not set.
pub const DEFAULT_FILE: &str = "/etc/bcs-mpi/cluster.toml";

/// The name of the machine manager's Unix socket, in the directory [`PathConfig::run`].
pub const MANAGER_SOCKET: &str = "manager.sock";

/// A cluster, as its file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The cluster and its manager.
    pub cluster: ClusterConfig,
    /// The groups of nodes, in the order that numbers the nodes. See [`Config::nodes`].
    #[serde(rename = "nodes")]
    pub groups: Vec<NodeGroup>,
    /// How time is cut.
    pub slices: SliceConfig,
    /// The network of the primitives.
    pub network: NetworkConfig,
    /// How dead nodes are found.
    pub heartbeat: HeartbeatConfig,
    /// What users may ask of the machine manager.
    pub users: UserConfig,
    /// Where things are kept.
    pub paths: PathConfig,
}

/// `[cluster]`: the cluster and its manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterConfig {
    /// The cluster's name, for people.
    pub name: String,
    /// The host that the machine manager runs on.
    pub manager: String,
    /// The TCP port of the machine manager.
    pub port: u16,
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self { name: "cluster".into(), manager: "localhost".into(), port: 7410 }
    }
}

/// `[[nodes]]`: a group of nodes that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeGroup {
    /// The hosts, as in `c[000-031]`.
    pub hosts: String,
    /// The number of cores for ranks; when it is absent, each node counts its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// The interface or address to use, when a host has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// `[slices]`: how time is cut into slices (paper, §3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SliceConfig {
    /// The length of a slice, unless a job asks for another.
    pub length: SliceLength,
}

/// `[network]`: the network of the three primitives (paper, §2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkConfig {
    /// The ports of hosts, of UDP and of TCP: each of its daemons takes some of UDP, and each job on several
    /// nodes one on each of them.
    pub ports: PortRange,
    /// What carries the networks of jobs.
    pub transport: TransportChoice,
    /// Whether what travels over TCP is sealed. Without a seal nodes prove who they are when a link comes up,
    /// and trust the network between them from then on.
    pub seal: bool,
    /// The number of children of a node in the tree of a multicast or query, from 1 to 64.
    pub fanout: usize,
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            ports: PortRange::ANY,
            transport: TransportChoice::default(),
            seal: true,
            fanout: bcs_fabric::tree::DEFAULT_FANOUT,
        }
    }
}

/// `[heartbeat]`: how dead nodes are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HeartbeatConfig {
    /// The time between two heartbeats, from 1 ms.
    pub period: TimeSpan,
    /// How many heartbeats a node may miss before it is declared dead, from 1.
    pub missed: u32,
}

impl Default for HeartbeatConfig {
    fn default() -> Self {
        Self { period: TimeSpan(Duration::from_millis(100)), missed: 3 }
    }
}

/// `[users]`: what users may ask of the machine manager, each of them alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UserConfig {
    /// The names of those who get nothing, whatever they prove.
    pub refused: Vec<String>,
    /// Connections at once, and so jobs, from 1.
    pub connections: u32,
    /// The longest request in bytes, from 65,536 to 33,554,432: environment and arguments of a job.
    pub request_bytes: u32,
    /// The bytes that are held in all, from those of a request: of jobs, of what is being sent, and of what
    /// is not read.
    pub held_bytes: u64,
}

/// Bounds of [`UserConfig::request_bytes`].
const REQUEST_BYTES: std::ops::RangeInclusive<u32> = 64 << 10..=32 << 20;

impl Default for UserConfig {
    fn default() -> Self {
        Self { refused: Vec::new(), connections: 256, request_bytes: 4 << 20, held_bytes: 256 << 20 }
    }
}

/// `[paths]`: where things are kept. All paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathConfig {
    /// Sockets and other things that a restart makes anew.
    pub run: PathBuf,
    /// The cluster's keys and certificates.
    pub keys: PathBuf,
}

impl Default for PathConfig {
    fn default() -> Self {
        Self { run: "/run/bcs-mpi".into(), keys: "/etc/bcs-mpi/keys".into() }
    }
}

/// A node of the cluster, from the list of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its number: its place in the list.
    pub node: NodeId,
    /// Its host.
    pub host: String,
    /// The number of cores for ranks, when the file says it.
    pub cores: Option<u32>,
    /// The interface or address to use, when the file says it.
    pub interface: Option<String>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// In a file.
    #[error("{}: {error}", path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        error: Box<ConfigError>,
    },
    /// Not TOML, a key that is not known, or a value of the wrong kind; the text names the line and the key.
    #[error("{}", .0.to_string().trim_end())]
    Format(Box<toml::de::Error>),
    /// A value that cannot be.
    #[error("{key} = {value} cannot be: {why}")]
    Value {
        /// The key, with its table.
        key: &'static str,
        /// The value.
        value: String,
        /// What it must be.
        why: &'static str,
    },
    /// A list of hosts that cannot be read.
    #[error("nodes.hosts: {0}")]
    Hosts(#[from] HostListError),
    /// A host that is listed twice: it would be two nodes.
    #[error("nodes.hosts: host '{0}' is listed twice; list each host once")]
    DuplicateHost(String),
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is not a configuration; the error names the file, and the key or the line.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Read { path: path.to_owned(), error })?;
        Self::parse(&text).map_err(|error| ConfigError::In { path: path.to_owned(), error: Box::new(error) })
    }

    /// Reads a configuration from its text.
    ///
    /// # Errors
    /// The text is not a configuration; the error names the key or the line.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text).map_err(|error| ConfigError::Format(Box::new(error)))?;
        config.check()?;
        Ok(config)
    }

    /// All nodes, numbered in the order of the list.
    pub fn nodes(&self) -> Vec<NodeConfig> {
        // A configuration that was read has been checked; one that was built has no hosts where it is wrong.
        self.expand().unwrap_or_default()
    }

    fn expand(&self) -> Result<Vec<NodeConfig>, ConfigError> {
        let mut nodes: Vec<NodeConfig> = Vec::new();
        let mut known = BTreeMap::new();
        for group in &self.groups {
            for host in host_list::expand(&group.hosts)? {
                let node = NodeId(nodes.len() as u32);
                // Names in certificates have no case, so two hosts are not apart by it.
                if known.insert(host.to_ascii_lowercase(), node).is_some() {
                    return Err(ConfigError::DuplicateHost(host));
                }
                nodes.push(NodeConfig { node, host, cores: group.cores, interface: group.interface.clone() });
            }
        }
        if nodes.len() > host_list::MAX_HOSTS {
            let value = format!("{} hosts", nodes.len());
            return Err(ConfigError::Value {
                key: "nodes",
                value,
                why: "a cluster has at most 1,048,576 nodes",
            });
        }
        Ok(nodes)
    }

    /// What types cannot say.
    fn check(&self) -> Result<(), ConfigError> {
        let require = |holds: bool, key, value: &dyn fmt::Display, why| match holds {
            true => Ok(()),
            false => Err(ConfigError::Value { key, value: value.to_string(), why }),
        };
        self.expand()?;
        let Self { cluster, network: NetworkConfig { fanout, .. }, heartbeat, users, paths, .. } = self;
        let is_named = |name: &str| !name.trim().is_empty();
        require(is_named(&cluster.name), "cluster.name", &"\"\"", "give the cluster a name")?;
        let why = "name the host of the machine manager";
        require(is_named(&cluster.manager), "cluster.manager", &"\"\"", why)?;
        require(cluster.port > 0, "cluster.port", &0, "give a port from 1 to 65535")?;
        require((1..=64).contains(fanout), "network.fanout", fanout, "give a number from 1 to 64")?;
        let why = "a node has at least 1 core; leave it out to let it count";
        require(self.groups.iter().all(|group| group.cores != Some(0)), "nodes.cores", &0, why)?;
        let period = heartbeat.period;
        require(period.0 >= Duration::from_millis(1), "heartbeat.period", &period, "give at least 1ms")?;
        require(heartbeat.missed > 0, "heartbeat.missed", &0, "give at least 1")?;
        require(users.connections > 0, "users.connections", &0, "give at least 1")?;
        let UserConfig { request_bytes, held_bytes, .. } = *users;
        let why = "give a number from 65536 to 33554432";
        require(REQUEST_BYTES.contains(&request_bytes), "users.request_bytes", &request_bytes, why)?;
        let why = "give at least as many as users.request_bytes";
        require(held_bytes >= request_bytes.into(), "users.held_bytes", &held_bytes, why)?;
        for (key, path) in [("paths.run", &paths.run), ("paths.keys", &paths.keys)] {
            require(path.is_absolute(), key, &format!("\"{}\"", path.display()), "give an absolute path")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Config::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn the_empty_file_is_the_default_configuration() {
        let config = Config::parse("").unwrap();
        assert_eq!(config, Config::default());
        assert!(config.nodes().is_empty());
        assert_eq!(config.slices.length, SliceLength::Elastic);
    }

    #[test]
    fn nodes_are_numbered_in_the_order_of_the_list() {
        let text =
            "[[nodes]]\nhosts = \"b[1-2]\"\ncores = 2\n[[nodes]]\nhosts = \"a\"\ninterface = \"ib0\"\n";
        let nodes = Config::parse(text).unwrap().nodes();
        let found: Vec<_> = nodes
            .iter()
            .map(|node| (node.node.0, node.host.as_str(), node.cores, node.interface.as_deref()))
            .collect();
        assert_eq!(found, [(0, "b1", Some(2), None), (1, "b2", Some(2), None), (2, "a", None, Some("ib0"))]);
    }

    #[test]
    fn a_configuration_that_is_written_is_read_back() {
        let text = "[cluster]\nname = \"x\"\n[[nodes]]\nhosts = \"c[0-3]\"\n[slices]\nlength = \"500us\"\n\
                    [network]\nports = \"7411-7420\"\n[paths]\nrun = \"/x\"\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.network.ports.ports(), 7411..=7420);
        assert_eq!(config.slices.length, SliceLength::Fixed(Duration::from_micros(500)));
        assert_eq!(Config::parse(&toml::to_string(&config).unwrap()).unwrap(), config);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_name_and_line() {
        let error = refused("[cluster]\nname = \"x\"\nprot = 1\n");
        assert!(
            error.contains("line 3") && error.contains("unknown field `prot`") && error.contains("`port`"),
            "{error}"
        );
        assert!(refused("[clutser]\n").contains("unknown field `clutser`"));
        assert!(refused("[[nodes]]\nhosts = \"a\"\nmemory = 3\n").contains("unknown field `memory`"));
    }

    #[test]
    fn a_value_that_cannot_be_is_refused_with_its_key_and_what_to_give() {
        for (text, key, hint) in [
            ("[cluster]\nname = \" \"", "cluster.name", "give the cluster a name"),
            ("[cluster]\nmanager = \"\"", "cluster.manager", "name the host"),
            ("[cluster]\nport = 0", "cluster.port = 0", "1 to 65535"),
            ("[network]\nport = 7411", "unknown field `port`", "expected one of `ports`, `transport`"),
            ("[network]\ntransport = \"udp\"", "'udp' is no transport", "auto, tcp, quic"),
            ("[network]\nports = \"80-90\"", "'80-90' is no range of ports", "7411-7999"),
            ("[network]\nfanout = 0", "network.fanout = 0", "1 to 64"),
            ("[[nodes]]\nhosts = \"a\"\ncores = 0", "nodes.cores = 0", "at least 1 core"),
            ("[[nodes]]\nhosts = \"a,b,a\"", "nodes.hosts", "host 'a' is listed twice"),
            ("[[nodes]]\nhosts = \"C0,c1,c0\"", "nodes.hosts", "host 'c0' is listed twice"),
            ("[users]\nconnections = 0", "users.connections = 0", "at least 1"),
            ("[users]\nrequest_bytes = 100", "users.request_bytes = 100", "65536"),
            ("[users]\nheld_bytes = 100", "users.held_bytes = 100", "at least as many"),
            ("[[nodes]]\nhosts = \"a[\"", "nodes.hosts", "brackets of 'a['"),
            ("[[nodes]]\ncores = 2", "hosts", "missing field"),
            ("[heartbeat]\nperiod = \"0s\"", "heartbeat.period", "at least 1ms"),
            ("[heartbeat]\nmissed = 0", "heartbeat.missed = 0", "at least 1"),
            ("[paths]\nrun = \"here\"", "paths.run = \"here\"", "absolute path"),
            ("[slices]\nlength = \"500\"", "length", "it has no unit"),
            ("[scheduling]\npolicy = \"gang\"", "line 1", "unknown field `scheduling`"),
            ("[paths]\nstate = \"/x\"", "line 2", "unknown field `state`"),
            ("[cluster", "line 1", ""),
        ] {
            let error = refused(text);
            assert!(error.contains(key) && error.contains(hint), "{text:?} gave: {error}");
        }
    }

    #[test]
    fn an_error_in_a_file_names_the_file() {
        let missing = Config::read(Path::new("/nonexistent/bcs.toml")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read the configuration /nonexistent/bcs.toml: "), "{missing}");
        let file = std::env::temp_dir().join(format!("bcs-config-{}.toml", std::process::id()));
        std::fs::write(&file, "[heartbeat]\nmissed = 0\n").unwrap();
        let error = Config::read(&file).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(
            error.starts_with(&file.display().to_string()) && error.contains("heartbeat.missed = 0"),
            "{error}"
        );
    }
}
