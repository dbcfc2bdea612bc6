//! Views are set and asked (MPI-5.0, §14.3).

use super::check::check_no_split;
use super::open::advise;
use super::representation::{in_file, size};
use super::shared_pointer;
use super::size::bytes_of;
use super::together::alike;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::info;
use crate::object::datatype::Type;
use crate::object::file::File;
use crate::object::file::representation::Representation;
use crate::object::file::view::View;
use crate::process::{self, Guard};
use mds::Primitive;
use std::sync::Arc;

/// What a call says of a view.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Where the first filetype begins, in bytes.
    pub disp: MPI_Offset,
    /// The etype.
    pub etype: MPI_Datatype,
    /// The filetype.
    pub filetype: MPI_Datatype,
    /// The name of the data representation.
    pub datarep: &'a str,
}

/// MPI_File_set_view: pointers are at the beginning of it.
///
/// # Errors
/// Wrong arguments, or members do not say the same.
pub fn set(file: MPI_File, asked: &Asked<'_>, info: MPI_Info) -> MpiResult {
    let (call, process) = (Primitive::FileSetView, &mut process::enter()?);
    let open = process.files.named(file)?;
    check_no_split(open)?;
    let comm = open.comm;
    let pairs = info::pairs(info)?;
    let view = make(process, file, asked)?;
    alike(process, call, comm, ("etype", &format!("of {} bytes", view.etype_bytes)))?;
    alike(process, call, comm, ("datarep", &format!("\"{}\"", asked.datarep)))?;
    let open = process.files.named_mut(file)?;
    open.hints.update(&pairs);
    advise(&open.opened.fd, &open.hints);
    (open.view, open.position) = (Arc::new(view), 0);
    shared_pointer::set(process, call, file, 0)
}

fn wrong_displacement(value: MPI_Offset, allowed: &str) -> MpiError {
    let value = match value {
        MPI_DISPLACEMENT_CURRENT => "MPI_DISPLACEMENT_CURRENT".to_owned(),
        value => value.to_string(),
    };
    MpiError::argument(MPI_ERR_ARG, "disp", value, allowed)
}

/// The displacement of a new view.
fn displacement(process: &mut Guard, file: MPI_File, disp: MPI_Offset) -> MpiResult<i64> {
    let open = process.files.named(file)?;
    match (disp, open.has(MPI_MODE_SEQUENTIAL)) {
        (MPI_DISPLACEMENT_CURRENT, true) => current(process, file),
        (_, true) => Err(wrong_displacement(
            disp,
            "a file of MPI_MODE_SEQUENTIAL takes MPI_DISPLACEMENT_CURRENT alone",
        )),
        (MPI_DISPLACEMENT_CURRENT, false) => {
            Err(wrong_displacement(disp, "that is for files of MPI_MODE_SEQUENTIAL; give 0 or more"))
        }
        (..0, false) => Err(wrong_displacement(disp, "it must be 0 or more")),
        _ => Ok(disp),
    }
}

/// Where the shared pointer is, in bytes.
fn current(process: &mut Guard, file: MPI_File) -> MpiResult<i64> {
    let position = shared_pointer::take(process, file, 0)?;
    let open = process.files.named(file)?;
    open.view.offset_of(position).or_else(|_| bytes_of(open))
}

fn wrong_type(
    argument: &'static str,
    datatype: MPI_Datatype,
    what: &str,
    allowed: impl Into<String>,
) -> MpiError {
    MpiError::argument(MPI_ERR_TYPE, argument, format!("{:#x}, {what}", datatype.0), allowed)
}

/// The view that a call asks for.
fn make(process: &mut Guard, file: MPI_File, asked: &Asked<'_>) -> MpiResult<View> {
    let types = |process: &Guard| -> MpiResult<(Arc<Type>, Arc<Type>)> {
        let etype = process.datatypes.committed("etype", asked.etype)?.clone();
        Ok((etype, process.datatypes.committed("filetype", asked.filetype)?.clone()))
    };
    let (etype, filetype) = types(process)?;
    let Some(representation) = Representation::named(asked.datarep) else {
        let allowed = "it must be \"native\", \"internal\", \"external32\", or one that MPI_Register_datarep has made known";
        return Err(MpiError::argument(
            MPI_ERR_UNSUPPORTED_DATAREP,
            "datarep",
            format!("\"{}\"", asked.datarep),
            allowed,
        ));
    };
    let disp = displacement(process, file, asked.disp)?;
    let etype_bytes = size(process, &etype, 1, &representation)?.unwrap_or(0);
    let tile = in_file(process, &filetype, &representation)?;
    let what = format!("of {} bytes", tile.size());
    if etype_bytes == 0 && tile.size() > 0 {
        return Err(wrong_type("etype", asked.etype, "which has no bytes", "positions are counted in it"));
    }
    if tile.size() > 0 && tile.size() % etype_bytes != 0 {
        let allowed = format!("it must be made of whole etypes, of {etype_bytes} bytes each");
        return Err(wrong_type("filetype", asked.filetype, &what, allowed));
    }
    let extent = tile.extent();
    let view = View::new(disp, (etype, filetype), representation, (etype_bytes, tile));
    let Some(order) = view.order() else { return Ok(view) };
    let wrong = |what: &str, allowed: &str| Err(wrong_type("filetype", asked.filetype, what, allowed));
    if order.least < 0 {
        return wrong(
            &format!("which has a byte at {}", order.least),
            "a view leads forwards: its displacements must be 0 or more",
        );
    }
    if !order.ascends {
        return wrong("whose displacements decrease", "each has to be as large as the one before at least");
    }
    if extent <= 0 {
        return wrong(&format!("which has the extent {extent}"), "it must be more than 0, as it is repeated");
    }
    let is_written = !process.files.named(file)?.has(MPI_MODE_RDONLY);
    if is_written && !order.is_apart {
        return wrong("which has bytes twice", "of a file that is written each byte may be seen once");
    }
    Ok(view)
}

/// What MPI_File_get_view answers.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Where the first filetype begins, in bytes.
    pub disp: MPI_Offset,
    /// The etype: a new handle, unless it is predefined.
    pub etype: MPI_Datatype,
    /// The filetype, likewise.
    pub filetype: MPI_Datatype,
    /// The name of the data representation.
    pub datarep: String,
}

/// MPI_File_get_view.
///
/// # Errors
/// No such file.
pub fn get(file: MPI_File) -> MpiResult<Seen> {
    let mut process = process::enter()?;
    let File { view, .. } = process.files.named(file)?;
    let view = view.clone();
    Ok(Seen {
        disp: view.disp,
        etype: process.datatypes.handle_of(&view.etype),
        filetype: process.datatypes.handle_of(&view.filetype),
        datarep: view.representation.name().to_owned(),
    })
}
