//! Chapters 9, 11 and 20: the environment, errors, the start and the end, versions.

use crate::edge::{handle, install_panic_hook, object, place, result_string, store_all, string};
use bcs_mpi::constants::*;
use bcs_mpi::environment::life::{self, World};
use bcs_mpi::environment::{self, finalize, fortran, init};
use bcs_mpi::error::codes::codes;
use bcs_mpi::host;
use bcs_mpi::info;
use bcs_mpi::object::error_handler;
use bcs_mpi::process;
use mds::Primitive;
use std::ffi::{c_char, c_int, c_void};

calls! {
    call MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) [] {
        install_panic_hook();
        init::init(Primitive::Init, MPI_THREAD_SINGLE)?
    }
    call MPI_Init_thread(
        _argc: *mut c_int, _argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int,
    ) [] {
        let provided = place(provided, "provided")?;
        install_panic_hook();
        provided.set(init::init(Primitive::InitThread, required)?)
    }
    call MPI_Initialized(flag: *mut c_int) [] {
        place(flag, "flag")?.set((life::world() != World::Before).into())
    }
    call MPI_Finalized(flag: *mut c_int) [] {
        place(flag, "flag")?.set((life::world() == World::Finalised).into())
    }
    call MPI_Finalize() [] {
        finalize::finalize()?
    }
    call MPI_Query_thread(provided: *mut c_int) [] {
        place(provided, "provided")?.set(init::query_thread()?)
    }
    call MPI_Is_thread_main(flag: *mut c_int) [] {
        place(flag, "flag")?.set(init::is_thread_main()?.into())
    }
    call MPI_Abort(comm: MPI_Comm, errorcode: c_int) [on comm] {
        environment::abort(comm, errorcode)?
    }
    call MPI_Get_version(version: *mut c_int, subversion: *mut c_int) [] {
        place(version, "version")?.set(MPI_VERSION);
        place(subversion, "subversion")?.set(MPI_SUBVERSION)
    }
    call MPI_Get_library_version(version: *mut c_char, resultlen: *mut c_int) [] {
        let text = || Ok(environment::library_version());
        result_string(version, "version", MPI_MAX_LIBRARY_VERSION_STRING, resultlen, text)?
    }
    call MPI_Get_processor_name(name: *mut c_char, resultlen: *mut c_int) [] {
        process::enter()?;
        result_string(name, "name", MPI_MAX_PROCESSOR_NAME, resultlen, || Ok(host::name()))?
    }
    call MPI_Comm_get_parent(parent: *mut MPI_Comm) [] {
        let parent = handle(parent, "parent")?;
        process::enter()?;
        // No process of this library was spawned by another.
        parent.set(MPI_COMM_NULL)
    }
    call MPI_Abi_get_version(abi_major: *mut c_int, abi_minor: *mut c_int) [] {
        place(abi_major, "abi_major")?.set(MPI_ABI_VERSION);
        place(abi_minor, "abi_minor")?.set(MPI_ABI_SUBVERSION)
    }
    call MPI_Abi_get_info(info: *mut MPI_Info) [] {
        handle(info, "info")?.set(info::create_abi())
    }
    call MPI_Abi_get_fortran_info(info: *mut MPI_Info) [] {
        handle(info, "info")?.set(fortran::create_info())
    }
    call MPI_Abi_set_fortran_info(info: MPI_Info) [] {
        fortran::set_info(info)?
    }
    call MPI_Abi_get_fortran_booleans(
        logical_size: c_int,
        logical_true: *mut c_void,
        logical_false: *mut c_void,
        is_set: *mut c_int,
    ) [] {
        let is_set = place(is_set, "is_set")?;
        let booleans = fortran::booleans(logical_size)?;
        is_set.set(booleans.is_some().into());
        if let Some([truth, falsehood]) = booleans {
            store_all(&truth, logical_true.cast(), "logical_true")?;
            store_all(&falsehood, logical_false.cast(), "logical_false")?
        }
    }
    call MPI_Abi_set_fortran_booleans(
        logical_size: c_int,
        _logical_true: *mut c_void,
        _logical_false: *mut c_void,
    ) [] {
        fortran::set_booleans(logical_size)?
    }
    call MPI_Get_hw_resource_info(hw_info: *mut MPI_Info) [] {
        let hw_info = handle(hw_info, "hw_info")?;
        hw_info.set(environment::hardware()?)
    }
    plain MPI_Wtime() -> f64 {
        environment::wtime()
    }
    plain MPI_Wtick() -> f64 {
        environment::wtick()
    }
    call MPI_Pcontrol(_level: c_int) [] {}
    call MPI_Alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) [] {
        let base = place(baseptr.cast::<*mut c_void>(), "baseptr")?;
        info::check(info)?;
        base.set(environment::alloc_mem(size)?)
    }
    call MPI_Free_mem(base: *mut c_void) [] {
        process::enter()?;
        environment::free_mem(base)
    }

    call MPI_Error_class(errorcode: c_int, errorclass: *mut c_int) [] {
        place(errorclass, "errorclass")?.set(codes().class(errorcode)?)
    }
    call MPI_Error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) [] {
        let text = || codes().text(errorcode);
        result_string(string, "string", MPI_MAX_ERROR_STRING, resultlen, text)?
    }
    call MPI_Add_error_class(errorclass: *mut c_int) [] {
        place(errorclass, "errorclass")?.set(codes().add_class())
    }
    call MPI_Add_error_code(errorclass: c_int, errorcode: *mut c_int) [] {
        place(errorcode, "errorcode")?.set(codes().add_code(errorclass)?)
    }
    call MPI_Add_error_string(errorcode: c_int, text: *const c_char) [] {
        let text = string(text, "string", MPI_ERR_ARG)?;
        codes().set_text(errorcode, Some(text))?
    }
    call MPI_Remove_error_class(errorclass: c_int) [] {
        codes().remove(errorclass, true)?
    }
    call MPI_Remove_error_code(errorcode: c_int) [] {
        codes().remove(errorcode, false)?
    }
    call MPI_Remove_error_string(errorcode: c_int) [] {
        codes().set_text(errorcode, None)?
    }
    call MPI_Errhandler_free(errhandler: *mut MPI_Errhandler) [] {
        error_handler::free(object(errhandler, "errhandler")?)?
    }
}
