//! What is said of jobs in words, by their launchers and of their hosts.

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
