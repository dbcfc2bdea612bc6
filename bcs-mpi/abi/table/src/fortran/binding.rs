//! The functions that Fortran has, with their arguments.

use super::argument::{Argument, Flow, Kind, Width, arguments};
use super::facts::Facts;
use crate::table::{Form, Function, Tables};

/// What a choice buffer is to a call: how many elements of which datatype it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Elements: as many as one argument says, of the datatype that another one is.
    Elements {
        /// The number's name in C.
        count: String,
        /// The datatype's name in C.
        datatype: String,
    },
    /// A block for each member of the communicator, or each of its parts.
    Blocks {
        /// The name in C of the number, or of the numbers.
        count: String,
        /// The name in C of the displacements.
        displacements: Option<String>,
        /// The name in C of the datatype; of an array of them where each block has its own.
        datatype: String,
    },
    /// Operands of a reduction.
    Operands {
        /// The name in C of the number, or of the numbers.
        count: String,
        /// The datatype's name in C.
        datatype: String,
    },
    /// Memory that is one piece, and the name in C of its size, if the call has that.
    Memory(Option<String>),
    /// One element, or an address that is not followed.
    Address,
}

/// A function with its Fortran arguments.
#[derive(Debug)]
pub struct Binding<'a> {
    /// The function.
    pub function: &'a Function,
    /// Its arguments, those too that Fortran does not have.
    pub arguments: Vec<Argument>,
}

impl Binding<'_> {
    /// The name in C.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.function.name
    }

    /// The name without the mark of large counts.
    #[must_use]
    pub fn generic_name(&self) -> &str {
        self.function.large_form_of.as_deref().unwrap_or(&self.function.name)
    }

    /// Its arguments in Fortran.
    pub fn visible(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.kind != Kind::Dropped)
    }

    /// Whether it has a choice buffer.
    #[must_use]
    pub fn has_choice(&self) -> bool {
        self.arguments.iter().any(|argument| argument.kind == Kind::Choice)
    }

    /// Whether it is for large counts.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.function.name.ends_with("_c")
    }

    /// Whether the module mpi_f08 has it: what was deprecated before MPI-3.0 has no such binding.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.function.form != Form::Removed && self.function.since.deprecated != Some("2.0")
    }

    /// Whether the module mpi and mpif.h have it: large counts are mpi_f08's alone (§19.1.2).
    #[must_use]
    pub fn is_traditional(&self) -> bool {
        !self.is_large()
    }

    /// Whether its buffers are in use after it has returned.
    #[must_use]
    pub fn is_lasting(&self, facts: &Facts) -> bool {
        let name = self.function.name.strip_suffix("_c").unwrap_or(&self.function.name);
        let own =
            |marks: &[&str], matches: fn(&str, &str) -> bool| marks.iter().any(|mark| matches(name, mark));
        facts.lists("lasting", name)
            || own(&["MPI_I", "MPI_File_i"], |name, start| name.starts_with(start))
            || own(&["_init", "_begin", "_end"], |name, end| name.ends_with(end))
    }

    /// The argument that is a request which the call makes.
    #[must_use]
    pub fn request(&self) -> Option<&Argument> {
        let is_request = |argument: &&Argument| argument.kind == Kind::Handle("MPI_Request".into());
        self.arguments.iter().rfind(is_request).filter(|argument| argument.flow == Flow::Out)
    }

    /// What a choice buffer is to the call.
    #[must_use]
    pub fn role(&self, facts: &Facts, index: usize) -> Role {
        let buffer = &self.arguments[index];
        let name = self.generic_name();
        if facts.lists("address", &buffer.c_name) && !is_sized(&self.arguments, index)
            || facts.pairs("address-of", name, &buffer.c_name)
        {
            return Role::Address;
        }
        let after = &self.arguments[index + 1..];
        let is_datatype = |argument: &Argument| {
            matches!(&argument.kind,
            Kind::Handle(of) | Kind::Handles(of) if of == "MPI_Datatype")
        };
        let packed = (name.starts_with("MPI_Pack") && buffer.c_name == "outbuf")
            || (name.starts_with("MPI_Unpack") && buffer.c_name == "inbuf");
        let count = after.iter().find(|argument| argument.c_name.contains("count"));
        let datatype = after.iter().find(|argument| is_datatype(argument));
        let (Some(count), Some(datatype), false) = (count, datatype, packed) else {
            let size = |argument: &&Argument| {
                argument.c_name.contains("size") && matches!(argument.kind, Kind::Number(_))
            };
            return Role::Memory(after.iter().take(2).find(size).map(|size| size.c_name.clone()));
        };
        let (count, datatype) = (count.c_name.clone(), datatype.c_name.clone());
        let collective = matches!(self.function.chapter, 6 | 8);
        if collective && self.arguments.iter().any(|argument| argument.c_name == "op") {
            return Role::Operands { count, datatype };
        }
        let low = name.to_lowercase();
        let many = low.contains("alltoall")
            || (low.contains("gather") && buffer.c_name == "recvbuf")
            || (low.contains("scatter") && buffer.c_name == "sendbuf");
        if (collective && many) || name.starts_with("MPI_P") && self.function.chapter == 4 {
            let displacements = after.iter().take(2).find(|argument| argument.c_name.contains("displs"));
            let displacements = displacements.map(|argument| argument.c_name.clone());
            return Role::Blocks { count, displacements, datatype };
        }
        Role::Elements { count, datatype }
    }
}

/// Whether a buffer is followed by a size in bytes, or by a number of elements.
fn is_sized(arguments: &[Argument], index: usize) -> bool {
    arguments.get(index + 1).is_some_and(|next| match next.kind {
        Kind::Number(Width::Default | Width::Count) => next.c_name.contains("count"),
        Kind::Number(Width::Address) => next.c_name == "size" && next.flow == Flow::In,
        _ => false,
    })
}

/// All functions that Fortran has and C has, in the order of the table; those of statuses are elsewhere.
#[must_use]
pub fn bindings<'a>(facts: &Facts, tables: &'a Tables) -> Vec<Binding<'a>> {
    let functions = tables.functions.iter().filter(|function| {
        let plain = function.name.strip_suffix("_c").unwrap_or(&function.name);
        function.form != Form::Inline && !facts.lists("absent", plain)
    });
    functions
        .map(|function| Binding { function, arguments: arguments(facts, &tables.callbacks, function) })
        .collect()
}

/// Whether the compiler can tell two functions of one name apart: by their number of arguments, or by the
/// kind of one. Addresses, offsets and counts have one kind.
#[must_use]
pub fn differ(one: &Binding<'_>, other: &Binding<'_>) -> bool {
    let shape = |binding: &Binding<'_>| -> Vec<_> {
        let is_wide = |argument: &Argument| match argument.kind {
            Kind::Number(width) | Kind::Numbers(width) => width != Width::Default,
            _ => false,
        };
        binding.visible().map(is_wide).collect()
    };
    shape(one) != shape(other)
}
