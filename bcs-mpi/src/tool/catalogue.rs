//! What is in each category, and the calls about it (MPI-5.0, §15.3.9).

use super::category::{Category, TABLE};
use super::{Told, at, control, event, performance};
use crate::constants::*;
use std::ffi::c_int;

/// What is in a category.
pub struct Content {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub about: &'static str,
    /// Indices of control variables.
    pub controls: Vec<c_int>,
    /// Indices of performance variables.
    pub performances: Vec<c_int>,
    /// Indices of events.
    pub events: Vec<c_int>,
    /// Indices of categories.
    pub categories: Vec<c_int>,
}

/// The category of an index.
///
/// # Errors
/// There is no such index.
pub fn get(index: c_int) -> Told<Content> {
    let &(category, name, about) = at(TABLE, index)?;
    let of = |all: &mut dyn Iterator<Item = Category>| {
        all.zip(0..).filter(|(of, _)| *of == category).map(|(_, index)| index).collect()
    };
    Ok(Content {
        name,
        about,
        controls: of(&mut control::TABLE.iter().map(|variable| variable.category)),
        performances: of(&mut performance::TABLE.iter().map(|variable| variable.category)),
        events: of(&mut event::TABLE.iter().map(|event| event.category)),
        categories: if category == Category::Library { (1..count()).collect() } else { Vec::new() },
    })
}

/// What MPI_T_category_changed answers: no category ever changes.
pub const UPDATE: c_int = 0;

/// How many categories there are.
pub fn count() -> c_int {
    TABLE.len() as c_int
}

/// The index of a name.
///
/// # Errors
/// There is no such name.
pub fn index(name: &str) -> Told<c_int> {
    let place = TABLE.iter().position(|(_, known, _)| *known == name);
    place.map(|place| place as c_int).ok_or(MPI_T_ERR_INVALID_NAME)
}
