//! Every function that the library has, called with every kind of wrong argument: the standard's error class,
//! the right error handler, a message that names call, argument and value, and nobody harmed.
//!
//! The calls are made from two tables: the standard's functions, and `wrong_arguments.tbl`, which says for
//! each kind of parameter what can be wrong with it. So no function can be left out: one that is built is
//! called from then on, and a parameter without a rule fails the test.

use bcs_harness::c_programs::compiled_from;
use mpi_abi_table::table::{Form, Function};
use mpi_abi_table::{Tables, unsupported};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use test_programs::launcher::{Job, launch};

/// A kind of mistake.
#[derive(Debug, Clone)]
struct Kind {
    class: String,
    wrong: String,
    says: Option<String>,
    owner: Option<String>,
}

/// `wrong_arguments.tbl`.
#[derive(Debug)]
struct Rules {
    kinds: BTreeMap<String, Kind>,
    sets: BTreeMap<String, Vec<String>>,
    /// Functions, parameter, right argument, kinds.
    parameters: Vec<[String; 4]>,
    /// Functions, set-up, owner, clean-up.
    states: Vec<[String; 4]>,
    harmless: BTreeSet<String>,
    elsewhere: BTreeSet<String>,
    /// Function, parameter and kind; class or `allowed`; what the message holds; owner; reason.
    exceptions: Vec<[String; 5]>,
    /// Class, what the message holds, owner, call, set-up, clean-up.
    calls: Vec<[String; 6]>,
}

fn fields<const N: usize>(line: &str) -> [String; N] {
    // An or of C is written with a backslash before it.
    let line = line.replace("\\|", "\0");
    let mut fields = line.split('|').map(|field| field.trim().replace('\0', "|"));
    let made = std::array::from_fn(|_| fields.next().unwrap_or_default());
    assert!(fields.next().is_none(), "more than {N} fields: {line}");
    made
}

fn given(field: &str) -> Option<String> {
    (!field.is_empty() && field != "-").then(|| field.to_owned())
}

impl Rules {
    fn read(text: &str) -> Self {
        let mut rules = Self {
            kinds: BTreeMap::new(),
            sets: BTreeMap::new(),
            parameters: Vec::new(),
            states: Vec::new(),
            harmless: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            exceptions: Vec::new(),
            calls: Vec::new(),
        };
        let mut section = "";
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
                continue;
            }
            match section {
                "kinds" => {
                    let [name, class, wrong, says, owner] = fields(line);
                    let kind = Kind { class, wrong, says: given(&says), owner: given(&owner) };
                    assert!(rules.kinds.insert(name, kind).is_none(), "twice: {line}");
                }
                "sets" => {
                    let [name, kinds] = fields(line);
                    rules.sets.insert(name, kinds.split_whitespace().map(str::to_owned).collect());
                }
                "parameters" => rules.parameters.push(fields(line)),
                "states" => rules.states.push(fields(line)),
                "harmless" => _ = rules.harmless.insert(fields::<2>(line)[0].clone()),
                "elsewhere" => _ = rules.elsewhere.insert(fields::<2>(line)[0].clone()),
                "exceptions" => rules.exceptions.push(fields(line)),
                "calls" => rules.calls.push(fields(line)),
                _ => panic!("no section '{section}'"),
            }
        }
        rules
    }

    /// The names of the kinds in a list, sets written out.
    fn kinds_of(&self, list: &str) -> Vec<String> {
        let mut names = Vec::new();
        for name in list.split_whitespace().filter(|name| *name != "-") {
            match self.sets.get(name) {
                Some(set) => names.extend(self.kinds_of(&set.join(" "))),
                None => {
                    assert!(self.kinds.contains_key(name), "no kind '{name}'");
                    names.push(name.to_owned());
                }
            }
        }
        names
    }

    /// The right argument for a parameter, and what can be wrong with it.
    fn parameter(&self, function: &str, parameter: &str) -> Option<(String, Vec<String>)> {
        let (kind, plain) = integer_of(parameter);
        let found = self.parameters.iter().find(|[functions, pattern, ..]| {
            fits_any(functions, function, '*')
                && (fits(pattern, &plain, '%') || fits(pattern, parameter, '%'))
        });
        let [_, _, right, kinds] = found?;
        let kinds = self.kinds_of(kinds).into_iter();
        let kinds = kinds.filter(|name| name != "large" || kind == Some("MPI_Count"));
        Some((typed(right, kind), kinds.collect()))
    }

    fn state(&self, function: &str) -> [&str; 3] {
        let found = self.states.iter().find(|[functions, ..]| fits_any(functions, function, '*'));
        found.map_or(["", "", ""], |[_, set_up, owner, clean_up]| [set_up, owner, clean_up])
    }

    fn exception(&self, function: &str, parameter: &str, kind: &str) -> Option<&[String; 5]> {
        self.exceptions.iter().find(|[what, ..]| {
            let parts: Vec<_> = what.split_whitespace().collect();
            let [of, name, kinds] = parts[..] else { panic!("function, parameter, kind: {what}") };
            fits(of, function, '*') && fits(name, parameter, '*') && fits(kinds, kind, '*')
        })
    }
}

/// Whether a text fits a pattern, in which `any` stands for any characters.
fn fits(pattern: &str, text: &str, any: char) -> bool {
    match pattern.split_once(any) {
        None => pattern == text,
        Some((begin, rest)) => text.strip_prefix(begin).is_some_and(|text| {
            (0..=text.len()).filter(|&at| text.is_char_boundary(at)).any(|at| fits(rest, &text[at..], any))
        }),
    }
}

fn fits_any(patterns: &str, text: &str, any: char) -> bool {
    patterns.split_whitespace().any(|pattern| fits(pattern, text, any))
}

/// The integer type of a parameter, and the parameter with `T` in its place.
fn integer_of(parameter: &str) -> (Option<&'static str>, String) {
    for kind in ["int", "MPI_Count", "MPI_Aint"] {
        if let Some(at) = parameter.find(&format!("{kind} "))
            && (at == 0 || parameter[..at] == *"const ")
        {
            return (Some(kind), parameter.replacen(kind, "T", 1));
        }
    }
    (None, parameter.to_owned())
}

/// An expression with `T` replaced.
fn typed(expression: &str, kind: Option<&str>) -> String {
    let Some(kind) = kind else { return expression.to_owned() };
    ["(T)", "(T["]
        .iter()
        .fold(expression.to_owned(), |text, word| text.replace(word, &word.replace('T', kind)))
}

/// The name of a parameter.
fn name_of(parameter: &str) -> &str {
    let end = parameter.find('[').unwrap_or(parameter.len());
    let start = parameter[..end].rfind([' ', '*']).map_or(0, |at| at + 1);
    &parameter[start..end]
}

/// A parameter that names the object whose error handler is asked.
fn is_owner(parameter: &str) -> bool {
    ["MPI_Comm ", "MPI_Session ", "MPI_Win ", "MPI_File "]
        .iter()
        .any(|kind| parameter.starts_with(kind) && !parameter.contains('*'))
}

/// An object whose error handler is asked, as the program calls it.
fn object(name: &str) -> &str {
    if name == "self" { "MPI_COMM_SELF" } else { name }
}

/// What is to be seen of the handles that a call would have made, had the argument of this index been right.
fn nothing_made(function: &str, parameters: &[&String], wrong: usize) -> String {
    let others = parameters.iter().enumerate().filter(|(index, _)| *index != wrong);
    let handles = others.filter_map(|(_, parameter)| {
        let (kind, name) = parameter.strip_prefix("MPI_")?.split_once(" *")?;
        let (_, member, null) = HANDLES.iter().find(|(known, ..)| *known == kind)?;
        let changes = ["_free", "_disconnect", "_finalize", "_commit", "_Start", "_Wait", "_Test", "_Cancel"];
        let is_changed = changes.iter().any(|call| function.contains(call))
            || function.contains("recv") && kind == "Message"
            || function.starts_with("MPI_T_");
        (!is_changed).then(|| format!(", is_null(made.{member} == {null}, {})", quoted(name)))
    });
    handles.collect()
}

/// Kinds of handles that calls make: the type, where the program keeps one, and the null handle.
const HANDLES: [(&str, &str, &str); 11] = [
    ("Comm", "comm", "MPI_COMM_NULL"),
    ("Group", "group", "MPI_GROUP_NULL"),
    ("Info", "info", "MPI_INFO_NULL"),
    ("Session", "session", "MPI_SESSION_NULL"),
    ("Datatype", "type", "MPI_DATATYPE_NULL"),
    ("Op", "op", "MPI_OP_NULL"),
    ("Request", "request", "MPI_REQUEST_NULL"),
    ("Message", "message", "MPI_MESSAGE_NULL"),
    ("Win", "win", "MPI_WIN_NULL"),
    ("File", "file", "MPI_FILE_NULL"),
    ("Errhandler", "handler", "MPI_ERRHANDLER_NULL"),
];

/// Whether an exception says that the right call of a function cannot be made: `FUNCTION PARAMETER right`.
fn is_right_of(exception: &str, function: &str) -> bool {
    let mut parts = exception.split_whitespace();
    parts.next().is_some_and(|functions| fits(functions, function, '*')) && parts.nth(1) == Some("right")
}

/// An expression that may be empty, as a statement without commas outside parentheses.
fn statement(expression: &str) -> String {
    if expression.is_empty() { "(void)0".to_owned() } else { format!("({expression})") }
}

/// A string of C.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The calls of a function, as the body of a C function; answers how many they are.
fn block(text: &mut String, rules: &Rules, function: &Function, faults: &mut Vec<String>) -> usize {
    let name = &function.name;
    let parameters: Vec<_> = function.parameters.iter().filter(|parameter| *parameter != "...").collect();
    let mut arguments = Vec::new();
    for parameter in &parameters {
        match rules.parameter(name, parameter) {
            Some(found) => arguments.push(found),
            None => faults.push(format!("{name}: no line of [parameters] for '{parameter}'")),
        }
    }
    if arguments.len() < parameters.len() {
        return 0;
    }
    let [set_up, owner_of_state, clean_up] = rules.state(name);
    let owner = match (given(owner_of_state), parameters.iter().position(|parameter| is_owner(parameter))) {
        (Some(owner), _) => owner,
        (None, Some(index)) => arguments[index].0.clone(),
        (None, None) => "self".to_owned(),
    };
    let call = |wrong: Option<(usize, &str)>| {
        let list: Vec<_> = (0..arguments.len())
            .map(|i| wrong.filter(|(at, _)| *at == i).map_or(arguments[i].0.as_str(), |(_, value)| value))
            .collect();
        format!("{name}({})", list.join(", "))
    };
    let mut calls = 0;
    let mut made = |argument: &str, kind: &str, judge: String| {
        let _ = writeln!(
            text,
            "    TRY({}, {}, {}, {}, {}, ({judge}));",
            statement(set_up),
            statement(clean_up),
            quoted(name),
            quoted(argument),
            quoted(kind)
        );
        calls += 1;
    };
    let answers = function.returns == "int" && !name.ends_with("_toint");
    let right = call(None);
    match rules.exceptions.iter().find(|[what, ..]| is_right_of(what, name)) {
        Some([_, class, ..]) if class == "elsewhere" => {}
        Some([what, class, says, asked, _]) => {
            let argument = what.split_whitespace().nth(1).unwrap_or_default();
            made(argument, "right", format!("wrong({class}, {}, {}, {right})", quoted(says), object(asked)));
        }
        None if answers => made("every argument", "right", format!("right({right})")),
        None => made("every argument", "right", format!("(void){right}")),
    }
    for (index, (parameter, (_, kinds))) in parameters.iter().zip(&arguments).enumerate() {
        for kind_name in kinds {
            let kind = &rules.kinds[kind_name];
            let argument = name_of(parameter);
            let wrong = typed(&kind.wrong, integer_of(parameter).0);
            let wrong_call = call(Some((index, &wrong)));
            if !answers {
                made(argument, kind_name, format!("(void){wrong_call}"));
                continue;
            }
            let exception = rules.exception(name, argument, kind_name);
            let class = exception.and_then(|e| given(&e[1])).unwrap_or_else(|| kind.class.clone());
            if class == "allowed" {
                made(argument, kind_name, format!("right({wrong_call})"));
                continue;
            }
            let says = exception.and_then(|e| given(&e[2])).or_else(|| kind.says.clone());
            let says = says.map_or("NULL".to_owned(), |says| quoted(&says));
            let asked = exception.and_then(|e| given(&e[3])).or_else(|| kind.owner.clone());
            let asked = asked.unwrap_or_else(|| owner.clone());
            let asked = object(&asked);
            let nothing = nothing_made(name, &parameters, index);
            made(argument, kind_name, format!("wrong({class}, {says}, {asked}, {wrong_call}){nothing}"));
        }
    }
    let mistakes: usize = arguments.iter().map(|(_, kinds)| kinds.len()).sum();
    if (mistakes == 0) != rules.harmless.contains(name) {
        faults.push(format!("{name}: {mistakes} wrong arguments, which is not what [harmless] says of it"));
    }
    calls
}

/// The program, and how many calls it makes.
fn program(rules: &Rules, functions: &[&Function]) -> (String, usize) {
    let mut text = "#include \"wrong_arguments.h\"\n".to_owned();
    let (mut list, mut calls, mut faults) = (String::new(), 0, Vec::new());
    for function in functions {
        if rules.elsewhere.contains(&function.name) {
            continue;
        }
        let _ = writeln!(text, "static void of_{}(void)\n{{", function.name);
        calls += block(&mut text, rules, function, &mut faults);
        text.push_str("}\n");
        let _ = writeln!(list, "    of_{},", function.name);
    }
    assert!(faults.is_empty(), "tests/mpi/wrong_arguments.tbl:\n{}", faults.join("\n"));
    text.push_str("static void of_more(void)\n{\n");
    for [class, says, owner, call, set_up, clean_up] in &rules.calls {
        let name = call.split('(').next().unwrap_or_default();
        let owner = object(owner);
        let judge = format!("wrong({class}, {}, {owner}, {call})", quoted(says));
        let _ = writeln!(
            text,
            "    TRY({}, {}, {}, {}, \"(another call)\", ({judge}));",
            statement(set_up),
            statement(clean_up),
            quoted(name),
            quoted(says)
        );
    }
    calls += rules.calls.len();
    let _ = write!(
        text,
        "}}
static void (*const blocks[])(void) = {{
{list}    of_more,
}};

int main(int argc, char **argv)
{{
    int sum[2];
    prepare(&argc, &argv);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {{
        if (i % (size_t)size == (size_t)rank)
            blocks[i]();
        alarm(0);
        go_round();
    }}
    MPI_Reduce((int[]){{calls, failures}}, sum, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf(\"%d calls, %d failures\\n\", sum[0], sum[1]);
    close_files();
    MPI_Session_finalize(&session);
    return MPI_Finalize();
}}
"
    );
    (text, calls)
}

#[test]
fn every_function_tells_every_wrong_argument_and_harms_nobody() {
    let tables = Tables::read().expect("the tables");
    let edge = crate::exports::edge();
    let done = unsupported::defined(&tables, edge.iter().map(String::as_str));
    let functions: Vec<_> = tables
        .functions
        .iter()
        .filter(|function| function.form != Form::Inline && done.contains(&function.name))
        .collect();
    let rules = include_str!("wrong_arguments.tbl");
    let (text, calls) = program(&Rules::read(rules), &functions);
    let ended = launch(&Job::of(3), &compiled_from("every_wrong_argument", &text), &[] as &[&str]);
    assert!(ended.is_well(), "{ended:#?}\n{}", ended.stdout);
    assert!(
        ended.stdout.ends_with(&format!("{calls} calls, 0 failures\n")),
        "of {calls} calls:\n{}",
        ended.stdout
    );
}
