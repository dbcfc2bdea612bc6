//! Small programs in C and C++ that print values.

use bcs_harness::c_programs::{Compiled, Language};
use bcs_harness::{repository, runs};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// Where our headers are.
pub fn our_headers() -> PathBuf {
    repository().join("bcs-mpi/include")
}

/// What a program prints that is compiled with these flags: lines `name=value`.
#[track_caller]
pub fn printed_values(
    language: Language,
    source: &str,
    flags: &[impl AsRef<OsStr>],
) -> BTreeMap<String, String> {
    let compiled = Compiled::with(language.compiler(), language, source, flags);
    runs::output(&mut Command::new(compiled.program()))
        .lines()
        .map(|line| line.split_once('=').unwrap_or_else(|| panic!("'{line}' is not name=value")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The same with our headers.
#[track_caller]
pub fn printed_values_of_ours(source: &str) -> BTreeMap<String, String> {
    printed_values(Language::C, source, &[format!("-I{}", our_headers().display())])
}
