//! What to record: the environment variables of MDS, which `storm run` sets from its options.
//!
//! | variable | value | default |
//! |---|---|---|
//! | `BCS_MMDS` | `0` or `off`; `1`, `on` or `all`; or ranks, `2,4-7` (`0-0` and `1-1` are ranks 0 and 1 alone) | off |
//! | `BCS_MMDS_LATENCY` | primitives with a latency distribution: `MPI_Send,MPI_Recv`, `all` or `none` | none |
//! | `BCS_MMDS_SIZE` | primitives with a size distribution, likewise | none |
//! | `BCS_MMDS_LATENCY_DIGITS` | significant digits of latency and granularity distributions, 1 to 4 | 2 |
//! | `BCS_MMDS_SIZE_DIGITS` | significant digits of size distributions, 1 to 4 | 2 |
//! | `BCS_EMDS` | `0` or `off`; `1` or `on` (slices 1:10000); slices `first:last` or `first:last:step` | off |
//! | `BCS_EMDS_NODES` | `all`, or nodes of the job: `0,2-3` | all |
//! | `BCS_EMDS_METRICS` | `all`, or names of tables 5.1 and 5.2: `GETTS,LTDEM` | all |
//! | `BCS_TRACE_DIR` | directory of the trace files | `bcs-trace` |
//!
//! An empty variable is an unset one. MMDS and EMDS are independent of each other (paper, §5).

use crate::emds::{Metric, MetricSet};
use crate::mmds::{Primitive, Resolution};
use bcs_core::{Rank, SliceIndex};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Where traces go when `BCS_TRACE_DIR` is not set, relative to the job's working directory.
pub const DEFAULT_TRACE_DIR: &str = "bcs-trace";

/// Slices that EMDS records when none are named: the paper's ten thousand (§5.2.1).
pub const DEFAULT_SLICES: u64 = 10_000;

/// Records that one ring may hold: about 1 GB of NIC memory, touched only as slices are recorded.
pub const MAX_SLICES: u64 = 10_000_000;

/// A variable of MDS with a value that is not one of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?}: {reason}; accepted: {accepted}")]
pub struct ConfigError {
    /// The variable's name.
    pub variable: &'static str,
    /// The value it has.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
    /// The form that the variable accepts.
    pub accepted: &'static str,
}

/// What MDS records in a run. Absent parts are off, and cost nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdsConfig {
    /// MMDS, or `None` if it is off.
    pub mmds: Option<MmdsConfig>,
    /// EMDS, or `None` if it is off.
    pub emds: Option<EmdsConfig>,
    /// Where the files go.
    pub trace_dir: PathBuf,
}

/// What MMDS records (paper, §5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MmdsConfig {
    /// The ranks that record.
    pub ranks: Selection,
    /// Primitives with a latency distribution.
    pub latency: BTreeSet<Primitive>,
    /// Primitives with a size distribution.
    pub size: BTreeSet<Primitive>,
    /// Resolution of distributions of time.
    pub latency_resolution: Resolution,
    /// Resolution of distributions of sizes.
    pub size_resolution: Resolution,
}

impl Default for MmdsConfig {
    fn default() -> Self {
        Self {
            ranks: Selection::All,
            latency: BTreeSet::new(),
            size: BTreeSet::new(),
            latency_resolution: Resolution::DEFAULT,
            size_resolution: Resolution::DEFAULT,
        }
    }
}

/// What EMDS records (paper, §5.2).
#[derive(Clone, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct EmdsConfig {
    /// The slices that are recorded.
    pub slices: SliceRange,
    /// The nodes (numbered within the job) that record.
    pub nodes: Selection,
    /// The metrics that are recorded.
    pub metrics: MetricSet,
}

impl Default for EmdsConfig {
    fn default() -> Self {
        Self { slices: SliceRange::default(), nodes: Selection::All, metrics: MetricSet::ALL }
    }
}

/// Every `step`-th slice from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct SliceRange {
    /// The first slice that is recorded.
    pub first: SliceIndex,
    /// The last slice that may be recorded; not before `first`.
    pub last: SliceIndex,
    /// Distance of recorded slices, at least 1.
    pub step: u64,
}

impl Default for SliceRange {
    fn default() -> Self {
        Self { first: SliceIndex(1), last: SliceIndex(DEFAULT_SLICES), step: 1 }
    }
}

impl SliceRange {
    /// How many slices it selects.
    pub const fn count(&self) -> u64 {
        ((self.last.0 - self.first.0) / self.step).saturating_add(1)
    }
}

/// Ranks or nodes, by number.
#[derive(Clone, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub enum Selection {
    /// Every one.
    All,
    /// Those in one of the ranges.
    Ranges(Vec<RangeInclusive<u32>>),
}

impl Selection {
    /// Whether `number` is selected.
    pub fn contains(&self, number: u32) -> bool {
        match self {
            Self::All => true,
            Self::Ranges(ranges) => ranges.iter().any(|r| r.contains(&number)),
        }
    }

    /// The numbers of a list such as `0,2-5`.
    ///
    /// # Errors
    /// What is wrong with the list, in words.
    pub fn parse(list: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| format!("{text:?} is not a number"));
        let range = |item: &str| match item.split_once('-') {
            None => number(item).map(|n| n..=n),
            Some((low, high)) => {
                let range = number(low)?..=number(high)?;
                if range.is_empty() { Err(format!("{item} ends before it begins")) } else { Ok(range) }
            }
        };
        list.split(',').map(|item| range(item.trim())).collect::<Result<_, _>>().map(Self::Ranges)
    }
}

const SWITCH_OR_RANKS: &str =
    "0 or off, 1 or on or all, or a list of ranks such as 2,4-7 (0-0 for rank 0 alone)";
const PRIMITIVES: &str = "a list of MPI calls such as MPI_Send,MPI_Recv, or all, or none";
const DIGITS: &str = "1, 2, 3 or 4 significant digits";
const SLICES: &str =
    "0 or off, 1 or on (slices 1:10000), or first:last or first:last:step, slices counted from 1";
const NODES: &str = "all, or a list of the job's nodes such as 0,2-3";
const METRICS: &str = "all, or a list of metrics such as GETTS,LTDEM";

impl MdsConfig {
    /// The configuration of this process's environment.
    ///
    /// # Errors
    /// A variable that does not have its accepted form; the error names it, its value and the form.
    pub fn from_env() -> Result<Self, ConfigError> {
        let get = std::env::var_os;
        let mut config = Self::from_lookup(|name| get(name).map(|v| v.to_string_lossy().into_owned()))?;
        // A path need not be text.
        if let Some(dir) = get("BCS_TRACE_DIR").filter(|dir| !dir.is_empty()) {
            config.trace_dir = dir.into();
        }
        Ok(config)
    }

    /// The configuration that `lookup` gives by variable, as [`from_env`](Self::from_env); for launchers,
    /// which check their options before they start anything.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    pub fn from_lookup(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, ConfigError> {
        let get =
            |variable| Variable { variable, value: lookup(variable).unwrap_or_default().trim().to_owned() };
        let mmds = match get("BCS_MMDS").switch_or_ranks()? {
            None => None,
            Some(ranks) => Some(MmdsConfig {
                ranks,
                latency: get("BCS_MMDS_LATENCY").primitives()?,
                size: get("BCS_MMDS_SIZE").primitives()?,
                latency_resolution: get("BCS_MMDS_LATENCY_DIGITS").digits()?,
                size_resolution: get("BCS_MMDS_SIZE_DIGITS").digits()?,
            }),
        };
        let emds = match get("BCS_EMDS").slices()? {
            None => None,
            Some(slices) => Some(EmdsConfig {
                slices,
                nodes: get("BCS_EMDS_NODES").nodes()?,
                metrics: get("BCS_EMDS_METRICS").metrics()?,
            }),
        };
        let dir = lookup("BCS_TRACE_DIR").filter(|dir| !dir.is_empty());
        let trace_dir = dir.map_or_else(|| DEFAULT_TRACE_DIR.into(), PathBuf::from);
        Ok(Self { mmds, emds, trace_dir })
    }

    /// What MMDS records in the process of `rank`, or `None` if nothing.
    pub fn mmds_of(&self, rank: Rank) -> Option<&MmdsConfig> {
        self.mmds.as_ref().filter(|m| m.ranks.contains(rank.0))
    }
}

struct Variable {
    variable: &'static str,
    value: String,
}

impl Variable {
    fn error(&self, reason: impl Into<String>, accepted: &'static str) -> ConfigError {
        ConfigError { variable: self.variable, value: self.value.clone(), reason: reason.into(), accepted }
    }

    fn is(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.value.eq_ignore_ascii_case(w))
    }

    fn items(&self) -> impl Iterator<Item = &str> {
        self.value.split(',').map(str::trim)
    }

    fn switch_or_ranks(&self) -> Result<Option<Selection>, ConfigError> {
        if self.is(&["", "0", "off"]) {
            Ok(None)
        } else if self.is(&["1", "on", "all"]) {
            Ok(Some(Selection::All))
        } else {
            self.ranges(SWITCH_OR_RANKS).map(Some)
        }
    }

    fn nodes(&self) -> Result<Selection, ConfigError> {
        if self.is(&["", "all"]) { Ok(Selection::All) } else { self.ranges(NODES) }
    }

    fn ranges(&self, accepted: &'static str) -> Result<Selection, ConfigError> {
        Selection::parse(&self.value).map_err(|reason| self.error(reason, accepted))
    }

    fn primitives(&self) -> Result<BTreeSet<Primitive>, ConfigError> {
        if self.is(&["", "none"]) {
            return Ok(BTreeSet::new());
        }
        if self.is(&["all"]) {
            return Ok(Primitive::ALL.iter().copied().collect());
        }
        let find = |name: &str| {
            Primitive::from_name(name)
                .ok_or_else(|| self.error(format!("{name:?} is not a call that MMDS records"), PRIMITIVES))
        };
        self.items().map(find).collect()
    }

    fn digits(&self) -> Result<Resolution, ConfigError> {
        if self.value.is_empty() {
            return Ok(Resolution::DEFAULT);
        }
        let digits = self.value.parse().ok().and_then(Resolution::new);
        digits.ok_or_else(|| self.error("not a number of digits", DIGITS))
    }

    fn slices(&self) -> Result<Option<SliceRange>, ConfigError> {
        if self.is(&["", "0", "off"]) {
            return Ok(None);
        }
        if self.is(&["1", "on"]) {
            return Ok(Some(SliceRange::default()));
        }
        let number = |text: &str| {
            text.trim()
                .parse::<u64>()
                .map_err(|_| self.error(format!("{text:?} is not a slice number"), SLICES))
        };
        let parts: Vec<&str> = self.value.split(':').collect();
        let (first, last, step) = match parts[..] {
            [first, last] => (number(first)?, number(last)?, 1),
            [first, last, step] => (number(first)?, number(last)?, number(step)?),
            _ => return Err(self.error("not a range of slices", SLICES)),
        };
        if first == 0 || last < first {
            return Err(self.error("the range is empty or begins before slice 1", SLICES));
        }
        if step == 0 {
            return Err(self.error("a step of 0 never reaches the last slice", SLICES));
        }
        let range = SliceRange { first: SliceIndex(first), last: SliceIndex(last), step };
        if range.count() > MAX_SLICES {
            let reason = format!("{} slices are more than the {MAX_SLICES} that are kept", range.count());
            return Err(self.error(reason, "a shorter range, or first:last:step with a larger step"));
        }
        Ok(Some(range))
    }

    fn metrics(&self) -> Result<MetricSet, ConfigError> {
        if self.is(&["", "all"]) {
            return Ok(MetricSet::ALL);
        }
        let find = |name: &str| {
            Metric::from_name(name)
                .ok_or_else(|| self.error(format!("{name:?} is not a metric of table 5.1 or 5.2"), METRICS))
        };
        self.items().map(find).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[(&'static str, &str)]) -> Result<MdsConfig, ConfigError> {
        MdsConfig::from_lookup(|name| variables.iter().find(|v| v.0 == name).map(|v| v.1.to_owned()))
    }

    #[test]
    fn nothing_is_recorded_unless_asked_for() {
        for off in [None, Some(""), Some("0"), Some("off"), Some("OFF")] {
            let vars: Vec<_> = off.iter().flat_map(|v| [("BCS_MMDS", *v), ("BCS_EMDS", *v)]).collect();
            let config = parse(&vars).unwrap();
            assert_eq!((config.mmds, config.emds), (None, None), "{off:?}");
            assert_eq!(config.trace_dir, PathBuf::from(DEFAULT_TRACE_DIR));
        }
    }

    #[test]
    fn mmds_and_emds_are_switched_apart() {
        let config = parse(&[("BCS_MMDS", "1"), ("BCS_TRACE_DIR", "/x")]).unwrap();
        assert_eq!(config.mmds, Some(MmdsConfig::default()));
        assert_eq!(config.emds, None);
        assert_eq!(config.trace_dir, PathBuf::from("/x"));
        let config = parse(&[("BCS_EMDS", "on")]).unwrap();
        assert_eq!(config.emds, Some(EmdsConfig::default()));
        assert_eq!(config.mmds, None);
    }

    #[test]
    fn ranks_nodes_slices_metrics_and_resolution_are_selected() {
        let config = parse(&[
            ("BCS_MMDS", "2, 4-6"),
            ("BCS_MMDS_LATENCY", "MPI_Send,pmpi_recv"),
            ("BCS_MMDS_SIZE", "all"),
            ("BCS_MMDS_LATENCY_DIGITS", "3"),
            ("BCS_EMDS", "7500:12500:5"),
            ("BCS_EMDS_NODES", "0-1"),
            ("BCS_EMDS_METRICS", "getts,LTDEM"),
        ])
        .unwrap();
        let recording: Vec<_> = (0..9).filter(|&r| config.mmds_of(Rank(r)).is_some()).collect();
        assert_eq!(recording, [2, 4, 5, 6]);
        let mmds = config.mmds.as_ref().unwrap();
        assert!(mmds.latency.contains(&Primitive::Send) && mmds.latency.contains(&Primitive::Recv));
        assert!(!mmds.latency.contains(&Primitive::Isend) && mmds.size.contains(&Primitive::Isend));
        assert_eq!((mmds.latency_resolution.digits(), mmds.size_resolution.digits()), (3, 2));
        let emds = config.emds.as_ref().unwrap();
        assert!(emds.nodes.contains(1) && !emds.nodes.contains(2));
        assert_eq!(emds.slices, SliceRange { first: SliceIndex(7500), last: SliceIndex(12500), step: 5 });
        assert_eq!(emds.slices.count(), 1001);
        assert_eq!(emds.metrics.iter().collect::<Vec<_>>(), [Metric::Ltdem, Metric::Getts]);
    }

    #[test]
    fn a_wrong_value_is_refused_with_variable_value_and_accepted_form() {
        let wrong = [
            ("BCS_MMDS", "yes", "a list of ranks"),
            ("BCS_MMDS", "5-2", "ends before it begins"),
            ("BCS_MMDS", "1,,2", "not a number"),
            ("BCS_MMDS", "-1", "not a number"),
            ("BCS_MMDS_LATENCY", "MPI_Sned", "MPI_Sned"),
            ("BCS_MMDS_LATENCY_DIGITS", "5", "1, 2, 3 or 4"),
            ("BCS_MMDS_SIZE_DIGITS", "two", "1, 2, 3 or 4"),
            ("BCS_EMDS", "10:5", "first:last"),
            ("BCS_EMDS", "0:5", "first:last"),
            ("BCS_EMDS", "1:5:0", "step"),
            ("BCS_EMDS", "1:2:3:4", "first:last"),
            ("BCS_EMDS", "17", "first:last"),
            ("BCS_EMDS", "1:99999999999", "larger step"),
            ("BCS_EMDS", "1:18446744073709551616", "not a slice number"),
            ("BCS_EMDS_NODES", "zero", "all, or a list"),
            ("BCS_EMDS_METRICS", "GETTS,LTFOO", "LTFOO"),
        ];
        for (variable, value, says) in wrong {
            let mut vars = vec![(variable, value)];
            vars.extend([("BCS_MMDS", "1"), ("BCS_EMDS", "1")].iter().filter(|v| v.0 != variable));
            let message = parse(&vars).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{variable}={value:?}: ")), "{message}");
            assert!(message.contains(says) && message.contains("accepted: "), "{message}");
        }
    }
}
