//! Which policies the options mean: the five defaults, or those that are typed or stand in TOML files.

use std::path::Path;
use std::time::Duration;

use ratelimit_core::Quota;
use serde::Deserialize;

use super::args::{ByArg, PolicyArgs};
use crate::error::{Error, Result};
use crate::replay::{NamedPolicy, default_policies, parse_named, unique_names};

/// The policies that the options mean, in the order typed: `--policy` first, then the files; and what they limit: `by` as
/// typed, or as the files say, or each client.
///
/// # Errors
/// [`Error::Usage`] for a policy that is none, or where the files and `by` do not agree; [`Error::Failed`] for a file that
/// cannot be read.
pub(super) fn policies(args: &PolicyArgs, by: Option<ByArg>) -> Result<(Vec<NamedPolicy>, ByArg)> {
    if args.policy.is_empty() && args.policies.is_empty() {
        let quota = match args.limit {
            Some(quota) => quota,
            None => Quota::per(100, Duration::from_secs(60)).map_err(|error| Error::usage(error.to_string()))?,
        };
        return Ok((default_policies(quota, args.burst)?, by.unwrap_or(ByArg::Client)));
    }
    if args.limit.is_some() || args.burst.is_some() {
        return Err(Error::usage(
            "--limit and --burst are for the five default policies; with --policy or --policies the quota stands in the \
             policy text, such as --policy token-bucket:100/1m,burst=20",
        ));
    }
    let typed = |text: &String| {
        parse_named(text).map_err(|error| {
            let quota = text.parse::<Quota>().is_ok();
            let advice = if quota { "\n  a quota for all five algorithms is --limit" } else { "" };
            Error::usage(format!("--policy: {error}{advice}"))
        })
    };
    let mut parsed = args.policy.iter().map(typed).collect::<Result<Vec<_>>>()?;
    let mut said = by.map(|by| (by, "--by".to_owned()));
    for path in &args.policies {
        let file = read_policies(path)?;
        said = agreed(said, file.by.map(|by| (by, path.display().to_string())))?;
        for entry in file.policy {
            let (named, policy) =
                parse_named(&entry.policy).map_err(|error| Error::usage(format!("{}: {error}", path.display())))?;
            parsed.push((entry.name.or(named), policy));
        }
    }
    Ok((unique_names(parsed)?, said.map_or(ByArg::Client, |(by, _)| by)))
}

/// One replay limits one thing: the first who says what, and nobody who says otherwise.
fn agreed(first: Option<(ByArg, String)>, second: Option<(ByArg, String)>) -> Result<Option<(ByArg, String)>> {
    match (first, second) {
        (Some((by, one)), Some((other, two))) if by != other => Err(Error::usage(format!(
            "{one} limits {}, and {two} {}: expected the same of both; compare them one after the other",
            limits(by),
            limits(other)
        ))),
        (first, second) => Ok(first.or(second)),
    }
}

fn limits(by: ByArg) -> &'static str {
    match by {
        ByArg::Client => "each client",
        ByArg::Global => "all clients together",
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    by: Option<ByArg>,
    policy: Vec<PolicyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyEntry {
    name: Option<String>,
    policy: String,
}

fn read_policies(path: &Path) -> Result<PolicyFile> {
    let text =
        if path.as_os_str() == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) };
    let text = text.map_err(|error| Error::failed(format!("{}: {error}", path.display())))?;
    let file: PolicyFile = toml::from_str(&text).map_err(|error| {
        Error::failed(format!(
            "{}: {error}expected tables such as\n  [[policy]]\n  name = \"login\"\n  policy = \"token-bucket:5/1m\"",
            path.display()
        ))
    })?;
    Ok(file)
}
