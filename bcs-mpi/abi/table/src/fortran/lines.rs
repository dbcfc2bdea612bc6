//! Lines of Fortran, of which none is too long.

use std::fmt::Write as _;

/// Longest line in free form.
const FREE: usize = 100;

/// Adds a statement in free form, continued where it is long: it is broken at blanks alone.
pub fn statement(text: &mut String, indent: usize, statement: &str) {
    let mut line = " ".repeat(indent);
    let mut first = true;
    for word in statement.split_inclusive(' ') {
        if line.len() + word.len() > FREE && !first {
            writeln!(text, "{}&", line).unwrap();
            line = " ".repeat(indent + 4);
        }
        line += word;
        first = false;
    }
    writeln!(text, "{}", line.trim_end()).unwrap();
}

/// Adds a statement in a form that fixed and free source both read: columns 7 to 72, no continuation.
pub fn fixed(text: &mut String, statement: &str) {
    assert!(statement.len() <= 66, "{statement} is too long for a line of fixed form");
    writeln!(text, "      {statement}").unwrap();
}
