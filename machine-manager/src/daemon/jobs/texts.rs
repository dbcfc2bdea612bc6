//! What is said of jobs in words, by their launchers and of their hosts: cut to what is kept of it.

use crate::daemon::limits::{REPORT_BYTES, TEXT_BYTES, clip};
use program_launcher::Verdict;
use program_launcher::verdict::RankName;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A number by which a remark is known again.
pub fn number_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What a launcher says of a failure is kept until its job is over.
pub fn clip_texts(verdict: &mut Verdict) {
    let of_rank = |rank: &mut RankName| {
        clip(&mut rank.host, TEXT_BYTES);
        if let Some(program) = &mut rank.program {
            clip(program, TEXT_BYTES);
        }
    };
    match verdict {
        Verdict::Success | Verdict::Interrupted { .. } => {}
        Verdict::RankFailed { rank, .. } | Verdict::NotFinalized(rank) => of_rank(rank),
        Verdict::Aborted { rank, message, .. } => {
            of_rank(rank);
            clip(message, TEXT_BYTES);
        }
        Verdict::Stuck(report) | Verdict::TimedOut { report, .. } => clip(report, REPORT_BYTES),
        Verdict::NotStarted { message, .. } => clip(message, TEXT_BYTES),
        Verdict::NodeLost { host, seen_from, reason } => {
            [host, seen_from, reason].into_iter().for_each(|text| clip(text, TEXT_BYTES));
        }
        Verdict::LauncherLost { host, .. } => clip(host, TEXT_BYTES),
    }
}

/// "host c03", "hosts c03, c04"; of many only the first.
pub fn hosts_text(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match (names.len(), more) {
        (1, _) => format!("host {shown}"),
        (_, 0) => format!("hosts {shown}"),
        _ => format!("hosts {shown} and {more} more"),
    }
}
