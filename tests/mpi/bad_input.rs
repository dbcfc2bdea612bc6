//! Wrong arguments: each has its class, and a message that names the call, the argument, its value and what is allowed.

use crate::launcher::{Job, launch};
use crate::programs::compiled;

/// Messages of `bad_input.c`, run with 3 ranks, in the order of its calls; the ones that have to be exact.
const EXPECTED: &[&str] = &[
    "MPI_ERR_COUNT: MPI_Send: argument 'count' is -3, but it must not be negative",
    "MPI_ERR_BUFFER: MPI_Send: argument 'buf' is NULL, but 12 bytes are to be sent; give the address of as many, or a count of 0",
    "MPI_ERR_TYPE: MPI_Send: argument 'datatype' is MPI_DATATYPE_NULL (0x200), which is the null handle; it has to be a datatype",
    "MPI_ERR_TYPE: MPI_Send: argument 'datatype' is 0x2ff, which is no handle of one; it has to be a datatype",
    "MPI_ERR_RANK: MPI_Send: argument 'dest' is 3, but MPI_COMM_WORLD has ranks 0..2 (or MPI_PROC_NULL)",
    "MPI_ERR_RANK: MPI_Send: argument 'dest' is MPI_ANY_SOURCE (-1), but MPI_COMM_WORLD has ranks 0..2 (or MPI_PROC_NULL)",
    "MPI_ERR_TAG: MPI_Send: argument 'tag' is -5, but tags are 0..2147483647",
    "MPI_ERR_TAG: MPI_Send: argument 'tag' is MPI_ANY_TAG (-2), but tags are 0..2147483647",
    "MPI_ERR_COMM: MPI_Send: argument 'comm' is MPI_COMM_NULL (0x100), which is the null handle; it has to be a communicator",
    "which is the handle of one that was freed; it has to be a communicator",
    "MPI_ERR_COMM: MPI_Send: argument 'comm' is 0x12345678, which is no handle of one; it has to be a communicator",
    "MPI_ERR_ARG: MPI_Isend: argument 'request' is NULL",
    "MPI_ERR_BUFFER: MPI_Bsend: 516 bytes (MPI_BSEND_OVERHEAD included) do not fit in the attached buffer, of whose 0 bytes 0 are free",
    "MPI_ERR_RANK: MPI_Recv: argument 'source' is 3, but MPI_COMM_WORLD has ranks 0..2 (or MPI_ANY_SOURCE, MPI_PROC_NULL)",
    "MPI_ERR_TAG: MPI_Recv: argument 'tag' is -9, but tags are 0..2147483647 (or MPI_ANY_TAG)",
    "MPI_ERR_COUNT: MPI_Recv_c: argument 'count' is 4611686018427387904, but so many elements are more than memory can be",
    "MPI_ERR_RANK: MPI_Sendrecv: argument 'source' is 77",
    "MPI_ERR_TAG: MPI_Sendrecv: argument 'sendtag' is -4",
    "MPI_ERR_REQUEST: MPI_Request_free: argument 'request' is",
    "MPI_ERR_REQUEST: MPI_Wait: argument 'request' is 0xabcdef, which is no handle of one; it has to be a request",
    "MPI_ERR_COUNT: MPI_Waitall: argument 'count' is -1, but it must not be negative",
    "MPI_ERR_ARG: MPI_Waitall: argument 'array_of_requests' is NULL, but it has to have 2 elements",
    "MPI_ERR_COMM: MPI_Comm_free: argument 'comm' is MPI_COMM_WORLD, but predefined communicators are not freed",
    "MPI_ERR_RANK: MPI_Group_incl: argument 'ranks' is 0 twice, but a rank may stand there once only",
    "MPI_ERR_KEYVAL: MPI_Comm_get_attr: argument 'comm_keyval' is 12345",
    "MPI_ERR_TRUNCATE: MPI_Waitall: message truncated: 16 bytes came from rank 0 with tag 1, but the receive has room for 4",
];

#[test]
fn every_wrong_argument_is_told_and_harms_nobody() {
    let ended = launch(&Job::of(3), &compiled("bad_input"), &[] as &[&str]);
    assert!(ended.is_well(), "{ended:#?}");
    for text in EXPECTED {
        assert!(ended.stdout.contains(text), "no \"{text}\" in\n{}", ended.stdout);
    }
    assert_eq!(ended.stdout.matches("unharmed").count(), 2, "{}", ended.stdout);
}

/// Messages of `bad_types.c`; the ones that have to be exact.
const EXPECTED_OF_TYPES: &[&str] = &[
    "MPI_ERR_COUNT: MPI_Type_contiguous: argument 'count' is -1, but it must not be negative",
    "MPI_ERR_TYPE: MPI_Type_contiguous: argument 'oldtype' is MPI_DATATYPE_NULL (0x200), which is the null handle; it has to be a datatype",
    "which is the handle of one that was freed; it has to be a datatype",
    "MPI_ERR_TYPE: MPI_Type_contiguous: argument 'oldtype' is 0x123456789, which is no handle of one; it has to be a datatype",
    "MPI_ERR_ARG: MPI_Type_contiguous_c: the datatype would have more bytes, or reach further, than 64 bits can count",
    "MPI_ERR_ARG: MPI_Type_indexed: argument 'array_of_blocklengths' is -1 at index 1, but it must not be negative",
    "MPI_ERR_ARG: MPI_Type_indexed: argument 'array_of_blocklengths' is NULL, but it has to have 4 elements",
    "MPI_ERR_TYPE: MPI_Type_create_struct: argument 'array_of_types' is MPI_DATATYPE_NULL (0x200)",
    "MPI_ERR_ARG: MPI_Type_create_subarray: argument 'array_of_starts' is 2 at index 0, but it must be 0 to 1",
    "MPI_ERR_ARG: MPI_Type_create_darray: argument 'size' is 5, but the grid of array_of_psizes has 4 processes",
    "MPI_ERR_ARG: MPI_Type_create_darray: argument 'array_of_dargs' is 2 at index 0, but 2 blocks of it must have room for the 5 elements",
    "MPI_ERR_TYPE: MPI_Type_free: argument 'datatype' is MPI_INT, but predefined datatypes are not freed",
    "MPI_ERR_TYPE: MPI_Type_get_contents: argument 'datatype' is MPI_INT, but predefined datatypes have no contents",
    "MPI_ERR_ARG: MPI_Type_get_contents: argument 'max_integers' is 2, but the type has 3",
    "MPI_ERR_KEYVAL: MPI_Type_set_attr: argument 'type_keyval' is 77, but it must be a key that MPI_Type_create_keyval made",
    "a datatype that is not committed, but MPI_Type_commit has to be called before it is used",
    "MPI_ERR_BUFFER: MPI_Send: argument 'buf' is NULL, but 8 bytes are to be sent",
    "MPI_ERR_COUNT: MPI_Send_c: argument 'count' is 1152921504606846976, but so many elements are more than memory can be",
    "MPI_ERR_TRUNCATE: MPI_Pack: argument 'outsize' is 7, but 8 bytes are needed from position 0",
    "MPI_ERR_ARG: MPI_Pack_external_size: argument 'datarep' is \"native\", but the only one is \"external32\"",
];

#[test]
fn every_wrong_argument_about_datatypes_is_told() {
    let ended = launch(&Job::of(2), &compiled("bad_types"), &[] as &[&str]);
    assert!(ended.is_well(), "{ended:#?}");
    for text in EXPECTED_OF_TYPES {
        assert!(ended.stdout.contains(text), "no \"{text}\" in\n{}", ended.stdout);
    }
    assert_eq!(ended.stdout.matches("unharmed").count(), 2, "{}", ended.stdout);
}

#[test]
fn a_singleton_tells_wrong_arguments_too() {
    let ended =
        std::process::Command::new(compiled("endings")).arg("fatal").output().expect("the program runs");
    assert_eq!(ended.status.code(), Some(6));
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(stderr.contains("rank 0: MPI_Send: argument 'dest' is 12"), "{stderr}");
}
