//! The bounds of a type: size, lower and upper bound, true bounds (MPI-5.0, §5.1.6 to §5.1.8).
//!
//! Bounds that MPI_Type_create_resized (or an array constructor) has set are markers: where a type has them,
//! anywhere in it, they alone make its bounds. Elsewhere they enclose the components with their padding, as
//! those of MPICH and Open MPI do, and the upper bound is rounded up so that the extent is a multiple of the
//! strictest alignment in it. All arithmetic is checked.

use super::placement::{Placement, TooLarge, product, sum};

/// The bounds of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of data.
    pub size: i64,
    /// Basic elements.
    pub basics: i64,
    /// First byte of data and the byte after the last; none without data.
    pub data: Option<(i64, i64)>,
    /// What its components reach over, by their own lower and upper bounds; none without data. Less than
    /// `data` where those were set so.
    pub reach: Option<(i64, i64)>,
    /// Lower and upper bound that were set.
    pub markers: Option<(i64, i64)>,
    /// The strictest alignment of its basic elements.
    pub align: i64,
}

impl Bounds {
    /// Those of a type without anything.
    pub const EMPTY: Self = Self { size: 0, basics: 0, data: None, reach: None, markers: None, align: 1 };

    /// Lower and upper bound.
    ///
    /// # Errors
    /// The extent, or the upper bound with its padding, does not fit.
    pub fn checked(&self) -> Result<(i64, i64), TooLarge> {
        let (lb, ub) = match (self.markers, self.reach) {
            (Some(markers), _) => markers,
            (None, None) => (0, 0),
            (None, Some((lb, end))) => {
                let extent = end.checked_sub(lb).ok_or(TooLarge)?;
                let padding = (self.align - extent % self.align) % self.align;
                (lb, sum(end, padding)?)
            }
        };
        ub.checked_sub(lb).ok_or(TooLarge)?;
        Ok((lb, ub))
    }

    /// Those of a component of other types: what it reaches over is padded.
    ///
    /// # Errors
    /// As [`Self::checked`].
    pub fn padded(self) -> Result<Self, TooLarge> {
        let bounds = self.checked()?;
        Ok(Self { reach: self.reach.map(|_| bounds), ..self })
    }

    fn moved(pair: (i64, i64), by: i64) -> Result<(i64, i64), TooLarge> {
        Ok((sum(pair.0, by)?, sum(pair.1, by)?))
    }

    fn united(one: Option<(i64, i64)>, other: Option<(i64, i64)>) -> Option<(i64, i64)> {
        match (one, other) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        }
    }
}

impl Placement for Bounds {
    type Series = Option<Bounds>;

    fn repeated(self, count: i64, stride: i64) -> Result<Self, TooLarge> {
        if count == 0 {
            return Ok(Self::EMPTY);
        }
        let way = if self.data.is_none() && self.markers.is_none() { 0 } else { product(stride, count - 1)? };
        let spread = |pair: Option<(i64, i64)>| -> Result<Option<(i64, i64)>, TooLarge> {
            let moved = pair.map(|pair| Self::moved(pair, way)).transpose()?;
            Ok(Self::united(pair, moved))
        };
        Ok(Self {
            size: product(self.size, count)?,
            basics: product(self.basics, count)?,
            data: spread(self.data)?,
            reach: spread(self.reach)?,
            markers: spread(self.markers)?,
            align: self.align,
        })
    }

    fn shifted(self, by: i64) -> Result<Self, TooLarge> {
        let shift = |pair: Option<(i64, i64)>| pair.map(|pair| Self::moved(pair, by)).transpose();
        let (data, reach, markers) = (shift(self.data)?, shift(self.reach)?, shift(self.markers)?);
        Ok(Self { data, reach, markers, ..self })
    }

    fn bounded(self, lb: i64, ub: i64) -> Self {
        Self { markers: Some((lb, ub)), ..self }
    }

    fn follow(self, series: &mut Option<Bounds>) -> Result<(), TooLarge> {
        *series = Some(match series.take() {
            None => self,
            Some(before) => Self {
                size: sum(before.size, self.size)?,
                basics: sum(before.basics, self.basics)?,
                data: Self::united(before.data, self.data),
                reach: Self::united(before.reach, self.reach),
                markers: Self::united(before.markers, self.markers),
                align: before.align.max(self.align),
            },
        });
        Ok(())
    }

    fn of_series(series: Option<Bounds>) -> Self {
        series.unwrap_or(Self::EMPTY)
    }
}
