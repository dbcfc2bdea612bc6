//! Writes the procedures of `libmpifort_abi.so.1` in Rust: what converts the arguments of a procedure of
//! Fortran, calls the function of C, and converts what that has stored.
//!
//! What is called is C's `MPI_X` by the Fortran procedure `MPI_X`, and `PMPI_X` by `PMPI_X`, so that a tool
//! that defines either sees what Fortran programs call (§15.2). The words that this uses (`choice`,
//! `handle`, `status` and others) are functions of `bcs-mpi/fortran`; what that defines by hand, [`render`]
//! leaves out.

use super::argument::{Argument, Flow, Kind};
use super::binding::{Binding, Role, bindings};
use super::facts::Facts;
use super::sources::has_error;
use crate::table::Tables;
use std::fmt::Write as _;

/// The prototypes of C, which the library calls.
#[must_use]
pub fn prototypes(tables: &Tables) -> String {
    let facts = Facts::read();
    let mut text = "unsafe extern \"C\" {\n".to_owned();
    for binding in bindings(&facts, tables) {
        let types = binding.arguments.iter().enumerate();
        let types: Vec<_> =
            types.map(|(at, argument)| format!("p{at}: {}", c_type(&binding, argument))).collect();
        let returns = match binding.function.returns {
            "double" => "f64",
            "MPI_Aint" => "MPI_Aint",
            _ => "c_int",
        };
        for prefix in ["", "P"] {
            let _ =
                writeln!(text, "    pub fn {prefix}{}({}) -> {returns};", binding.name(), types.join(", "));
        }
    }
    text + "}\n"
}

/// The type of a parameter of C, in Rust: all addresses are of what may change.
fn c_type(binding: &Binding<'_>, argument: &Argument) -> String {
    let at = binding.arguments.iter().position(|other| other == argument).unwrap_or_default();
    let parameter = &binding.function.parameters[at];
    let rest = parameter.strip_prefix("const ").unwrap_or(parameter);
    let (base, declared) = rest.split_once(' ').unwrap_or((rest, ""));
    let base = match base {
        "int" => "c_int",
        "char" => "c_char",
        "void" => "c_void",
        other => other,
    };
    if let Kind::Procedure(_) = argument.kind {
        return "*mut c_void".to_owned();
    }
    let depth = declared.matches('*').count() + declared.matches("[]").count();
    let base = if declared.ends_with("[3]") { "[c_int; 3]" } else { base };
    "*mut ".repeat(depth) + base
}

/// The procedures that none of these sources defines.
#[must_use]
pub fn render(tables: &Tables, sources: &[String]) -> String {
    let is_defined = |name: &str| {
        let mark = format!("P{name} \"{}\"", short_name(name));
        sources.iter().any(|source| source.contains(&mark))
    };
    let facts = Facts::read();
    let mut text = String::new();
    for binding in bindings(&facts, tables) {
        let name = binding.name();
        if !is_defined(name) {
            entry(&mut text, &facts, &binding, Form::Addresses);
        }
        if binding.has_choice() && binding.is_modern() {
            entry(&mut text, &facts, &binding, Form::Descriptors);
            if binding.arguments.iter().any(|argument| argument.kind == Kind::Text) {
                entry(&mut text, &facts, &binding, Form::DescribedTexts);
            }
        }
    }
    text
}

/// A name without `MPI_`, in lower case.
fn short_name(name: &str) -> String {
    name.to_lowercase().trim_start_matches("mpi_").to_owned()
}

/// How choice buffers and strings are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Buffers as addresses, strings with their lengths.
    Addresses,
    /// Buffers as descriptors, strings with their lengths.
    Descriptors,
    /// Both as descriptors.
    DescribedTexts,
}

/// One procedure.
fn entry(text: &mut String, facts: &Facts, binding: &Binding<'_>, form: Form) {
    let name = binding.name();
    let described = form != Form::Addresses;
    let short = short_name(name);
    let macro_name = match form {
        Form::Addresses if binding.is_large() => "large_entries",
        Form::Addresses => "entries",
        Form::Descriptors => "described",
        Form::DescribedTexts => "described_with_texts",
    };
    let is_described_text =
        |argument: &&Argument| form == Form::DescribedTexts && argument.kind == Kind::Text;
    let mut parameters = Vec::new();
    for argument in binding.visible() {
        let is_described = argument.kind == Kind::Choice && described || is_described_text(&argument);
        let passed = if is_described { "*const Descriptor".to_owned() } else { fortran_type(argument) };
        parameters.push(format!("{}: {passed}", argument.c_name));
    }
    if has_error(binding) {
        parameters.push("ierror: *mut c_int".to_owned());
    }
    let texts =
        binding.visible().filter(|argument| argument.kind == Kind::Text && form != Form::DescribedTexts);
    parameters.extend(texts.map(|argument| format!("{}_length: usize", argument.c_name)));
    let mut body =
        Body { facts, binding, described, before: String::new(), after: String::new(), kept: Vec::new() };
    let call: Vec<_> = (0..binding.arguments.len()).map(|index| body.argument(index)).collect();
    let overridden: Vec<_> =
        (0..call.len()).map(|index| body.replaced(index).unwrap_or_else(|| call[index].clone())).collect();
    let Body { before, after, kept, .. } = body;
    let _ = writeln!(text, "{macro_name}! {{ {name} P{name} \"{short}\" ({}) {{", parameters.join(", "));
    if is_quick(binding) {
        quick(text, binding, described, &parameters);
    }
    for Argument { c_name, .. } in binding.visible().filter(is_described_text) {
        let _ = writeln!(text, "let ({c_name}, {c_name}_length) = text_of({c_name});");
    }
    if described {
        let _ = writeln!(text, "let owner = {};", owner(binding));
    }
    let _ = writeln!(text, "{before}let code = call({});", overridden.join(", "));
    text.push_str(&after);
    if !kept.is_empty() {
        match binding.request() {
            Some(request) => {
                let persistent = name.trim_end_matches("_c").ends_with("_init");
                let _ = writeln!(
                    text,
                    "keep(code, made_{}, {persistent}, [{}]);",
                    request.c_name,
                    kept.iter().map(|kept| format!("{kept}.into()")).collect::<Vec<_>>().join(", ")
                );
            }
            None => kept.iter().for_each(|kept| {
                let _ = writeln!(text, "{kept}.end(code);");
            }),
        }
    }
    text.push_str(if has_error(binding) { "answer(ierror, code)\n" } else { "let _ = code;\n" });
    if is_quick(binding) {
        let names = parameters.iter().filter_map(|parameter| parameter.split(':').next());
        let _ = writeln!(text, "}} }}\nslow({})", names.collect::<Vec<_>>().join(", "));
    }
    text.push_str("} }\n");
}

/// Whether a call is one of those that programs make most often: messages that block.
fn is_quick(binding: &Binding<'_>) -> bool {
    let plain = binding.name().strip_suffix("_c").unwrap_or(binding.name());
    matches!(plain, "MPI_Send" | "MPI_Ssend" | "MPI_Rsend" | "MPI_Recv")
}

/// The way of a call whose handles are predefined and whose buffer is plain: few registers are saved, as all
/// else is a function of its own.
fn quick(text: &mut String, binding: &Binding<'_>, described: bool, parameters: &[String]) {
    let pass = |argument: &Argument| match (&argument.kind, argument.c_name.as_str()) {
        (Kind::Choice, _) => "address".to_owned(),
        (Kind::Handle(of), name) => format!("{of}(*{name} as usize)"),
        (Kind::Status, name) => format!("statuses({name})"),
        (_, name) => format!("*{name}"),
    };
    let arguments: Vec<_> = binding.arguments.iter().map(pass).collect();
    let address = match described {
        true => "plain(buf, *count as i64, *datatype)",
        false => "Some(buf).filter(|buf| !is_sentinel(*buf))",
    };
    let _ = writeln!(
        text,
        "if are_predefined(*datatype, *comm) {{ if let Some(address) = {address} {{\n\
         return answer(ierror, call({}));\n}} }}\n#[cold]\n#[inline(never)]\n\
         unsafe fn slow({}) {{ unsafe {{",
        arguments.join(", "),
        parameters.join(", ")
    );
}

/// Whose error handler is asked where an argument of Fortran is wrong.
fn owner(binding: &Binding<'_>) -> String {
    let of = |argument: &Argument| match (&argument.kind, argument.flow) {
        (Kind::Handle(of), Flow::In) => match of.as_str() {
            "MPI_Comm" => Some(format!("Owner::Communicator(handle(*{}))", argument.c_name)),
            "MPI_Win" => Some(format!("Owner::Window(handle(*{}))", argument.c_name)),
            "MPI_File" => Some(format!("Owner::File(handle(*{}))", argument.c_name)),
            "MPI_Session" => Some(format!("Owner::Session(handle(*{}))", argument.c_name)),
            _ => None,
        },
        _ => None,
    };
    binding.arguments.iter().find_map(of).unwrap_or_else(|| "Owner::Nobody".to_owned())
}

/// The type of an argument as it comes from Fortran: an address.
fn fortran_type(argument: &Argument) -> String {
    match &argument.kind {
        Kind::Choice | Kind::Procedure(_) | Kind::Pointer => "*mut c_void".to_owned(),
        Kind::Number(width) | Kind::Numbers(width) => format!("*mut {}", width.rust()),
        Kind::State | Kind::Attribute => "*mut MPI_Aint".to_owned(),
        Kind::Status | Kind::Statuses => "*mut MPI_Status".to_owned(),
        Kind::Text | Kind::Texts(_) => "*mut c_char".to_owned(),
        Kind::Triples => "*mut [c_int; 3]".to_owned(),
        Kind::Weights | Kind::Handle(_) | Kind::Handles(_) | Kind::Dropped => "*mut c_int".to_owned(),
    }
}

/// What a procedure does before and after the call.
struct Body<'a> {
    facts: &'a Facts,
    binding: &'a Binding<'a>,
    described: bool,
    before: String,
    after: String,
    /// What is held until the operation is complete, by name.
    kept: Vec<String>,
}

impl Body<'_> {
    /// What is handed to C for an argument.
    fn argument(&mut self, index: usize) -> String {
        let argument = &self.binding.arguments[index];
        let name = &argument.c_name;
        match (&argument.kind, argument.flow) {
            (Kind::Dropped, _) if self.binding.function.parameters[index].starts_with("int argc") => {
                "0".to_owned()
            }
            (Kind::Dropped, _) => "std::ptr::null_mut()".to_owned(),
            (Kind::Choice, _) if self.described => self.described(index),
            (Kind::Choice, _) => format!("choice({name})"),
            (Kind::Number(_), Flow::In) => format!("*{name}"),
            (Kind::Number(_) | Kind::Numbers(_) | Kind::Triples, _) => name.clone(),
            (Kind::Weights, _) if name == "array_of_errcodes" => format!("error_codes({name})"),
            (Kind::Weights, _) => format!("weights_of({name})"),
            (Kind::Pointer, _) => name.clone(),
            (Kind::State | Kind::Attribute | Kind::Procedure(_) | Kind::Texts(_), _) => {
                format!("compile_error!(\"{}: {name} is written by hand\")", self.binding.name())
            }
            (Kind::Handle(_), Flow::In) => format!("handle(*{name})"),
            (Kind::Handle(of), flow) => {
                let first =
                    if flow == Flow::Out { format!("{of}::NULL") } else { format!("handle(*{name})") };
                let _ = writeln!(self.before, "let mut made_{name}: {of} = {first};");
                let _ = writeln!(self.after, "*{name} = made_{name}.integer();");
                format!("&mut made_{name}")
            }
            (Kind::Handles(of), flow) => self.handles(name, of, flow),
            (Kind::Status | Kind::Statuses, Flow::In) => name.clone(),
            (Kind::Status | Kind::Statuses, _) => format!("statuses({name})"),
            (Kind::Text, Flow::In) => {
                let strip = if self.facts.lists("stripped", name) { "stripped" } else { "trimmed" };
                let _ = writeln!(self.before, "let text_{name} = {strip}({name}, {name}_length);");
                format!("text_{name}.as_ptr().cast_mut()")
            }
            (Kind::Text, _) => {
                let most = self.facts.of("stored", name).map_or("0", |words| words[0]);
                let _ = writeln!(self.before, "let mut text_{name} = [0; {most} as usize];");
                let _ = writeln!(self.after, "fill(code, &text_{name}, {name}, {name}_length);");
                format!("text_{name}.as_mut_ptr()")
            }
        }
    }

    /// An array of handles.
    fn handles(&mut self, name: &str, of: &str, flow: Flow) -> String {
        let lengths = self.facts.of("length", name).unwrap_or_default();
        let has = |length: &&&str| self.binding.arguments.iter().any(|argument| argument.c_name == **length);
        let length = match lengths.iter().find(has) {
            Some(length) => format!("*{length} as i64"),
            None => self.members(name == "recvtypes"),
        };
        if flow == Flow::Out {
            let _ = writeln!(self.before, "let mut handles_{name} = vec![{of}::NULL; room({length})];");
            let _ = writeln!(self.after, "store_handles(code, &handles_{name}, {name});");
            return format!("handles_{name}.as_mut_ptr()");
        }
        let buffer = if self.described { "address_of(sendbuf)" } else { "sendbuf" };
        let lasting = self.binding.request().is_some();
        let (read, none) =
            if lasting { ("lasting_handles", "Box::default()") } else { ("handles", "Handles::none()") };
        let read = format!("{read}::<{of}>({name}, {length})");
        let read = match name {
            "sendtypes" => format!("if is_in_place({buffer}) {{ {none} }} else {{ {read} }}"),
            _ => read,
        };
        let _ = writeln!(self.before, "let mut handles_{name} = {read};");
        if lasting {
            self.kept.push(format!("handles_{name}"));
        }
        format!("handles_{name}.as_mut_ptr()")
    }

    /// How many members a call has to do with.
    fn members(&self, receives: bool) -> String {
        match (self.binding.function.chapter, receives) {
            (8, true) => "sources(handle(*comm))".to_owned(),
            (8, false) => "destinations(handle(*comm))".to_owned(),
            _ => "members(handle(*comm))".to_owned(),
        }
    }

    fn kind_of(&self, name: &str) -> Option<&Kind> {
        self.binding.arguments.iter().find(|argument| argument.c_name == name).map(|argument| &argument.kind)
    }

    /// A choice buffer that is a descriptor.
    fn described(&mut self, index: usize) -> String {
        let argument = &self.binding.arguments[index];
        let name = &argument.c_name;
        let function = self.binding.name();
        let access = if argument.flow == Flow::In { "Access::Read" } else { "Access::Write" };
        // What is in use after the call, and has no request, cannot be put back by any call.
        let stages = self.binding.request().is_some() || !self.binding.is_lasting(self.facts);
        let number = |count: &str| format!("*{count} as i64");
        let made = match self.binding.role(self.facts, index) {
            Role::Address => return format!("choice(address_of({name}))"),
            Role::Memory(size) => {
                let size = size.map_or("None".to_owned(), |size| format!("Some({})", number(&size)));
                format!("memory({name}, \"{name}\", {size})")
            }
            Role::Elements { count, datatype } => {
                format!(
                    "elements({name}, \"{name}\", {access}, {stages}, {}, handle(*{datatype}))",
                    number(&count)
                )
            }
            Role::Operands { count, datatype } => {
                let total = match self.kind_of(&count) {
                    // Of a block for each member, the result is one.
                    Some(Kind::Numbers(_)) => match argument.flow {
                        Flow::In => format!("sum({count}, {})", self.members(false)),
                        _ => format!("own({count}, handle(*comm))"),
                    },
                    _ if self.binding.generic_name().contains("scatter_block")
                        && argument.flow == Flow::In =>
                    {
                        format!("{} * {}", number(&count), self.members(false))
                    }
                    _ => number(&count),
                };
                format!("operands({name}, \"{name}\", {access}, handle(*{datatype}), {total})")
            }
            Role::Blocks { count, displacements, datatype } => {
                let receives = argument.flow != Flow::In;
                let members = self.members(receives);
                let many = matches!(self.kind_of(&datatype), Some(Kind::Handles(_)));
                let needed = match (self.kind_of(&count), displacements) {
                    _ if many => "None".to_owned(),
                    (Some(Kind::Numbers(_)), Some(places)) => {
                        format!("furthest({count}, {places}, {members})")
                    }
                    _ if self.binding.function.chapter == 4 => {
                        format!("Some({} * *partitions as i64)", number(&count))
                    }
                    _ => format!("Some({} * {members})", number(&count)),
                };
                let rooted = self.binding.arguments.iter().any(|argument| argument.c_name == "root");
                let needed = if rooted {
                    format!("if is_root(handle(*comm), *root) {{ {needed} }} else {{ None }}")
                } else {
                    needed
                };
                let stages = stages && self.binding.function.chapter != 4;
                let datatype =
                    if many { "MPI_Datatype::NULL".to_owned() } else { format!("handle(*{datatype})") };
                format!("blocks({name}, \"{name}\", {access}, {stages}, {datatype}, || {needed})")
            }
        };
        let _ =
            writeln!(self.before, "let mut data_{name} = attempt!(ierror, owner, \"{function}\", {made});");
        self.kept.push(format!("data_{name}"));
        format!("data_{name}.address")
    }

    /// What is handed to C instead of a number or a datatype, where a buffer is a descriptor.
    fn replaced(&self, index: usize) -> Option<String> {
        if !self.described {
            return None;
        }
        let asked = &self.binding.arguments[index];
        for (at, buffer) in
            self.binding.arguments.iter().enumerate().filter(|(_, argument)| argument.kind == Kind::Choice)
        {
            let name = &buffer.c_name;
            match self.binding.role(self.facts, at) {
                Role::Elements { count, .. } if count == asked.c_name => {
                    return Some(format!("data_{name}.count as _"));
                }
                Role::Elements { datatype, .. } if datatype == asked.c_name => {
                    return Some(format!("data_{name}.datatype"));
                }
                Role::Blocks { datatype, .. }
                    if datatype == asked.c_name && !matches!(asked.kind, Kind::Handles(_)) =>
                {
                    return Some(format!("data_{name}.datatype"));
                }
                _ => {}
            }
        }
        None
    }
}
