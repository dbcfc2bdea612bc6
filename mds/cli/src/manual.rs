//! The manual page and the shell completions, made from the options' own descriptions.

use crate::command_line::Cli;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io;

const ENVIRONMENT: [(&str, &str); 9] = [
    ("BCS_MMDS", "0 or off; 1, on or all; or the ranks that record: 2,4-7 (0-0 is rank 0 alone)."),
    ("BCS_MMDS_LATENCY", "MPI calls whose latency distribution is recorded: MPI_Send,MPI_Recv, all or none."),
    ("BCS_MMDS_SIZE", "MPI calls whose size distribution is recorded, likewise."),
    ("BCS_MMDS_LATENCY_DIGITS", "Significant digits of distributions of time, 1 to 4 (2)."),
    ("BCS_MMDS_SIZE_DIGITS", "Significant digits of distributions of sizes, 1 to 4 (2)."),
    ("BCS_EMDS", "0 or off; 1 or on (slices 1 to 10000); or slices first:last or first:last:step."),
    ("BCS_EMDS_NODES", "The job's nodes that record: all, or 0,2-3."),
    ("BCS_EMDS_METRICS", "The metrics that are recorded: all, or GETTS,LTDEM."),
    ("BCS_TRACE_DIR", "Directory of the trace files (bcs-trace)."),
];

const EXIT_STATUS: [(&str, &str); 3] = [
    ("0", "Done."),
    ("1", "The trace cannot be read, or the result cannot be written; one line says why and what to do."),
    ("2", "Wrong usage."),
];

/// The completion script of `shell`.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mds", &mut script);
    script
}

/// The manual page, in roff: one page, with a section for each subcommand.
pub fn page() -> io::Result<Vec<u8>> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    for subcommand in command.get_subcommands() {
        subcommand_section(subcommand, &mut page)?;
    }
    list_section(
        "ENVIRONMENT",
        Some("What a run records; storm run sets these from its options."),
        &ENVIRONMENT,
        &mut page,
    )?;
    list_section("EXIT STATUS", None, &EXIT_STATUS, &mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// The sections that clap makes of a subcommand, under one heading with the subcommand's name.
fn subcommand_section(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    let mut sections = Vec::new();
    man.render_synopsis_section(&mut sections)?;
    man.render_description_section(&mut sections)?;
    man.render_options_section(&mut sections)?;
    Roff::new()
        .control("SH", [format!("mds {}", command.get_name()).to_uppercase().as_str()])
        .to_writer(page)?;
    let sections = String::from_utf8_lossy(&sections);
    let preamble_ends = sections.find(".SH ").unwrap_or(0);
    for line in sections[preamble_ends..]
        .lines()
        .filter(|line| !line.starts_with(".ie ") && !line.starts_with(".el "))
    {
        match line.strip_prefix(".SH ") {
            Some("SYNOPSIS") => {}
            Some("DESCRIPTION") => page.extend_from_slice(b".PP"),
            Some(heading) => page.extend_from_slice(format!(".SS {heading}").as_bytes()),
            None => page.extend_from_slice(line.as_bytes()),
        }
        if line != ".SH SYNOPSIS" {
            page.push(b'\n');
        }
    }
    Ok(())
}

/// A section of terms and what they mean.
fn list_section(
    heading: &str,
    text: Option<&str>,
    items: &[(&str, &str)],
    page: &mut Vec<u8>,
) -> io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    if let Some(text) = text {
        roff.text([roman(text)]);
    }
    for (term, meaning) in items {
        roff.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
    roff.to_writer(page)
}
