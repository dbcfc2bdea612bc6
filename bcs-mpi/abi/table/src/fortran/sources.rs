//! Writes the modules: the types that `mpi` and `mpi_f08` share, and these two (MPI-5.0, §19.1.2, §19.1.3).
//!
//! The interface of a procedure says how it is called in the library: `mpi_send_`, as a compiler names a
//! procedure `MPI_Send` of no module, or, for choice buffers that are descriptors, `BIND(C)`
//! (`MPI_Send_f08ts`, schemes 1B and 2A of §19.1.5). Without descriptors it is `MPI_Send_f08` (1A).

use super::argument::{Argument, Flow, Kind, Width};
use super::binding::{Binding, bindings, differ};
use super::constants::{COMMON, Named, SENTINELS, named, procedures};
use super::facts::Facts;
use super::include::KINDS;
use super::lines::statement;
use crate::table::{Callback, Function, Tables};
use std::fmt::Write as _;

/// Types of handles in Fortran 2008.
pub const HANDLES: [&str; 11] = [
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_File",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Win",
];

const OPENING: &str = "\
! BCS-MPI: the MPI-5.0 interface for Fortran, made from the tables of the standard that mpi.h comes from.
! SPDX-License-Identifier: MIT OR Apache-2.0
";

/// How choice buffers come to the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// As descriptors: TYPE(*), DIMENSION(..).
    Descriptors,
    /// The same, and strings beside them are descriptors, too: not every compiler has those in BIND(C).
    DescribedTexts,
    /// As addresses, by the directives of compilers.
    Addresses,
}

/// The source files, by name.
#[must_use]
pub fn render(tables: &Tables) -> Vec<(&'static str, String)> {
    let facts = Facts::read();
    vec![
        ("mpif.h", super::include::render(tables)),
        ("mpi_types.f90", types()),
        ("mpi.f90", traditional(&facts, tables)),
        ("mpi_f08.f90", modern(&facts, tables, Choice::Descriptors)),
        ("mpi_f08_texts.f90", modern(&facts, tables, Choice::DescribedTexts)),
        ("mpi_f08_addresses.f90", modern(&facts, tables, Choice::Addresses)),
    ]
}

/// The module of what both modules have.
fn types() -> String {
    let mut text = OPENING.to_owned();
    text += "module bcs_mpi_types\n  use, intrinsic :: iso_c_binding, only: c_ptr, c_funptr, c_size_t\n  implicit none\n";
    text += "  private :: c_ptr, c_funptr, c_size_t\n";
    for (name, value) in KINDS {
        statement(&mut text, 2, &format!("integer, parameter :: {name} = {value}"));
    }
    for name in HANDLES {
        let _ = write!(text, "  type, bind(C) :: {name}\n    integer :: MPI_VAL\n  end type\n");
    }
    text += "  type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE\n    integer :: MPI_TAG\n    integer :: MPI_ERROR\n";
    text += "    integer :: MPI_internal(5)\n  end type\n";
    for (operator, sign) in [("eq", "=="), ("ne", "/=")] {
        let _ = writeln!(text, "  interface operator({sign})");
        for name in HANDLES {
            let _ = writeln!(text, "    module procedure {name}_{operator}");
        }
        text += "  end interface\n";
    }
    for name in HANDLES {
        let _ = writeln!(text, "  private :: {name}_eq, {name}_ne");
    }
    text += "contains\n";
    for (operator, sign) in [("eq", "=="), ("ne", "/=")] {
        for name in HANDLES {
            let _ = write!(
                text,
                "  elemental logical function {name}_{operator}(a, b)\n    type({name}), intent(in) :: a, b\n    \
                 {name}_{operator} = a%MPI_VAL {sign} b%MPI_VAL\n  end function\n"
            );
        }
    }
    text += "end module\n";
    text
}

fn common(text: &mut String, modern: bool) {
    for (name, integers, shape) in SENTINELS {
        let declared = match (name, integers) {
            ("MPI_STATUS_IGNORE", _) if modern => "type(MPI_Status) :: MPI_STATUS_IGNORE".to_owned(),
            ("MPI_STATUSES_IGNORE", _) if modern => "type(MPI_Status) :: MPI_STATUSES_IGNORE(1)".to_owned(),
            (_, 0) => format!("character(len=1) :: {name}{shape}"),
            _ => format!("integer :: {name}{shape}"),
        };
        statement(text, 2, &declared);
    }
    let names: Vec<_> = SENTINELS.iter().map(|(name, ..)| *name).collect();
    statement(text, 2, &format!("common /{COMMON}/ {}", names.join(", ")));
    statement(text, 2, "private :: BCS_MPI_FILL, BCS_MPI_REST");
}

fn values(text: &mut String, tables: &Tables, modern: bool) {
    for Named { name, c_type, value, .. } in named(tables).iter().filter(|named| !modern || !named.removed) {
        let declared = match *c_type {
            "int" => format!("integer, parameter :: {name} = {value}"),
            "MPI_Offset" => format!("integer(kind=MPI_OFFSET_KIND), parameter :: {name} = {value}"),
            handle if modern => format!("type({handle}), parameter :: {name} = {handle}({value})"),
            _ => format!("integer, parameter :: {name} = {value}"),
        };
        statement(text, 2, &declared);
    }
}

/// Statuses from one form to the other, and what no function of C has.
const CONVERSIONS: &str = "\
  interface @MPI_Status_f2f08
    subroutine @MPI_Status_f2f08@F(f_status, f08_status, ierror)
      import :: MPI_Status, MPI_STATUS_SIZE
      integer, intent(in) :: f_status(MPI_STATUS_SIZE)
      type(MPI_Status), intent(out) :: f08_status
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
  interface @MPI_Status_f082f
    subroutine @MPI_Status_f082f@F(f08_status, f_status, ierror)
      import :: MPI_Status, MPI_STATUS_SIZE
      type(MPI_Status), intent(in) :: f08_status
      integer, intent(out) :: f_status(MPI_STATUS_SIZE)
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
";

/// With descriptors: sizes of what is given (MPI-5.0, §16.3).
const SIZEOF: &str = "\
  interface @MPI_Sizeof
    subroutine @MPI_Sizeof_ts(x, size, ierror) bind(C, name=\"@lmpi_sizeof_ts_\")
      type(*), dimension(..), intent(in) :: x
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine
  end interface
";

/// The module mpi.
fn traditional(facts: &Facts, tables: &Tables) -> String {
    let mut text = OPENING.to_owned();
    text +=
        "module mpi\n  use bcs_mpi_types\n  use, intrinsic :: iso_c_binding, only: c_ptr\n  implicit none\n";
    text += "  private :: c_ptr\n";
    text += "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.\n";
    text += "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.\n";
    values(&mut text, tables, false);
    common(&mut text, false);
    for name in procedures(tables).iter().filter(|name| !name.ends_with("_C")) {
        statement(&mut text, 2, &format!("external :: {name}"));
    }
    let all = bindings(facts, tables);
    for prefix in ["", "P"] {
        for binding in all.iter().filter(|binding| binding.is_traditional()) {
            let name = format!("{prefix}{}", binding.name());
            let _ = writeln!(text, "  interface {name}");
            traditional_interface(&mut text, binding, &name, false);
            if facts.lists("cptr", binding.name()) {
                traditional_interface(&mut text, binding, &format!("{name}_cptr"), true);
            }
            text += "  end interface\n";
        }
        text += &CONVERSIONS.replace("@F", "").replace('@', prefix);
        text += &SIZEOF.replace("@l", &prefix.to_lowercase()).replace('@', prefix);
    }
    text += "end module\n";
    text
}

/// The type of what a function returns, if it does.
fn result_type(function: &Function) -> Option<&'static str> {
    match function.returns {
        "double" => Some("double precision"),
        "MPI_Aint" => Some("integer(kind=MPI_ADDRESS_KIND)"),
        _ => None,
    }
}

/// The names of the dummy arguments; the last is the error, where there is one.
fn dummies(binding: &Binding<'_>) -> Vec<String> {
    let mut names: Vec<_> = binding.visible().map(|argument| argument.name.clone()).collect();
    if has_error(binding) {
        names.push("ierror".to_owned());
    }
    names
}

/// Whether a procedure has the argument IERROR.
#[must_use]
pub fn has_error(binding: &Binding<'_>) -> bool {
    binding.function.returns == "int" && binding.name() != "MPI_Pcontrol"
}

fn opening_of(binding: &Binding<'_>, name: &str, bound: &str) -> (String, &'static str) {
    let dummies = dummies(binding).join(", ");
    match result_type(binding.function) {
        Some(of) => (format!("{of} function {name}({dummies}){bound}"), "end function"),
        None => (format!("subroutine {name}({dummies}){bound}"), "end subroutine"),
    }
}

/// The directives by which compilers let any argument be a choice buffer.
fn any_argument(text: &mut String, names: &[&str]) {
    let names = names.join(", ");
    for directive in [
        "!DIR$ IGNORE_TKR",
        "!GCC$ ATTRIBUTES NO_ARG_CHECK ::",
        "!DEC$ ATTRIBUTES NO_ARG_CHECK ::",
        "!$PRAGMA IGNORE_TKR",
    ] {
        let _ = writeln!(text, "      {directive} {names}");
    }
}

fn choices<'a>(binding: &'a Binding<'_>) -> Vec<&'a str> {
    let choices = binding.visible().filter(|argument| argument.kind == Kind::Choice);
    choices.map(|argument| argument.name.as_str()).collect()
}

fn traditional_interface(text: &mut String, binding: &Binding<'_>, name: &str, pointer: bool) {
    let (opening, end) = opening_of(binding, name, "");
    statement(text, 4, &opening);
    text.push_str("      import\n");
    let detached = binding.arguments.iter().filter(|argument| argument.c_name == "buffer_addr");
    let mut any = choices(binding);
    any.extend(detached.map(|argument| argument.name.as_str()));
    if !any.is_empty() {
        any_argument(text, &any);
    }
    for argument in binding.visible() {
        let default = |shape: &str| format!("integer :: {}{shape}", argument.name);
        let number = |width: Width| if argument.is_logical { "logical" } else { width.fortran() };
        let name = &argument.name;
        let old = binding.function.since.deprecated == Some("2.0");
        let declared = match &argument.kind {
            Kind::Dropped => continue,
            Kind::Choice => format!("type(*), dimension(*) :: {name}"),
            Kind::Pointer if argument.c_name == "buffer_addr" => format!("type(*), dimension(*) :: {name}"),
            Kind::Pointer if pointer => format!("type(c_ptr) :: {name}"),
            Kind::State | Kind::Attribute if old => default(""),
            Kind::Pointer | Kind::State | Kind::Attribute => {
                format!("{} :: {name}", Width::Address.fortran())
            }
            Kind::Number(width) => format!("{} :: {name}", number(*width)),
            Kind::Numbers(width) => format!("{} :: {name}(*)", number(*width)),
            Kind::Triples => default("(3,*)"),
            Kind::Weights | Kind::Handles(_) => default("(*)"),
            Kind::Handle(_) => default(""),
            Kind::Status => default("(MPI_STATUS_SIZE)"),
            Kind::Statuses => default("(MPI_STATUS_SIZE,*)"),
            Kind::Text => format!("character(len=*) :: {name}"),
            Kind::Texts(1) => format!("character(len=*) :: {name}(*)"),
            Kind::Texts(_) => format!("character(len=*) :: {name}(count,*)"),
            Kind::Procedure(_) => format!("external :: {name}"),
        };
        statement(text, 6, &declared);
    }
    if has_error(binding) {
        text.push_str("      integer :: ierror\n");
    }
    let _ = writeln!(text, "    {end}");
}

/// The module mpi_f08.
fn modern(facts: &Facts, tables: &Tables, choice: Choice) -> String {
    let truth = if choice == Choice::Addresses { ".false." } else { ".true." };
    let mut text = OPENING.to_owned();
    text += "module mpi_f08\n  use bcs_mpi_types\n  use, intrinsic :: iso_c_binding, only: c_ptr, c_size_t\n  implicit none\n";
    text += "  private :: c_ptr, c_size_t\n";
    let _ = writeln!(text, "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = {truth}");
    let _ = writeln!(text, "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = {truth}");
    values(&mut text, tables, true);
    common(&mut text, true);
    text += "  abstract interface\n";
    let own = |callback: &&Callback| {
        callback.returns != "=" && !callback.name.starts_with("MPI_T_") && callback.since.deprecated.is_none()
    };
    for callback in tables.callbacks.iter().filter(own) {
        callback_interface(&mut text, facts, tables, callback, callback.name);
    }
    text += "  end abstract interface\n".replace(" abstract", "").as_str();
    for (name, callback) in predefined(tables) {
        text += "  interface\n";
        callback_interface(&mut text, facts, tables, callback, name);
        text += "  end interface\n";
    }
    let all: Vec<_> = bindings(facts, tables).into_iter().filter(Binding::is_modern).collect();
    for prefix in ["", "P"] {
        for binding in all.iter().filter(|binding| !is_overload(binding, &all)) {
            let name = binding.name();
            let large = all.iter().find(|large| large.function.large_form_of.as_deref() == Some(name));
            let large = large.or_else(|| all.iter().find(|large| large.name() == format!("{name}_c")));
            let large = large.filter(|large| is_overload(large, &all));
            if binding.is_large() && !takes_procedure(binding) {
                continue;
            }
            let _ = writeln!(text, "  interface {prefix}{name}");
            for one in [Some(binding), large].into_iter().flatten() {
                modern_interface(&mut text, facts, one, prefix, choice);
            }
            text += "  end interface\n";
        }
        text += &CONVERSIONS.replace("@F", "_f08").replace('@', prefix);
        if choice != Choice::Addresses {
            text += &SIZEOF.replace("@l", &prefix.to_lowercase()).replace('@', prefix);
            text += &SYNC.replace("@l", &prefix.to_lowercase()).replace('@', prefix);
        } else {
            text += &SYNC_BY_ADDRESS.replace('@', prefix);
        }
    }
    if choice == Choice::Descriptors {
        text += "contains\n";
        for prefix in ["", "P"] {
            for binding in all.iter().filter(|binding| has_text(binding) && binding.has_choice()) {
                wrapper(&mut text, facts, binding, prefix);
            }
        }
    }
    text += "end module\n";
    text
}

/// Tells the compiler that a buffer may have changed (§19.1.17).
const SYNC: &str = "\
  interface @MPI_F_sync_reg
    subroutine @MPI_F_sync_reg_f08ts(buf) bind(C, name=\"@lmpi_f_sync_reg_f08ts_\")
      type(*), dimension(..), asynchronous :: buf
    end subroutine
  end interface
";

/// The same by address.
const SYNC_BY_ADDRESS: &str = "\
  interface @MPI_F_sync_reg
    subroutine @MPI_F_sync_reg_f08(buf)
      !DIR$ IGNORE_TKR buf
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
      !$PRAGMA IGNORE_TKR buf
      type(*), dimension(*), asynchronous :: buf
    end subroutine
  end interface
";

/// The predefined callbacks of mpi_f08, and their types.
fn predefined(tables: &Tables) -> Vec<(&'static str, &Callback)> {
    let mut all = Vec::new();
    for section in &tables.sections {
        let Some(of) = section.c_type.strip_suffix(" *") else { continue };
        let Some(callback) = tables.callbacks.iter().find(|callback| callback.name == of) else { continue };
        if callback.since.deprecated.is_none() {
            all.extend(section.constants.iter().map(|constant| (constant.name, callback)));
        }
    }
    all
}

/// Whether a function shares its name with one for smaller counts.
fn is_overload(binding: &Binding<'_>, all: &[Binding<'_>]) -> bool {
    let Some(plain) = binding.name().strip_suffix("_c") else { return false };
    let plain = all.iter().find(|other| other.name() == plain);
    plain.is_some_and(|plain| !takes_procedure(binding) && differ(plain, binding))
}

fn takes_procedure(binding: &Binding<'_>) -> bool {
    binding.arguments.iter().any(|argument| matches!(argument.kind, Kind::Procedure(_)))
}

fn has_text(binding: &Binding<'_>) -> bool {
    binding.arguments.iter().any(|argument| argument.kind == Kind::Text)
}

/// The declaration of an argument in mpi_f08.
fn declared(facts: &Facts, binding: &Binding<'_>, argument: &Argument, choice: Choice) -> Option<String> {
    let Argument { name, .. } = argument;
    let intent = match argument.flow {
        Flow::In => ", intent(in)",
        Flow::Out => ", intent(out)",
        Flow::InOut => ", intent(inout)",
    };
    let number = |width: Width| if argument.is_logical { "logical" } else { width.fortran() };
    Some(match &argument.kind {
        Kind::Dropped => return None,
        Kind::Choice => {
            let rank = if choice == Choice::Addresses { "*" } else { ".." };
            let reads = if argument.flow == Flow::In { intent } else { "" };
            let lasting = if binding.is_lasting(facts) { ", asynchronous" } else { "" };
            // Constants are no data that a call may still use when it has returned.
            let reads = if lasting.is_empty() || rank == ".." { reads } else { "" };
            format!("type(*), dimension({rank}){reads}{lasting} :: {name}")
        }
        Kind::Pointer => format!("type(c_ptr), intent(out) :: {name}"),
        Kind::State | Kind::Attribute => format!("{}{intent} :: {name}", Width::Address.fortran()),
        Kind::Number(width) => format!("{}{intent} :: {name}", number(*width)),
        Kind::Numbers(width) => {
            let lasting =
                if binding.is_lasting(facts) && argument.flow == Flow::In { ", asynchronous" } else { "" };
            format!("{}{intent}{lasting} :: {name}(*)", number(*width))
        }
        Kind::Triples => format!("integer{intent} :: {name}(3,*)"),
        // What stands for no weights is no variable that a call stores into.
        Kind::Weights if argument.flow == Flow::Out => format!("integer :: {name}(*)"),
        Kind::Weights => format!("integer{intent} :: {name}(*)"),
        Kind::Handle(of) => format!("type({of}){intent} :: {name}"),
        Kind::Handles(of) => format!("type({of}){intent} :: {name}(*)"),
        Kind::Status if argument.flow == Flow::In => format!("type(MPI_Status), intent(in) :: {name}"),
        Kind::Status if binding.function.chapter == 13 => {
            format!("type(MPI_Status), intent(inout) :: {name}")
        }
        Kind::Status => format!("type(MPI_Status) :: {name}"),
        Kind::Statuses => format!("type(MPI_Status) :: {name}(*)"),
        Kind::Text => format!("character(len=*){intent} :: {name}"),
        Kind::Texts(1) => format!("character(len=*), intent(in) :: {name}(*)"),
        Kind::Texts(_) => format!("character(len=*), intent(in) :: {name}(count,*)"),
        Kind::Procedure(of) => format!("procedure({of}) :: {name}"),
    })
}

fn modern_interface(text: &mut String, facts: &Facts, binding: &Binding<'_>, prefix: &str, choice: Choice) {
    let described = binding.has_choice() && choice != Choice::Addresses;
    if described && has_text(binding) && choice == Choice::Descriptors {
        let _ = writeln!(text, "    procedure {prefix}{}_f08ts", binding.name());
        return;
    }
    let form = match described {
        true if has_text(binding) => "tc",
        true => "ts",
        false => "",
    };
    let name = format!("{prefix}{}_f08{form}", binding.name());
    let bound =
        if described { format!(" bind(C, name=\"{}_\")", name.to_lowercase()) } else { String::new() };
    let (opening, end) = opening_of(binding, &name, &bound);
    statement(text, 4, &opening);
    text.push_str("      import\n");
    if binding.has_choice() && choice == Choice::Addresses {
        any_argument(text, &choices(binding));
    }
    for argument in binding.visible() {
        if let Some(declared) = declared(facts, binding, argument, choice) {
            statement(text, 6, &declared);
        }
    }
    if has_error(binding) {
        text.push_str("      integer, optional, intent(out) :: ierror\n");
    }
    let _ = writeln!(text, "    {end}");
}

/// A procedure of a choice buffer and a string: not every compiler lets BIND(C) have strings, so it hands on
/// the length as a number.
fn wrapper(text: &mut String, facts: &Facts, binding: &Binding<'_>, prefix: &str) {
    let name = format!("{prefix}{}_f08ts", binding.name());
    let inner = format!("bcs_{}", name.to_lowercase());
    let dummies = dummies(binding).join(", ");
    let texts: Vec<_> = binding.visible().filter(|argument| argument.kind == Kind::Text).collect();
    let lengths: Vec<_> = texts.iter().map(|argument| format!("{}_length", argument.name)).collect();
    let declarations = |text: &mut String, inner: bool, indent: usize| {
        for argument in binding.visible() {
            let declared = match argument.kind {
                Kind::Text if inner => Some(format!("character(len=1), intent(in) :: {}(*)", argument.name)),
                _ => declared(facts, binding, argument, Choice::Descriptors),
            };
            if let Some(declared) = declared {
                statement(text, indent, &declared);
            }
        }
        statement(text, indent, "integer, optional, intent(out) :: ierror");
    };
    statement(text, 2, &format!("subroutine {name}({dummies})"));
    declarations(text, false, 4);
    text.push_str("    interface\n");
    let symbol = format!("{}_", name.to_lowercase());
    let all = format!("{dummies}, {}", lengths.join(", "));
    statement(text, 6, &format!("subroutine {inner}({all}) bind(C, name=\"{symbol}\")"));
    text.push_str("        import\n");
    declarations(text, true, 8);
    for length in &lengths {
        statement(text, 8, &format!("integer(c_size_t), value :: {length}"));
    }
    text.push_str("      end subroutine\n    end interface\n");
    let values: Vec<_> = texts.iter().map(|argument| format!("len({}, c_size_t)", argument.name)).collect();
    statement(text, 4, &format!("call {inner}({dummies}, {})", values.join(", ")));
    text.push_str("  end subroutine\n");
}

/// The interface of a callback of Fortran 2008 (appendix A.1.3), of a type or of a predefined one.
fn callback_interface(text: &mut String, facts: &Facts, tables: &Tables, callback: &Callback, name: &str) {
    let function = Function {
        name: callback.name.to_owned(),
        chapter: 0,
        since: callback.since,
        form: crate::table::Form::Exported,
        large_form_of: None,
        returns: callback.returns,
        parameters: callback.parameters.split(", ").map(str::to_owned).collect(),
    };
    let arguments = super::argument::arguments(facts, &tables.callbacks, &function);
    let error = if callback.returns == "int" { ", ierror" } else { "" };
    let names: Vec<_> = arguments.iter().map(|argument| argument.name.clone()).collect();
    statement(text, 4, &format!("subroutine {name}({}{error})", names.join(", ")));
    text.push_str("      import\n");
    for argument in &arguments {
        let name = &argument.name;
        let is_attribute = name.starts_with("value");
        let declared = match &argument.kind {
            Kind::Choice if is_attribute => format!("{} :: {name}", Width::Address.fortran()),
            Kind::Choice => format!("type(c_ptr), value :: {name}"),
            Kind::State => format!("{} :: {name}", Width::Address.fortran()),
            Kind::Number(_) if argument.is_logical || name == "complete" => format!("logical :: {name}"),
            Kind::Number(width) => format!("{} :: {name}", width.fortran()),
            Kind::Handle(of) => format!("type({of}) :: {name}"),
            Kind::Status => format!("type(MPI_Status) :: {name}"),
            other => unreachable!("a callback has no {other:?}"),
        };
        statement(text, 6, &declared);
    }
    if !error.is_empty() {
        text.push_str("      integer :: ierror\n");
    }
    text.push_str("    end subroutine\n");
}
