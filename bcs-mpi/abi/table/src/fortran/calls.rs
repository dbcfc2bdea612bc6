//! Writes programs for tests that call every procedure, of each of the three interfaces: they show that each
//! is there, under its name, with its arguments, and in the library. Nothing is called when they run, but
//! that they do.

use super::argument::{Argument, Kind, Width};
use super::binding::{Binding, bindings};
use super::facts::Facts;
use super::lines::statement;
use super::sources::{HANDLES, has_error};
use crate::table::Tables;
use std::fmt::Write as _;

/// The programs, by file name, and the procedures that they hand over.
#[must_use]
pub fn render(tables: &Tables) -> Vec<(&'static str, String)> {
    vec![
        ("calls_f08.f90", program(tables, "  use mpi_f08", "", true)),
        ("calls_mpi.f90", program(tables, "  use mpi", "", false)),
        ("calls_mpif.f90", program(tables, "", "  include 'mpif.h'", false)),
        ("procedures.f90", procedures(tables)),
    ]
}

fn procedures(tables: &Tables) -> String {
    tables.callbacks.iter().fold(String::new(), |mut text, callback| {
        let _ = writeln!(text, "subroutine own_{}()\nend subroutine", callback.name);
        text
    })
}

fn program(tables: &Tables, module: &str, include: &str, modern: bool) -> String {
    let facts = Facts::read();
    let mut text =
        format!("program calls\n{module}\n  use, intrinsic :: iso_c_binding\n  implicit none\n{include}\n");
    for line in [
        "integer :: ierror, n, ns(8), triples(3, 8), buffer(8)",
        "integer(MPI_COUNT_KIND) :: large, larges(8)",
        "integer(MPI_ADDRESS_KIND) :: address",
        "logical :: l, ls(8)",
        "character(len=64) :: s, ss(8), sss(8, 8)",
        "type(c_ptr) :: pointer",
        "double precision :: time",
    ] {
        statement(&mut text, 2, line);
    }
    if modern {
        for handle in HANDLES {
            statement(&mut text, 2, &format!("type({handle}) :: h_{handle}, hs_{handle}(8)"));
        }
        statement(&mut text, 2, "type(MPI_Status) :: status, statuses(8)");
    } else {
        statement(&mut text, 2, "integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 8)");
    }
    for callback in tables.callbacks.iter().filter(|c| c.returns != "=" && !c.name.starts_with("MPI_T_")) {
        let name = callback.name;
        let declared = match modern && callback.since.deprecated.is_none() {
            true => format!("procedure({name}) :: own_{name}"),
            false => format!("external :: own_{name}"),
        };
        statement(&mut text, 2, &declared);
    }
    text += "  n = 1\n  call MPI_Init(ierror)\n  if (command_argument_count() == 0) then\n    call MPI_Finalize(ierror)\n    stop\n  end if\n";
    let mut procedures = 0;
    for prefix in ["", "P"] {
        for binding in bindings(&facts, tables).iter().filter(|binding| is_called(binding, modern)) {
            procedures += 1;
            call(&mut text, binding, prefix, modern);
        }
    }
    let _ = write!(text, "end program\n! {procedures} calls\n");
    text
}

fn is_called(binding: &Binding<'_>, modern: bool) -> bool {
    // What the compiler takes for the call with other counts has no name of its own.
    if modern { binding.is_modern() } else { binding.is_traditional() }
}

fn call(text: &mut String, binding: &Binding<'_>, prefix: &str, modern: bool) {
    let takes_procedure = binding.arguments.iter().any(|a| matches!(a.kind, Kind::Procedure(_)));
    let name = if takes_procedure {
        binding.name()
    } else {
        binding.name().strip_suffix("_c").unwrap_or(binding.name())
    };
    let mut arguments: Vec<_> = binding.visible().map(|argument| value(binding, argument, modern)).collect();
    if has_error(binding) {
        arguments.push("ierror".to_owned());
    }
    let arguments = arguments.join(", ");
    let call = match binding.function.returns {
        "double" => format!("time = {prefix}{name}({arguments})"),
        "MPI_Aint" => format!("address = {prefix}{name}({arguments})"),
        _ => format!("call {prefix}{name}({arguments})"),
    };
    statement(text, 2, &call);
}

fn value(binding: &Binding<'_>, argument: &Argument, modern: bool) -> String {
    let old = binding.function.since.deprecated == Some("2.0");
    match &argument.kind {
        Kind::Dropped | Kind::Choice => "buffer".to_owned(),
        Kind::Number(_) if argument.is_logical => "l".to_owned(),
        Kind::Numbers(_) if argument.is_logical => "ls".to_owned(),
        Kind::Number(Width::Default) => "n".to_owned(),
        Kind::Number(_) => "large".to_owned(),
        Kind::Numbers(Width::Default) | Kind::Weights => "ns".to_owned(),
        Kind::Numbers(_) => "larges".to_owned(),
        Kind::Triples => "triples".to_owned(),
        Kind::Handle(of) if modern => format!("h_{of}"),
        Kind::Handles(of) if modern => format!("hs_{of}"),
        Kind::Handle(_) => "n".to_owned(),
        Kind::Handles(_) => "ns".to_owned(),
        Kind::Status => "status".to_owned(),
        Kind::Statuses => "statuses".to_owned(),
        Kind::Text => "s".to_owned(),
        Kind::Texts(1) => "ss".to_owned(),
        Kind::Texts(_) => "sss".to_owned(),
        Kind::Pointer if modern => "pointer".to_owned(),
        Kind::Pointer if argument.c_name == "buffer_addr" => "buffer".to_owned(),
        Kind::State | Kind::Attribute if old => "n".to_owned(),
        Kind::Pointer | Kind::State | Kind::Attribute => "address".to_owned(),
        Kind::Procedure(of) => format!("own_{of}"),
    }
}
