//! Names of arguments: calls of one family share their checks, and each has names of its own for what is
//! checked.
//!
//! A check names an argument as most calls of its family do. Before a message is written, a name that is none
//! of the call's own parameters is replaced by the one that stands for it there.

use super::Problem;

/// A name that checks use, and what it is called in other calls: the first of these that is a parameter of
/// the call stands for it.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("buf", &["buffer"]),
    ("sendbuf", &["inbuf"]),
    ("recvbuf", &["inoutbuf"]),
    ("sendcount", &["sendcounts", "count"]),
    ("recvcount", &["recvcounts", "count"]),
    ("recvcounts", &["recvcount"]),
    ("sendtype", &["sendtypes", "datatype"]),
    ("recvtype", &["recvtypes", "datatype"]),
    ("sdispls", &["displs"]),
    ("rdispls", &["displs"]),
    ("comm", &["comm_old"]),
    ("request", &["array_of_requests"]),
    ("file", &["fh"]),
    ("comm_keyval", &["keyval"]),
    ("n", &["indegree", "outdegree"]),
];

/// What a call with these parameters calls an argument.
fn name_in(parameters: &[&'static str], argument: &'static str) -> &'static str {
    if parameters.contains(&argument) {
        return argument;
    }
    let others = OTHER_NAMES.iter().find(|(name, _)| *name == argument).map_or(&[][..], |(_, others)| others);
    others.iter().find(|other| parameters.contains(other)).copied().unwrap_or(argument)
}

impl Problem {
    /// Names the argument that is wrong, where it is one, as a call with these parameters does.
    pub(super) fn name_as_in(&mut self, parameters: &[&'static str]) {
        match self {
            Problem::Rank { argument, .. }
            | Problem::Tag { argument, .. }
            | Problem::NullBuffer { argument, .. }
            | Problem::InPlace { argument }
            | Problem::NullResult { argument }
            | Problem::Handle { argument, .. }
            | Problem::Argument { argument, .. } => *argument = name_in(parameters, argument),
            _ => {}
        }
    }
}
