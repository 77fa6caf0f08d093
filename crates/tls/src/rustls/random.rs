//! A buffer for the library's random bytes. Each call of the library costs half a microsecond,
//! whatever its length, and a ClientHello needs two calls.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::LazyLock;

use rustls::crypto::{GetRandomFailed, SecureRandom, aws_lc_rs};

/// The number of bytes per call: enough for some 60 hellos.
const DRAW: usize = 4096;

/// The longest request that the buffer serves, in bytes. The library serves longer ones.
const LONGEST: usize = 64;

static LIBRARY: LazyLock<&'static dyn SecureRandom> =
    LazyLock::new(|| aws_lc_rs::default_provider().secure_random);

thread_local! {
    /// The unused bytes of a thread's last call: the first N. rustls calls its random source by
    /// `&self` from any thread: with a thread-local a worker needs no lock.
    static DRAWN: RefCell<([u8; DRAW], usize)> = const { RefCell::new(([0; DRAW], 0)) };
}

thread_local! {
    static SCRIPT: RefCell<Script> = const { RefCell::new(Script::None) };
}

/// What happens to the requests of this thread.
enum Script {
    /// They get new bytes.
    None,
    /// They get new bytes, which are recorded.
    Recording(Vec<Vec<u8>>),
    /// They get these bytes in turn.
    Replaying(VecDeque<Vec<u8>>),
}

/// Runs this; returns what it has drawn on this thread, too.
pub fn recording<T>(run: impl FnOnce() -> T) -> (T, Vec<Vec<u8>>) {
    SCRIPT.set(Script::Recording(Vec::new()));
    let done = run();
    let drawn = match SCRIPT.replace(Script::None) {
        Script::Recording(drawn) => drawn,
        Script::None | Script::Replaying(_) => Vec::new(),
    };
    (done, drawn)
}

/// Runs this, so that it draws these bytes on this thread. Fails where it draws others.
pub fn replaying<T>(drawn: VecDeque<Vec<u8>>, run: impl FnOnce() -> T) -> T {
    SCRIPT.set(Script::Replaying(drawn));
    let done = run();
    SCRIPT.set(Script::None);
    done
}

/// The source of random bytes of all sessions.
#[derive(Debug)]
pub struct Random;

impl SecureRandom for Random {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        SCRIPT.with_borrow_mut(|script| match script {
            Script::None => draw(bytes),
            Script::Recording(drawn) => {
                draw(bytes)?;
                drawn.push(bytes.to_vec());
                Ok(())
            }
            Script::Replaying(drawn) => match drawn.pop_front() {
                Some(next) if next.len() == bytes.len() => {
                    bytes.copy_from_slice(&next);
                    Ok(())
                }
                _ => Err(GetRandomFailed),
            },
        })
    }
}

/// Draws new bytes.
fn draw(bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
    if bytes.len() > LONGEST {
        return LIBRARY.fill(bytes);
    }
    DRAWN.with_borrow_mut(|(drawn, left)| {
        if *left < bytes.len() {
            LIBRARY.fill(drawn)?;
            *left = DRAW;
        }
        let taken = &mut drawn[*left - bytes.len()..*left];
        bytes.copy_from_slice(taken);
        // No byte is used twice, even if the count were wrong.
        taken.fill(0);
        *left -= bytes.len();
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_bytes_come_twice_nor_stay_behind() {
        let mut seen = HashSet::new();
        for length in [32, 16, LONGEST, LONGEST + 1, 8].into_iter().cycle().take(2_000) {
            let mut bytes = vec![0; length];
            Random.fill(&mut bytes).unwrap();
            assert!(seen.insert(bytes[..8].to_vec()));
        }
        DRAWN.with_borrow(|(drawn, left)| assert!(drawn[*left..].iter().all(|byte| *byte == 0)));
    }

    #[test]
    fn what_was_recorded_is_replayed_and_nothing_else() {
        let run = || {
            let mut bytes = ([0; 32], [0; 2]);
            Random.fill(&mut bytes.0).and_then(|()| Random.fill(&mut bytes.1)).map(|()| bytes)
        };
        let (first, drawn) = recording(run);
        assert_eq!(drawn.concat().len(), 34);
        let first = first.unwrap();
        assert_eq!(replaying(drawn.clone().into(), run).unwrap(), first);
        assert!(replaying(drawn[..1].to_vec().into(), run).is_err());
        assert!(replaying(drawn[1..].to_vec().into(), run).is_err());
        assert_ne!(run().unwrap(), first);
    }

    #[test]
    fn threads_share_no_bytes() {
        let draw = || {
            let mut bytes = [0; 32];
            Random.fill(&mut bytes).unwrap();
            bytes
        };
        assert_ne!(std::thread::spawn(draw).join().unwrap(), draw());
    }
}
