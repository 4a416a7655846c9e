//! Independent runs on all cores, results in the order of the jobs.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many threads to use when nobody said: as many as the machine has.
pub fn all_cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// `work` of every job, on at most `threads` threads. The result does not depend on the number of threads.
///
/// # Panics
/// When `work` panics.
pub fn map<J: Sync, R: Send>(jobs: &[J], threads: usize, work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take_jobs = || {
        let mut done = Vec::new();
        while let Some((index, job)) = take(jobs, &next) {
            done.push((index, work(job)));
        }
        done
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, jobs.len().max(1))).map(|_| scope.spawn(take_jobs)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker's panic is passed on")).collect()
    });
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<'a, J>(jobs: &'a [J], next: &AtomicUsize) -> Option<(usize, &'a J)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).map(|job| (index, job))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_depend_on_threads() {
        let jobs: Vec<u64> = (0..100).collect();
        let expected: Vec<u64> = jobs.iter().map(|n| n * n).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(map(&jobs, threads, |n| n * n), expected);
        }
        assert!(map(&[] as &[u64], 4, |n| *n).is_empty());
    }
}
