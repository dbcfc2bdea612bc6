//! Links `storm` at a fixed address. Else the dynamic linker would relocate some 15,000 words at each start
//! (`readelf -rW storm | wc -l`), most of them of code that a job on one machine never runs: TLS, and the
//! runtime of a cluster's client. Users run it for themselves, with no rights beyond theirs that addresses at
//! random would have to guard.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bin=storm=-no-pie");
}
