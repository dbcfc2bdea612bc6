//! Wrong arguments of MPI calls: told with the call, the argument and its value, and never a crash.

use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::mpiexec;
use bcs_harness::runs::run;

/// A program of which rank 0 makes one wrong call, while rank 1 waits to be told that it is over.
fn program(setting: &str, wrong: &str) -> Compiled {
    Compiled::by_mpicc(&format!(
        r#"
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {{
    int rank, got, value = 0, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    {setting}
    if (rank == 0) {{
        int class;
        got = {wrong};
        MPI_Error_class(got, &class);
        MPI_Error_string(got, text, &length);
        printf("class %d: %s\n", class, text);
        MPI_Send(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
    }} else {{
        MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("unharmed\n");
    }}
    return MPI_Finalize();
}}"#
    ))
}

/// A wrong call, the class that the standard gives it, the argument, and its value in one of two spellings.
const WRONG: &[(&str, &str, &str, [&str; 2])] = &[
    ("MPI_Send(&value, -3, MPI_INT, 1, 0, MPI_COMM_WORLD)", "MPI_ERR_COUNT", "count", ["-3"; 2]),
    ("MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD)", "MPI_ERR_RANK", "dest", ["99"; 2]),
    ("MPI_Send(&value, 1, MPI_INT, 1, -5, MPI_COMM_WORLD)", "MPI_ERR_TAG", "tag", ["-5"; 2]),
    (
        "MPI_Send(&value, 1, MPI_DATATYPE_NULL, 1, 0, MPI_COMM_WORLD)",
        "MPI_ERR_TYPE",
        "datatype",
        ["MPI_DATATYPE_NULL", "0x200"],
    ),
    ("MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_NULL)", "MPI_ERR_COMM", "comm", ["MPI_COMM_NULL", "0x100"]),
    (
        "MPI_Recv(&value, 1, MPI_INT, -9, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)",
        "MPI_ERR_RANK",
        "source",
        ["-9"; 2],
    ),
    ("MPI_Bcast(&value, 1, MPI_INT, 7, MPI_COMM_WORLD)", "MPI_ERR_ROOT", "root", ["7"; 2]),
    ("MPI_Wait(NULL, MPI_STATUS_IGNORE)", "MPI_ERR_ARG", "request", ["NULL"; 2]),
];

fn name_of(call: &str) -> &str {
    call.split('(').next().unwrap_or(call)
}

#[test]
fn an_error_that_is_returned_has_its_class_and_harms_nobody() {
    for (call, class, _, _) in WRONG {
        // For errors without a communicator, the handler is that of MPI_COMM_SELF or of MPI_COMM_WORLD.
        let setting = "MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); \
                       MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);";
        let checked =
            format!("{call}; if ({class} != ({{ int c; MPI_Error_class(got, &c); c; }})) printf(\"wrong \")");
        let ended = run(mpiexec("-n 2").arg(program(setting, &checked).program())).succeeds();
        ended.says("unharmed");
        assert!(!ended.stdout.contains("wrong class"), "{call} is no {class}: {ended:?}");
    }
}

#[test]
fn a_fatal_error_names_the_call_the_argument_and_its_value() {
    for (call, _, argument, value) in WRONG {
        let ended = run(mpiexec("-n 2").arg(program("", call).program()));
        assert_ne!(ended.code(), 0, "{call}: {ended:?}");
        assert!(ended.code() < 128, "{call} crashes: {ended:?}");
        ended.says(name_of(call)).says(argument);
        let spelt = value.iter().any(|value| ended.stderr.contains(value));
        assert!(spelt, "the value {value:?} of {call} is not in {ended:?}");
    }
}

#[test]
fn a_message_that_is_too_long_is_truncated_and_told() {
    let source = r#"
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, class, values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[5] = {0, 0, 0, 0, 77};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) MPI_Send(values, 8, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Error_class(MPI_Recv(got, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
        printf("%s, and %d behind the buffer\n", class == MPI_ERR_TRUNCATE ? "truncated" : "not told", got[4]);
    }
    return MPI_Finalize();
}"#;
    run(mpiexec("-n 2").arg(Compiled::by_mpicc(source).program()))
        .succeeds()
        .says("truncated, and 77 behind the buffer");
}
