//! Early ends of the program, and their remedies.

use std::fmt::Display;

use tlslab_serve::ServeError;

/// Exit code for wrong usage.
pub const USAGE: u8 = 2;

/// Exit code if the machine refuses a resource: a port in use, a file that cannot be written.
pub const COULD_NOT_RUN: u8 = 3;

/// Remedies that several failures share.
pub const ROOM: &str = "check that the folder is there, with room and the right to write";
pub const SYSTEM: &str = "check that the system has memory, files and processes left (ulimit -a)";

/// An early end of the program: the exit code, and a line for standard error with the remedy.
pub struct Failure(pub u8, pub String);

impl Failure {
    pub fn new(code: u8, message: impl Display, remedy: &str) -> Self {
        Self(code, format!("{message}; {remedy}"))
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let code = if error.is_usage() { USAGE } else { COULD_NOT_RUN };
        Self::new(code, &error, error.remedy())
    }
}
