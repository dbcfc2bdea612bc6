//! Procedures of the program to which C hands nothing that tells them apart: each gets a function of C of
//! its own, of which there is a fixed number. A procedure that is handed over again gets the same one again.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many different procedures of a kind a program may hand over.
pub const MOST: usize = 256;

/// The procedures of a kind, by the function of C that they have.
pub struct Procedures {
    addresses: [AtomicUsize; MOST],
    /// Only one at a time takes a free place.
    taking: Mutex<()>,
}

impl Procedures {
    /// None.
    pub const fn new() -> Self {
        Self { addresses: [const { AtomicUsize::new(0) }; MOST], taking: Mutex::new(()) }
    }

    /// The place of a procedure; none when all places are taken.
    pub fn place(&self, address: usize) -> Option<usize> {
        let _one = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        let is_its = |place: &AtomicUsize| [0, address].contains(&place.load(Ordering::Relaxed));
        let place = self.addresses.iter().position(is_its)?;
        self.addresses[place].store(address, Ordering::Release);
        Some(place)
    }

    /// The address of the procedure of a place.
    pub fn address(&self, place: usize) -> usize {
        self.addresses[place].load(Ordering::Acquire)
    }
}

/// The functions of C of all places: `$function` takes the place as a constant.
macro_rules! functions_of_places {
    ($function:ident) => {
        [
            functions_of_places!(@row $function 0), functions_of_places!(@row $function 1),
            functions_of_places!(@row $function 2), functions_of_places!(@row $function 3),
            functions_of_places!(@row $function 4), functions_of_places!(@row $function 5),
            functions_of_places!(@row $function 6), functions_of_places!(@row $function 7),
            functions_of_places!(@row $function 8), functions_of_places!(@row $function 9),
            functions_of_places!(@row $function 10), functions_of_places!(@row $function 11),
            functions_of_places!(@row $function 12), functions_of_places!(@row $function 13),
            functions_of_places!(@row $function 14), functions_of_places!(@row $function 15),
        ]
    };
    (@row $function:ident $row:literal) => {
        [
            $function::<{ $row * 16 }>, $function::<{ $row * 16 + 1 }>, $function::<{ $row * 16 + 2 }>,
            $function::<{ $row * 16 + 3 }>, $function::<{ $row * 16 + 4 }>, $function::<{ $row * 16 + 5 }>,
            $function::<{ $row * 16 + 6 }>, $function::<{ $row * 16 + 7 }>, $function::<{ $row * 16 + 8 }>,
            $function::<{ $row * 16 + 9 }>, $function::<{ $row * 16 + 10 }>, $function::<{ $row * 16 + 11 }>,
            $function::<{ $row * 16 + 12 }>, $function::<{ $row * 16 + 13 }>, $function::<{ $row * 16 + 14 }>,
            $function::<{ $row * 16 + 15 }>,
        ]
    };
}
pub(crate) use functions_of_places;
