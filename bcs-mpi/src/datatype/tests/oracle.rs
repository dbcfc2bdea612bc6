//! What types are by the standard's definitions, without any cleverness: lists of basic elements with displacements.
//!
//! A [`Recipe`] says how to make a random type; it becomes a [`Type`] by the constructors, and a [`Typemap`] by the definitions of §5.1.

use crate::constants::*;
use crate::datatype::basic::{alignment, basics};
use crate::datatype::constructor::{Constructor, Unit};
use crate::datatype::darray::Darray;
use crate::datatype::subarray::Subarray;
use crate::datatype::table::predefined_type;
use crate::datatype::typemap::Type;
use proptest::prelude::*;
use std::sync::Arc;

/// How to make a type.
#[derive(Clone, Debug)]
pub enum Recipe {
    Named(MPI_Datatype),
    Dup(Box<Recipe>),
    Contiguous(i64, Box<Recipe>),
    /// Count, blocklength and stride; whether that is bytes.
    Vector(i64, i64, i64, bool, Box<Recipe>),
    /// Blocklengths with displacements; whether those are bytes.
    Indexed(Vec<(i64, i64)>, bool, Box<Recipe>),
    IndexedBlock(i64, Vec<i64>, bool, Box<Recipe>),
    Struct(Vec<(i64, i64, Recipe)>),
    /// Size, part and start by dimension; whether in the order of Fortran.
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Recipe>),
    /// Elements, distribution, argument and processes by dimension; a number that makes the rank; order.
    Darray(Vec<(i64, i32, i32, i32)>, i32, bool, Box<Recipe>),
    Resized(i64, i64, Box<Recipe>),
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

    pub fn of(recipe: &Recipe) -> Self {
        let mut map = Self { align: 1, ..Self::default() };
        match recipe {
            Recipe::Named(handle) => {
                let datatype = predefined_datatype(*handle).unwrap();
                let (elements, count) = basics(datatype);
                map.entries = elements[..count].iter().map(|of| (of.datatype, of.bytes, of.offset)).collect();
                map.align = alignment(datatype);
                map.reach = (count > 0).then_some((0, datatype.extent as i64));
            }
            Recipe::Dup(of) => map = Self::of(of),
            Recipe::Contiguous(count, of) => {
                let of = Self::of(of);
                (0..*count).for_each(|i| map.add(&of, i * of.extent()));
            }
            Recipe::Vector(count, length, stride, bytes, of) => {
                let of = Self::of(of);
                let unit = if *bytes { 1 } else { of.extent() };
                for i in 0..*count {
                    (0..*length).for_each(|j| map.add(&of, i * stride * unit + j * of.extent()));
                }
            }
            Recipe::Indexed(blocks, bytes, of) => {
                let of = Self::of(of);
                let unit = if *bytes { 1 } else { of.extent() };
                for (length, at) in blocks {
                    (0..*length).for_each(|j| map.add(&of, at * unit + j * of.extent()));
                }
            }
            Recipe::IndexedBlock(length, places, bytes, of) => {
                let of = Self::of(of);
                let unit = if *bytes { 1 } else { of.extent() };
                for at in places {
                    (0..*length).for_each(|j| map.add(&of, at * unit + j * of.extent()));
                }
            }
            Recipe::Struct(members) => {
                for (length, at, of) in members {
                    let of = Self::of(of);
                    (0..*length).for_each(|j| map.add(&of, at + j * of.extent()));
                }
            }
            Recipe::Subarray(dimensions, fortran, of) => {
                let of = Self::of(of);
                let sizes: Vec<i64> = dimensions.iter().map(|dimension| dimension.0).collect();
                for (index, at) in elements(&sizes, *fortran) {
                    let inside =
                        |(i, (_, part, start)): (&i64, &(i64, i64, i64))| (*start..start + part).contains(i);
                    if index.iter().zip(dimensions).all(inside) {
                        map.add(&of, at * of.extent());
                    }
                }
                map.markers = Some((0, sizes.iter().product::<i64>() * of.extent()));
            }
            Recipe::Darray(dimensions, seed, fortran, of) => {
                let of = Self::of(of);
                let sizes: Vec<i64> = dimensions.iter().map(|dimension| dimension.0).collect();
                let mine = coordinates(dimensions, rank_of(dimensions, *seed));
                for (index, at) in elements(&sizes, *fortran) {
                    let is_mine = index
                        .iter()
                        .zip(dimensions)
                        .zip(&mine)
                        .all(|((i, dimension), mine)| owner(*i, dimension) == *mine);
                    if is_mine {
                        map.add(&of, at * of.extent());
                    }
                }
                map.markers = Some((0, sizes.iter().product::<i64>() * of.extent()));
            }
            Recipe::Resized(lb, extent, of) => {
                map = Self::of(of);
                map.markers = Some((*lb, lb + extent));
            }
        }
        map
    }

    /// The bytes of `count` elements in a memory that begins at displacement `first`, in the order in which they are sent: places.
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

type Dimension = (i64, i32, i32, i32);

fn rank_of(dimensions: &[Dimension], seed: i32) -> i32 {
    seed % dimensions.iter().map(|dimension| dimension.3).product::<i32>()
}

fn coordinates(dimensions: &[Dimension], mut rank: i32) -> Vec<i64> {
    let mut coordinates = vec![0; dimensions.len()];
    for i in (0..dimensions.len()).rev() {
        coordinates[i] = i64::from(rank % dimensions[i].3);
        rank /= dimensions[i].3;
    }
    coordinates
}

/// Which process of a dimension has an index.
fn owner(index: i64, &(size, distribution, argument, processes): &Dimension) -> i64 {
    let processes = i64::from(processes);
    let given = i64::from(argument);
    match (distribution, argument == MPI_DISTRIBUTE_DFLT_DARG) {
        (MPI_DISTRIBUTE_NONE, _) => 0,
        (MPI_DISTRIBUTE_BLOCK, true) => index / ((size + processes - 1) / processes),
        (MPI_DISTRIBUTE_BLOCK, false) => index / given,
        (_, true) => index % processes,
        (_, false) => index / given % processes,
    }
}

/// The type that a recipe makes, by the constructors.
pub fn build(recipe: &Recipe, large: bool) -> Arc<Type> {
    use Constructor as C;
    let unit = |bytes: bool| if bytes { Unit::Bytes } else { Unit::Extents };
    let order = |fortran: bool| if fortran { MPI_ORDER_FORTRAN } else { MPI_ORDER_C };
    let (constructor, of) = match recipe {
        Recipe::Named(handle) => return predefined_type(*handle).unwrap().clone(),
        Recipe::Dup(of) => (C::Dup, of),
        Recipe::Contiguous(count, of) => (C::Contiguous { count: *count }, of),
        Recipe::Vector(count, blocklength, stride, bytes, of) => {
            let (count, blocklength, stride) = (*count, *blocklength, *stride);
            (C::Vector { count, blocklength, stride, unit: unit(*bytes) }, of)
        }
        Recipe::Indexed(blocks, bytes, of) => {
            let (blocklengths, displacements) =
                (blocks.iter().map(|block| block.0).collect(), blocks.iter().map(|block| block.1).collect());
            (C::Indexed { blocklengths, displacements, unit: unit(*bytes) }, of)
        }
        Recipe::IndexedBlock(blocklength, places, bytes, of) => {
            let (blocklength, displacements) = (*blocklength, places.clone().into());
            (C::IndexedBlock { blocklength, displacements, unit: unit(*bytes) }, of)
        }
        Recipe::Struct(members) => {
            let blocklengths = members.iter().map(|member| member.0).collect();
            let displacements = members.iter().map(|member| member.1).collect();
            let types = members.iter().map(|member| build(&member.2, large)).collect();
            return Type::new(C::Struct { blocklengths, displacements }, types, large).unwrap();
        }
        Recipe::Subarray(dimensions, fortran, of) => {
            let subarray = Subarray {
                sizes: dimensions.iter().map(|dimension| dimension.0).collect(),
                subsizes: dimensions.iter().map(|dimension| dimension.1).collect(),
                starts: dimensions.iter().map(|dimension| dimension.2).collect(),
                order: order(*fortran),
            };
            (C::Subarray(subarray), of)
        }
        Recipe::Darray(dimensions, seed, fortran, of) => {
            let darray = Darray {
                size: dimensions.iter().map(|dimension| dimension.3).product(),
                rank: rank_of(dimensions, *seed),
                gsizes: dimensions.iter().map(|dimension| dimension.0).collect(),
                distribs: dimensions.iter().map(|dimension| dimension.1).collect(),
                dargs: dimensions.iter().map(|dimension| dimension.2).collect(),
                psizes: dimensions.iter().map(|dimension| dimension.3).collect(),
                order: order(*fortran),
            };
            (C::Darray(darray), of)
        }
        Recipe::Resized(lb, extent, of) => (C::Resized { lb: *lb, extent: *extent }, of),
    };
    Type::new(constructor, [build(of, large)].into(), large).unwrap()
}

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

/// Random types.
pub fn recipes() -> impl Strategy<Value = Recipe> {
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
    let named = prop::sample::select(names.to_vec()).prop_map(Recipe::Named);
    named.prop_recursive(4, 24, 3, |of| {
        let boxed = of.clone().prop_map(Box::new).boxed();
        let (count, length) = (0i64..4, 0i64..4);
        prop_oneof![
            1 => boxed.clone().prop_map(Recipe::Dup),
            2 => (count.clone(), boxed.clone()).prop_map(|(count, of)| Recipe::Contiguous(count, of)),
            3 => (count.clone(), length.clone(), -5i64..7, boxed.clone())
                .prop_map(|(count, length, stride, of)| Recipe::Vector(count, length, stride, false, of)),
            2 => (0i64..12, length.clone(), -40i64..60, boxed.clone())
                .prop_map(|(count, length, stride, of)| Recipe::Vector(count, length, stride, true, of)),
            2 => (prop::collection::vec((length.clone(), -8i64..9), 0..4), any::<bool>(), boxed.clone())
                .prop_map(|(blocks, bytes, of)| Recipe::Indexed(blocks, bytes, of)),
            2 => (length.clone(), prop::collection::vec(-8i64..9, 0..5), any::<bool>(), boxed.clone())
                .prop_map(|(length, places, bytes, of)| Recipe::IndexedBlock(length, places, bytes, of)),
            3 => prop::collection::vec((length.clone(), -30i64..60, of.clone()), 0..4).prop_map(Recipe::Struct),
            2 => (prop::collection::vec(part(), 1..4), any::<bool>(), boxed.clone())
                .prop_map(|(dimensions, fortran, of)| Recipe::Subarray(dimensions, fortran, of)),
            2 => (prop::collection::vec(dimension(), 1..3), 0i32..100, any::<bool>(), boxed.clone())
                .prop_map(|(dimensions, seed, fortran, of)| Recipe::Darray(dimensions, seed, fortran, of)),
            2 => (-20i64..20, -10i64..80, boxed).prop_map(|(lb, extent, of)| Recipe::Resized(lb, extent, of)),
        ]
    })
    .prop_filter("small enough to write out", |recipe| Typemap::of(recipe).entries.len() <= 3000)
}
