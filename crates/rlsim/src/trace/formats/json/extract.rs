//! Fields of a JSON object by path, as they are written: a number stays text, so no float comes between.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{Deserialize, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::trace::plan::Fields;
use crate::trace::record::Field;

/// The value found for one path.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot<'a> {
    text: Cow<'a, str>,
    column: usize,
    /// How deep it was found, plus one; 0 if it was not.
    found: usize,
}

/// The values of all paths.
pub(super) struct Slots<'s>(pub(super) &'s [Slot<'s>]);

impl<'s> Fields<'s> for Slots<'s> {
    fn get(&self, index: usize) -> Option<Field<'s>> {
        let slot = self.0.get(index)?;
        (slot.found > 0).then(|| Field { text: slot.text.as_bytes(), column: slot.column })
    }
}

/// Finds the value of every path in an object. A key with dots that equals the path wins over nested keys; of equal keys
/// the first counts. `null` is a field without text, an object or array its JSON.
pub(super) fn extract<'a>(record: &'a [u8], paths: &[String]) -> Result<Vec<Slot<'a>>, serde_json::Error> {
    let mut slots = vec![Slot::default(); paths.len()];
    let wanted: Vec<(usize, &str)> = paths.iter().map(String::as_str).enumerate().collect();
    let mut deserializer = serde_json::Deserializer::from_slice(record);
    let walk = Walk { wanted: &wanted, depth: 1, base: record.as_ptr() as usize, slots: &mut slots };
    deserializer.deserialize_map(walk)?;
    deserializer.end()?;
    Ok(slots)
}

/// Looks at the keys of one object.
struct Walk<'w, 'a> {
    /// Slots, and what is left of their paths.
    wanted: &'w [(usize, &'w str)],
    depth: usize,
    /// The address of the record, to tell where a value stands in it.
    base: usize,
    slots: &'w mut [Slot<'a>],
}

impl<'de> Visitor<'de> for Walk<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut nested: Vec<(usize, &str)> = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            nested.clear();
            let mut exact = false;
            for &(slot, path) in self.wanted {
                match path.strip_prefix(&*key) {
                    Some("") => exact = true,
                    Some(rest) if rest.starts_with('.') => nested.push((slot, &rest[1..])),
                    _ => {}
                }
            }
            if !exact && nested.is_empty() {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let raw: &RawValue = map.next_value()?;
            for &(slot, path) in self.wanted {
                if path == key {
                    let (slot, depth) = (&mut self.slots[slot], self.depth);
                    if slot.found == 0 || slot.found > depth {
                        *slot = Slot {
                            text: text_of(raw),
                            column: raw.get().as_ptr() as usize - self.base + 1,
                            found: depth,
                        };
                    }
                }
            }
            if !nested.is_empty() && raw.get().starts_with('{') {
                let walk = Walk { wanted: &nested, depth: self.depth + 1, base: self.base, slots: self.slots };
                let mut inside = serde_json::Deserializer::from_str(raw.get());
                inside.deserialize_map(walk).map_err(serde::de::Error::custom)?;
            }
        }
        Ok(())
    }
}

/// A string without quotes and escapes, nothing for `null`, anything else as it is written.
fn text_of(raw: &RawValue) -> Cow<'_, str> {
    match raw.get() {
        "null" => Cow::Borrowed(""),
        quoted if quoted.starts_with('"') && quoted.contains('\\') => {
            // The parser accepted it as a string; an escape of half a surrogate pair is the one thing it finds only now.
            serde_json::from_str(quoted).map_or(Cow::Borrowed(quoted), Cow::Owned)
        }
        quoted if quoted.starts_with('"') => Cow::Borrowed(&quoted[1..quoted.len() - 1]),
        other => Cow::Borrowed(other),
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(record: &str, paths: &[&str]) -> Vec<Option<(String, usize)>> {
        let paths: Vec<String> = paths.iter().map(|&p| p.to_owned()).collect();
        let slots = extract(record.as_bytes(), &paths).unwrap();
        let fields = Slots(&slots);
        (0..paths.len())
            .map(|i| fields.get(i).map(|f| (String::from_utf8_lossy(f.text).into_owned(), f.column)))
            .collect()
    }

    fn text(record: &str, path: &str) -> Option<String> {
        found(record, &[path]).remove(0).map(|(text, _)| text)
    }

    #[test]
    fn values_are_text_as_written() {
        for (value, expect) in [
            ("1761019822.3152757", "1761019822.3152757"),
            ("18446744073709551616", "18446744073709551616"),
            ("\"a\\\"b\\u00e9\"", "a\"bé"),
            ("\"\"", ""),
            ("null", ""),
            ("true", "true"),
            ("[1, 2]", "[1, 2]"),
        ] {
            assert_eq!(text(&format!("{{\"x\":{value}}}"), "x").as_deref(), Some(expect), "{value}");
        }
        assert_eq!(text("{\"y\":1}", "x"), None);
    }

    #[test]
    fn paths_lead_into_objects_and_exact_keys_win() {
        assert_eq!(text(r#"{"a":{"b":{"c":7}}}"#, "a.b.c").as_deref(), Some("7"));
        assert_eq!(text(r#"{"a":{"b.c":7}}"#, "a.b.c").as_deref(), Some("7"));
        for record in [r#"{"a":{"b":1},"a.b":2}"#, r#"{"a.b":2,"a":{"b":1}}"#] {
            assert_eq!(text(record, "a.b").as_deref(), Some("2"));
        }
        assert_eq!(text(r#"{"a":1,"a":2}"#, "a").as_deref(), Some("1"));
        assert_eq!(text(r#"{"a":1}"#, "a.b"), None);
        assert_eq!(text(r#"{"a":{"b":1}}"#, "a").as_deref(), Some(r#"{"b":1}"#));
        assert_eq!(found(r#"{"a":{"b":1}}"#, &["a.b", "a"]).iter().flatten().count(), 2);
    }

    #[test]
    fn places_are_those_in_the_record() {
        assert_eq!(found(r#" {"a": {"b": 12}}"#, &["a.b"]), [Some(("12".to_owned(), 14))]);
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for record in ["", "[]", "1", "{", "{} x", "{\"a\":01}", "{\"a\" 1}", "{\"a\":\"\u{1}\"}"] {
            assert!(extract(record.as_bytes(), &["a".to_owned()]).is_err(), "{record}");
        }
        assert!(extract(b"{\"a\":\"\xff\"}", &["a".to_owned()]).is_err());
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(extract(deep.as_bytes(), &["a".to_owned(), "b".to_owned()]).is_ok());
    }
}
