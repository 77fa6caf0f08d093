//! Runs a measurement on several threads that share nothing.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::thread;

use super::InMemoryError;
use super::spec::InMemorySpec;
use tlslab_contract::spec::Stop;
use tlslab_system::processor;

/// Runs a job on each thread, pinned as specified, and collects the results; the threads start
/// together. `prepare` creates the state of a thread on that thread; only `work` is measured.
pub fn on_each<P, T: Send>(
    spec: &InMemorySpec,
    prepare: impl Fn() -> Result<P, InMemoryError> + Sync,
    work: impl Fn(P, Stop) -> T + Sync,
) -> Result<Vec<T>, InMemoryError> {
    let barrier = Barrier::new(spec.threads as usize);
    let body = |index: usize| {
        let prepared = catch_unwind(AssertUnwindSafe(|| pin(spec, index).and_then(|()| prepare())));
        // Also after an error or a panic of `prepare`: the other threads wait here.
        barrier.wait();
        let prepared = prepared.unwrap_or_else(|panic| resume_unwind(panic));
        prepared.map(|prepared| work(prepared, share(spec, index)))
    };
    let body = &body;
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..spec.threads as usize).map(|index| scope.spawn(move || body(index))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

fn pin(spec: &InMemorySpec, index: usize) -> Result<(), InMemoryError> {
    if spec.cpus.is_empty() {
        return Ok(());
    }
    let processor = spec.cpus[index % spec.cpus.len()];
    processor::pin(processor).map_err(|e| InMemoryError::Pin { processor, message: e.to_string() })
}

/// A thread's share of a count; a time applies to all threads.
fn share(spec: &InMemorySpec, index: usize) -> Stop {
    match spec.stop {
        Stop::DurationMs(ms) => Stop::DurationMs(ms),
        Stop::Count(count) => {
            let threads = u64::from(spec.threads);
            Stop::Count(count / threads + u64::from((index as u64) < count % threads))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_wire::names::KeyKind;
    use tlslab_wire::names::TlsVersion;

    #[test]
    fn shares_add_up_to_the_count() {
        let mut spec = InMemorySpec::new(TlsVersion::Tls13, KeyKind::EcdsaP256);
        (spec.threads, spec.stop) = (3, Stop::Count(11));
        let shares = on_each(&spec, || Ok(()), |(), stop| stop).unwrap();
        assert_eq!(shares, [4, 4, 3].map(Stop::Count));
    }

    #[test]
    fn one_that_panics_keeps_the_others_from_hanging() {
        let mut spec = InMemorySpec::new(TlsVersion::Tls13, KeyKind::EcdsaP256);
        spec.threads = 2;
        let made = std::sync::atomic::AtomicUsize::new(0);
        let prepare = || {
            assert_ne!(made.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 1, "injected");
            Ok(())
        };
        assert!(catch_unwind(AssertUnwindSafe(|| on_each(&spec, prepare, |(), _| ()))).is_err());
    }

    #[test]
    fn one_that_cannot_begin_keeps_the_others_from_hanging() {
        let mut spec = InMemorySpec::new(TlsVersion::Tls13, KeyKind::EcdsaP256);
        (spec.threads, spec.cpus) = (2, vec![0, 1023]);
        let error = on_each(&spec, || Ok(()), |(), _| ()).unwrap_err();
        assert!(matches!(error, InMemoryError::Pin { processor: 1023, .. }), "{error}");
    }
}
