//! The end of the program: its exit code, and a last line with the reason.

use std::io::{self, Write as _};
use std::process::ExitCode;

use tlslab_contract::record::{Verdict, VerdictCode};

/// Exit code: completed, but a verdict rejects the result.
pub const AGAINST: u8 = 1;

/// Exit code: interrupted.
pub const INTERRUPTED: u8 = 130;

/// An exit code, and its reason, which is printed for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    code: u8,
    reason: Option<&'static str>,
}

impl Ending {
    /// The end after output about the program itself, without a last line.
    pub const SILENT: Self = Self { code: 0, reason: None };

    /// The end of a measurement. A last line is printed only if the output is for people.
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

    /// The end of a run under conditions, of which each that holds has a line here. The lines go to
    /// standard error. A run that is not valid or was interrupted keeps its end.
    pub fn failed_by(self, lines: impl Iterator<Item = String>, for_people: bool) -> Self {
        let mut holds = false;
        for line in lines {
            holds = true;
            // An error is ignored: standard error is closed.
            let _ = writeln!(io::stderr(), "{line}");
        }
        if holds && self.code == 0 {
            return Self::new(AGAINST, "a condition of --fail-if holds, see above", for_people);
        }
        self
    }

    /// Writes the last line to standard error; returns the exit code.
    pub fn conclude(self) -> ExitCode {
        if let Some(reason) = self.reason {
            // An error is ignored: standard error is closed.
            let _ = writeln!(io::stderr(), "{reason}: exit {}", self.code);
        }
        ExitCode::from(self.code)
    }
}
