//! What the values of options mean. Each function reads one, and says in a few words what it wants if
//! it cannot.

use bcs_core::units::UnitError;
use bcs_core::{ByteCount, Rank, SliceLength, TransportChoice};
use bcs_protocol::storm::LONGEST_TIMEOUT;
use bcs_protocol::storm::Mapping;
use nic_emu::arith::Arithmetic;
use program_launcher::StdinTo;
use std::ffi::OsString;
use std::time::Duration;

/// The most ranks of a job: its description has to fit into a message.
pub const MOST_RANKS: u32 = 1 << 20;

/// A number of ranks.
pub fn ranks(text: &str) -> Result<u32, String> {
    match text.parse::<i128>() {
        Ok(ranks) if ranks < 1 => Err("a program has at least 1 rank".into()),
        Ok(ranks) => u32::try_from(ranks)
            .ok()
            .filter(|ranks| *ranks <= MOST_RANKS)
            .ok_or_else(|| format!("a job has at most {MOST_RANKS} ranks")),
        Err(_) => Err("give a number of ranks, such as 4".into()),
    }
}

/// A number of ranks on each node, or of nodes.
pub fn count(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "give a number from 1, such as 2".into())
}

/// How ranks are dealt to nodes, as `--map-by` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapBy {
    /// In which order.
    pub mapping: Mapping,
    /// How many at most on each node (`ppr:N:node`).
    pub ranks_per_node: Option<u32>,
}

/// How ranks are dealt to nodes: ours, and what of other launchers' words means the same here. What follows a
/// word after ":" is about cores (`PE=2`) or allows what needs no permission (`OVERSUBSCRIBE`).
pub fn map_by(text: &str) -> Result<MapBy, String> {
    let wanted = || "say slot, node, or ppr:N:node for N ranks on each node".to_owned();
    let lower = text.to_ascii_lowercase();
    let mut parts = lower.split(':');
    let by = |mapping| Ok(MapBy { mapping, ranks_per_node: None });
    match parts.next().unwrap_or_default() {
        "" if lower.starts_with(':') => by(Mapping::Slot),
        "slot" | "hwthread" | "core" | "l1cache" | "l2cache" | "l3cache" | "numa" | "socket" | "package"
        | "board" => by(Mapping::Slot),
        "node" | "host" => by(Mapping::Node),
        "ppr" => match (parts.next().map(count), parts.next()) {
            (Some(Ok(ranks)), Some("node" | "host")) => {
                Ok(MapBy { mapping: Mapping::Slot, ranks_per_node: Some(ranks) })
            }
            _ => Err(wanted()),
        },
        _ => Err(wanted()),
    }
}

/// Who reads the standard input.
pub fn stdin(text: &str) -> Result<StdinTo, String> {
    match text {
        "all" => Ok(StdinTo::All),
        "none" => Ok(StdinTo::None),
        rank => rank
            .parse()
            .map(|rank| StdinTo::Rank(Rank(rank)))
            .map_err(|_| "give the number of a rank, all or none".into()),
    }
}

/// The number of a job.
pub fn job(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "give the number of a job, as \"storm nodes\" shows it".into())
}

/// A time limit in seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST_TIMEOUT.as_secs_f64() => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!(
            "give a number of seconds above 0, such as 90 or 0.5, and of at most {}",
            LONGEST_TIMEOUT.as_secs()
        )),
    }
}

/// How time slices are cut.
pub fn slice(text: &str) -> Result<SliceLength, String> {
    // The option and the value are named around what we say.
    text.parse().map_err(|error: UnitError| format!("{}; give {}", error.why, error.wanted))
}

/// What carries messages between nodes.
pub fn network(text: &str) -> Result<TransportChoice, String> {
    text.parse().map_err(|_| format!("give {}", bcs_core::transport::WANTED))
}

/// A number of bytes.
pub fn bytes(text: &str) -> Result<ByteCount, String> {
    text.parse().map_err(|error: UnitError| format!("{}; give {}", error.why, error.wanted))
}

/// A core of the nodes that the job runs on, which look whether they have it.
pub fn core(text: &str) -> Result<usize, String> {
    let highest = libc::CPU_SETSIZE - 1;
    text.parse().ok().filter(|core| *core <= highest as usize).ok_or_else(|| {
        format!("give the number of a core that this job may use on its nodes, from 0 to {highest} at most")
    })
}

/// What computes reductions.
pub fn arithmetic(text: &str) -> Result<Arithmetic, String> {
    match text {
        "native" => Ok(Arithmetic::Native),
        "softfloat" => Ok(Arithmetic::SoftFloat),
        _ => Err("say native or softfloat".into()),
    }
}

/// Whether the kernel may copy messages from process to process.
pub fn cross_memory(text: &str) -> Result<bool, String> {
    match text {
        "auto" => Ok(true),
        "off" => Ok(false),
        _ => Err("say auto or off".into()),
    }
}

/// A variable with its value.
pub fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("give a variable as NAME=VALUE".into()),
    }
}

/// A variable with its value, or the name of one that is passed on anyway.
pub fn exported(text: &str) -> Result<Option<(OsString, OsString)>, String> {
    match text.split_once('=') {
        Some(_) => variable(text).map(Some),
        None if text.is_empty() => Err("give a variable as NAME or NAME=VALUE".into()),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slice_lengths_are_refused_in_words_that_help() {
        assert_eq!(slice("elastic"), Ok(SliceLength::Elastic));
        assert_eq!(slice("500us"), Ok(SliceLength::Fixed(Duration::from_micros(500))));
        for bad in ["", "500", "us", "-1ms", "0us", "2s", "1e99s", "500 parsecs"] {
            assert!(
                slice(bad).is_err_and(|words| words.contains("500us") && !words.contains("invalid")),
                "{bad}"
            );
        }
    }

    #[test]
    fn ranks_have_bounds() {
        assert_eq!(ranks("512"), Ok(512));
        for bad in ["0", "-1", "99999999", "340282366920938463463374607431768211455", "four", ""] {
            assert!(ranks(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_of_other_launchers_for_the_mapping_are_understood() {
        let by = |mapping, ranks_per_node| Ok(MapBy { mapping, ranks_per_node });
        for word in ["slot", "core", "socket:PE=2", "slot:OVERSUBSCRIBE", ":OVERSUBSCRIBE", "NUMA"] {
            assert_eq!(map_by(word), by(Mapping::Slot, None), "{word}");
        }
        assert_eq!(map_by("node"), by(Mapping::Node, None));
        assert_eq!(map_by("ppr:3:node"), by(Mapping::Slot, Some(3)));
        for bad in ["", "ppr", "ppr:0:node", "ppr:2:socket", "seq", "rankfile:FILE=x"] {
            assert!(map_by(bad).is_err_and(|why| why.contains("ppr:N:node")), "{bad}");
        }
    }

    #[test]
    fn a_core_may_be_one_that_only_other_hosts_have() {
        assert_eq!((core("0"), core("1023")), (Ok(0), Ok(1023)));
        for bad in ["-1", "1024", "first", ""] {
            assert!(core(bad).is_err_and(|why| why.contains("number of a core")), "{bad}");
        }
    }

    #[test]
    fn times_are_positive_numbers() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["0", "-1", "inf", "NaN", "1e30", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_of_variables_may_hold_anything() {
        assert_eq!(variable("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert_eq!(variable("A="), Ok(("A".into(), "".into())));
        assert!(variable("A").is_err() && variable("=b").is_err());
        assert_eq!(exported("A"), Ok(None));
    }
}
