//! Gives the library the name that programs of the standard ABI ask the dynamic linker for (MPI-5.0, chapter 20).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
}
