//! Files for the results of a program. What such a file holds is kept until the new content is
//! whole: the content is written beside the file, and renamed at the end.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::load::problem::Problem;

/// A place for a result, which can be written. Opened before the measurement, so that an
/// unwritable path is reported before the load instead of after it.
#[derive(Debug)]
pub struct OutputFile {
    path: String,
    place: Place,
}

/// How a result comes to its place.
#[derive(Debug)]
enum Place {
    /// Written in place at the end: a device, a pipe, or a file that cannot be replaced.
    Open(File),
    /// Standard output or standard error, where the content follows what was printed before.
    Printed(File),
    /// Written beside this file, which may not exist yet, and renamed. The permissions are those of
    /// the existing file.
    Beside(PathBuf, Option<Permissions>),
}

impl OutputFile {
    /// Checks that the path can be written, and changes nothing.
    ///
    /// # Errors
    /// The path cannot be written.
    pub fn open(path: &str) -> Result<Self, Problem> {
        let place = place_at(Path::new(path)).map_err(|error| Problem::output(path, &error))?;
        Ok(Self { path: path.to_owned(), place })
    }

    /// Replaces the content of the file by what the function writes.
    ///
    /// # Errors
    /// The content cannot be written. A file that can be replaced then keeps its earlier content.
    pub fn write(self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Problem> {
        let written = match self.place {
            Place::Open(file) => in_place(file, fill),
            Place::Printed(mut file) => filled(&mut file, fill),
            Place::Beside(file, permissions) => replace(&file, permissions, fill),
        };
        written.map_err(|error| Problem::output(&self.path, &error))
    }
}

fn place_at(path: &Path) -> io::Result<Place> {
    let mut existing = OpenOptions::new();
    existing.write(true);
    let opened = match existing.open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(printed) = opened.as_ref().and_then(printed_to) {
        return Ok(Place::Printed(printed));
    }
    let replaced = match &opened {
        // The file that a link leads to is replaced, and not the link.
        Some(file) if can_be_replaced(file)? => {
            Some((fs::canonicalize(path)?, Some(file.metadata()?.permissions())))
        }
        None if !path.is_symlink() => Some((path.to_owned(), None)),
        _ => None,
    };
    if let Some((target, permissions)) = replaced
        && create_beside(&target, permissions.as_ref()).is_ok()
    {
        // A program that is killed during its measurement leaves nothing behind.
        fs::remove_file(beside(&target))?;
        return Ok(Place::Beside(target, permissions));
    }
    let created = || existing.create(true).truncate(false).open(path);
    opened.map_or_else(created, Ok).map(Place::Open)
}

/// True for a regular file that another one can replace unnoticed: it has no other name, and the
/// owner and the group that the user's new files get.
fn can_be_replaced(file: &File) -> io::Result<bool> {
    let found = file.metadata()?;
    let owned = || {
        let own = fs::metadata("/proc/self");
        own.is_ok_and(|own| (own.uid(), own.gid()) == (found.uid(), found.gid()))
    };
    Ok(found.is_file() && found.nlink() == 1 && owned())
}

/// Standard output or standard error if it is this regular file. A second handle with a position of
/// its own would overwrite what is printed.
fn printed_to(file: &File) -> Option<File> {
    let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let same = |stream: &File| {
        let other = stream.metadata();
        other.is_ok_and(|other| (other.dev(), other.ino()) == (found.dev(), found.ino()))
    };
    let [out, err] = [io::stdout().as_fd(), io::stderr().as_fd()].map(|s| s.try_clone_to_owned());
    [out, err].into_iter().flatten().map(File::from).find(same)
}

fn in_place(mut file: File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    filled(&mut file, fill)
}

fn replace(
    target: &Path,
    permissions: Option<Permissions>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = create_beside(target, permissions.as_ref())?;
    let written = filled(&mut file, fill).and_then(|()| fs::rename(beside(target), target));
    if written.is_err() {
        // The first error is reported.
        let _ = fs::remove_file(beside(target));
    }
    written
}

fn filled(file: &mut File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.flush()
}

/// Creates the file beside another one, with these permissions.
fn create_beside(target: &Path, permissions: Option<&Permissions>) -> io::Result<File> {
    let path = beside(target);
    let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    if let Some(Err(error)) = permissions.map(|same| file.set_permissions(same.clone())) {
        fs::remove_file(path)?;
        return Err(error);
    }
    Ok(file)
}

fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.new", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder of this test, without content.
    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tlslab-out-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    fn open(path: &Path) -> Result<OutputFile, Problem> {
        OutputFile::open(path.to_str().unwrap())
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn content_is_kept_until_other_content_is_whole() {
        let folder = folder("kept");
        let file = folder.join("record");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        drop(open(&file).unwrap());
        let failing = |out: &mut dyn Write| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert!(open(&file).unwrap().write(failing).is_err());
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), names(&folder).len()), ("old", 1));
        open(&file).unwrap().write(|out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(&folder), ["record"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_new_file_comes_with_its_content_only() {
        let folder = folder("new");
        let file = folder.join("record");
        let output = open(&file).unwrap();
        assert_eq!(names(&folder), Vec::<String>::new());
        output.write(|out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(open(&folder.join("none/record")).is_err() && open(&folder).is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn links_lead_to_the_same_files_as_before() {
        let folder = folder("links");
        let [file, link, other] = ["record", "link", "other"].map(|name| folder.join(name));
        fs::write(&file, "old, and longer").unwrap();
        symlink("record", &link).unwrap();
        fs::hard_link(&file, &other).unwrap();
        for path in [&link, &other] {
            open(path).unwrap().write(|out| out.write_all(b"new")).unwrap();
        }
        fs::remove_file(&other).unwrap();
        open(&link).unwrap().write(|out| out.write_all(b"newer")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "newer");
        let nowhere = folder.join("nowhere");
        symlink("made", &nowhere).unwrap();
        open(&nowhere).unwrap().write(|out| out.write_all(b"made")).unwrap();
        assert_eq!(fs::read_to_string(folder.join("made")).unwrap(), "made");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_device_is_written_in_place() {
        open(Path::new("/dev/null")).unwrap().write(|out| out.write_all(b"x")).unwrap();
        let full = open(Path::new("/dev/full")).unwrap().write(|out| out.write_all(b"x"));
        assert!(full.is_err() && Path::new("/dev/full").exists());
    }
}
