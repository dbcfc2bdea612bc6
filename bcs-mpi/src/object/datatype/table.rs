//! The datatypes of a process: predefined ones, and those that the program has made, by handle.
//!
//! A handle in the table refers to a shared [`Type`]. When the handle is freed the type lives on in the types
//! made of it and in the operations under way. Whether a type is committed, its name and its attributes
//! belong to the handle.

use super::constructor::Constructor;
use super::signature::{ANYTHING, kind_of_handle};
use super::typemap::Type;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::handle::Table;
use crate::kind::Kind;
use crate::object::attributes::{Attributes, Keys};
use bcs_core::TypeCheck;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, LazyLock};

/// The predefined types by handle.
static PREDEFINED: LazyLock<Vec<Option<Arc<Type>>>> = LazyLock::new(|| {
    let mut types = vec![None; 256];
    for datatype in DATATYPES.iter().filter(|datatype| datatype.class != Class::Null) {
        let named = Type::predefined(datatype, Constructor::Named(datatype));
        types[datatype.handle.0 - MPI_DATATYPE_NULL.0] = Some(named);
    }
    types
});

/// The predefined type of a handle.
pub fn predefined_type(handle: MPI_Datatype) -> Option<&'static Arc<Type>> {
    PREDEFINED.get(handle.0.wrapping_sub(MPI_DATATYPE_NULL.0))?.as_ref()
}

/// What a program may attach to a handle.
#[derive(Debug, Default)]
pub struct Labels {
    /// The name that the program has given; none where it has not.
    pub name: Option<String>,
    /// Attributes.
    pub attributes: Attributes,
}

/// A handle of a type that the program has made.
#[derive(Debug)]
pub(crate) struct Entry {
    of: Arc<Type>,
    committed: bool,
    labels: Labels,
}

/// The datatypes of a process.
pub struct Datatypes {
    pub(crate) table: Table<Entry>,
    /// Names and attributes of predefined types.
    labels: BTreeMap<MPI_Datatype, Labels>,
    /// Types for kinds of Fortran, by combiner and arguments: the same arguments make the same type.
    fortran: BTreeMap<(c_int, Vec<c_int>), MPI_Datatype>,
    /// Attribute keys.
    pub keys: Keys,
    /// What of messages' types is compared.
    pub(super) check: TypeCheck,
}

impl Datatypes {
    /// The predefined ones, of a process that compares types of messages so.
    pub const fn comparing(check: TypeCheck) -> Self {
        Self {
            table: Table::new(Kind::Datatype),
            labels: BTreeMap::new(),
            fortran: BTreeMap::new(),
            keys: Keys::of_kind(1),
            check,
        }
    }

    /// The type of a handle, committed or not.
    ///
    /// # Errors
    /// The handle names none.
    pub fn find(&self, argument: &'static str, handle: MPI_Datatype) -> MpiResult<&Arc<Type>> {
        match predefined_type(handle) {
            Some(of) => Ok(of),
            None => Ok(&self.table.named(argument, handle.0)?.of),
        }
    }

    /// The type of a handle, for communication.
    ///
    /// # Errors
    /// The handle names none, or one that is not committed.
    pub fn committed(&self, argument: &'static str, handle: MPI_Datatype) -> MpiResult<&Arc<Type>> {
        if let Some(of) = predefined_type(handle) {
            return Ok(of);
        }
        let entry = self.table.named(argument, handle.0)?;
        if !entry.committed {
            let value = format!("{:#x}, a datatype that is not committed", handle.0);
            let allowed = "MPI_Type_commit has to be called before it is used";
            return Err(MpiError::argument(MPI_ERR_TYPE, argument, value, allowed));
        }
        Ok(&entry.of)
    }

    /// The tag of `count` elements of a datatype: what members of a collective compare of their signatures
    /// ([`Signature::tag`](super::Signature::tag)).
    #[inline]
    pub fn tag_of(&self, count: i64, datatype: MPI_Datatype) -> u16 {
        match kind_of_handle(datatype) {
            Some(kind) => kind,
            None => {
                self.committed("datatype", datatype).map_or(ANYTHING, |of| of.signature.repeated(count).tag())
            }
        }
    }

    /// A new handle of a type.
    pub fn insert(&mut self, of: Arc<Type>, committed: bool) -> MPI_Datatype {
        MPI_Datatype(self.table.insert(Entry { of, committed, labels: Labels::default() }))
    }

    /// A handle of a type that is a component of another: its own if it is predefined, a new one otherwise.
    pub fn handle_of(&mut self, of: &Arc<Type>) -> MPI_Datatype {
        match &of.constructor {
            Constructor::Named(datatype) => datatype.handle,
            Constructor::F90 { combiner, arguments, of } => {
                self.fortran.get(&(*combiner, arguments.clone())).copied().unwrap_or(of.handle)
            }
            _ => self.insert(of.clone(), of.is_flat()),
        }
    }

    /// The type for a kind of Fortran: made once for the same arguments, committed, never freed.
    pub fn fortran(
        &mut self,
        combiner: c_int,
        arguments: Vec<c_int>,
        datatype: &'static Datatype,
    ) -> MPI_Datatype {
        let key = (combiner, arguments);
        if let Some(handle) = self.fortran.get(&key) {
            return *handle;
        }
        let constructor = Constructor::F90 { combiner, arguments: key.1.clone(), of: datatype };
        let handle = self.insert(Type::predefined(datatype, constructor), true);
        self.fortran.insert(key, handle);
        handle
    }

    /// MPI_Type_commit.
    ///
    /// # Errors
    /// The handle names no type.
    pub fn commit(&mut self, argument: &'static str, handle: MPI_Datatype) -> MpiResult {
        if predefined_type(handle).is_some() {
            return Ok(());
        }
        let entry = self.table.named_mut(argument, handle.0)?;
        entry.of.program();
        entry.committed = true;
        Ok(())
    }

    /// Whether a handle may be freed.
    ///
    /// # Errors
    /// It names no type, or a predefined one.
    pub fn check_free(&self, argument: &'static str, handle: MPI_Datatype) -> MpiResult {
        if self.find(argument, handle)?.as_predefined().is_none() {
            return Ok(());
        }
        let name = self.name(argument, handle)?;
        let name = if name.is_empty() { format!("{:#x}", handle.0) } else { name };
        Err(MpiError::argument(MPI_ERR_TYPE, argument, name, "predefined datatypes are not freed"))
    }

    /// Frees a handle.
    ///
    /// # Errors
    /// As [`Self::check_free`].
    pub fn remove(&mut self, argument: &'static str, handle: MPI_Datatype) -> MpiResult {
        self.check_free(argument, handle)?;
        // It was found above.
        let _ = self.table.remove(handle.0);
        Ok(())
    }

    /// The name of a datatype.
    ///
    /// # Errors
    /// The handle names none.
    pub fn name(&self, argument: &'static str, handle: MPI_Datatype) -> MpiResult<String> {
        let labels = match predefined_type(handle) {
            Some(_) => self.labels.get(&handle),
            None => Some(&self.table.named(argument, handle.0)?.labels),
        };
        let given = labels.and_then(|labels| labels.name.clone());
        let own = predefined_datatype(handle).map(|datatype| datatype.name.to_owned());
        Ok(given.or(own).unwrap_or_default())
    }

    /// Name and attributes of a handle, to be changed.
    ///
    /// # Errors
    /// The handle names no type.
    pub fn labels_mut(&mut self, argument: &'static str, handle: MPI_Datatype) -> MpiResult<&mut Labels> {
        if predefined_type(handle).is_some() {
            return Ok(self.labels.entry(handle).or_default());
        }
        Ok(&mut self.table.named_mut(argument, handle.0)?.labels)
    }
}
