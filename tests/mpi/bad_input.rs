//! Wrong input that is no single argument: messages that do not fit, and errors of a process without a launcher. Arguments are in `wrong_arguments.rs`.

use crate::programs::compiled;

#[test]
fn every_kind_of_receive_tells_both_sizes_source_and_tag_of_what_does_not_fit() {
    crate::holds_with("truncation", &[2]);
}

#[test]
fn a_singleton_tells_wrong_arguments_too() {
    let ended =
        std::process::Command::new(compiled("endings")).arg("fatal").output().expect("the program runs");
    assert_eq!(ended.status.code(), Some(6));
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(stderr.contains("rank 0: MPI_Send: argument 'dest' is 12"), "{stderr}");
}
