//! Functions that answer a number: MPI_Wtime, MPI_Wtick (chapter 9), MPI_Aint_add and MPI_Aint_diff (chapter
//! 5).

use crate::c::MPI_Aint;

entries! {
    MPI_Wtime PMPI_Wtime "wtime" () -> f64 {
        call()
    }
    MPI_Wtick PMPI_Wtick "wtick" () -> f64 {
        call()
    }
    MPI_Aint_add PMPI_Aint_add "aint_add" (base: *mut MPI_Aint, disp: *mut MPI_Aint) -> MPI_Aint {
        call(*base, *disp)
    }
    MPI_Aint_diff PMPI_Aint_diff "aint_diff" (addr1: *mut MPI_Aint, addr2: *mut MPI_Aint) -> MPI_Aint {
        call(*addr1, *addr2)
    }
}
