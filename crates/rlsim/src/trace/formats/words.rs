//! Lines of words: separated by spaces or tabs, in quotes or brackets where they hold some.

use super::super::record::{Field, Why};
use super::line_format::{Split, field};

/// Appends the words from byte `at` on. A quoted or bracketed word loses its marks. One that is not closed is an error, unless
/// `lenient` says of its index that it does not matter: then a quoted one ends with the line, a bracketed one is plain.
pub(crate) fn append<'a>(
    line: &'a [u8],
    mut at: usize,
    lenient: impl Fn(usize) -> bool,
    words: &mut Vec<Field<'a>>,
) -> Result<(), Split> {
    while let Some(start) = line[at..].iter().position(|b| !is_space(*b)).map(|i| at + i) {
        let (text_start, text_end, next) = match (line[start], bracketed(line, start)) {
            (b'"', _) => match closing_quote(line, start + 1) {
                Some(end) => (start + 1, end, end + 1),
                None if lenient(words.len()) => (start + 1, line.len(), line.len()),
                None => return Err(Split::Bad(Why::UnclosedQuote, start)),
            },
            (b'[', Some(end)) => (start + 1, end, end + 1),
            (b'[', None) if !lenient(words.len()) && memchr::memchr(b']', &line[start..]).is_none() => {
                return Err(Split::Bad(Why::Shape("a ] after the ["), start));
            }
            _ => {
                let end = memchr::memchr2(b' ', b'\t', &line[start..]).map_or(line.len(), |i| start + i);
                (start, end, end)
            }
        };
        words.push(field(line, text_start, text_end));
        at = next;
    }
    Ok(())
}

/// The quote that closes a word: not after a backslash, not doubled, and followed by a space or the end. Some servers write
/// quotes inside a request as they came, and those are followed by more of the request.
pub(crate) fn closing_quote(line: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let step = match (line.get(at)?, line.get(at + 1)) {
            (b'"', None | Some(b' ' | b'\t')) => return Some(at),
            (b'\\', _) | (b'"', Some(b'"')) => 2,
            _ => 1,
        };
        at += step;
    }
}

/// The `]` of a bracketed word, which a space or the end follows: `[2001:db8::1]:443` is a plain word.
fn bracketed(line: &[u8], start: usize) -> Option<usize> {
    if line[start] != b'[' {
        return None;
    }
    let end = start + memchr::memchr(b']', &line[start..])?;
    line.get(end + 1).is_none_or(|&b| is_space(b)).then_some(end)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<String>> {
        let mut found = Vec::new();
        append(line.as_bytes(), 0, |_| false, &mut found).ok()?;
        Some(found.iter().map(|f| String::from_utf8_lossy(f.text).into_owned()).collect())
    }

    #[test]
    fn quotes_and_brackets() {
        for (line, expect) in [
            ("", &[][..]),
            ("  a \t b ", &["a", "b"]),
            (r#"a "b c" [d e] f"#, &["a", "b c", "d e", "f"]),
            ("[2001:db8::1]:443 [x]", &["[2001:db8::1]:443", "x"]),
            (r#""" "x""#, &["", "x"]),
            (r#""say \"hi\" now" z"#, &[r#"say \"hi\" now"#, "z"]),
            (r#"" ""garbage"" w/ spaces " 0"#, &[r#" ""garbage"" w/ spaces "#, "0"]),
            (r#""GET /("a"+"b") HTTP/1.0" 404"#, &[r#"GET /("a"+"b") HTTP/1.0"#, "404"]),
        ] {
            assert_eq!(words(line).unwrap(), expect, "{line}");
        }
        assert_eq!(words("a \"b"), None);
        assert_eq!(words("a [b"), None);
    }
}
