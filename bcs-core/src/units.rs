//! Quantities as users write them: lengths of time (`500us`), numbers of bytes (`64KiB`), and slices
//! (`elastic`).
//!
//! A length of time without its unit is refused, because nobody can know what it means; a number of bytes
//! without one is bytes. Invariant: what is printed is read back as the same quantity.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not {wanted}: {why}")]
pub struct UnitError {
    /// The text.
    pub text: String,
    /// What was wanted, with an example.
    pub wanted: &'static str,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Reads a decimal number with a unit, exactly: `1.5ms` is 1,500,000 of the smallest unit. A number without a
/// unit is one of `without`.
fn parse(
    text: &str,
    units: &[(&str, u64)],
    without: Option<&str>,
    wanted: &'static str,
) -> Result<u64, UnitError> {
    let fail = |why| UnitError { text: text.to_owned(), wanted, why };
    let trimmed = text.trim();
    let unit_at = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(unit_at);
    let unit = match unit.trim_start() {
        "" if !number.is_empty() => without.ok_or_else(|| fail("it has no unit"))?,
        unit => unit,
    };
    let (_, factor) =
        *units.iter().find(|(name, _)| *name == unit).ok_or_else(|| fail("its unit is unknown"))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') {
        return Err(fail("it does not begin with a number"));
    }
    let whole: u64 = whole.parse().map_err(|_| fail("it is too large"))?;
    let mut total = u128::from(whole) * u128::from(factor);
    let mut scale = 1;
    let mut parts = 0;
    for digit in fraction.bytes() {
        scale *= 10;
        parts = parts * 10 + u128::from(digit - b'0');
        if scale > 1_000_000_000_000 {
            return Err(fail("it has too many decimals"));
        }
    }
    let parts = parts * u128::from(factor);
    if parts % scale != 0 {
        return Err(fail("it is finer than the smallest unit"));
    }
    total += parts / scale;
    u64::try_from(total).map_err(|_| fail("it is too large"))
}

/// Writes a quantity in the largest unit that divides it.
fn write(f: &mut fmt::Formatter<'_>, quantity: u64, units: &[(&str, u64)]) -> fmt::Result {
    let unit =
        units.iter().filter(|(_, factor)| quantity.is_multiple_of(*factor)).max_by_key(|(_, factor)| *factor);
    match unit {
        Some((name, factor)) if quantity > 0 => write!(f, "{}{name}", quantity / factor),
        _ => write!(f, "0{}", units[0].0),
    }
}

/// Serialises a value as its text, and reads it back.
macro_rules! as_text {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text: std::borrow::Cow<'de, str> = serde::Deserialize::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use as_text;

/// A length of time as users write it: `500us`, `2ms`, `1.5s`, `10min`, `24h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(pub Duration);

const TIME_UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl FromStr for TimeSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let nanoseconds = parse(text, &TIME_UNITS, None, "a length of time such as 500us, 2ms or 10min")?;
        Ok(Self(Duration::from_nanos(nanoseconds)))
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // "us" comes before "µs" among units of the same size: names that every terminal can show.
        let units = TIME_UNITS.into_iter().filter(|(name, _)| name.is_ascii()).collect::<Vec<_>>();
        write(f, u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX), &units)
    }
}

as_text!(TimeSpan);

/// A number of bytes as users write it: `64KiB` (1,024 each), `1MB` (1,000,000), `512B` or `512`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(pub u64);

const BYTE_UNITS: [(&str, u64); 10] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

impl FromStr for ByteCount {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wanted = "a number of bytes such as 65536, 64KiB or 1MB";
        parse(text, &BYTE_UNITS, Some(BYTE_UNITS[0].0), wanted).map(Self)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, &BYTE_UNITS)
    }
}

as_text!(ByteCount);

/// How time is cut into slices: `elastic`, or a length (paper, §3; design §4).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
)]
pub enum SliceLength {
    /// A slice begins as soon as something is posted and somebody can run it.
    #[default]
    Elastic,
    /// One slice a period, as in the paper.
    Fixed(Duration),
}

impl SliceLength {
    /// The shortest fixed slice: what a slice's work and a wake-up take on a busy node.
    pub const SHORTEST: Duration = Duration::from_micros(20);
    /// The longest fixed slice.
    pub const LONGEST: Duration = Duration::from_secs(1);
    /// The period in nanoseconds; 0 for elastic slices.
    pub const fn period_ns(self) -> u64 {
        match self {
            Self::Elastic => 0,
            Self::Fixed(period) => period.as_nanos() as u64,
        }
    }
}

impl FromStr for SliceLength {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WANTED: &str = "elastic or a length from 20us to 1s such as 500us";
        let fail = |why| UnitError { text: text.to_owned(), wanted: WANTED, why };
        if text.trim() == "elastic" {
            return Ok(Self::Elastic);
        }
        let TimeSpan(length) =
            text.parse().map_err(|error: UnitError| UnitError { wanted: WANTED, ..error })?;
        match length {
            _ if length < Self::SHORTEST => Err(fail("it is too short")),
            _ if length > Self::LONGEST => Err(fail("it is too long")),
            _ => Ok(Self::Fixed(length)),
        }
    }
}

impl fmt::Display for SliceLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elastic => f.write_str("elastic"),
            Self::Fixed(length) => TimeSpan(*length).fmt(f),
        }
    }
}

as_text!(SliceLength);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(nanoseconds in any::<u64>(), round in 0..7usize) {
            let factor = TIME_UNITS[round].1;
            let span = TimeSpan(Duration::from_nanos(nanoseconds / factor * factor));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
            let bytes = ByteCount(nanoseconds >> (round * 8));
            prop_assert_eq!(bytes.to_string().parse(), Ok(bytes));
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "[0-9.a-zA-Zµ ]{0,30}") {
            let _ = text.parse::<TimeSpan>();
            let _ = text.parse::<ByteCount>();
            let _ = text.parse::<SliceLength>();
        }
    }

    #[test]
    fn quantities_are_read_exactly() {
        assert_eq!("1.5ms".parse(), Ok(TimeSpan(Duration::from_micros(1500))));
        assert_eq!(" 10 min ".parse(), Ok(TimeSpan(Duration::from_secs(600))));
        assert_eq!("0.1ns".parse::<TimeSpan>().unwrap_err().why, "it is finer than the smallest unit");
        assert_eq!("1.5KiB".parse(), Ok(ByteCount(1536)));
        for text in ["64000", "64000B", "64KB", "64 kB", "0.064MB", "62.5KiB"] {
            assert_eq!(text.parse(), Ok(ByteCount(64_000)), "{text}");
        }
        assert_eq!("1.5".parse::<ByteCount>().unwrap_err().why, "it is finer than the smallest unit");
        assert_eq!("".parse::<ByteCount>().unwrap_err().why, "its unit is unknown");
        assert_eq!((ByteCount(65536).to_string(), ByteCount(0).to_string()), ("64KiB".into(), "0B".into()));
        assert_eq!("500us".parse(), Ok(SliceLength::Fixed(Duration::from_micros(500))));
        assert_eq!("elastic".parse(), Ok(SliceLength::Elastic));
    }

    #[test]
    fn a_wrong_quantity_is_refused_with_what_is_wrong_and_an_example() {
        let refused = |text: &str| text.parse::<SliceLength>().unwrap_err().to_string();
        assert_eq!(
            refused("500"),
            "'500' is not elastic or a length from 20us to 1s such as 500us: it has no unit"
        );
        for (text, why) in [
            ("1us", "it is too short"),
            ("2s", "it is too long"),
            ("5 parsecs", "its unit is unknown"),
            ("", "its unit is unknown"),
            ("ms", "it does not begin with a number"),
            ("-5us", "its unit is unknown"),
            ("1.2.3us", "it does not begin with a number"),
            ("99999999999999999999us", "it is too large"),
            ("9999999999999h", "it is too large"),
        ] {
            assert!(refused(text).ends_with(why), "{}", refused(text));
        }
    }
}
