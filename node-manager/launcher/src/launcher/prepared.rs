//! A job with everything found that starting its ranks on this node takes: what can be wrong with it is said
//! before anything is started.

use crate::environment;
use crate::job::Job;
use crate::launch_error::LaunchError;
use crate::preflight;
use crate::program::Program;
use crate::signals::SignalSet;
use bcs_core::NodeId;
use bcs_core::wire::Variable;

/// A job, ready to be started on this node.
pub struct Prepared<'a> {
    /// The job.
    pub job: &'a Job,
    /// For each application its program and the environment that its ranks share; none for those without
    /// ranks on this node.
    pub programs: Vec<Option<(Program, Vec<Variable>)>>,
    /// The limit on descriptors that the ranks get back.
    pub descriptor_limit: Option<libc::rlimit>,
    /// The signals that the ranks block.
    pub blocked: SignalSet,
    /// This node, as the job numbers its nodes.
    pub node: NodeId,
    /// The names of the job's nodes, by number.
    pub hosts: &'a [String],
}

impl<'a> Prepared<'a> {
    /// Looks up the programs, as seen from this process's working directory, and checks that this node can
    /// run its ranks. `variables` are those that the user has.
    ///
    /// # Errors
    /// What is wrong with the programs, or what the machine lacks.
    pub fn find(
        job: &'a Job,
        node: NodeId,
        hosts: &'a [String],
        variables: impl Fn() -> Vec<Variable>,
        blocked: SignalSet,
    ) -> Result<Self, LaunchError> {
        let descriptor_limit = preflight::check(job, node)?;
        let mut programs = Vec::with_capacity(job.applications.len());
        for (application, ranks) in job.placed_on(node) {
            if ranks.is_empty() {
                programs.push(None);
                continue;
            }
            let variables = environment::of_application(variables(), application);
            let search = environment::search_path(&variables);
            let directory = application.working_directory.as_deref();
            let program = Program::find(&application.program, directory, search.as_deref())?;
            programs.push(Some((program, variables)));
        }
        Ok(Self { job, programs, descriptor_limit, blocked, node, hosts })
    }

    /// The job's ranks on this node.
    pub(super) fn ranks(&self) -> u32 {
        self.job.placement.ranks_on(self.node)
    }

    /// The name of this node.
    pub(super) fn host(&self) -> &'a str {
        self.host_of(self.node)
    }

    /// The name of a node of the job.
    pub(super) fn host_of(&self, node: NodeId) -> &'a str {
        self.hosts.get(node.index()).map_or("", String::as_str)
    }

    /// Puts the name of this node before a message that does not tell it, in a job on several.
    pub(super) fn name_host(&self, message: &mut String) {
        if self.spans_nodes() && !message.contains(self.host()) {
            *message = format!("on {}: {message}", self.host());
        }
    }

    /// Whether the job has ranks on other nodes, too.
    pub(super) fn spans_nodes(&self) -> bool {
        self.job.placement.nodes() > 1
    }
}
