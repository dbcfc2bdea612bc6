//! Slices as users ask for them: `--slice elastic` or `--slice 500us` (design §4, "Slices").

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How slices follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlicePolicy {
    /// A slice starts as soon as something is posted and somebody can run it.
    #[default]
    Elastic,
    /// One slice a period, the paper's mode: what is posted in one is scheduled in the next, and ranks resume at the
    /// start of the one after.
    Fixed(Duration),
}

/// A slice length that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid slice '{text}': {why}; give 'elastic', or a length from 20us to 1s such as 500us or 2ms")]
pub struct SliceError {
    text: String,
    why: &'static str,
}

impl SlicePolicy {
    /// The shortest fixed slice: what a slice's work and a wake-up take on a busy node.
    pub const SHORTEST: Duration = Duration::from_micros(20);
    /// The longest fixed slice.
    pub const LONGEST: Duration = Duration::from_secs(1);

    /// The period in nanoseconds; 0 for elastic slices.
    pub const fn period_ns(self) -> u64 {
        match self {
            SlicePolicy::Elastic => 0,
            SlicePolicy::Fixed(period) => period.as_nanos() as u64,
        }
    }
}

impl FromStr for SlicePolicy {
    type Err = SliceError;

    fn from_str(text: &str) -> Result<Self, SliceError> {
        let fail = |why| SliceError { text: text.to_owned(), why };
        if text == "elastic" {
            return Ok(SlicePolicy::Elastic);
        }
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let number: f64 = number.parse().map_err(|_| fail("it does not begin with a number"))?;
        let unit = match unit {
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "" => return Err(fail("it has no unit")),
            _ => return Err(fail("its unit is none of us, ms, s")),
        };
        let period = Duration::try_from_secs_f64(number * unit).map_err(|_| fail("it is out of range"))?;
        if period < Self::SHORTEST {
            return Err(fail("it is too short"));
        }
        if period > Self::LONGEST {
            return Err(fail("it is too long"));
        }
        Ok(SlicePolicy::Fixed(period))
    }
}

impl fmt::Display for SlicePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlicePolicy::Elastic => f.write_str("elastic"),
            SlicePolicy::Fixed(period) => write!(f, "{}us", period.as_nanos() as f64 / 1e3),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn slices_are_elastic_or_have_a_length_with_a_unit() {
        assert_eq!("elastic".parse(), Ok(SlicePolicy::Elastic));
        assert_eq!("500us".parse(), Ok(SlicePolicy::Fixed(Duration::from_micros(500))));
        assert_eq!("0.25ms".parse(), Ok(SlicePolicy::Fixed(Duration::from_micros(250))));
        assert_eq!("1s".parse(), Ok(SlicePolicy::Fixed(Duration::from_secs(1))));
        assert_eq!(SlicePolicy::Fixed(Duration::from_micros(500)).to_string(), "500us");
    }

    #[test]
    fn an_impossible_slice_is_refused_with_what_to_do() {
        for wrong in ["", "500", "us", "1us", "2s", "-5us", "500 us", "1e400s", "fast"] {
            let error = wrong.parse::<SlicePolicy>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}'")) && error.contains("500us"), "{error}");
        }
    }
}
