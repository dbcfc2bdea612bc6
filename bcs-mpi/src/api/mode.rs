//! Whether a call waits.

/// Whether a call waits for what it starts or looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It waits: the rank lends its core meanwhile.
    Blocking,
    /// It does not: a request tells later.
    NonBlocking,
}
