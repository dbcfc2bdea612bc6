//! Reads the tables. Every line is checked: a wrong one names its table and line number.
//!
//! Invariant: names are unique over all tables, aliases point to a name of the same section, and every parsed
//! number fits the type that its section names.

use std::collections::HashSet;

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{table}:{line}: {what}")]
pub struct TableError {
    /// Name of the table.
    pub table: &'static str,
    /// Line, from one.
    pub line: usize,
    /// What is wrong with the line.
    pub what: String,
}

/// The value of a name: a number, or another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// Another name for the named one.
    Alias(&'static str),
}

/// Versions of MPI that a name belongs to, as `major.minor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// Version that brought the name.
    pub added: &'static str,
    /// Version that deprecated it.
    pub deprecated: Option<&'static str>,
}

/// A named constant.
#[derive(Debug, Clone)]
pub struct Constant {
    /// Name in C.
    pub name: &'static str,
    /// Value.
    pub value: Value,
    /// Versions of MPI.
    pub since: Since,
    /// Meaning in a few words, lower case, without a full stop.
    pub meaning: &'static str,
}

/// Constants of one kind.
#[derive(Debug, Clone)]
pub struct Section {
    /// What they belong to; `-` where the library uses none of them.
    pub module: &'static str,
    /// Type in C; `enum NAME` for the constants of an enumeration.
    pub c_type: &'static str,
    /// What they are.
    pub title: &'static str,
    /// Where in the standard they are explained.
    pub source: &'static str,
    /// The constants.
    pub constants: Vec<Constant>,
}

impl Section {
    /// Whether the library uses them.
    #[must_use]
    pub fn is_in_rust(&self) -> bool {
        self.module != HEADER_ONLY
    }
}

/// A predefined datatype.
#[derive(Debug, Clone)]
pub struct Datatype {
    /// Name in C.
    pub name: &'static str,
    /// Handle.
    pub handle: Value,
    /// Versions of MPI.
    pub since: Since,
    /// Class with regard to predefined operations.
    pub class: &'static str,
    /// Bytes of data.
    pub size: usize,
    /// Bytes from one array element to the next.
    pub extent: usize,
    /// The language's type.
    pub element: &'static str,
}

/// A predefined operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Name in C.
    pub name: &'static str,
    /// Handle.
    pub handle: i64,
    /// Versions of MPI.
    pub since: Since,
    /// Classes of datatypes that it takes; empty for none, `["*"]` for any.
    pub classes: Vec<&'static str>,
    /// Meaning in a few words.
    pub meaning: &'static str,
}

/// The type of a callback that a program hands to MPI.
#[derive(Debug, Clone)]
pub struct Callback {
    /// Name of the function type in C.
    pub name: &'static str,
    /// What it returns.
    pub returns: &'static str,
    /// Parameters in C, separated by commas; for an alias the name after `=`.
    pub parameters: &'static str,
    /// Versions of MPI.
    pub since: Since,
    /// What it is for, with where in the standard it is explained.
    pub meaning: &'static str,
}

/// Where a function's code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In the library, which exports it.
    Exported,
    /// In the header: the standard has it, its ABI has not.
    Inline,
    /// In the library, which exports it, though MPI-3.0 has removed it.
    Removed,
}

/// A function of the standard. Large-count functions (`NAME_c`) are functions of their own here.
#[derive(Debug, Clone)]
pub struct Function {
    /// Name, with `MPI_`.
    pub name: String,
    /// Chapter of MPI-5.0 that explains it.
    pub chapter: u8,
    /// Versions of MPI.
    pub since: Since,
    /// Where its code is.
    pub form: Form,
    /// The function that differs from it in the types of counts alone, if it is the one with large counts.
    pub large_form_of: Option<String>,
    /// What it returns.
    pub returns: &'static str,
    /// Parameters in C, one string each; empty for `void`.
    pub parameters: Vec<String>,
}

impl Function {
    /// The name of its profiling twin.
    #[must_use]
    pub fn profiling_name(&self) -> String {
        format!("P{}", self.name)
    }

    /// Whether the C edge defines it by a macro of its own ([`crate::prototypes`]).
    #[must_use]
    pub fn has_macro(&self) -> bool {
        self.form != Form::Inline && self.large_form_of.is_none()
    }
}

/// All tables.
#[derive(Debug, Clone)]
pub struct Tables {
    /// Constants by section, in the order of the table.
    pub sections: Vec<Section>,
    /// Predefined datatypes, in order of their handles.
    pub datatypes: Vec<Datatype>,
    /// Predefined operations, in order of their handles.
    pub operations: Vec<Operation>,
    /// Callback types.
    pub callbacks: Vec<Callback>,
    /// Functions, by chapter.
    pub functions: Vec<Function>,
}

/// The tables as they are committed.
const SOURCES: [(&str, &str); 5] = [
    ("constants.tbl", include_str!("../constants.tbl")),
    ("datatypes.tbl", include_str!("../datatypes.tbl")),
    ("operations.tbl", include_str!("../operations.tbl")),
    ("callbacks.tbl", include_str!("../callbacks.tbl")),
    ("functions.tbl", include_str!("../functions.tbl")),
];

/// The module of sections that `mpi.h` alone has.
const HEADER_ONLY: &str = "-";

/// The classes that datatypes.tbl may use, with what they are.
pub const CLASSES: [(&str, &str); 11] = [
    ("c-integer", "Integers of C, signed and unsigned"),
    ("fortran-integer", "INTEGER of Fortran, of any kind"),
    ("floating", "Floating point numbers"),
    ("logical", "Truth values"),
    ("complex", "Complex numbers: two floating point numbers, real part first"),
    ("byte", "Bytes without meaning"),
    ("multi-language", "Addresses, offsets and counts, which all languages know"),
    ("pair", "A value and an index, for MPI_MINLOC and MPI_MAXLOC"),
    ("character", "Characters: no predefined operation takes them"),
    ("packed", "Packed data: no predefined operation takes it"),
    ("null", "No datatype"),
];

fn is_class(name: &str) -> bool {
    CLASSES.iter().any(|(class, _)| *class == name)
}

impl Tables {
    /// The committed tables.
    ///
    /// # Errors
    /// [`TableError`] names the line that cannot be read.
    pub fn read() -> Result<Self, TableError> {
        Self::parse(SOURCES.map(|(_, text)| text))
    }

    /// Tables from their texts: constants, datatypes, operations, callbacks, functions.
    ///
    /// # Errors
    /// [`TableError`] names the line that cannot be read.
    pub fn parse(texts: [&'static str; 5]) -> Result<Self, TableError> {
        let [constants, datatypes, operations, callbacks, functions] = texts;
        let mut names = HashSet::new();
        Ok(Self {
            sections: sections(lines("constants.tbl", constants), &mut names)?,
            datatypes: rows(lines("datatypes.tbl", datatypes), 7, &mut names, |row| {
                Ok(Datatype {
                    name: row.field(0),
                    handle: row.value(1)?,
                    since: row.since(2)?,
                    class: row.class(3)?,
                    size: row.number(4)? as usize,
                    extent: row.number(5)? as usize,
                    element: row.field(6),
                })
            })?,
            operations: rows(lines("operations.tbl", operations), 5, &mut names, |row| {
                Ok(Operation {
                    name: row.field(0),
                    handle: row.number(1)?,
                    since: row.since(2)?,
                    classes: row.classes(3)?,
                    meaning: row.field(4),
                })
            })?,
            callbacks: rows(lines("callbacks.tbl", callbacks), 5, &mut names, |row| {
                Ok(Callback {
                    name: row.field(0),
                    since: row.since(1)?,
                    returns: row.field(2),
                    parameters: row.field(3),
                    meaning: row.field(4),
                })
            })?,
            functions: rows(lines("functions.tbl", functions), 6, &mut names, row_functions)?
                .into_iter()
                .flatten()
                .collect(),
        })
    }

    /// Every symbol that the library exports: its functions and their profiling twins, sorted.
    #[must_use]
    pub fn exported_symbols(&self) -> Vec<String> {
        let exported = self.functions.iter().filter(|f| f.form != Form::Inline);
        let mut symbols: Vec<_> = exported.flat_map(|f| [f.name.clone(), f.profiling_name()]).collect();
        symbols.sort();
        symbols
    }

    /// Every named constant with its C type, datatypes and operations included, in the order of the header;
    /// and whether the library's Rust sources have it.
    pub fn named_values(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> + '_ {
        let constants = self
            .sections
            .iter()
            .flat_map(move |s| s.constants.iter().map(move |c| (c.name, s.c_type, s.is_in_rust())));
        let operations = self.operations.iter().map(|o| (o.name, "MPI_Op", true));
        constants.chain(operations).chain(self.datatypes.iter().map(|d| (d.name, "MPI_Datatype", true)))
    }
}

/// The title of a chapter of the standard, as the table of functions has it; empty for a chapter without
/// functions.
#[must_use]
pub fn chapter_title(chapter: u8) -> &'static str {
    let [.., (_, functions)] = SOURCES;
    let heading = format!("# Chapter {chapter}: ");
    functions.lines().find_map(|line| line.strip_prefix(&heading)).unwrap_or_default()
}

/// The lines of a table that hold something.
fn lines(table: &'static str, text: &'static str) -> impl Iterator<Item = Row> {
    let filled =
        text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty() && !text.starts_with('#'));
    filled.map(move |(index, text)| Row {
        table,
        line: index + 1,
        fields: text.split(" | ").map(str::trim).collect(),
    })
}

/// One line, cut in fields.
struct Row {
    table: &'static str,
    line: usize,
    fields: Vec<&'static str>,
}

impl Row {
    fn expect_fields(&self, expected: usize) -> Result<(), TableError> {
        if self.fields.len() == expected {
            return Ok(());
        }
        let found = self.fields.len();
        self.error(format!("{found} fields where {expected} are needed, separated by ' | '"))
    }

    fn field(&self, index: usize) -> &'static str {
        self.fields[index]
    }

    fn error<T>(&self, what: String) -> Result<T, TableError> {
        Err(TableError { table: self.table, line: self.line, what })
    }

    fn wrong<T>(&self, text: &str, wanted: &str) -> Result<T, TableError> {
        self.error(format!("'{text}' is not {wanted}"))
    }

    fn number(&self, index: usize) -> Result<i64, TableError> {
        let text = self.field(index);
        let parsed = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        parsed.or_else(|_| self.wrong(text, "a decimal number or one that begins with 0x"))
    }

    fn value(&self, index: usize) -> Result<Value, TableError> {
        match self.field(index).strip_prefix('=') {
            Some(name) => Ok(Value::Alias(name)),
            None => self.number(index).map(Value::Number),
        }
    }

    fn since(&self, index: usize) -> Result<Since, TableError> {
        let text = self.field(index);
        let (added, deprecated) =
            text.split_once('-').map_or((text, None), |(added, deprecated)| (added, Some(deprecated)));
        let is_version = |v: &str| {
            v.len() == 3 && v.as_bytes()[1] == b'.' && v.split('.').all(|n| n.parse::<u8>().is_ok())
        };
        if is_version(added) && deprecated.is_none_or(is_version) {
            return Ok(Since { added, deprecated });
        }
        self.wrong(text, "a version of MPI such as 3.1, or two with a dash between them")
    }

    fn class(&self, index: usize) -> Result<&'static str, TableError> {
        let text = self.field(index);
        if is_class(text) { Ok(text) } else { self.wrong(text, "a class of datatypes") }
    }

    fn classes(&self, index: usize) -> Result<Vec<&'static str>, TableError> {
        let list: Vec<_> = self.field(index).split(' ').filter(|class| *class != "-").collect();
        match list.iter().find(|class| !is_class(class) && **class != "*") {
            Some(unknown) => self.wrong(unknown, "a class of datatypes"),
            None => Ok(list),
        }
    }

    fn claim_name(&self, names: &mut HashSet<&'static str>) -> Result<(), TableError> {
        let name = self.field(0);
        if names.insert(name) {
            return Ok(());
        }
        self.error(format!("{name} is there already: remove one of them"))
    }
}

/// The functions of a line: the one that it names, and its large-count twin if there is one.
fn row_functions(row: &Row) -> Result<Vec<Function>, TableError> {
    let parameters = |count: &str, displacement: &str, address: &str| match row.field(5) {
        "void" => Vec::new(),
        list => {
            let list = list.replace("COUNT", count).replace("DISPL", displacement).replace("ADDR", address);
            list.split(", ").map(str::to_owned).collect()
        }
    };
    let plain = Function {
        name: row.field(0).to_owned(),
        chapter: row.number(1)? as u8,
        since: row.since(2)?,
        form: match row.field(3) {
            "inline" => Form::Inline,
            "removed" => Form::Removed,
            _ => Form::Exported,
        },
        large_form_of: None,
        returns: row.field(4),
        parameters: parameters("int", "int", "MPI_Aint"),
    };
    if matches!(row.field(3), "-" | "inline" | "removed") {
        return Ok(vec![plain]);
    }
    let large = Function {
        name: format!("{}_c", plain.name),
        since: row.since(3)?,
        large_form_of: Some(plain.name.clone()),
        parameters: parameters("MPI_Count", "MPI_Aint", "MPI_Count"),
        ..plain.clone()
    };
    Ok(vec![plain, large])
}

fn rows<T>(
    lines: impl Iterator<Item = Row>,
    fields: usize,
    names: &mut HashSet<&'static str>,
    make: impl Fn(&Row) -> Result<T, TableError>,
) -> Result<Vec<T>, TableError> {
    lines
        .map(|row| {
            row.expect_fields(fields)?;
            row.claim_name(names)?;
            make(&row)
        })
        .collect()
}

fn sections(
    lines: impl Iterator<Item = Row>,
    names: &mut HashSet<&'static str>,
) -> Result<Vec<Section>, TableError> {
    let mut sections: Vec<Section> = Vec::new();
    for row in lines {
        row.expect_fields(4)?;
        if let Some(module) = row.field(0).strip_prefix("= ") {
            let (c_type, title, source) = (row.field(1), row.field(2), row.field(3));
            sections.push(Section { module, c_type, title, source, constants: Vec::new() });
            continue;
        }
        row.claim_name(names)?;
        let constant = Constant {
            name: row.field(0),
            value: row.value(1)?,
            since: row.since(2)?,
            meaning: row.field(3),
        };
        match sections.last_mut() {
            Some(section) => section.constants.push(constant),
            None => return row.wrong(row.field(0), "below a section that says what it is"),
        }
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_line_is_named() {
        for (lines, told) in [
            ("MPI_X | 1 | 1.0", "2: 3 fields where 4 are needed, separated by ' | '"),
            ("MPI_X | one | 1.0 | m", "2: 'one' is not a decimal number or one that begins with 0x"),
            ("MPI_X | 1 | 1.0 | m\nMPI_X | 2 | 1.0 | m", "3: MPI_X is there already: remove one of them"),
            (
                "MPI_X | 1 | now | m",
                "2: 'now' is not a version of MPI such as 3.1, or two with a dash between them",
            ),
        ] {
            let text = format!("= errors | int | t | s\n{lines}").leak();
            assert_eq!(
                Tables::parse([text, "", "", "", ""]).unwrap_err().to_string(),
                format!("constants.tbl:{told}")
            );
        }
    }

    #[test]
    fn an_alias_names_a_datatype_of_the_same_shape() {
        let tables = Tables::read().unwrap();
        let aliases = tables.datatypes.iter().filter_map(|d| match d.handle {
            Value::Alias(of) => Some((d, of)),
            Value::Number(_) => None,
        });
        for (alias, of) in aliases {
            let target = tables.datatypes.iter().find(|d| d.name == of).expect(of);
            assert_eq!((target.size, target.extent, target.class), (alias.size, alias.extent, alias.class));
        }
    }
}
