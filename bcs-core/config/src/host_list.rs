//! Lists of hosts as administrators write them: `login, c[000-031,040], gpu[1-4]`.
//!
//! A bracket holds numbers and ranges; leading zeros give the width. Invariant: the order is the order of
//! writing, which numbers the nodes.

/// The most hosts that one list may name: more is a mistyped range.
pub const MAX_HOSTS: usize = bcs_core::node_set::MAX_NODES as usize;

/// Why a text is not a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostListError {
    /// A part between commas with a bracket that is not closed, not opened, or holds another.
    #[error("the brackets of '{0}' do not match; write as in c[000-031]")]
    Brackets(String),
    /// A bracket with something that is not a number or a range.
    #[error("'{range}' in '{part}' is not a number or a range of them; write as in c[000-031]")]
    Range {
        /// The part between commas.
        part: String,
        /// What is wrong in it.
        range: String,
    },
    /// No host, or one with a character that no host has.
    #[error("'{0}' is not the name of a host")]
    Name(String),
    /// A part between commas that is too many.
    #[error("'{0}' names more than {MAX_HOSTS} hosts")]
    TooMany(String),
}

/// Writes the list out, host by host.
///
/// # Errors
/// The text is not a list of hosts.
pub fn expand(text: &str) -> Result<Vec<String>, HostListError> {
    let mut hosts = Vec::new();
    for part in split(text) {
        expand_part(part.trim(), part.trim(), &mut hosts)?;
    }
    Ok(hosts)
}

/// The parts of a list: what stands between commas that are in no bracket.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.split(move |c: char| {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            _ => {}
        }
        c == ',' && !inside
    })
}

/// Expands the first bracket of `rest` and, for each number, those after it.
fn expand_part(part: &str, rest: &str, hosts: &mut Vec<String>) -> Result<(), HostListError> {
    let brackets = || HostListError::Brackets(part.to_owned());
    let Some((prefix, bracket)) = rest.split_once('[') else {
        if rest.contains(']') {
            return Err(brackets());
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if rest.is_empty() || !rest.chars().all(is_name) {
            return Err(HostListError::Name(rest.to_owned()));
        }
        if hosts.len() >= MAX_HOSTS {
            return Err(HostListError::TooMany(part.to_owned()));
        }
        hosts.push(rest.to_owned());
        return Ok(());
    };
    let (ranges, suffix) = bracket.split_once(']').ok_or_else(brackets)?;
    if ranges.contains('[') || prefix.contains(']') {
        return Err(brackets());
    }
    for range in ranges.split(',') {
        let fail = || HostListError::Range { part: part.to_owned(), range: range.to_owned() };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.trim(), last.trim());
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let (from, to) = (number(first).ok_or_else(fail)?, number(last).ok_or_else(fail)?);
        if to < from {
            return Err(fail());
        }
        let width = first.len();
        for number in from..=to {
            expand_part(part, &format!("{prefix}{number:0width$}{suffix}"), hosts)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_out_in_the_order_of_writing() {
        assert_eq!(
            expand("login, c[08-10,1], r[0-1]n[0-1].site").unwrap(),
            ["login", "c08", "c09", "c10", "c1", "r0n0.site", "r0n1.site", "r1n0.site", "r1n1.site"]
        );
    }

    #[test]
    fn wrong_lists_are_refused_with_the_part_that_is_wrong() {
        let refused = |text: &str| expand(text).unwrap_err();
        assert_eq!(refused("a,c[0-3"), HostListError::Brackets("c[0-3".into()));
        assert_eq!(refused("c0-3]"), HostListError::Brackets("c0-3]".into()));
        assert_eq!(refused("c[[1]]"), HostListError::Brackets("c[[1]]".into()));
        assert_eq!(refused("c[3-1]"), HostListError::Range { part: "c[3-1]".into(), range: "3-1".into() });
        assert_eq!(refused("c[x]"), HostListError::Range { part: "c[x]".into(), range: "x".into() });
        assert_eq!(refused("c[+1]"), HostListError::Range { part: "c[+1]".into(), range: "+1".into() });
        assert_eq!(refused("a,,b"), HostListError::Name(String::new()));
        assert_eq!(refused("a b"), HostListError::Name("a b".into()));
        assert_eq!(refused("c[0-4000000000]"), HostListError::TooMany("c[0-4000000000]".into()));
    }
}
