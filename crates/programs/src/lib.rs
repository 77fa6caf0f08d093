//! The common part of the programs (usage errors, values of options, completions, manual pages),
//! and the programs themselves, without their allocators. They are part of the library because
//! cargo compiles a library in parallel with its dependencies, and a program only after them
//! (docs/adr/0052).

pub mod load;
pub mod serve;
mod values;

use std::io::{self, Write as _};

use clap::CommandFactory;
use clap_complete::Shell;

/// The version of the programs. A build without OpenSSL says so.
pub const VERSION: &str = if cfg!(feature = "openssl") {
    env!("CARGO_PKG_VERSION")
} else {
    concat!(env!("CARGO_PKG_VERSION"), " (without OpenSSL)")
};

/// The usage error of clap in one line: the fault, and the probable intention.
pub fn usage_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
    });
    let first = paragraphs.next().unwrap_or_default();
    let mut line = first.trim_start_matches("error: ").to_owned();
    let tips = paragraphs.filter_map(|text| text.strip_prefix("tip: ").map(str::to_owned));
    // Tips about values that look like options do not help here.
    for tip in tips.filter(|tip| !tip.starts_with("to pass ")) {
        line.push_str("; ");
        line.push_str(&tip);
    }
    line
}

/// Writes the shell completions of a program to standard output.
pub fn print_completion<A: CommandFactory>(shell: Shell) -> io::Result<()> {
    let mut command = A::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    io::stdout().write_all(&script)
}

/// Writes the manual page of a program to standard output, as roff, with a section for each
/// subcommand.
pub fn print_manual<A: CommandFactory>() -> io::Result<()> {
    let mut page = Vec::new();
    let mut command = A::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for mode in command.get_subcommands() {
        let title = mode.get_name().to_owned();
        let manual = clap_mangen::Man::new(mode.clone());
        writeln!(page, ".SH \"{}\"", title.to_uppercase())?;
        manual.render_description_section(&mut page)?;
        manual.render_options_section(&mut page)?;
    }
    io::stdout().write_all(&page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Arguments {
        /// The group
        #[arg(long)]
        group: Option<u32>,
    }

    #[test]
    fn a_typo_is_reported_in_one_line_with_what_may_have_been_meant() {
        let error = Arguments::try_parse_from(["x", "--gruop", "1"]).unwrap_err();
        let line = usage_line(&error);
        assert_eq!(line.lines().count(), 1);
        assert!(line.starts_with("unexpected argument '--gruop' found; "), "{line}");
        assert!(line.contains("'--group'"), "{line}");
        let error = Arguments::try_parse_from(["x", "--group", "y"]).unwrap_err();
        assert!(usage_line(&error).starts_with("invalid value 'y' for '--group"), "{error}");
        let error = Arguments::try_parse_from(["x", "--group", "-1s"]).unwrap_err();
        assert_eq!(usage_line(&error), "unexpected argument '-1' found");
    }
}
