//! The hosts that a user names: on the command line (`a,b:4,c[00-31]`), or in a file, a host a line (`a
//! slots=4` or `a:4`).
//!
//! What other launchers take is taken. On the command line a host that has no number takes one rank each time
//! it is named, as with `mpiexec`; in a file it takes as many as it has cores.

use bcs_config::host_list;
use bcs_protocol::storm::HostSlots;
use std::net::Ipv6Addr;

/// The hosts of one `--host`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostList(pub Vec<HostSlots>);

/// Reads the value of `--host`.
///
/// # Errors
/// What of it is no host, or no number of ranks.
pub fn list(text: &str) -> Result<HostList, String> {
    let mut hosts = Vec::new();
    for part in host_list::split(text) {
        named(part.trim(), Some(1), &mut hosts)?;
    }
    Ok(HostList(hosts))
}

/// Reads the text of a hostfile. What stands after `#` is a comment, and words that say what we have no use
/// for (`max_slots=8`, `binding=...`) are left alone.
///
/// # Errors
/// The line, and what of it is no host, or no number of ranks.
pub fn file(text: &str) -> Result<Vec<HostSlots>, String> {
    let mut hosts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(host) = words.next() else { continue };
        let at_line = |why: String| format!("line {number}: {why}");
        let first = hosts.len();
        named(host, None, &mut hosts).map_err(at_line)?;
        for value in words.filter_map(|word| word.strip_prefix("slots=")) {
            let slots = slots(host, value).map_err(at_line)?;
            hosts[first..].iter_mut().for_each(|host| host.slots = slots);
        }
    }
    Ok(hosts)
}

/// One part between commas: a host or a bracket of hosts, perhaps with a number of ranks for each.
fn named(part: &str, default: Option<u32>, hosts: &mut Vec<HostSlots>) -> Result<(), String> {
    let address = part.trim_start_matches('[').trim_end_matches(']');
    if address.parse::<Ipv6Addr>().is_ok() {
        hosts.push(HostSlots { host: address.to_owned(), slots: default });
        return Ok(());
    }
    let (name, slots) = match part.rsplit_once(':') {
        Some((name, count)) => (name, slots(name, count)?),
        None => (part, default),
    };
    let expanded = host_list::expand(name).map_err(|error| error.to_string())?;
    hosts.extend(expanded.into_iter().map(|host| HostSlots { host, slots }));
    Ok(())
}

/// A number of ranks; `*` is as many as there are cores.
fn slots(host: &str, text: &str) -> Result<Option<u32>, String> {
    match text {
        "*" => Ok(None),
        _ => text.parse().ok().filter(|slots| *slots > 0).map(Some).ok_or_else(|| {
            format!("\"{text}\" for {host}: give the number of ranks that it takes, such as {host}:4")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hosts: &[HostSlots]) -> String {
        let one = |host: &HostSlots| match host.slots {
            Some(slots) => format!("{}:{slots}", host.host),
            None => host.host.clone(),
        };
        hosts.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn hosts_of_the_command_line_take_a_rank_each_time_they_are_named_or_as_many_as_is_written() {
        for (text, hosts) in [
            ("a,b,a", "a:1 b:1 a:1"),
            ("a:4, b:*", "a:4 b"),
            ("c[08-10,1]:2,login", "c08:2 c09:2 c10:2 c1:2 login:1"),
            ("::1,[::1],10.0.0.7:3", "::1:1 ::1:1 10.0.0.7:3"),
        ] {
            assert_eq!(shown(&list(text).unwrap().0), hosts, "{text}");
        }
        for (text, words) in [
            ("a:0", "such as a:4"),
            ("a:x", "\"x\" for a"),
            ("", "not the name of a host"),
            ("a[1", "brackets"),
        ] {
            assert!(list(text).is_err_and(|why| why.contains(words)), "{text}");
        }
    }

    #[test]
    fn hostfiles_of_other_launchers_are_read() {
        let text = "# the cluster\na slots=4 max_slots=8\n\n  b:2 ifname=ib0   # two\nc[0-1] slots=3\nd\nd\n";
        assert_eq!(shown(&file(text).unwrap()), "a:4 b:2 c0:3 c1:3 d d");
        assert_eq!(file("").unwrap(), []);
        let wrong = file("a\nb slots=many\n").unwrap_err();
        assert!(wrong.contains("line 2") && wrong.contains("\"many\" for b"), "{wrong}");
    }
}
