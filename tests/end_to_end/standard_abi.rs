//! A program that another implementation of the MPI-5.0 standard ABI built runs on our library, not rebuilt.
//!
//! The other one is MPICH 5 from PyPI in `BCS_MPICH_PREFIX`; without it these tests say so and pass.

use std::path::Path;
use std::process::Command;

use crate::installation::{WHERE_IS_THE_LIBRARY, runs_with_the_library_in};
use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::{deck, make, mpiexec, prefix};
use bcs_harness::mpich;
use bcs_harness::runs::run;

fn mpicc_abi(mpich: &Path) -> Command {
    Command::new(mpich.join("bin/mpicc_abi"))
}

#[test]
fn a_program_of_mpich_runs_with_our_library() {
    let Some(mpich) = mpich::prefix() else { return };
    let compiled = Compiled::by(mpicc_abi(&mpich), WHERE_IS_THE_LIBRARY);
    runs_with_the_library_in(&prefix(), mpiexec("-n 4").arg(compiled.program()));
}

#[test]
fn the_codes_built_by_mpich_give_their_verified_answers() {
    let Some(mpich) = mpich::prefix() else { return };
    let directory = tempfile::tempdir().unwrap();
    for code in ["heat", "hydro", "sweep"] {
        let program = directory.path().join(code);
        make(code, &mpich.join("bin/mpicc_abi"), &program);
        for ranks in ["2", "7"] {
            let mut command = mpiexec("-n");
            command.arg(ranks).arg(&program).arg(deck(code, "small")).arg("--verify");
            run(&mut command).succeeds().says("verified: ");
        }
    }
}
