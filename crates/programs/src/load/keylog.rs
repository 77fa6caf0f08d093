//! The file that the secrets of connections are written to.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;

use tlslab_tls::KeyLog;

use crate::load::problem::Problem;

/// Read and written by the user alone.
const PRIVATE: u32 = 0o600;

/// The permissions of the group and of others.
const OTHERS: u32 = 0o077;

/// Opens the log, if one is asked for; what a file holds already is kept.
pub fn open(path: Option<&str>) -> Result<Option<Arc<KeyLog>>, Problem> {
    let Some(path) = path else { return Ok(None) };
    let opened = OpenOptions::new().append(true).create(true).mode(PRIVATE).open(path);
    let file = opened.map_err(|e| Problem::usage(format!("cannot write '{path}': {e}")))?;
    match is_private(&file) {
        Ok(true) => Ok(Some(Arc::new(KeyLog::new(file)))),
        Ok(false) => {
            let message = format!("'{path}' may be read by others; remove it, or chmod 600 it");
            Err(Problem::usage(message))
        }
        Err(e) => Err(Problem::usage(format!("cannot write '{path}': {e}"))),
    }
}

/// Whether only the user may read a file; devices and pipes are not checked.
fn is_private(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    Ok(!metadata.is_file() || metadata.mode() & OTHERS == 0)
}
