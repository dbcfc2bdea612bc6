//! What a parameter of C is in Fortran (MPI-5.0, §2.6.2, §19.1 and appendix A.4, A.5).

use super::facts::Facts;
use crate::header::OPAQUE_TYPES;
use crate::table::{Callback, Function};

/// How wide an integer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// INTEGER.
    Default,
    /// INTEGER(KIND=MPI_COUNT_KIND).
    Count,
    /// INTEGER(KIND=MPI_ADDRESS_KIND).
    Address,
    /// INTEGER(KIND=MPI_OFFSET_KIND).
    Offset,
}

impl Width {
    fn of(c_type: &str) -> Option<Self> {
        match c_type {
            "int" => Some(Self::Default),
            "MPI_Count" => Some(Self::Count),
            "MPI_Aint" => Some(Self::Address),
            "MPI_Offset" => Some(Self::Offset),
            _ => None,
        }
    }

    /// The type in Fortran.
    #[must_use]
    pub fn fortran(self) -> &'static str {
        match self {
            Self::Default => "integer",
            Self::Count => "integer(kind=MPI_COUNT_KIND)",
            Self::Address => "integer(kind=MPI_ADDRESS_KIND)",
            Self::Offset => "integer(kind=MPI_OFFSET_KIND)",
        }
    }

    /// The type in Rust.
    #[must_use]
    pub fn rust(self) -> &'static str {
        if self == Self::Default { "c_int" } else { "i64" }
    }
}

/// What becomes of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It is read.
    In,
    /// It is stored.
    Out,
    /// It is read, and then stored.
    InOut,
}

/// What a parameter is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Fortran has none such.
    Dropped,
    /// Data of the program, of any type.
    Choice,
    /// A number.
    Number(Width),
    /// Several numbers.
    Numbers(Width),
    /// Triples of numbers.
    Triples,
    /// Weights of a graph's edges, or one of the names that stand for none.
    Weights,
    /// A handle of a type of C.
    Handle(String),
    /// Several handles.
    Handles(String),
    /// A status, or the name that stands for none.
    Status,
    /// Several statuses.
    Statuses,
    /// A string.
    Text,
    /// Several strings; the number of dimensions.
    Texts(usize),
    /// An address that MPI stores.
    Pointer,
    /// A value that MPI hands back to callbacks.
    State,
    /// The value of an attribute.
    Attribute,
    /// A function of the program, of a type of C.
    Procedure(String),
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name in C.
    pub c_name: String,
    /// Its name in Fortran.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Whether it is LOGICAL.
    pub is_logical: bool,
    /// What becomes of it.
    pub flow: Flow,
}

/// The parameters of a function, or of a callback.
#[must_use]
pub fn arguments(facts: &Facts, callbacks: &[Callback], function: &Function) -> Vec<Argument> {
    let base = function.large_form_of.as_deref().unwrap_or(&function.name);
    let base = base.strip_suffix("_c").unwrap_or(base);
    let written = function.parameters.iter().filter(|parameter| *parameter != "...");
    written.map(|parameter| argument(facts, callbacks, base, parameter)).collect()
}

fn argument(facts: &Facts, callbacks: &[Callback], function: &str, parameter: &str) -> Argument {
    let (is_const, rest) = match parameter.strip_prefix("const ") {
        Some(rest) => (true, rest),
        None => (false, parameter),
    };
    let (c_type, declared) = rest.split_once(' ').unwrap_or((rest, ""));
    let c_name = declared.trim_start_matches('*').split('[').next().unwrap_or_default().to_owned();
    let (stars, brackets) = (declared.matches('*').count(), declared.matches("[]").count());
    let handle = OPAQUE_TYPES.iter().any(|(name, _)| *name == c_type && !name.starts_with("MPI_T_"));
    let kind = match c_type {
        _ if facts.pairs("dropped", function, &c_name) => Kind::Dropped,
        "void" if facts.lists("pointer", &c_name) || c_name == "buffer_addr" => Kind::Pointer,
        "void" if c_name == "extra_state" => Kind::State,
        "void" if c_name == "attribute_val" => Kind::Attribute,
        "void" => Kind::Choice,
        "char" if stars + brackets == 1 => Kind::Text,
        "char" => Kind::Texts(stars + brackets - 1),
        "MPI_Status" if c_name.starts_with("array_of") => Kind::Statuses,
        "MPI_Status" => Kind::Status,
        _ if callbacks.iter().any(|callback| callback.name == c_type) => Kind::Procedure(c_type.to_owned()),
        _ if handle && brackets > 0 => Kind::Handles(c_type.to_owned()),
        _ if handle => Kind::Handle(c_type.to_owned()),
        _ if declared.ends_with("[][3]") => Kind::Triples,
        _ if c_name.contains("weights") || c_name == "array_of_errcodes" => Kind::Weights,
        _ => {
            let narrow = facts.lists("narrow", function) && c_type == "MPI_Aint";
            let width = if narrow { Width::Default } else { Width::of(c_type).unwrap_or(Width::Default) };
            if brackets > 0 { Kind::Numbers(width) } else { Kind::Number(width) }
        }
    };
    let stores = !is_const && (stars + brackets > 0);
    let reads_only = matches!(kind, Kind::Triples | Kind::Choice | Kind::State | Kind::Procedure(_))
        || matches!(kind, Kind::Texts(_))
        || (facts.lists("narrow", function) && brackets > 0)
        || (kind == Kind::Attribute && function.ends_with("_set_attr") || function == "MPI_Attr_put");
    let flow = match () {
        () if facts.pairs("changed", function, &c_name) => Flow::InOut,
        () if stores && !reads_only => Flow::Out,
        () if kind == Kind::Choice && !is_const => Flow::Out,
        () => Flow::In,
    };
    Argument {
        name: facts.of("renamed", &c_name).map_or_else(|| c_name.clone(), |names| names[0].to_owned()),
        is_logical: facts.lists("logical", &c_name),
        c_name,
        kind,
        flow,
    }
}
