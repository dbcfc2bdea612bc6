//! The environment of the ranks: what the user has, what the user asked for, and who they are.
//!
//! Only `BCS_*` and MPICH's `MPI_LOCAL*` names are set. Names by which other MPI libraries find *their*
//! launcher (`PMI_*`, `PMIX_*`, `OMPI_*`) are not: a foreign library that saw them would try to reach
//! a process that does not exist.

use crate::job::{Application, Job};
use crate::program::{LIBRARY_NAME, LibraryNeed};
use bcs_core::{NodeId, Rank, TypeCheck};
use nic_emu::host::endpoint_place::EndpointPlace;
use nic_emu::host::link_places::LinkPlaces;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The rank's number in the job.
pub const RANK: &str = "BCS_RANK";
/// The number of ranks of the job.
pub const SIZE: &str = "BCS_SIZE";
/// The rank's number among those of its node.
pub const LOCAL_RANK: &str = "BCS_LOCAL_RANK";
/// The number of the job's ranks on the node.
pub const LOCAL_SIZE: &str = "BCS_LOCAL_SIZE";
/// Which application of the command line the rank runs, from 0: MPI's `MPI_APPNUM`.
pub const APPLICATION: &str = "BCS_APPNUM";
/// How many ranks the job could have in all: MPI's `MPI_UNIVERSE_SIZE`.
pub const UNIVERSE_SIZE: &str = "BCS_UNIVERSE_SIZE";
/// The job, by a text that no other run has: the files of MDS are told apart by it, and so are processes.
pub const JOB: &str = "BCS_JOB";
/// The descriptor of the NIC memory.
pub const NIC_FD: &str = "BCS_NIC_FD";
/// The descriptor that wakes the NIC thread of a job on several nodes.
pub const WAKE_FD: &str = "BCS_WAKE_FD";
/// The descriptors of the links to other nodes, where ranks can drive them
/// (`nic_emu::host::link_places::LinkPlaces`).
pub const LINKS: &str = "BCS_LINKS";
/// Where ranks open endpoints of libfabric of their own, where a network card moves the bytes of the links
/// (`nic_emu::host::endpoint_place::EndpointPlace`).
pub const CARD: &str = EndpointPlace::VARIABLE;
/// Whether ranks that wait drive the links to other nodes: not if it is 0.
pub const RANKS_DRIVE: &str = "BCS_RANKS_DRIVE";
/// The process id of the program launcher. Where a parent closed the NIC's descriptor (Python's
/// `subprocess` does), `/proc/LAUNCHER/fd/NIC_FD` is the same memory.
pub const LAUNCHER: &str = "BCS_LAUNCHER_PID";
/// Algorithms of collectives that the user wants.
pub const COLLECTIVE: &str = "BCS_COLLECTIVE";
/// Which processes MMDS records.
pub const MMDS: &str = "BCS_MMDS";
/// Which slices EMDS records.
pub const EMDS: &str = "BCS_EMDS";
/// Where the dumps of MDS go.
pub const TRACE_DIR: &str = "BCS_TRACE_DIR";

type Variables = Vec<(OsString, OsString)>;

fn set(variables: &mut Variables, name: impl Into<OsString>, value: impl Into<OsString>) {
    let (name, value) = (name.into(), value.into());
    match variables.iter_mut().find(|(present, _)| *present == name) {
        Some((_, old)) => *old = value,
        None => variables.push((name, value)),
    }
}

fn get<'a>(variables: &'a Variables, name: &str) -> Option<&'a OsStr> {
    variables.iter().find(|(present, _)| present == name).map(|(_, value)| value.as_os_str())
}

/// Puts a path in front of a colon-separated list.
fn put_first(variables: &mut Variables, name: &str, path: &Path) {
    let mut value = path.as_os_str().to_owned();
    if let Some(rest) = get(variables, name).filter(|rest| !rest.is_empty()) {
        value.push(":");
        value.push(rest);
    }
    set(variables, name, value);
}

/// The environment that the ranks of an application share, before anything of this node is added:
/// what `storm` has, overlaid with what the user asked for.
pub fn of_application(inherited: Variables, application: &Application) -> Variables {
    let mut variables = inherited;
    if let Some(directory) = &application.working_directory {
        set(&mut variables, "PWD", directory.clone());
    }
    for (name, value) in &application.environment {
        set(&mut variables, name.clone(), value.clone());
    }
    variables
}

/// Whether ranks that wait are to drive the links to other nodes.
pub fn ranks_drive(variables: &Variables) -> bool {
    get(variables, RANKS_DRIVE).is_none_or(|value| value != "0")
}

/// The search path for programs in an environment.
pub fn search_path(variables: &Variables) -> Option<OsString> {
    get(variables, "PATH").map(OsStr::to_owned)
}

/// What a node's launcher adds.
#[derive(Clone, Debug)]
pub struct Here {
    /// The node, as the job numbers its nodes.
    pub node: NodeId,
    /// The launcher's process id.
    pub launcher: u32,
    /// The descriptor of the NIC memory.
    pub nic_fd: i32,
    /// The descriptor that wakes the NIC thread, of a job on several nodes.
    pub wake_fd: Option<i32>,
    /// The descriptors of the links to other nodes, where ranks can drive them.
    pub links: Option<LinkPlaces>,
    /// The network card that moves their bytes, if one does.
    pub card: Option<EndpointPlace>,
}

/// Adds what the job and the node say to all ranks of one application.
pub fn add_job(
    variables: &mut Variables,
    job: &Job,
    application_index: usize,
    need: &LibraryNeed,
    here: &Here,
) {
    for stale in [RANK, LOCAL_RANK, WAKE_FD, LINKS, CARD] {
        variables.retain(|(name, _)| name != stale);
    }
    let ranks = job.ranks().to_string();
    set(variables, SIZE, &ranks);
    let local_ranks = job.placement.ranks_on(here.node).to_string();
    set(variables, LOCAL_SIZE, &local_ranks);
    set(variables, "MPI_LOCALNRANKS", &local_ranks);
    set(variables, APPLICATION, application_index.to_string());
    set(variables, JOB, &job.run);
    set(variables, UNIVERSE_SIZE, &ranks);
    set(variables, LAUNCHER, here.launcher.to_string());
    set(variables, NIC_FD, here.nic_fd.to_string());
    if let Some(wake_fd) = here.wake_fd {
        set(variables, WAKE_FD, wake_fd.to_string());
    }
    if let Some(links) = &here.links {
        set(variables, LINKS, links.to_string());
    }
    if let Some(card) = &here.card {
        set(variables, CARD, card.to_string());
    }
    let recording = &job.recording;
    for (name, value) in [
        (MMDS, recording.mmds.as_deref()),
        (EMDS, recording.emds.as_deref()),
        (TRACE_DIR, recording.trace_directory.as_deref().map(Path::as_os_str)),
    ] {
        if let Some(value) = value {
            set(variables, name, value);
        }
    }
    if let Some(check) = job.type_check {
        set(variables, TypeCheck::VARIABLE, check.to_string());
    }
    if let Some(directory) = &job.library_directory {
        put_first(variables, "LD_LIBRARY_PATH", directory);
        if *need == LibraryNeed::Preload {
            put_first(variables, "LD_PRELOAD", &directory.join(LIBRARY_NAME));
        }
    }
}

/// The variables that differ from rank to rank.
pub fn of_rank(rank: Rank, local_index: u32) -> [CString; 3] {
    [(RANK, rank.0), (LOCAL_RANK, local_index), ("MPI_LOCALRANKID", local_index)]
        .map(|(name, value)| entry(OsStr::new(name), OsStr::new(&value.to_string())))
}

/// One `NAME=value`. Neither side can hold a zero byte: both came through an argument or an
/// environment; one that does all the same ends there, as it would for any C program.
pub fn entry(name: &OsStr, value: &OsStr) -> CString {
    let mut bytes = name.to_owned().into_vec();
    bytes.push(b'=');
    bytes.extend_from_slice(value.as_bytes());
    c_string(bytes)
}

/// A C string of these bytes, up to the first zero byte.
pub fn c_string(mut bytes: Vec<u8>) -> CString {
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    CString::new(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Description, Recording};
    use bcs_core::{JobId, Placement};

    fn job(library_directory: Option<&Path>) -> Job {
        let application = Application {
            environment: vec![("COLOUR".into(), "red".into())],
            working_directory: Some("/work".into()),
            ..Application::new(3, "a")
        };
        let description = Description {
            recording: Recording { mmds: Some("all".into()), ..Recording::default() },
            library_directory: library_directory.map(Path::to_owned),
            ..Job::new(vec![application]).description
        };
        let placement = Placement::by_rank(&[0, 1, 1]).unwrap();
        Job { id: JobId(17), run: "run-17".into(), placement, description }
    }

    fn composed(inherited: &[(&str, &str)], job: &Job, need: &LibraryNeed) -> Variables {
        let inherited = inherited.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut variables = of_application(inherited, &job.applications[0]);
        let links = LinkPlaces {
            memory: 130,
            ring_bytes: 4096,
            stride_bytes: 8192,
            nodes: 2,
            links: vec![(0, Some((131, 7)))],
        };
        let card = "127.0.0.1 tcp;ofi_rxm".parse().ok();
        let (wake_fd, links) = (Some(129), Some(links));
        let here = Here { node: NodeId(1), launcher: 99, nic_fd: 128, wake_fd, links, card };
        add_job(&mut variables, job, 0, need, &here);
        variables
    }

    #[test]
    fn ranks_know_their_job_and_nothing_of_an_outer_one() {
        let outer =
            [("BCS_RANK", "5"), ("BCS_SIZE", "9"), ("BCS_EMDS", "1:4"), ("COLOUR", "blue"), ("HOME", "/h")];
        let variables = composed(&outer, &job(None), &LibraryNeed::SearchPath);
        let value = |name| get(&variables, name).and_then(OsStr::to_str);
        assert_eq!(value("BCS_RANK"), None, "it is added rank by rank");
        assert_eq!(value("BCS_SIZE"), Some("3"));
        assert_eq!(value("BCS_LOCAL_SIZE"), Some("2"), "of this node");
        assert_eq!(value("BCS_WAKE_FD"), Some("129"));
        assert_eq!(value("BCS_LINKS"), Some("130:4096:8192:2,0:131:7"));
        assert_eq!(value("BCS_CARD"), Some("127.0.0.1 tcp;ofi_rxm"));
        assert_eq!(value("BCS_JOB"), Some("run-17"));
        assert_eq!(value("BCS_NIC_FD"), Some("128"));
        assert_eq!(value("BCS_LAUNCHER_PID"), Some("99"));
        assert_eq!(value("BCS_MMDS"), Some("all"));
        assert_eq!(value("BCS_EMDS"), Some("1:4"), "recording may be asked for by the environment");
        assert_eq!(value("COLOUR"), Some("red"));
        assert_eq!(value("HOME"), Some("/h"));
        assert_eq!(value("PWD"), Some("/work"));
        let of_rank = of_rank(Rank(2), 1);
        assert_eq!(
            of_rank.each_ref().map(|entry| entry.as_bytes()),
            [&b"BCS_RANK=2"[..], b"BCS_LOCAL_RANK=1", b"MPI_LOCALRANKID=1"]
        );
    }

    #[test]
    fn our_library_comes_first_and_is_preloaded_only_where_it_must() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().display().to_string();
        std::fs::write(directory.path().join(LIBRARY_NAME), "").unwrap();
        let job = job(Some(directory.path()));
        let inherited = [("LD_LIBRARY_PATH", "/opt/lib"), ("LD_PRELOAD", "/tool.so")];

        let variables = composed(&inherited, &job, &LibraryNeed::SearchPath);
        assert_eq!(get(&variables, "LD_LIBRARY_PATH").unwrap(), &*format!("{here}:/opt/lib"));
        assert_eq!(get(&variables, "LD_PRELOAD").unwrap(), "/tool.so");

        let variables = composed(&inherited, &job, &LibraryNeed::Preload);
        assert_eq!(get(&variables, "LD_PRELOAD").unwrap(), &*format!("{here}/{LIBRARY_NAME}:/tool.so"));

        let variables = composed(&[], &job, &LibraryNeed::SearchPath);
        assert_eq!(get(&variables, "LD_LIBRARY_PATH").unwrap(), &*here);
        assert_eq!(get(&variables, "LD_PRELOAD"), None, "programs that the job starts are left alone");
    }
}
