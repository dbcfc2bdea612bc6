//! Types: immutable objects that handles, other types and pending operations share (MPI-5.0, §5.1).
//!
//! A type knows its bounds and its signature from the time when it is made, and its loop program
//! ([`super::flat`]) from when it is first needed: at MPI_Type_commit. Types may nest to any depth: nothing
//! here recurses.

use super::basic::{Basic, alignment, basics};
use super::bounds::Bounds;
use super::constructor::Constructor;
use super::cursor::Layout;
use super::flat::{Builder, Node};
use super::placement::{Placement, TooLarge};
use super::signature::Signature;
use crate::constants::Datatype;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A type.
#[derive(Debug)]
pub struct Type {
    /// How it was made.
    pub constructor: Constructor,
    /// The component types, in the order of the arguments.
    pub components: Box<[Arc<Type>]>,
    /// Whether it was made by a call with large counts.
    pub large: bool,
    bounds: Bounds,
    /// Lower bound.
    pub lb: i64,
    ub: i64,
    /// The hashes of its signature.
    pub signature: Signature,
    program: OnceLock<Option<Node>>,
}

/// What is counted in a type's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes.
    Bytes,
    /// Basic elements.
    Basics,
}

impl Type {
    /// The type that a constructor makes.
    ///
    /// # Errors
    /// It reaches further than an address, or has more bytes than a count.
    pub fn new(
        constructor: Constructor,
        components: Box<[Arc<Type>]>,
        large: bool,
    ) -> Result<Arc<Self>, TooLarge> {
        let mut made = Self {
            constructor,
            components,
            large,
            bounds: Bounds::EMPTY,
            lb: 0,
            ub: 0,
            signature: Signature::EMPTY,
            program: OnceLock::new(),
        };
        let mut bounds = |of: &Arc<Type>| (of.bounds, of.extent());
        made.bounds = made.constructor.place(&made.components, &mut bounds)?.padded()?;
        (made.lb, made.ub) = made.bounds.checked()?;
        let signature = (0..)
            .map_while(|i| made.part(i))
            .fold(Signature::EMPTY, |before, (count, of)| before.then(of.signature.repeated(count)));
        made.signature = signature;
        Ok(Arc::new(made))
    }

    /// A predefined type, under the name of `constructor`.
    pub fn predefined(datatype: &'static Datatype, constructor: Constructor) -> Arc<Self> {
        let (elements, count) = basics(datatype);
        let elements = &elements[..count];
        let end = elements.iter().map(|of| of.offset + of.bytes).max();
        let align = alignment(datatype).max(1);
        let (size, basics) = (datatype.size as i64, count as i64);
        let (lb, ub) = (0, datatype.extent as i64);
        let (data, reach) = (end.map(|end| (0, end)), end.map(|_| (lb, ub)));
        let bounds = Bounds { size, basics, data, reach, markers: None, align };
        let signature = elements.iter().fold(Signature::EMPTY, |before, of| before.then(Signature::of(of)));
        let mut builder = Builder::default();
        elements.iter().for_each(|of| builder.push(Node::block(of.offset, of.bytes)));
        let program = OnceLock::from(builder.finish());
        let components = [].into();
        Arc::new(Self { constructor, components, large: false, bounds, lb, ub, signature, program })
    }

    /// The predefined datatype that it is, by whatever name.
    pub fn as_predefined(&self) -> Option<&'static Datatype> {
        match &self.constructor {
            Constructor::Named(datatype) | Constructor::F90 { of: datatype, .. } => Some(datatype),
            _ => None,
        }
    }

    /// Bytes of data.
    #[inline]
    pub fn size(&self) -> i64 {
        self.bounds.size
    }

    /// Bytes from lower to upper bound: from one element of an array to the next.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.ub - self.lb
    }

    /// Whether its bounds were set, by itself or by a component.
    pub fn has_markers(&self) -> bool {
        self.bounds.markers.is_some()
    }

    /// First byte of data, and bytes from there to the end of the last; 0 and 0 without data.
    pub fn true_extent(&self) -> (i64, i64) {
        self.bounds.data.map_or((0, 0), |(lb, ub)| (lb, ub - lb))
    }

    /// The first and the last byte of `count` elements, if all of them can be addressed.
    ///
    /// # Errors
    /// They cannot.
    pub fn span(&self, count: i64) -> Result<Option<(i64, i64)>, TooLarge> {
        Ok(self.bounds.repeated(count, self.extent())?.data)
    }

    /// Where the bytes of `count` elements lie; [`Self::span`] has been asked whether it can be.
    #[inline]
    pub fn layout(&self, count: i64) -> Layout {
        Layout::new(self.program(), count, self.extent())
    }

    /// Its loop program; none when it has no bytes.
    #[inline]
    pub fn program(&self) -> Option<&Node> {
        match self.program.get() {
            Some(program) => program.as_ref(),
            None => self.flatten(),
        }
    }

    /// Whether its program has been made.
    pub fn is_flat(&self) -> bool {
        self.program.get().is_some()
    }

    /// Makes the program: of components first, those that are used twice once. Theirs are not kept, unless
    /// they have one already.
    #[cold]
    fn flatten(&self) -> Option<&Node> {
        let mut made: HashMap<*const Type, Option<Node>> = HashMap::new();
        let mut wanted: Vec<&Type> = vec![self];
        while let Some(&top) = wanted.last() {
            let is_made =
                |of: &Type| of.program.get().is_some() || made.contains_key(&std::ptr::from_ref(of));
            if is_made(top) {
                wanted.pop();
                continue;
            }
            let before = wanted.len();
            wanted.extend(top.components.iter().map(|of| &**of).filter(|of| !is_made(of)));
            if wanted.len() == before {
                let mut program = |of: &Arc<Type>| {
                    let program = match of.program.get() {
                        Some(program) => program.clone(),
                        None => made.get(&Arc::as_ptr(of)).cloned().flatten(),
                    };
                    (program, of.extent())
                };
                // Overflow was looked for when the type was made.
                let program = top.constructor.place(&top.components, &mut program).unwrap_or(None);
                made.insert(std::ptr::from_ref(top), program);
            }
        }
        let own = made.remove(&std::ptr::from_ref(self)).flatten();
        self.program.get_or_init(|| own).as_ref()
    }

    /// Part `index` of its stream: so many elements of a component.
    pub fn part(&self, index: usize) -> Option<(i64, &Type)> {
        match &self.constructor {
            Constructor::Struct { blocklengths, .. } => {
                Some((*blocklengths.get(index)?, self.components.get(index)?))
            }
            _ => {
                let of: &Type = self.components.first().filter(|_| index == 0)?;
                Some((if of.size() > 0 { self.size() / of.size() } else { 0 }, of))
            }
        }
    }

    fn measured(&self, measure: Measure) -> i64 {
        match measure {
            Measure::Bytes => self.bounds.size,
            Measure::Basics => self.bounds.basics,
        }
    }

    /// How much of the other measure so much of one is, in a stream of elements of this type: bytes of basic
    /// elements, or basic elements of bytes; none when that ends within a basic element, or overflows, or the
    /// type has nothing.
    pub fn convert(&self, amount: i64, from: Measure) -> Option<i64> {
        let to = if from == Measure::Bytes { Measure::Basics } else { Measure::Bytes };
        let whole = self.measured(from);
        if amount == 0 || whole == 0 {
            return (amount == 0).then_some(0);
        }
        let mut result = (amount / whole).checked_mul(self.measured(to))?;
        let mut rest = amount % whole;
        let mut within = self;
        while rest > 0 {
            if let Some(datatype) = within.as_predefined() {
                let (elements, count) = basics(datatype);
                for element in &elements[..count] {
                    let (one, other) =
                        if from == Measure::Bytes { (element.bytes, 1) } else { (1, element.bytes) };
                    if rest == 0 {
                        break;
                    }
                    rest = rest.checked_sub(one).filter(|rest| *rest >= 0)?;
                    result = result.checked_add(other)?;
                }
                return (rest == 0).then_some(result);
            }
            let mut next = None;
            for (count, of) in (0..).map_while(|i| within.part(i)) {
                let each = of.measured(from);
                if each == 0 {
                    continue;
                }
                let passed = count.min(rest / each);
                result = result.checked_add(passed.checked_mul(of.measured(to))?)?;
                rest -= passed * each;
                if passed < count {
                    next = Some(of);
                    break;
                }
            }
            within = next?;
        }
        Some(result)
    }

    /// The basic elements of `count` elements of this type, in the order of the stream, equal ones together.
    pub fn runs(&self, count: i64) -> Runs<'_> {
        let all = WalkLevel { of: self, times: count, part: 0 };
        Runs { stack: if count > 0 && self.size() > 0 { vec![all] } else { Vec::new() } }
    }
}

impl Drop for Type {
    /// Components that nobody else holds go with it, one by one: a deep nest is no deep recursion.
    fn drop(&mut self) {
        let mut gone = std::mem::take(&mut self.components).into_vec();
        while let Some(next) = gone.pop() {
            if let Some(mut last) = Arc::into_inner(next) {
                gone.extend(std::mem::take(&mut last.components));
            }
        }
    }
}

/// A type that a walk over a stream is in.
#[derive(Clone, Copy, Debug)]
struct WalkLevel<'a> {
    of: &'a Type,
    /// How often it still comes, this time included.
    times: i64,
    part: usize,
}

/// A walk over the basic elements of a type.
#[derive(Debug)]
pub struct Runs<'a> {
    stack: Vec<WalkLevel<'a>>,
}

impl Iterator for Runs<'_> {
    type Item = (Basic, i64);

    fn next(&mut self) -> Option<(Basic, i64)> {
        while let Some(top) = self.stack.last_mut() {
            if let Some(datatype) = top.of.as_predefined() {
                let (elements, count) = basics(datatype);
                let WalkLevel { times, part, .. } = *top;
                // The halves of a pair alternate; one element comes so many times together.
                let is_pair = count == 2;
                if !is_pair || (part == 1 && times == 1) {
                    self.stack.pop();
                } else {
                    *top = WalkLevel { part: 1 - part, times: times - part as i64, ..*top };
                }
                match count {
                    0 => continue,
                    _ => return Some((elements[part], if is_pair { 1 } else { times })),
                }
            }
            let is_struct = matches!(top.of.constructor, Constructor::Struct { .. });
            match top.of.part(top.part) {
                // One part: so many times that. It cannot overflow, as there are that many bytes at least.
                Some((count, of)) if !is_struct && count > 0 => {
                    *top = WalkLevel { of, times: top.times * count, part: 0 };
                }
                Some((count, of)) => {
                    top.part += 1;
                    if count > 0 && of.size() > 0 {
                        self.stack.push(WalkLevel { of, times: count, part: 0 });
                    }
                }
                None if top.times > 1 => {
                    top.times -= 1;
                    top.part = 0;
                }
                None => {
                    self.stack.pop();
                }
            }
        }
        None
    }
}
