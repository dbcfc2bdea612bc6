//! Chapters 9, 11 and 20: the environment, errors, the start and the end, versions.

use crate::edge::{install_panic_hook, result_string, store_all};
use bcs_mpi::environment::life::{self, World};
use bcs_mpi::environment::{self, finalize, fortran, init};
use bcs_mpi::error::codes::codes;
use bcs_mpi::host;
use bcs_mpi::info;
use bcs_mpi::object::error_handler;
use bcs_mpi::process;
use mds::Primitive;

answers! {
    MPI_Finalize() [] = finalize::finalize();
    MPI_Query_thread() -> provided [] = init::query_thread();
    MPI_Is_thread_main() -> flag [] = init::is_thread_main();
    MPI_Abort(comm, errorcode) [on comm] = environment::abort(comm, errorcode);
    MPI_Abi_set_fortran_info(info) [] = fortran::set_info(info);
    MPI_Abi_set_fortran_booleans(logical_size, _logical_true, _logical_false) [] =
        fortran::set_booleans(logical_size);
    MPI_Get_hw_resource_info() -> hw_info [] = environment::hardware();
    MPI_Error_class(errorcode) -> errorclass [] = codes().class(errorcode);
    MPI_Add_error_code(errorclass) -> errorcode [] = codes().add_code(errorclass);
    MPI_Remove_error_class(errorclass) [] = codes().remove(errorclass, true);
    MPI_Remove_error_code(errorcode) [] = codes().remove(errorcode, false);
    MPI_Remove_error_string(errorcode) [] = codes().set_text(errorcode, None);
    MPI_Errhandler_free(errhandler: INOUT) [] = error_handler::free(errhandler);
    MPI_Initialized() -> flag [] = Ok(life::world() != World::Before);
    MPI_Finalized() -> flag [] = Ok(life::world() == World::Finalised);
    // No process of this library was spawned by another.
    MPI_Comm_get_parent() -> parent [] = process::enter().map(|_| MPI_COMM_NULL);
    MPI_Abi_get_info() -> info [] = Ok(info::create_abi());
    MPI_Abi_get_fortran_info() -> info [] = Ok(fortran::create_info());
    MPI_Add_error_class() -> errorclass [] = Ok(codes().add_class());
    MPI_Add_error_string(errorcode, string: STRING) [] = codes().set_text(errorcode, Some(string));
    MPI_Get_library_version(version, resultlen) [] =
        result_string(version, "version", MPI_MAX_LIBRARY_VERSION_STRING, resultlen, || {
            Ok(environment::library_version())
        });
    MPI_Error_string(errorcode, string, resultlen) [] =
        result_string(string, "string", MPI_MAX_ERROR_STRING, resultlen, || codes().text(errorcode));
}

calls! {
    MPI_Init(_argc, _argv) [] {
        install_panic_hook();
        init::init(Primitive::Init, MPI_THREAD_SINGLE)?
    }
    MPI_Init_thread(_argc, _argv, required, provided: OUT) [] {
        install_panic_hook();
        provided.set(init::init(Primitive::InitThread, required)?)
    }
    MPI_Get_version(version: OUT, subversion: OUT) [] {
        version.set(MPI_VERSION);
        subversion.set(MPI_SUBVERSION)
    }
    MPI_Get_processor_name(name, resultlen) [] {
        process::enter()?;
        result_string(name, "name", MPI_MAX_PROCESSOR_NAME, resultlen, || Ok(host::name()))?
    }
    MPI_Abi_get_version(abi_major: OUT, abi_minor: OUT) [] {
        abi_major.set(MPI_ABI_VERSION);
        abi_minor.set(MPI_ABI_SUBVERSION)
    }
    MPI_Abi_get_fortran_booleans(logical_size, logical_true, logical_false, is_set: OUT) [] {
        let booleans = fortran::booleans(logical_size)?;
        is_set.set(booleans.is_some().into());
        if let Some([truth, falsehood]) = booleans {
            store_all(&truth, logical_true.cast(), "logical_true")?;
            store_all(&falsehood, logical_false.cast(), "logical_false")?
        }
    }
    MPI_Wtime() [plain] {
        environment::wtime()
    }
    MPI_Wtick() [plain] {
        environment::wtick()
    }
    MPI_Pcontrol(_level) [] {}
    MPI_Alloc_mem(size, info, baseptr: POINTER) [] {
        baseptr.set(environment::alloc_mem(size, info)?)
    }
    MPI_Free_mem(base) [] {
        process::enter()?;
        environment::free_mem(base)
    }
}
