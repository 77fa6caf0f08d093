//! The file for the secrets of connections.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Arc;

use tlslab_tls::KeyLog;

use crate::load::problem::Problem;

/// Permissions: readable and writable by the user only.
const PRIVATE: u32 = 0o600;

/// The permissions of the group and of others.
const OTHERS: u32 = 0o077;

/// Opens the key log, if specified. The existing content of the file is kept.
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

/// True if only the user may read a file; devices and pipes count as private.
fn is_private(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    Ok(!metadata.is_file() || metadata.mode() & OTHERS == 0)
}
