//! Prints `docs/tools.md`.

fn main() {
    print!("{}", bcs_mpi::tool::list::render());
}
