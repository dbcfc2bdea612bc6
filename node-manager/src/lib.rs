//! The Node Manager and the program launcher of a job on one node (paper, §4.1).
