//! From a command line to the description of a job. Whatever is wrong with it is one line.

use crate::cli::{self, LaterSection, NodeOptions, Run, Section};
use crate::hostfile;
use crate::spelling;
use crate::value::MOST_RANKS;
use bcs_config::Config;
use bcs_core::{JobId, Placement, SliceLength, TypeCheck};
use bcs_protocol::storm::{HostSlots, Mapping, Submission, Wish};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use mds::MdsConfig;
use program_launcher::binding::Binding;
use program_launcher::environment::COLLECTIVE;
use program_launcher::job::MAX_RANKS_PER_NODE;
use program_launcher::launch::Surroundings;
use program_launcher::{Application, Description, Job, NicSettings, Recording, StdinTo};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a command line is not a job.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The user asked for help or the version, which is to be printed, and all is well.
    #[error("{0}")]
    Help(Box<clap::Error>),
    /// An option is wrong.
    #[error("{message}; see {called} --help")]
    Option {
        /// What is wrong, in one line.
        message: String,
        /// The name that the user called.
        called: String,
    },
    /// An option of the whole job stands after a ":".
    #[error("{0} is for the whole job and stands before the first program")]
    Misplaced(String),
    /// Programs of one job want other algorithms of collectives.
    #[error(
        "{COLLECTIVE}: the programs want {one} and {other}, but all ranks have to use the same algorithms of collectives; use --collective before the first program"
    )]
    Collective {
        /// What one wants.
        one: String,
        /// What another one wants.
        other: String,
    },
    /// The programs together have too many ranks.
    #[error("-n: the programs have {ranks} ranks together, and {who} at most {limit}")]
    TooManyRanks {
        /// How many.
        ranks: u64,
        /// What has a limit.
        who: &'static str,
        /// The limit.
        limit: u32,
    },
    /// A node that does not exist.
    #[error("unknown host \"{name}\": {alone}, so this machine ({here}) is the only node; leave --host out")]
    UnknownHost {
        /// As the user wrote it.
        name: String,
        /// Why there are no others.
        alone: &'static str,
        /// The name of this one.
        here: String,
    },
    /// More nodes than this one are needed.
    #[error("{wish} needs {nodes} nodes: {alone}, so this machine ({here}) is the only one")]
    OneNode {
        /// What the user wants.
        wish: String,
        /// How many nodes that takes.
        nodes: u32,
        /// Why there are no others.
        alone: &'static str,
        /// The name of this one.
        here: String,
    },
    /// The list of nodes cannot be read.
    #[error("--hostfile {path}: {reason}")]
    Hostfile {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Two programs of one job, or two spellings of one wish, want different nodes with this option.
    #[error("{0} is given twice, and differently: the programs of a job share its nodes, so give it once")]
    Contradiction(&'static str),
    /// None of the ranks that are to be recorded exists.
    #[error("--mmds {ranks}: the job has ranks 0 to {last}, of which that names none")]
    MmdsRanks {
        /// Which.
        ranks: String,
        /// The last that exists.
        last: u32,
    },
    /// The rank that is to read the standard input does not exist.
    #[error("--stdin {rank}: the job has ranks 0 to {last}; give one of them, all or none")]
    StdinRank {
        /// Which.
        rank: u32,
        /// The last that exists.
        last: u32,
    },
    /// A variable of the environment says what it cannot.
    #[error("{name} is \"{value}\": {wanted}")]
    Variable {
        /// Which.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it has to say.
        wanted: String,
    },
    /// What MDS is to record is not in its language.
    #[error("{option}: {reason}")]
    Recording {
        /// Which option.
        option: &'static str,
        /// What is wrong and what is accepted.
        reason: String,
    },
}

/// What a request needs to know of where it is made.
#[derive(Debug)]
pub struct Place<'a> {
    /// The name of this node.
    pub host: &'a str,
    /// The number of the job.
    pub job: JobId,
    /// A text that no other run has.
    pub run: String,
    /// Where our MPI library is.
    pub library_directory: Option<PathBuf>,
}

/// What a command line asks for.
#[derive(Debug)]
pub struct Requested {
    /// The job, with all its ranks on one node.
    pub job: Job,
    /// On which nodes it is to run.
    pub wish: Wish,
    /// Whether it is to run on this machine alone.
    pub is_local: bool,
    /// How slices are cut, if the user says it.
    pub slice: Option<SliceLength>,
}

impl Requested {
    /// The job as a cluster is asked for it: what the user leaves open is as its configuration says.
    pub fn on_cluster(self, config: &Config, surroundings: Surroundings) -> Submission {
        let mut job = self.job;
        job.nic.slice = self.slice.unwrap_or(config.slices.length);
        Submission { job: job.description, wish: self.wish, surroundings }
    }

    /// The job, if it can run on this machine alone, which is so because of `alone`.
    ///
    /// # Errors
    /// The user wants other nodes, or more.
    pub fn on_one_node(self, here: &str, alone: &'static str) -> Result<Job, RequestError> {
        let here = || here.to_owned();
        let ranks = self.job.ranks();
        if ranks > MAX_RANKS_PER_NODE {
            return Err(RequestError::TooManyRanks {
                ranks: ranks.into(),
                who: "one node runs",
                limit: MAX_RANKS_PER_NODE,
            });
        }
        if let Some(host) = self.wish.hosts.iter().find(|host| !is_here(&host.host, &here())) {
            return Err(RequestError::UnknownHost { name: host.host.clone(), alone, here: here() });
        }
        let (wish, nodes) = match (self.wish.nodes, self.wish.ranks_per_node) {
            (Some(nodes), _) if nodes > 1 => (format!("--nodes {nodes}"), nodes),
            (_, Some(per_node)) if per_node < ranks => {
                (format!("-n {ranks} with --ppn {per_node}"), ranks.div_ceil(per_node))
            }
            _ => return Ok(self.job),
        };
        Err(RequestError::OneNode { wish, nodes, alone, here: here() })
    }
}

/// Reads the arguments of `storm run` or `mpiexec`, called by that name.
///
/// # Errors
/// What is wrong with them, in one line; or the help that they ask for.
pub fn read(called: &str, arguments: &[OsString], place: Place<'_>) -> Result<Requested, RequestError> {
    let mut sections = spelling::sections(arguments);
    let first: Run = parse(cli::run_command(called), called, sections.next().unwrap_or_default())?;
    let options = first.job;
    let mut nodes = Nodes::read(&first.section.nodes, place.host)?;
    let mut programs = vec![first.section];
    for section in sections {
        let later: LaterSection = parse(cli::later_section_command(called), called, section)
            .map_err(|error| misplaced(section).unwrap_or(error))?;
        nodes = nodes.with(Nodes::read(&later.section.nodes, place.host)?)?;
        programs.push(later.section);
    }
    let default_ranks = if programs.len() == 1 { nodes.ranks() } else { 1 };
    let mut for_all = options.genv;
    if !options.collective.is_empty() {
        for_all.push((COLLECTIVE.into(), options.collective.join(",").into()));
    }
    let applications: Vec<Application> =
        programs.into_iter().map(|section| application(section, default_ranks, &for_all)).collect();
    check_collective(&applications)?;
    let ranks: u64 = applications.iter().map(|application| u64::from(application.ranks)).sum();
    if ranks > u64::from(MOST_RANKS) {
        return Err(RequestError::TooManyRanks { ranks, who: "a job has", limit: MOST_RANKS });
    }
    if let StdinTo::Rank(rank) = options.stdin
        && u64::from(rank.0) >= ranks
    {
        return Err(RequestError::StdinRank { rank: rank.0, last: ranks as u32 - 1 });
    }
    let description = Description {
        applications,
        labels: options.label,
        stdin: options.stdin,
        timeout: options.timeout,
        nic: NicSettings {
            slice: options.slice.unwrap_or_default(),
            arithmetic: options.nic_arith,
            cross_memory: options.cross_memory,
            core: options.nic_core,
            unexpected_bytes: options.unexpected_limit.0,
        },
        transport: options.network,
        type_check: type_check(options.check_types)?,
        binding: Binding { to: options.bind_to, report: options.report_bindings },
        recording: recording(options.mmds, options.emds, options.trace_dir, ranks as u32)?,
        library_directory: place.library_directory,
    };
    let placement = Placement::one_node(ranks as u32);
    let job = Job { id: place.job, run: place.run, placement, description };
    Ok(Requested { job, wish: nodes.wish(), is_local: options.local, slice: options.slice })
}

/// Checks that all programs have the same algorithms of collectives, where one sets them for itself.
fn check_collective(applications: &[Application]) -> Result<(), RequestError> {
    let outside = std::env::var_os(COLLECTIVE);
    let wanted = |application: &Application| {
        let set = application.environment.iter().rev().find(|(name, _)| name == COLLECTIVE);
        set.map(|(_, value)| value.clone()).or_else(|| outside.clone())
    };
    let said = |wanted: Option<OsString>| match wanted {
        Some(wanted) => format!("'{}'", wanted.to_string_lossy()),
        None => "nothing".into(),
    };
    let mut all = applications.iter().map(wanted);
    let first = all.next().flatten();
    match all.find(|other| *other != first) {
        Some(other) => Err(RequestError::Collective { one: said(first), other: said(other) }),
        None => Ok(()),
    }
}

/// What one or more programs of a job say about its nodes.
struct Nodes {
    hosts: Vec<HostSlots>,
    ranks_per_node: Option<u32>,
    nodes: Option<u32>,
    mapping: Option<Mapping>,
}

impl Nodes {
    fn read(options: &NodeOptions, here: &str) -> Result<Self, RequestError> {
        let mut hosts: Vec<HostSlots> = options.host.iter().flat_map(|list| list.0.clone()).collect();
        for path in &options.hostfile {
            let failed = |reason| RequestError::Hostfile { path: path.clone(), reason };
            let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
            hosts.extend(hostfile::file(&text).map_err(failed)?);
        }
        for host in hosts.iter_mut().filter(|host| is_loopback(&host.host)) {
            host.host = here.to_owned();
        }
        let by = options.map_by;
        Ok(Self {
            hosts,
            ranks_per_node: agreed("--ppn", options.ppn, by.and_then(|by| by.ranks_per_node))?,
            nodes: options.nodes,
            mapping: by.map(|by| by.mapping),
        })
    }

    fn with(self, later: Self) -> Result<Self, RequestError> {
        let some = |hosts: Vec<HostSlots>| Some(hosts).filter(|hosts| !hosts.is_empty());
        Ok(Self {
            hosts: agreed("--host", some(self.hosts), some(later.hosts))?.unwrap_or_default(),
            ranks_per_node: agreed("--ppn", self.ranks_per_node, later.ranks_per_node)?,
            nodes: agreed("--nodes", self.nodes, later.nodes)?,
            mapping: agreed("--map-by", self.mapping, later.mapping)?,
        })
    }

    /// How many ranks a program has of which the user does not say it.
    fn ranks(&self) -> u32 {
        if let Some(nodes) = self.nodes {
            return nodes.saturating_mul(self.ranks_per_node.unwrap_or(1));
        }
        let hosts: BTreeSet<&str> = self.hosts.iter().map(|host| host.host.as_str()).collect();
        match self.ranks_per_node {
            _ if hosts.is_empty() => 1,
            Some(per_node) => per_node.saturating_mul(hosts.len() as u32),
            None => {
                let slots = self.hosts.iter().map(|host| host.slots.unwrap_or(1));
                slots.fold(0, u32::saturating_add)
            }
        }
    }

    fn wish(self) -> Wish {
        Wish {
            ranks_per_node: self.ranks_per_node,
            nodes: self.nodes,
            hosts: self.hosts,
            mapping: self.mapping.unwrap_or_default(),
        }
    }
}

fn agreed<T: PartialEq>(
    option: &'static str,
    first: Option<T>,
    second: Option<T>,
) -> Result<Option<T>, RequestError> {
    match (&first, &second) {
        (Some(one), Some(other)) if one != other => Err(RequestError::Contradiction(option)),
        _ => Ok(first.or(second)),
    }
}

fn parse<T: FromArgMatches + CommandFactory>(
    mut command: clap::Command,
    called: &str,
    section: &[OsString],
) -> Result<T, RequestError> {
    let words = spelling::normalized(&mut command, section);
    let matches = command
        .no_binary_name(true)
        .try_get_matches_from(words)
        .and_then(|matches| T::from_arg_matches(&matches));
    matches.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => RequestError::Help(Box::new(error)),
        _ => RequestError::Option { message: one_line(&error), called: called.to_owned() },
    })
}

/// `clap` explains in paragraphs; its first one says what is wrong, and the tips what may be meant.
pub fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::Strings(missing)) if !missing.iter().any(|name| name.contains("PROGRAM")) => {
                format!("{} is missing", missing.join(" "))
            }
            _ => "name the program to run".into(),
        };
    }
    let text = error.to_string();
    let said = text.split("\nUsage:").next().unwrap_or_default();
    let said = said.split("\nFor more information").next().unwrap_or_default();
    let words: Vec<_> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"))
        .collect();
    let line = words.join("; ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// An option of the whole job in a later section.
fn misplaced(section: &[OsString]) -> Option<RequestError> {
    let mut command = cli::run_command("");
    let words = spelling::normalized(&mut command, section);
    let program = words.iter().position(|word| !word.to_string_lossy().starts_with('-'));
    let as_first = command.no_binary_name(true).try_get_matches_from(&words);
    as_first.ok()?;
    let known = cli::later_section_command("");
    let option = words[..program.unwrap_or(words.len())].iter().find(|word| {
        let name = word.to_string_lossy();
        let name = name.split('=').next().unwrap_or_default().trim_start_matches('-').to_owned();
        !known.get_arguments().any(|argument| {
            argument.get_long() == Some(&name)
                || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&name.as_str()))
                || argument.get_short().is_some_and(|short| name.starts_with(short))
        })
    })?;
    Some(RequestError::Misplaced(option.to_string_lossy().into_owned()))
}

fn application(section: Section, default_ranks: u32, for_all: &[(OsString, OsString)]) -> Application {
    let mut command = section.command.into_iter();
    let program = command.next().unwrap_or_default();
    let own = section.env.into_iter().chain(section.export.into_iter().flatten());
    Application {
        ranks: section.ranks.unwrap_or(default_ranks),
        program,
        arguments: command.collect(),
        environment: for_all.iter().cloned().chain(own).collect(),
        working_directory: section.wdir.map(|path| absolute(&path)),
    }
}

/// Whether a name is that of whatever machine it is used on.
fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a name is this machine's.
fn is_here(name: &str, here: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let is_address = name.parse::<std::net::IpAddr>().is_ok();
    name == here || is_loopback(name) || (!is_address && !name.is_empty() && short(name) == short(here))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What of the types of messages is compared, if an option says so; what the environment says is checked
/// before anything is started.
fn type_check(option: Option<TypeCheck>) -> Result<Option<TypeCheck>, RequestError> {
    let name = TypeCheck::VARIABLE;
    match std::env::var(name) {
        Ok(value) if option.is_none() && !value.is_empty() => match value.parse::<TypeCheck>() {
            Ok(_) => Ok(None),
            Err(error) => Err(RequestError::Variable { name, value, wanted: error.to_string() }),
        },
        _ => Ok(option),
    }
}

/// What MDS records: from the options, else from the environment, checked before anything is started.
fn recording(
    mmds: Option<String>,
    emds: Option<String>,
    trace_dir: Option<PathBuf>,
    job_ranks: u32,
) -> Result<Recording, RequestError> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let lookup = |name: &'static str| match name {
        "BCS_MMDS" => mmds.clone().or_else(|| set(name)),
        "BCS_EMDS" => emds.clone().or_else(|| set(name)),
        "BCS_TRACE_DIR" => {
            trace_dir.as_ref().map(|path| path.to_string_lossy().into_owned()).or_else(|| set(name))
        }
        _ => set(name),
    };
    let config = MdsConfig::from_lookup(lookup).map_err(|error| {
        let option = match error.variable {
            "BCS_MMDS" if mmds.is_some() => "--mmds",
            "BCS_EMDS" if emds.is_some() => "--emds",
            variable => variable,
        };
        RequestError::Recording {
            option,
            reason: format!("\"{}\": {}; accepted: {}", error.value, error.reason, error.accepted),
        }
    })?;
    // A variable of the environment is for many jobs, an option for this one.
    if let (Some(ranks), Some(recorded)) = (&mmds, &config.mmds)
        && !(0..job_ranks).any(|rank| recorded.ranks.contains(rank))
    {
        return Err(RequestError::MmdsRanks { ranks: ranks.clone(), last: job_ranks - 1 });
    }
    let is_on = config.mmds.is_some() || config.emds.is_some();
    // Ranks may run in other directories, and all of them write to one.
    let trace_directory = is_on.then(|| absolute(trace_dir.as_deref().unwrap_or(&config.trace_dir)));
    Ok(Recording {
        mmds: mmds.map(Into::into),
        emds: emds.map(Into::into),
        slices: config.emds,
        trace_directory,
    })
}

#[cfg(test)]
mod tests;
