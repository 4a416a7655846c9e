//! Logs in the words of an nginx configuration: `--log-format '$remote_addr [$time_local] "$request" $status'`.
//!
//! The text of a `log_format` directive may be given whole, name, quotes and semicolon included. `$time_local`,
//! `$time_iso8601` and `$msec` are stamped at the end of a request, which took `$request_time`.

use super::line_format::{Split, field, read_lines};
use super::prefix::prefix_length;
use super::{Format, Head};
use crate::error::{Error, Result};
use crate::trace::options::{ReadOptions, TimeUnit};
use crate::trace::plan::Roles;
use crate::trace::record::{Field, Why};
use crate::trace::sink::Sink;
use crate::trace::source::Source;

/// The format whose columns the options name.
pub(crate) struct LogFormat;

impl Format for LogFormat {
    fn name(&self) -> &'static str {
        "log-format"
    }

    fn about(&self) -> &'static str {
        "lines as --log-format says"
    }

    fn detect(&self, _head: &Head<'_>) -> bool {
        false
    }

    fn read(&self, source: &mut Source, options: &ReadOptions, sink: &mut Sink<'_>, label: &str) -> Result<()> {
        let Some(text) = &options.log_format else {
            return Err(Error::usage(format!("--format log-format needs --log-format TEXT, such as {EXAMPLE}")));
        };
        let pattern = Pattern::new(text)?;
        let names: Vec<String> = pattern.variables.iter().map(|v| v.name.clone()).collect();
        let roles = roles(&names);
        read_lines(names, roles, &|line, fields| pattern.split(line, fields), source, options, sink, label)
    }
}

const EXAMPLE: &str = "'$remote_addr - $remote_user [$time_local] \"$request\" $status'";

/// Variables that hold an address, the client's first.
const ADDRESSES: [&str; 3] = ["remote_addr", "realip_remote_addr", "proxy_protocol_addr"];

/// A variable and the text that ends it; empty at the end of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    after: Vec<u8>,
}

/// A `log_format` text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    before: Vec<u8>,
    variables: Vec<Variable>,
}

impl Pattern {
    fn new(text: &str) -> Result<Self> {
        let text = directive_text(text);
        let mut pieces = text.split('$');
        let before = pieces.next().unwrap_or_default().as_bytes().to_vec();
        let variables: Vec<Variable> = pieces.map(variable).collect();
        if variables.is_empty() {
            return Err(Error::usage(format!("--log-format without any variable: expected a text such as {EXAMPLE}")));
        }
        for pair in variables.windows(2) {
            if pair[0].after.is_empty() {
                return Err(Error::usage(format!(
                    "--log-format: nothing tells where ${} ends and ${} begins; expected some text between them",
                    pair[0].name, pair[1].name
                )));
            }
        }
        if let Some(nameless) = variables.iter().find(|v| v.name.is_empty()) {
            let after = String::from_utf8_lossy(&nameless.after);
            return Err(Error::usage(format!("--log-format: no variable name after $, before {after:?}")));
        }
        Ok(Pattern { before, variables })
    }

    /// Behind a prefix, if the line as it is does not fit.
    fn split<'a>(&self, line: &'a [u8], fields: &mut Vec<Field<'a>>) -> Split {
        match (self.split_from(line, 0, fields), prefix_length(line)) {
            (Split::Fields, _) => Split::Fields,
            (bad, 0) => bad,
            (_, prefix) => {
                fields.clear();
                self.split_from(line, prefix, fields)
            }
        }
    }

    fn split_from<'a>(&self, line: &'a [u8], start: usize, fields: &mut Vec<Field<'a>>) -> Split {
        const EXPECTED: &str = "a line as --log-format says";
        if !line[start..].starts_with(&self.before) {
            return Split::Bad(Why::Shape(EXPECTED), start);
        }
        let mut at = start + self.before.len();
        for variable in &self.variables {
            let rest = &line[at..];
            let length = if variable.after.is_empty() {
                rest.len()
            } else {
                match memchr::memmem::find(rest, &variable.after) {
                    Some(length) => length,
                    None => return Split::Bad(Why::Shape(EXPECTED), at),
                }
            };
            fields.push(field(line, at, at + length));
            // A space in an address is one before it: of a prefix that the text does not have.
            if ADDRESSES.contains(&variable.name.as_str()) && memchr::memchr(b' ', &rest[..length]).is_some() {
                return Split::Bad(Why::Shape("an address alone where --log-format has one"), at);
            }
            at += length + variable.after.len();
        }
        // Text after a last part that is not a variable is free: formats grow at their end.
        Split::Fields
    }
}

/// The name at the front of a piece (in braces or not), and the text after it.
fn variable(piece: &str) -> Variable {
    let (name, after) = match piece.strip_prefix('{').and_then(|p| p.split_once('}')) {
        Some(braced) => braced,
        None => piece.split_at(piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len())),
    };
    Variable { name: name.to_owned(), after: after.as_bytes().to_vec() }
}

/// The text of a directive: as given, or the quoted strings of a whole `log_format NAME '...' '...';` joined.
fn directive_text(text: &str) -> String {
    let trimmed = text.trim();
    if !trimmed.starts_with("log_format") {
        return trimmed.to_owned();
    }
    let mut joined = String::new();
    let mut quote = None;
    let mut escaped = false;
    for c in trimmed.chars() {
        match quote {
            None if c == '\'' || c == '"' => quote = Some(c),
            None => {}
            Some(_) if escaped => {
                joined.push(c);
                escaped = false;
            }
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => joined.push(c),
        }
    }
    joined
}

fn roles(names: &[String]) -> Roles {
    let index = |wanted: &[&str]| wanted.iter().find_map(|w| names.iter().position(|name| name == w));
    let seconds = index(&["msec"]);
    Roles {
        time: index(&["msec", "time_iso8601", "time_local"]).map(|i| (i, None)),
        time_unit: seconds.map(|_| TimeUnit::Seconds),
        client: index(&ADDRESSES),
        duration: index(&["request_time"]),
        duration_unit: Some(TimeUnit::Seconds),
        ..Roles::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pattern: &str, line: &str) -> Option<Vec<String>> {
        let pattern = Pattern::new(pattern).unwrap();
        let mut fields = Vec::new();
        match pattern.split(line.as_bytes(), &mut fields) {
            Split::Fields => Some(fields.iter().map(|f| String::from_utf8_lossy(f.text).into_owned()).collect()),
            _ => None,
        }
    }

    #[test]
    fn variables_end_where_the_text_after_them_begins() {
        let line = r#"10.0.0.1 - bob [12/May/2024:08:15:30 +0000] "GET / HTTP/1.1" 200"#;
        let expect = ["10.0.0.1", "bob", "12/May/2024:08:15:30 +0000", "GET / HTTP/1.1", "200"];
        let text = r#"$remote_addr - $remote_user [$time_local] "$request" $status"#;
        assert_eq!(split(text, line).unwrap(), expect);
        let whole =
            "log_format main escape=default '$remote_addr - $remote_user '\n  '[$time_local] \"$request\" $status';";
        assert_eq!(split(whole, line).unwrap(), expect);
        assert_eq!(split("${a}x$b", "1x2").unwrap(), ["1", "2"]);
        assert_eq!(split("at=$msec;", "at=1.5; and more").unwrap(), ["1.5"]);
        assert_eq!(split("$a-$b", "12"), None);
        assert_eq!(split("<$a>", "12"), None);
        assert_eq!(split(text, &format!("May 12 08:15:30 web1 nginx[3]: {line}")).unwrap(), expect);
        assert_eq!(split(text, &format!("somewhere web1 {line}")), None);
    }

    #[test]
    fn patterns_that_cannot_work_say_why() {
        for (text, part) in
            [("", "without any variable"), ("$a$b", "where $a ends and $b begins"), ("$ x", "no variable name")]
        {
            let error = Pattern::new(text).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
