//! What tests hold remedies against: the options and commands that help texts show.

use clap::{CommandFactory as _, Parser as _};

use crate::load::mode::CommandLine;

/// Panics if a remedy names an option that the help of this mode does not show, or, in backquotes,
/// a command that this program does not have; tasks of the checkout's Makefile are no such commands.
pub fn assert_shown(remedy: &str, mode: &str) {
    for (place, words) in remedy.split('`').enumerate() {
        if place % 2 == 1 && words.starts_with("make ") {
            continue;
        }
        let mode = if place % 2 == 1 { mode_of(words) } else { mode };
        let known = options_of(mode);
        let word_end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        for option in words.split(word_end).filter_map(|word| word.strip_prefix("--")) {
            assert!(known.iter().any(|name| name == option), "{mode}, --{option}: {remedy}");
        }
    }
}

/// The mode of a whole command line.
fn mode_of(command: &str) -> &str {
    let words = || command.split_whitespace();
    let read = CommandLine::try_parse_from(words());
    assert!(command.starts_with("tlslab-load ") && read.is_ok(), "{command}: {read:?}");
    words().nth(1).unwrap_or_default()
}

/// The long options that the help of a mode shows.
fn options_of(mode: &str) -> Vec<String> {
    let mut command = CommandLine::command();
    // Adds --help to each mode.
    command.build();
    let mode = command.find_subcommand(mode).expect("a mode");
    let shown = mode.get_arguments().filter(|arg| !arg.is_hide_set());
    shown.filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
}

#[test]
fn hidden_options_and_unknown_commands_are_found() {
    assert_shown("see `tlslab-load probe HOST --only suites`, or --help", "run");
    for wrong in ["(--probe names it)", "give --no-such", "`tlslab-load prob --only x`", "`nc x`"] {
        assert!(std::panic::catch_unwind(|| assert_shown(wrong, "run")).is_err(), "{wrong}");
    }
}
