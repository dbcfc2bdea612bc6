//! The Machine Manager (paper, §4.1) and the `storm` program.
