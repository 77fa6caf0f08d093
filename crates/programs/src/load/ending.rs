//! How the program ends: its exit code, and the last line, which says why.

use std::io::{self, Write as _};
use std::process::ExitCode;

use tlslab_contract::record::{Verdict, VerdictCode};

/// Done, but a verdict is against the result.
pub const AGAINST: u8 = 1;

/// Interrupted.
pub const INTERRUPTED: u8 = 130;

/// An exit code, and why it is that one, where people read the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    code: u8,
    reason: Option<&'static str>,
}

impl Ending {
    /// Without a last line, after output about the program itself.
    pub const SILENT: Self = Self { code: 0, reason: None };

    /// The end of a measurement whose output is for people, or for programs, which get no last line.
    pub fn new(code: u8, reason: &'static str, for_people: bool) -> Self {
        Self { code, reason: for_people.then_some(reason) }
    }

    /// The end of a run with these verdicts.
    pub fn of(verdicts: &[Verdict], for_people: bool) -> Self {
        let has = |code| verdicts.iter().any(|verdict| verdict.code == code);
        let (code, reason) = if has(VerdictCode::Interrupted) {
            (INTERRUPTED, "interrupted")
        } else if has(VerdictCode::Valid) {
            (0, "valid")
        } else {
            (AGAINST, "a verdict is against the result, see above")
        };
        Self::new(code, reason, for_people)
    }

    /// Writes the last line to standard error; the exit code.
    pub fn conclude(self) -> ExitCode {
        if let Some(reason) = self.reason {
            // An error is ignored: standard error is closed.
            let _ = writeln!(io::stderr(), "{reason}: exit {}", self.code);
        }
        ExitCode::from(self.code)
    }
}
