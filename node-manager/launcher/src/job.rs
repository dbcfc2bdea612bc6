//! The description of a job: what the Machine Manager hands to the Node Manager (paper, §4.1).
//!
//! A job is a list of applications (`mpiexec -n 2 a : -n 3 b` has two), whose ranks are numbered
//! through: the first application has the lowest ranks. A description holds no descriptor and no
//! process, so that it can be queued, sent and kept.

use crate::binding::Binding;
use bcs_core::wire::{OsStringDef, PathBufDef, PlacementDef, Variable, VariableDef};
use bcs_core::{JobId, NodeId, Placement, Rank, SliceLength, TransportChoice, TypeCheck};
use mds::EmdsConfig;
use nic_emu::arith::Arithmetic;
use nic_emu::unexpected::DEFAULT_LIMIT_BYTES;
use rkyv::with::Map;
use std::ffi::OsString;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::time::Duration;

/// The most ranks that one node starts for one job. NIC memory is laid out for it, and the default
/// limits of Linux on processes and descriptors hold some way beyond it.
pub const MAX_RANKS_PER_NODE: u32 = 4096;

/// A job, as the user asked for it, and where its ranks run.
#[derive(Clone, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct Job {
    /// Its number; with no cluster configured, the process id of the `storm` that runs it.
    pub id: JobId,
    /// A text that no other run has, ever and anywhere: traces of one run are told apart by it.
    pub run: String,
    /// Where its ranks run: as many as its applications have.
    #[rkyv(with = PlacementDef)]
    pub placement: Placement,
    /// What the user says of it.
    pub description: Description,
}

/// A job as its user describes it: without what is the manager's to give.
#[derive(Clone, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct Description {
    /// What runs, in the order of the ranks. Never empty, and no application is without ranks.
    pub applications: Vec<Application>,
    /// Whether each line of output starts with the rank that wrote it.
    pub labels: bool,
    /// Who reads the standard input.
    pub stdin: StdinTo,
    /// After how long the job is ended with a report.
    pub timeout: Option<Duration>,
    /// What the job asks of its NIC.
    pub nic: NicSettings,
    /// What carries the network between its nodes; what the cluster's configuration says if not given.
    pub transport: Option<TransportChoice>,
    /// What of the types of messages the ranks compare; what their environment says if not given.
    pub type_check: Option<TypeCheck>,
    /// Which processors the ranks may run on.
    pub binding: Binding,
    /// What MDS (paper, §5) records.
    pub recording: Recording,
    /// The directory that holds our MPI library, put first in the ranks' `LD_LIBRARY_PATH`.
    #[rkyv(with = Map<PathBufDef>)]
    pub library_directory: Option<PathBuf>,
}

/// A program of a job, with the number of ranks that run it.
#[derive(Clone, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct Application {
    /// How many ranks run it, at least one.
    pub ranks: u32,
    /// The program as the user wrote it: a path, or a name to look for in `PATH`.
    #[rkyv(with = OsStringDef)]
    pub program: OsString,
    /// Its arguments, without its name.
    #[rkyv(with = Map<OsStringDef>)]
    pub arguments: Vec<OsString>,
    /// Variables set for it on top of those that `storm` itself has.
    #[rkyv(with = Map<VariableDef>)]
    pub environment: Vec<Variable>,
    /// Where it runs; where `storm` runs if not given.
    #[rkyv(with = Map<PathBufDef>)]
    pub working_directory: Option<PathBuf>,
}

/// Which ranks read the standard input of `storm`. The others read the empty `/dev/null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub enum StdinTo {
    /// One rank, 0 unless told otherwise.
    Rank(Rank),
    /// Every rank reads a copy. Through a pipe, the slowest reader sets the pace.
    All,
    /// No rank.
    None,
}

/// What a job asks of its NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct NicSettings {
    /// How time slices are cut (paper, §4.2).
    pub slice: SliceLength,
    /// What computes the reductions (paper, §4.4).
    pub arithmetic: Arithmetic,
    /// Whether messages may be copied from process to process by the kernel.
    pub cross_memory: bool,
    /// The core that is given to the NIC for good.
    pub core: Option<usize>,
    /// Bytes of messages that each rank can leave unreceived.
    pub unexpected_bytes: u64,
}

impl Default for NicSettings {
    fn default() -> Self {
        Self {
            slice: SliceLength::Elastic,
            arithmetic: Arithmetic::Native,
            cross_memory: true,
            core: None,
            unexpected_bytes: DEFAULT_LIMIT_BYTES,
        }
    }
}

/// What MDS records of a job (paper, §5).
#[derive(Clone, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct Recording {
    /// The processes that MMDS records, in the spelling of `BCS_MMDS`.
    #[rkyv(with = Map<OsStringDef>)]
    pub mmds: Option<OsString>,
    /// The slices that EMDS records, in the spelling of `BCS_EMDS`.
    #[rkyv(with = Map<OsStringDef>)]
    pub emds: Option<OsString>,
    /// The same, as the NIC takes it; also if the user's environment asked for it.
    pub slices: Option<EmdsConfig>,
    /// The absolute path of the directory that the dumps go to.
    #[rkyv(with = Map<PathBufDef>)]
    pub trace_directory: Option<PathBuf>,
}

impl Application {
    /// Ranks that run a program without arguments, with the variables and in the directory of `storm`.
    pub fn new(ranks: u32, program: impl Into<OsString>) -> Self {
        Self {
            ranks,
            program: program.into(),
            arguments: vec![],
            environment: vec![],
            working_directory: None,
        }
    }
}

impl Job {
    /// A job of these applications as `storm run` without options has it: all ranks on one node, rank 0 reads
    /// the standard input, nothing is recorded. It has no number and no name of its run yet.
    pub fn new(applications: Vec<Application>) -> Self {
        let ranks = applications.iter().map(|application| application.ranks).sum();
        let description = Description {
            applications,
            labels: false,
            stdin: StdinTo::Rank(Rank(0)),
            timeout: None,
            nic: NicSettings::default(),
            transport: None,
            type_check: None,
            binding: Binding::default(),
            recording: Recording::default(),
            library_directory: None,
        };
        Self { id: JobId(0), run: String::new(), placement: Placement::one_node(ranks), description }
    }

    /// How many ranks the job has, over all its applications.
    pub fn ranks(&self) -> u32 {
        self.placement.ranks()
    }

    /// The applications with the ranks of a node that run each.
    pub fn placed_on(&self, node: NodeId) -> impl Iterator<Item = (&Application, &[Rank])> {
        let mut rest = self.placement.ranks_of(node);
        let mut end = 0;
        self.applications.iter().map(move |application| {
            end += application.ranks;
            let (here, further) = rest.split_at(rest.partition_point(|rank| rank.0 < end));
            rest = further;
            (application, here)
        })
    }

    /// Whether a rank is the lowest of those that run its application.
    pub fn is_first_of_its_application(&self, rank: Rank) -> bool {
        let mut first = 0;
        self.applications.iter().any(|application| {
            let is_first = first == rank.0;
            first += application.ranks;
            is_first
        })
    }

    /// The application that a rank runs.
    pub fn application_of(&self, rank: Rank) -> Option<&Application> {
        let mut end = 0;
        self.applications.iter().find(|application| {
            end += application.ranks;
            rank.0 < end
        })
    }
}

impl Deref for Job {
    type Target = Description;

    fn deref(&self) -> &Description {
        &self.description
    }
}

impl DerefMut for Job {
    fn deref_mut(&mut self) -> &mut Description {
        &mut self.description
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbered_through_the_applications() {
        let job = Job {
            placement: Placement::by_rank(&[0, 1, 1, 0, 0, 1]).unwrap(),
            ..Job::new([2, 3, 1].map(|ranks| Application::new(ranks, "true")).into())
        };
        assert_eq!(job.ranks(), 6);
        let on = |node| job.placed_on(NodeId(node)).map(|(_, ranks)| ranks.to_vec()).collect::<Vec<_>>();
        assert_eq!(on(0), [vec![Rank(0)], vec![Rank(3), Rank(4)], vec![]]);
        assert_eq!(on(1), [vec![Rank(1)], vec![Rank(2)], vec![Rank(5)]]);
        assert_eq!(job.application_of(Rank(4)).unwrap().ranks, 3);
        assert!(job.application_of(Rank(6)).is_none());
        let firsts: Vec<_> = (0..7).filter(|&rank| job.is_first_of_its_application(Rank(rank))).collect();
        assert_eq!(firsts, [0, 2, 5]);
    }
}
