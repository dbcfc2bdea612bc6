//! The spellings of `mpiexec` users, put into the form that [`crate::cli`] declares.
//!
//! - programs of one job stand apart by `:`;
//! - long options may have one dash (`-np 4`, `-wdir DIR`, `-hosts a,b`);
//! - `-env NAME VALUE` and `-genv NAME VALUE` have two values where ours have `NAME=VALUE`;
//! - `--emds 1:100` may have its value after a space.
//!
//! What stands before a program is parted from it by `--`. Only what stands before a program is touched: its
//! arguments are its own. To know where it stands, the number of values of each option is asked from its
//! declaration.

use clap::Command;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Cuts a command line at each `:`.
pub fn sections(arguments: &[OsString]) -> impl Iterator<Item = &[OsString]> {
    arguments.split(|argument| argument == ":")
}

/// An option as it was declared.
struct Declared {
    name: String,
    values: usize,
}

fn declared(command: &Command, is_named: impl Fn(&clap::Arg) -> bool) -> Option<Declared> {
    let argument = command.get_arguments().find(|argument| is_named(argument))?;
    let values = argument.get_num_args().map_or(0, |range| range.min_values());
    let values = if argument.get_action().takes_values() { values } else { 0 };
    Some(Declared { name: argument.get_long().unwrap_or_default().to_owned(), values })
}

fn by_long(command: &Command, name: &str) -> Option<Declared> {
    declared(command, |argument| {
        argument.get_long() == Some(name)
            || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}

fn by_short(command: &Command, name: char) -> Option<Declared> {
    declared(command, |argument| {
        argument.get_short() == Some(name)
            || argument.get_all_short_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}

/// Puts one section into the declared form. What is unknown stays as it is, for `clap` to refuse.
pub fn normalized(command: &mut Command, section: &[OsString]) -> Vec<OsString> {
    command.build();
    let mut result = Vec::with_capacity(section.len());
    let mut rest = section.iter();
    while let Some(argument) = rest.next() {
        let values = match option(command, argument) {
            Spelled::Program => {
                if argument != "--" {
                    result.push("--".into());
                }
                result.push(argument.clone());
                break;
            }
            Spelled::Unknown => {
                result.push(argument.clone());
                continue;
            }
            Spelled::Complete(argument) => {
                result.push(argument);
                continue;
            }
            Spelled::Takes(argument, declared) => {
                result.push(argument);
                match declared.name.as_str() {
                    "env" | "genv" => {
                        let mut value = rest.next().cloned();
                        if let Some(value) = value.as_mut().filter(|value| !value.as_bytes().contains(&b'='))
                            && let Some(second) = rest.next()
                        {
                            value.push("=");
                            value.push(second);
                        }
                        result.extend(value);
                        continue;
                    }
                    "emds" => {
                        if let Some(slices) = rest.as_slice().first().filter(|next| is_slices(next)) {
                            if let Some(option) = result.last_mut() {
                                option.push("=");
                                option.push(slices);
                            }
                            rest.next();
                        }
                        continue;
                    }
                    _ => declared.values,
                }
            }
        };
        result.extend(rest.by_ref().take(values).cloned());
    }
    result.extend(rest.cloned());
    result
}

enum Spelled {
    /// The first word that is no option.
    Program,
    /// An option with its value in the same word, or one without.
    Complete(OsString),
    /// An option whose values follow.
    Takes(OsString, Declared),
    Unknown,
}

fn option(command: &Command, argument: &OsStr) -> Spelled {
    let Some(text) = argument.to_str() else {
        return if argument.as_bytes().starts_with(b"-") { Spelled::Unknown } else { Spelled::Program };
    };
    let Some(name) = text.strip_prefix('-').filter(|name| !name.is_empty() && *name != "-") else {
        return Spelled::Program;
    };
    let (long, is_double) = match name.strip_prefix('-') {
        Some(long) => (long, true),
        None => (name, false),
    };
    if is_double || long.chars().count() > 1 {
        let (word, value) = long.split_once('=').map_or((long, None), |(word, value)| (word, Some(value)));
        if let Some(declared) = by_long(command, word) {
            let argument = OsString::from(format!("--{long}"));
            return match value {
                Some(_) => Spelled::Complete(argument),
                None => Spelled::Takes(argument, declared),
            };
        }
        if is_double {
            return Spelled::Unknown;
        }
    }
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match by_short(command, letter) {
            // A word after one dash is meant as one.
            None if long.chars().count() > 1 => return Spelled::Complete(format!("--{long}").into()),
            None => return Spelled::Unknown,
            Some(Declared { values: 0, .. }) => {}
            Some(_) if !letters.as_str().is_empty() => return Spelled::Complete(argument.to_owned()),
            Some(declared) => return Spelled::Takes(argument.to_owned(), declared),
        }
    }
    Spelled::Complete(argument.to_owned())
}

/// Whether a word can only be slices: `1:100`, `:100`, `1:`, `1:100:5`.
fn is_slices(word: &OsStr) -> bool {
    let bytes = word.as_bytes();
    bytes.len() > 1
        && bytes.contains(&b':')
        && bytes.iter().all(|byte| byte.is_ascii_digit() || *byte == b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn normal(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let normal = normalized(&mut cli::run_command("mpiexec"), &words);
        normal.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn spellings_of_other_launchers_become_ours() {
        for (theirs, ours) in [
            ("-np 4 ./a", "--np 4 -- ./a"),
            ("-n 4 ./a", "-n 4 -- ./a"),
            ("-n4 ./a", "-n4 -- ./a"),
            ("-genv A b -l ./a", "--genv A=b -l -- ./a"),
            ("-genv A=b ./a", "--genv A=b -- ./a"),
            ("-env A b=c ./a", "--env A=b=c -- ./a"),
            ("--env A=b ./a", "--env A=b -- ./a"),
            ("-wdir /tmp -x A ./a", "--wdir /tmp -x A -- ./a"),
            ("-hosts a,b -bind-to none ./a", "--hosts a,b --bind-to none -- ./a"),
            ("--mca btl ^openib -np 2 ./a", "--mca btl ^openib --np 2 -- ./a"),
            ("--emds 1:100 ./a", "--emds=1:100 -- ./a"),
            ("--emds ./a", "--emds -- ./a"),
            ("--mmds ./a", "--mmds -- ./a"),
            ("-timeout=3 ./a", "--timeout=3 -- ./a"),
            ("-unheard-of 4 ./a", "--unheard-of -- 4 ./a"),
            ("-launcher ssh ./a", "--launcher -- ssh ./a"),
        ] {
            assert_eq!(normal(theirs), ours, "{theirs}");
        }
    }

    #[test]
    fn arguments_of_the_program_are_left_alone() {
        for (line, ours) in [
            ("./a -np 4 -env A b", "-- ./a -np 4 -env A b"),
            ("-l -n 2 ./a -- -wdir x", "-l -n 2 -- ./a -- -wdir x"),
            ("-n 2 -- ./a -np 4", "-n 2 -- ./a -np 4"),
        ] {
            assert_eq!(normal(line), ours);
        }
    }

    #[test]
    fn sections_are_cut_at_colons_that_stand_alone() {
        let words: Vec<OsString> = "-n 1 a x:y : -n 2 b".split(' ').map(OsString::from).collect();
        let cut: Vec<_> = sections(&words).map(<[_]>::len).collect();
        assert_eq!(cut, [4, 3]);
    }
}
