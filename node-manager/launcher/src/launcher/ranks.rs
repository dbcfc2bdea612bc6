//! The processes of the ranks: what their ends mean, and signals to them.

use super::Launcher;
use super::ended::Ended;
use crate::lifecycle::Event;
use crate::output::{self, standard};
use crate::signals::Signal;
use crate::verdict::{Exit, RankName, Verdict};
use bcs_core::Rank;
use nic_emu::nic_thread::Finding;

impl Launcher<'_> {
    pub(super) fn rank_name(&self, rank: Rank) -> RankName {
        let job = self.prepared.job;
        let program = (job.applications.len() > 1)
            .then(|| job.application_of(rank))
            .flatten()
            .map(|application| application.program.to_string_lossy().into_owned());
        RankName { rank: rank.0, host: self.prepared.host().to_owned(), program }
    }

    pub(super) fn rank_ended(&mut self, local_index: u32) {
        let Some(entry) = self.ranks.get_mut(local_index as usize).filter(|entry| entry.is_live) else {
            return;
        };
        let Some(ended) = Ended::look(entry.pid) else { return };
        entry.is_live = false;
        let rank = entry.rank;
        self.watch.remove(&entry.pidfd);
        let verdict = self.judge(rank, ended.exit());
        // First nobody reads or writes memory by its number any more, then another process may have it.
        self.nic.host.rank_exited(rank);
        ended.reap();
        self.act(Event::Departed(verdict));
    }

    /// What the end of a rank means for its job.
    fn judge(&self, ended: Rank, exit: Exit) -> Verdict {
        // Ranks that wait leave when one aborts or the NIC ends the job, and may be gone before who found it
        // is.
        match self.nic.host.finding() {
            // A consequence, for which no rank leaves.
            None | Some(Finding::Unreachable { .. } | Finding::RankGone(_)) => {}
            Some(finding) => return Verdict::Stuck(finding.to_string()),
        }
        if let Some((rank, code, message)) = self.nic.abort() {
            return Verdict::Aborted { rank: self.rank_name(rank), code, message };
        }
        match exit {
            // Who ends MPI on another node waits for this rank, too.
            Exit::Code(0)
                if (self.lifecycle.live() > 1 || self.prepared.spans_nodes())
                    && self.nic.is_in_mpi(ended) =>
            {
                Verdict::NotFinalized(self.rank_name(ended))
            }
            Exit::Code(0) => Verdict::Success,
            exit => {
                let output_gone = matches!(exit, Exit::Signal { signal: libc::SIGPIPE, .. })
                    && (output::is_broken(standard(1)) || output::is_broken(standard(2)));
                Verdict::RankFailed { rank: self.rank_name(ended), exit, output_gone }
            }
        }
    }

    /// Reaps what was left to us by ranks' children. A rank's own end stays for its pidfd to tell,
    /// so that ranks are judged in the order in which they ended.
    pub(super) fn reap_orphans(&mut self) {
        while let Some(ended) = Ended::any() {
            if self.ranks.iter().any(|entry| entry.is_live && entry.pid == ended.pid()) {
                return;
            }
            ended.reap();
        }
    }

    /// Sends a signal to every live rank and its process group. A live rank has not been reaped, so
    /// its number is nobody else's.
    pub(super) fn signal_ranks(&self, signal: Signal) {
        for entry in self.ranks.iter().filter(|entry| entry.is_live) {
            let pid = entry.pid.as_raw_pid();
            // SAFETY: kill touches no memory of ours.
            unsafe {
                if libc::kill(-pid, signal) != 0 {
                    libc::kill(pid, signal);
                }
            }
        }
    }
}
