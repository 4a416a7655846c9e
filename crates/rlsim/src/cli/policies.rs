//! Which policies the options mean: the five defaults, or those that are typed or stand in TOML files.

use std::path::Path;
use std::time::Duration;

use ratelimit_core::Quota;
use serde::Deserialize;

use super::args::PolicyArgs;
use crate::error::{Error, Result};
use crate::replay::{NamedPolicy, default_policies, parse_named, unique_names};

/// The policies that the options mean, in the order typed: `--policy` first, then the files.
pub(super) fn policies(args: &PolicyArgs) -> Result<Vec<NamedPolicy>> {
    if args.policy.is_empty() && args.policies.is_empty() {
        let quota = match args.limit {
            Some(quota) => quota,
            None => Quota::per(100, Duration::from_secs(60)).map_err(|error| Error::usage(error.to_string()))?,
        };
        return default_policies(quota, args.burst);
    }
    if args.limit.is_some() || args.burst.is_some() {
        return Err(Error::usage(
            "--limit and --burst are for the five default policies; with --policy or --policies the quota stands in the \
             policy text, such as --policy token-bucket:100/1m,burst=20",
        ));
    }
    let mut parsed = args.policy.iter().map(|text| parse_named(text)).collect::<Result<Vec<_>>>()?;
    for path in &args.policies {
        for entry in read_policies(path)? {
            let (named, policy) =
                parse_named(&entry.policy).map_err(|error| Error::usage(format!("{}: {error}", path.display())))?;
            parsed.push((entry.name.or(named), policy));
        }
    }
    unique_names(parsed)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    policy: Vec<PolicyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyEntry {
    name: Option<String>,
    policy: String,
}

fn read_policies(path: &Path) -> Result<Vec<PolicyEntry>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::failed(format!("{}: {error}", path.display())))?;
    let file: PolicyFile = toml::from_str(&text).map_err(|error| {
        Error::failed(format!(
            "{}: {error}expected tables such as\n  [[policy]]\n  name = \"login\"\n  policy = \"token-bucket:5/1m\"",
            path.display()
        ))
    })?;
    Ok(file.policy)
}
