//! What types are by the standard's definitions, without any cleverness: lists of basic elements with
//! displacements.
//!
//! A [`Recipe`] says how to make a random type; it becomes a [`Type`] by the constructors, and a [`Typemap`]
//! by the definitions of §5.1.

use crate::constants::*;
use crate::object::datatype::basic::{alignment, basics};
use crate::object::datatype::constructor::{Constructor, Unit};
use crate::object::datatype::darray::Darray;
use crate::object::datatype::subarray::Subarray;
use crate::object::datatype::table::predefined_type;
use crate::object::datatype::typemap::Type;
use proptest::prelude::*;
use std::sync::Arc;

/// How to make a type.
#[derive(Clone, Debug)]
pub struct Recipe {
    constructor: Constructor,
    components: Vec<Recipe>,
}

impl Recipe {
    /// A predefined type.
    pub fn named(handle: MPI_Datatype) -> Self {
        let constructor = Constructor::Named(predefined_datatype(handle).unwrap());
        Self { constructor, components: Vec::new() }
    }

    fn of(constructor: Constructor, of: Recipe) -> Self {
        Self { constructor, components: vec![of] }
    }
}

/// A type: basic elements in order, and the bounds that were set.
#[derive(Clone, Debug, Default)]
pub struct Typemap {
    /// Basic type, its bytes, and the displacement.
    pub entries: Vec<(MPI_Datatype, i64, i64)>,
    /// What the components reach over, with their padding.
    reach: Option<(i64, i64)>,
    markers: Option<(i64, i64)>,
    align: i64,
}

impl Typemap {
    pub fn size(&self) -> i64 {
        self.entries.iter().map(|entry| entry.1).sum()
    }

    pub fn true_bounds(&self) -> (i64, i64) {
        let lb = self.entries.iter().map(|entry| entry.2).min().unwrap_or(0);
        (lb, self.entries.iter().map(|entry| entry.2 + entry.1).max().unwrap_or(0))
    }

    pub fn bounds(&self) -> (i64, i64) {
        if let Some(markers) = self.markers {
            return markers;
        }
        let (lb, mut ub) = self.reach.unwrap_or((0, 0));
        while (ub - lb) % self.align.max(1) != 0 {
            ub += 1;
        }
        (lb, ub)
    }

    pub fn extent(&self) -> i64 {
        let (lb, ub) = self.bounds();
        ub - lb
    }

    /// Adds a copy of another at a displacement.
    fn add(&mut self, other: &Typemap, at: i64) {
        self.entries.extend(other.entries.iter().map(|(of, bytes, offset)| (*of, *bytes, offset + at)));
        if let Some((lb, ub)) = other.markers {
            let (old_lb, old_ub) = self.markers.unwrap_or((i64::MAX, i64::MIN));
            self.markers = Some((old_lb.min(lb + at), old_ub.max(ub + at)));
        }
        if other.reach.is_some() {
            let ((lb, ub), (old_lb, old_ub)) = (other.bounds(), self.reach.unwrap_or((i64::MAX, i64::MIN)));
            self.reach = Some((old_lb.min(lb + at), old_ub.max(ub + at)));
        }
        self.align = self.align.max(other.align);
    }

    /// Adds so many copies at a displacement, one behind the other.
    fn add_block(&mut self, other: &Typemap, count: i64, at: i64) {
        (0..count).for_each(|i| self.add(other, at + i * other.extent()));
    }

    /// Adds a copy for each of those elements of an array that `has` tells of by their indices.
    fn add_array(&mut self, other: &Typemap, sizes: &[i64], order: i32, has: impl Fn(usize, i64) -> bool) {
        for (index, at) in elements(sizes, order == MPI_ORDER_FORTRAN) {
            if index.iter().enumerate().all(|(dimension, index)| has(dimension, *index)) {
                self.add(other, at * other.extent());
            }
        }
        self.markers = Some((0, sizes.iter().product::<i64>() * other.extent()));
    }

    pub fn of(recipe: &Recipe) -> Self {
        use Constructor as C;
        let mut map = Self { align: 1, ..Self::default() };
        let components: Vec<Self> = recipe.components.iter().map(Self::of).collect();
        let of = components.first().cloned().unwrap_or_default();
        let unit = |unit: &Unit| if *unit == Unit::Bytes { 1 } else { of.extent() };
        match &recipe.constructor {
            C::Named(datatype) => {
                let (elements, count) = basics(datatype);
                map.entries = elements[..count].iter().map(|of| (of.datatype, of.bytes, of.offset)).collect();
                map.align = alignment(datatype);
                map.reach = (count > 0).then_some((0, datatype.extent as i64));
            }
            C::F90 { .. } => unreachable!("no recipe makes one"),
            C::Dup => map = of,
            C::Contiguous { count } => map.add_block(&of, *count, 0),
            C::Vector { count, blocklength, stride, unit: of_stride } => {
                (0..*count).for_each(|i| map.add_block(&of, *blocklength, i * stride * unit(of_stride)));
            }
            C::Indexed { blocklengths, displacements, unit: of_places } => {
                for (length, at) in blocklengths.iter().zip(displacements) {
                    map.add_block(&of, *length, at * unit(of_places));
                }
            }
            C::IndexedBlock { blocklength, displacements, unit: of_places } => {
                displacements.iter().for_each(|at| map.add_block(&of, *blocklength, at * unit(of_places)));
            }
            C::Struct { blocklengths, displacements } => {
                for ((of, length), at) in components.iter().zip(blocklengths).zip(displacements) {
                    map.add_block(of, *length, *at);
                }
            }
            C::Subarray(array) => map.add_array(&of, &array.sizes, array.order, |dimension, index| {
                let start = array.starts[dimension];
                (start..start + array.subsizes[dimension]).contains(&index)
            }),
            C::Darray(array) => {
                // The process's place in the grid, which is in the order of C.
                let psizes: Vec<i64> = array.psizes.iter().map(|processes| i64::from(*processes)).collect();
                let (mine, _) = elements(&psizes, false).swap_remove(array.rank as usize);
                let is_mine = |dimension, index| owner(array, dimension, index) == mine[dimension];
                map.add_array(&of, &array.gsizes, array.order, is_mine);
            }
            C::Resized { lb, extent } => {
                map = of;
                map.markers = Some((*lb, lb + extent));
            }
        }
        map
    }

    /// The bytes of `count` elements in a memory that begins at displacement `first`, in the order in which
    /// they are sent: places.
    pub fn places(&self, count: i64, first: i64) -> Vec<usize> {
        let mut places = Vec::new();
        for i in 0..count {
            for (_, bytes, at) in &self.entries {
                let start = i * self.extent() + at - first;
                places.extend((start..start + bytes).map(|place| place as usize));
            }
        }
        places
    }
}

/// The elements of an array in the order of its memory: index by dimension, and place.
fn elements(sizes: &[i64], fortran: bool) -> Vec<(Vec<i64>, i64)> {
    let all: i64 = sizes.iter().product();
    let index = |mut place: i64| {
        let mut index = vec![0; sizes.len()];
        for i in 0..sizes.len() {
            let dimension = if fortran { i } else { sizes.len() - 1 - i };
            index[dimension] = place % sizes[dimension];
            place /= sizes[dimension];
        }
        index
    };
    (0..all).map(|place| (index(place), place)).collect()
}

/// Which process of a dimension has an index.
fn owner(array: &Darray, dimension: usize, index: i64) -> i64 {
    let (size, processes) = (array.gsizes[dimension], i64::from(array.psizes[dimension]));
    let argument = array.dargs[dimension];
    let given = i64::from(argument);
    match (array.distribs[dimension], argument == MPI_DISTRIBUTE_DFLT_DARG) {
        (MPI_DISTRIBUTE_NONE, _) => 0,
        (MPI_DISTRIBUTE_BLOCK, true) => index / ((size + processes - 1) / processes),
        (MPI_DISTRIBUTE_BLOCK, false) => index / given,
        (_, true) => index % processes,
        (_, false) => index / given % processes,
    }
}

/// The type that a recipe makes, by the constructors.
pub fn build(recipe: &Recipe, large: bool) -> Arc<Type> {
    if let Constructor::Named(datatype) = recipe.constructor {
        return predefined_type(datatype.handle).unwrap().clone();
    }
    let components = recipe.components.iter().map(|of| build(of, large)).collect();
    Type::new(recipe.constructor.clone(), components, large).unwrap()
}

/// Size, distribution, argument and processes of a dimension.
type Dimension = (i64, i32, i32, i32);

fn dimension() -> impl Strategy<Value = Dimension> {
    (1i64..7, 0..5, 1i32..4, 1i32..4).prop_map(|(size, kind, argument, processes)| match kind {
        0 => (size, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_DFLT_DARG, 1),
        1 => (size, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG, processes),
        // Large enough, and more than that at times.
        2 => (size, MPI_DISTRIBUTE_BLOCK, (size as i32 - 1) / processes + argument, processes),
        3 => (size, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, processes),
        _ => (size, MPI_DISTRIBUTE_CYCLIC, argument, processes),
    })
}

fn part() -> impl Strategy<Value = (i64, i64, i64)> {
    (1i64..5, 0i64..100, 0i64..100).prop_map(|(size, part, start)| {
        let part = 1 + part % size;
        (size, part, start % (size - part + 1))
    })
}

fn unit() -> impl Strategy<Value = Unit> {
    prop::sample::select(vec![Unit::Extents, Unit::Bytes])
}

fn subarray(dimensions: &[(i64, i64, i64)], order: i32) -> Subarray {
    Subarray {
        sizes: dimensions.iter().map(|dimension| dimension.0).collect(),
        subsizes: dimensions.iter().map(|dimension| dimension.1).collect(),
        starts: dimensions.iter().map(|dimension| dimension.2).collect(),
        order,
    }
}

fn darray(dimensions: &[Dimension], seed: i32, order: i32) -> Darray {
    let size = dimensions.iter().map(|dimension| dimension.3).product();
    Darray {
        size,
        rank: seed % size,
        gsizes: dimensions.iter().map(|dimension| dimension.0).collect(),
        distribs: dimensions.iter().map(|dimension| dimension.1).collect(),
        dargs: dimensions.iter().map(|dimension| dimension.2).collect(),
        psizes: dimensions.iter().map(|dimension| dimension.3).collect(),
        order,
    }
}

/// Random types.
pub fn recipes() -> impl Strategy<Value = Recipe> {
    use Constructor as C;
    let names = [
        MPI_CHAR,
        MPI_SHORT,
        MPI_INT,
        MPI_DOUBLE,
        MPI_SHORT_INT,
        MPI_DOUBLE_INT,
        MPI_2INT,
        MPI_C_FLOAT_COMPLEX,
        MPI_LONG_DOUBLE,
    ];
    let named = prop::sample::select(names.to_vec()).prop_map(Recipe::named);
    named.prop_recursive(4, 24, 3, |of| {
        let of = of.boxed();
        let (count, length) = (0i64..4, 0i64..4);
        let order = prop::sample::select(vec![MPI_ORDER_C, MPI_ORDER_FORTRAN]);
        let vector = |unit| {
            move |(count, blocklength, stride, of)| {
                Recipe::of(C::Vector { count, blocklength, stride, unit }, of)
            }
        };
        prop_oneof![
            1 => of.clone().prop_map(|of| Recipe::of(C::Dup, of)),
            2 => (count.clone(), of.clone()).prop_map(|(count, of)| Recipe::of(C::Contiguous { count }, of)),
            3 => (count.clone(), length.clone(), -5i64..7, of.clone()).prop_map(vector(Unit::Extents)),
            2 => (0i64..12, length.clone(), -40i64..60, of.clone()).prop_map(vector(Unit::Bytes)),
            2 => (prop::collection::vec((length.clone(), -8i64..9), 0..4), unit(), of.clone())
                .prop_map(|(blocks, unit, of)| {
                    let (blocklengths, displacements): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
                    let (blocklengths, displacements) = (blocklengths.into(), displacements.into());
                    Recipe::of(C::Indexed { blocklengths, displacements, unit }, of)
                }),
            2 => (length.clone(), prop::collection::vec(-8i64..9, 0..5), unit(), of.clone())
                .prop_map(|(blocklength, displacements, unit, of)| {
                    let displacements = displacements.into();
                    Recipe::of(C::IndexedBlock { blocklength, displacements, unit }, of)
                }),
            3 => prop::collection::vec(((length.clone(), -30i64..60), of.clone()), 0..4).prop_map(|blocks| {
                let (blocks, components): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
                let (blocklengths, displacements): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
                let (blocklengths, displacements) = (blocklengths.into(), displacements.into());
                Recipe { constructor: C::Struct { blocklengths, displacements }, components }
            }),
            2 => (prop::collection::vec(part(), 1..4), order.clone(), of.clone())
                .prop_map(|(dimensions, order, of)| Recipe::of(C::Subarray(subarray(&dimensions, order)), of)),
            2 => (prop::collection::vec(dimension(), 1..3), 0i32..100, order, of.clone())
                .prop_map(|(dimensions, seed, order, of)| {
                    Recipe::of(C::Darray(darray(&dimensions, seed, order)), of)
                }),
            2 => (-20i64..20, -10i64..80, of)
                .prop_map(|(lb, extent, of)| Recipe::of(C::Resized { lb, extent }, of)),
        ]
    })
    .prop_filter("small enough to write out", |recipe| Typemap::of(recipe).entries.len() <= 3000)
}
