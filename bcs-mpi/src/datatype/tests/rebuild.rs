//! A type made anew from what MPI_Type_get_contents tells of it, argument by argument as the table of §5.1.13
//! has them.

use crate::constants::*;
use crate::datatype::envelope::Contents;
use crate::object::datatype::constructor::{Constructor as C, Unit};
use crate::object::datatype::darray::Darray;
use crate::object::datatype::subarray::Subarray;
use crate::object::datatype::typemap::Type;
use std::cell::Cell;
use std::sync::Arc;

/// Takes arguments from the front of an array.
struct Taker<'a>(Cell<&'a [i64]>);

impl Taker<'_> {
    fn one(&self) -> i64 {
        self.many(1)[0]
    }

    fn many(&self, count: usize) -> Box<[i64]> {
        let (head, rest) = self.0.get().split_at(count);
        self.0.set(rest);
        head.into()
    }

    fn ints(&self, count: usize) -> Box<[i32]> {
        self.many(count).iter().map(|value| i32::try_from(*value).unwrap()).collect()
    }
}

/// The same type.
pub fn rebuilt(of: &Arc<Type>) -> Arc<Type> {
    let contents = Contents::of(of);
    if contents.combiner == MPI_COMBINER_NAMED {
        return of.clone();
    }
    let large = of.large;
    let integers: Vec<i64> = contents.integers.iter().map(|value| i64::from(*value)).collect();
    let addresses: Vec<i64> = contents.addresses.iter().map(|value| *value as i64).collect();
    // With large counts, counts and addresses come from one array in the order of the arguments.
    let [integer, address, large_count] =
        [&integers, &addresses, &contents.counts].map(|values| Taker(Cell::new(values)));
    let components = contents.types.iter().map(rebuilt).collect();
    let unit = match contents.combiner {
        MPI_COMBINER_HVECTOR | MPI_COMBINER_HINDEXED | MPI_COMBINER_HINDEXED_BLOCK => Unit::Bytes,
        _ => Unit::Extents,
    };
    let (count, bytes) = if large { (&large_count, &large_count) } else { (&integer, &address) };
    let placed = if unit == Unit::Bytes { bytes } else { count };
    let constructor = match contents.combiner {
        MPI_COMBINER_DUP => C::Dup,
        MPI_COMBINER_CONTIGUOUS => C::Contiguous { count: count.one() },
        MPI_COMBINER_VECTOR | MPI_COMBINER_HVECTOR => {
            let (count, blocklength) = (count.one(), count.one());
            C::Vector { count, blocklength, stride: placed.one(), unit }
        }
        MPI_COMBINER_INDEXED | MPI_COMBINER_HINDEXED => {
            let n = count.one() as usize;
            let (blocklengths, displacements) = (count.many(n), placed.many(n));
            C::Indexed { blocklengths, displacements, unit }
        }
        MPI_COMBINER_INDEXED_BLOCK | MPI_COMBINER_HINDEXED_BLOCK => {
            let (n, blocklength) = (count.one() as usize, count.one());
            C::IndexedBlock { blocklength, displacements: placed.many(n), unit }
        }
        MPI_COMBINER_STRUCT => {
            let n = count.one() as usize;
            let (blocklengths, displacements) = (count.many(n), bytes.many(n));
            C::Struct { blocklengths, displacements }
        }
        MPI_COMBINER_SUBARRAY => {
            let n = integer.one() as usize;
            let (sizes, subsizes, starts) = (count.many(n), count.many(n), count.many(n));
            let order = integer.one() as i32;
            C::Subarray(Subarray { sizes, subsizes, starts, order })
        }
        MPI_COMBINER_DARRAY => {
            let (size, rank, n) = (integer.one() as i32, integer.one() as i32, integer.one() as usize);
            let gsizes = count.many(n);
            let (distribs, dargs, psizes) = (integer.ints(n), integer.ints(n), integer.ints(n));
            let order = integer.one() as i32;
            C::Darray(Darray { size, rank, gsizes, distribs, dargs, psizes, order })
        }
        MPI_COMBINER_RESIZED => {
            let (lb, extent) = (bytes.one(), bytes.one());
            C::Resized { lb, extent }
        }
        other => panic!("combiner {other}"),
    };
    let is_used = |of: &Taker<'_>| of.0.get().is_empty();
    assert!([integer, address, large_count].iter().all(is_used), "{contents:?}");
    Type::new(constructor, components, large).unwrap()
}
