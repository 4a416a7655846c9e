//! Resident memory a client, in a process of its own for each figure: no other contender's freed memory helps.

use std::process::Command;

use crate::contenders::{HOUR, all};
use crate::keys::Key;

/// Bytes a client after inserting that many, and at the peak of growth.
pub fn of(contender: &str, clients: usize) -> (f64, f64) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["memory-of", contender, &clients.to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// In the process of its own.
pub fn measure(contender: &str, clients: usize) {
    let (_, make) = all::<String>().into_iter().find(|(name, _)| *name == contender).unwrap();
    let before = status("VmRSS:");
    let limiter = make(HOUR);
    for i in 0..clients as u64 {
        // The key is made and dropped here: what stays is the limiter's.
        limiter.check(&String::make(i));
    }
    let (after, peak) = (status("VmRSS:"), status("VmHWM:"));
    println!("{} {}", (after - before) / clients as f64, (peak - before) / clients as f64);
}

/// A figure of /proc/self/status, in bytes.
fn status(field: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
}
