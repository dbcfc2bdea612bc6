//! Starting the ranks of a job: their descriptors, their environment, and what to say when one cannot be
//! started.
//!
//! The launcher's main thread starts them, since they would die with the thread that did.

use super::{Launcher, RankProcess};
use crate::binding::Groups;
use crate::control::Notice;
use crate::environment::{self, Here, ranks_drive};
use crate::input::RankInput;
use crate::job::Application;
use crate::output::{is_ready, standard};
use crate::program::{LIBRARY_NAME, LibraryNeed, Program};
use crate::spawn::{Plan, Setting, StartError, Started, Step};
use crate::verdict::{STATUS_NOT_EXECUTABLE, STATUS_NOT_FOUND, STATUS_USAGE, Verdict};
use crate::watch::{Interest, Ready};
use bcs_core::Rank;
use nic_emu::host::endpoint_place::EndpointPlace;
use nic_emu::host::link_places::places_of;
use rustix::event::PollFlags;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The NIC's descriptor gets at least this number in the ranks, if it can: shell scripts use small ones
/// freely.
const NIC_FD_AT_LEAST: i32 = 128;

impl Launcher<'_> {
    pub(super) fn start_all(&mut self) -> Result<(), Verdict> {
        let prepared = self.prepared;
        let cannot = |what: &str, error: io::Error| Verdict::NotStarted {
            message: format!("cannot {what}: {error}"),
            status: STATUS_USAGE,
        };
        // 0, 1 and 2 are open, so this is none of them.
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
        let null = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty())
            .map_err(|error| cannot("open /dev/null", error.into()))?;
        let high = |fd: BorrowedFd<'_>| {
            duplicate(fd).map_err(|error| cannot("duplicate the NIC's descriptor", error))
        };
        let nic_fd = high(self.nic.host.descriptor())?;
        let wake_fd = self.nic.host.wake_descriptor().map(high).transpose()?;
        let mut link_fds = Vec::new();
        let nodes = prepared.job.placement.nodes();
        let are_wanted = prepared.programs.iter().flatten().any(|(_, variables)| ranks_drive(variables));
        let network = self.network.as_mut().filter(|_| are_wanted);
        let (links, card) = match network.and_then(|network| network.share_links()) {
            None => (None, None),
            Some(links) => {
                let inherit = |fd: BorrowedFd<'_>| {
                    let high = duplicate(fd)?;
                    let number = high.as_raw_fd();
                    link_fds.push(high);
                    Ok(number)
                };
                let card = links.card.map(|(address, provider)| (address, provider.to_owned()));
                let places = places_of(&links, nodes, inherit)
                    .map_err(|error| cannot("duplicate the descriptors of the job's network", error))?;
                (Some(places), card.map(|(address, provider)| EndpointPlace { address, provider }))
            }
        };
        let inherited: Vec<_> = [Some(&nic_fd), wake_fd.as_ref()]
            .into_iter()
            .flatten()
            .chain(&link_fds)
            .map(AsRawFd::as_raw_fd)
            .collect();
        let on_terminal = [1, 2].into_iter().any(|number| rustix::termios::isatty(standard(number)));
        let here = Here {
            node: prepared.node,
            launcher: rustix::process::getpid().as_raw_pid() as u32,
            nic_fd: nic_fd.as_raw_fd(),
            wake_fd: wake_fd.as_ref().map(AsRawFd::as_raw_fd),
            links,
            card,
        };
        let groups = Groups::here(prepared.job.binding.to, prepared.job.nic.core).map_err(|error| {
            Verdict::NotStarted {
                message: format!("--bind-to {}: {error}; bind to something else", prepared.job.binding.to),
                status: STATUS_USAGE,
            }
        })?;
        for (index, (application, ranks)) in prepared.job.placed_on(prepared.node).enumerate() {
            let Some((program, variables)) = prepared.programs.get(index).and_then(Option::as_ref) else {
                continue;
            };
            let is_lowest_here =
                ranks.first().is_some_and(|rank| prepared.job.is_first_of_its_application(*rank));
            if is_lowest_here && let Some(remark) = self.library_remark(application, &program.library) {
                self.control.send(&Notice::Remark(remark));
            }
            let mut variables = variables.clone();
            environment::add_job(&mut variables, prepared.job, index, &program.library, &here);
            let plan = plan(program, application, &variables);
            for &rank in ranks {
                let local_index = self.ranks.len() as u32;
                let input = self.input.connect(rank).map_err(|error| cannot("make a pipe", error))?;
                let outputs = match &mut self.output {
                    Some(output) => Some(
                        output.connect(rank.0, &self.watch).map_err(|error| cannot("make a pipe", error))?,
                    ),
                    None => None,
                };
                let stdin = match &input {
                    RankInput::Null => null.as_raw_fd(),
                    RankInput::Inherited => 0,
                    RankInput::Pipe(reader) => reader.as_raw_fd(),
                };
                let [stdout, stderr] =
                    outputs.as_ref().map_or([1, 2], |[out, error]| [out.as_raw_fd(), error.as_raw_fd()]);
                let processors = groups.processors(local_index);
                if prepared.job.binding.report {
                    let text = format!("{} is {}", self.rank_name(rank), groups.describe(local_index));
                    self.control.send(&Notice::Remark(text));
                }
                let setting = Setting {
                    environment: &environment::of_rank(rank, local_index),
                    stdio: [stdin, stdout, stderr],
                    inherited: &inherited,
                    descriptor_limit: prepared.descriptor_limit,
                    no_realtime: self.told.is_some(),
                    blocked: &prepared.blocked,
                    processors: processors.as_ref(),
                    on_terminal: on_terminal && self.output.is_none(),
                };
                self.note_events();
                let Started { pid, pidfd } =
                    plan.start(&setting).map_err(|error| self.not_started(rank, program, error))?;
                self.watch
                    .add(&pidfd, Ready::Process(local_index), Interest::Read)
                    .map_err(|error| cannot("watch a rank", error))?;
                if is_ready(&pidfd, PollFlags::IN) {
                    // It ended before it was watched. So did perhaps one that was: then more likely because
                    // of this one than the other way round.
                    self.early.push(Ready::Process(local_index));
                }
                self.ranks.push(RankProcess { rank, pid, pidfd, is_live: true });
                if let Some(network) = &mut self.network {
                    // Starting thousands takes longer than the other nodes wait for a sign of life. What goes
                    // wrong the NIC thread finds again.
                    let _ = network.progress();
                }
            }
        }
        if !self.input.relays() {
            // Whoever writes to the job's input is to see it closed when the ranks have closed it.
            let _ = rustix::stdio::dup2_stdin(&null);
        }
        self.input.start(&self.watch).map_err(|error| cannot("watch the standard input", error))?;
        self.start_nic()
    }

    /// Notes what has happened so far, as ranks that have ended: what happens later is told later.
    fn note_events(&mut self) {
        for ready in self.watch.wait(Some(Duration::ZERO)).unwrap_or_default() {
            if !self.early.contains(&ready) {
                self.early.push(ready);
            }
        }
    }

    /// Starts the NIC thread, which takes the job's network. After the ranks, as it is a thread.
    pub(super) fn start_nic(&mut self) -> Result<(), Verdict> {
        let not_started = |message| Verdict::NotStarted { message, status: STATUS_USAGE };
        self.nic.start(self.network.take()).map_err(not_started)?;
        self.watch
            .add(self.nic.host.alarm(), Ready::Alarm, Interest::Read)
            .map_err(|error| not_started(format!("cannot watch the NIC: {error}")))?;
        Ok(())
    }

    /// What to say of a program whose ranks will each run alone, with the wrong library.
    fn library_remark(&self, application: &Application, need: &LibraryNeed) -> Option<String> {
        let program = application.program.to_string_lossy();
        match (need, &self.prepared.job.library_directory) {
            (LibraryNeed::Foreign(library), _) => Some(format!(
                "{program} was built with another MPI ({library}) and will not find its other ranks; build it with this \
                 MPI's mpicc, or start it with that MPI's mpiexec"
            )),
            (LibraryNeed::SearchPath | LibraryNeed::Preload, None) => Some(format!(
                "{program} needs {LIBRARY_NAME}, and there is none beside this storm (in ../lib), so it will not find \
                 its other ranks; use an installed storm, or name the library's directory in BCS_LIBRARY_DIR"
            )),
            (LibraryNeed::SearchPath | LibraryNeed::Preload | LibraryNeed::None, _) => None,
        }
    }

    fn not_started(&self, rank: Rank, program: &Program, StartError { step, error }: StartError) -> Verdict {
        let (rank, path) = (self.rank_name(rank), program.path.display());
        let code = error.raw_os_error().unwrap_or(0);
        let status = match (step, code) {
            (Step::Execute, libc::ENOENT) => STATUS_NOT_FOUND,
            (Step::Execute, _) => STATUS_NOT_EXECUTABLE,
            (Step::Clone | Step::ChangeDirectory | Step::SetUp, _) => STATUS_USAGE,
        };
        let why = match (step, code) {
            (Step::Clone, libc::EAGAIN) => {
                "no more processes are allowed; raise the limit (ulimit -u, or the pids limit of the container), or ask for fewer ranks with -n".into()
            }
            (Step::Clone, libc::EMFILE | libc::ENFILE) => {
                "no more file descriptors are allowed; raise the limit with ulimit -n".into()
            }
            (Step::Clone, libc::ENOMEM) => "memory is short; ask for fewer ranks with -n".into(),
            (Step::ChangeDirectory, _) => {
                format!("its working directory cannot be entered: {error}; name another with --wdir")
            }
            (Step::Execute, libc::ENOENT) => format!("{path} or its interpreter is not there: {error}"),
            (Step::Execute, libc::ENOEXEC) => format!("{path} is no program for this machine; build it here"),
            (Step::Execute, libc::E2BIG) => {
                "its arguments and environment are too long; put them into a file".into()
            }
            (Step::Execute, _) => format!("{path} cannot be executed: {error}"),
            (Step::Clone | Step::SetUp, _) => format!("its process cannot be set up: {error}"),
        };
        Verdict::NotStarted { message: format!("cannot start {rank}: {why}"), status }
    }
}

/// A descriptor of the same with a number that ranks inherit. A low limit on descriptors may leave none as
/// high as we would like.
fn duplicate(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let duplicated = rustix::io::fcntl_dupfd_cloexec(fd, NIC_FD_AT_LEAST);
    Ok(duplicated.or_else(|_| rustix::io::fcntl_dupfd_cloexec(fd, 3))?)
}

fn plan(program: &Program, application: &Application, variables: &[(OsString, OsString)]) -> Plan {
    use std::os::unix::ffi::OsStringExt;
    let text = |text: &OsString| environment::c_string(text.clone().into_vec());
    let path = environment::c_string(program.path.clone().into_os_string().into_vec());
    let directory = application
        .working_directory
        .as_ref()
        .map(|path| environment::c_string(path.clone().into_os_string().into_vec()));
    let arguments = application.arguments.iter().map(text);
    let environment = variables.iter().map(|(name, value)| environment::entry(name, value)).collect();
    if program.is_shell_text {
        let shell = c"/bin/sh".to_owned();
        let arguments = [shell.clone(), path].into_iter().chain(arguments).collect();
        Plan { path: shell, arguments, environment, directory }
    } else {
        let arguments = std::iter::once(text(&application.program)).chain(arguments).collect();
        Plan { path, arguments, environment, directory }
    }
}
