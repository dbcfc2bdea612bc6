//! What is said of jobs in words, by their launchers and of their hosts.

use super::part::{Part, Step};
use super::phase::{PREPARE_LIMIT, Phase};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A number by which a remark is known again.
pub fn number_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
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

/// Why a job in this phase was not started in time: who is not ready, and in which step.
pub fn why_not_started(phase: Phase, parts: &[Part]) -> String {
    let limit = PREPARE_LIMIT.as_secs();
    // The others wait for those that are behind.
    let behind = parts.iter().map(|part| part.step).min().filter(|step| *step < Step::Prepared);
    let what = match (phase, behind) {
        (Phase::Queued, _) => "too many other jobs were being launched".into(),
        (Phase::Minting, _) => "the keys of its network were not made".into(),
        (Phase::Ready, _) => "its nodes had not taken what they were sent before".into(),
        (_, None) => "all nodes were prepared, but the control network had not started it".into(),
        (_, Some(step)) => {
            let late = parts.iter().filter(|part| part.step == step);
            let names: Vec<String> = late.map(|part| part.name.clone()).collect();
            format!("{} {}", hosts_text(&names), step.missing())
        }
    };
    format!("the job was not started, because after {limit} s {what}")
}
