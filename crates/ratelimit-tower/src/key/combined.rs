//! Keys made of keys.

use std::fmt;
use std::sync::Arc;

use super::{ClientKey, Head, KeyError, KeyExtractor};

/// All of these together: a quota for each combination.
#[derive(Debug, Clone)]
pub struct All(Vec<Arc<dyn KeyExtractor>>);

impl All {
    /// Of the first extractor.
    pub fn of(first: impl KeyExtractor) -> All {
        All(vec![Arc::new(first)])
    }

    /// And of another one.
    #[must_use]
    pub fn and(mut self, next: impl KeyExtractor) -> All {
        self.0.push(Arc::new(next));
        self
    }
}

impl KeyExtractor for All {
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError> {
        self.0.iter().try_for_each(|extractor| extractor.extract(head, key))
    }

    /// Parts that are short alone may be long together.
    fn uses_secret(&self) -> bool {
        self.0.len() > 1 || self.0.iter().any(KeyExtractor::uses_secret)
    }

    fn mistake(&self) -> Option<&'static str> {
        self.0.iter().find_map(KeyExtractor::mistake)
    }
}

/// The first that can be had: "the API key, or else the address". A key that is there but unusable is an error, so that
/// a client cannot choose its bucket by sending a broken one.
#[derive(Debug, Clone)]
pub struct FirstOf(Vec<Arc<dyn KeyExtractor>>);

impl FirstOf {
    /// This one, if the request has it.
    pub fn of(first: impl KeyExtractor) -> FirstOf {
        FirstOf(vec![Arc::new(first)])
    }

    /// Or else this one.
    #[must_use]
    pub fn or(mut self, next: impl KeyExtractor) -> FirstOf {
        self.0.push(Arc::new(next));
        self
    }
}

impl KeyExtractor for FirstOf {
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError> {
        let before = key.clone();
        let mut answer = Err(KeyError::Missing("key"));
        for extractor in &self.0 {
            answer = extractor.extract(head, key);
            match answer {
                Err(KeyError::Missing(_)) => *key = before.clone(),
                _ => break,
            }
        }
        answer
    }

    fn uses_secret(&self) -> bool {
        self.0.iter().any(KeyExtractor::uses_secret)
    }

    fn mistake(&self) -> Option<&'static str> {
        self.0.iter().find_map(KeyExtractor::mistake)
    }
}

/// Everybody is one client.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shared;

impl KeyExtractor for Shared {
    fn extract<'r>(&'r self, _: &Head<'r>, _: &mut ClientKey<'r>) -> Result<(), KeyError> {
        Ok(())
    }

    fn uses_secret(&self) -> bool {
        false
    }
}

/// See [`from_fn`].
#[derive(Clone)]
pub struct FromFn<F> {
    dimension: &'static str,
    function: F,
}

/// The client is what this function says: a user, a tenant, a plan. `None` is a missing key. The dimension is a word in
/// lower case that names it in the fields.
pub fn from_fn<F>(dimension: &'static str, function: F) -> FromFn<F>
where
    F: for<'r> Fn(&Head<'r>) -> Option<std::borrow::Cow<'r, str>> + Send + Sync + 'static,
{
    FromFn { dimension, function }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FromFn").field(&self.dimension).finish()
    }
}

impl<F> KeyExtractor for FromFn<F>
where
    F: for<'r> Fn(&Head<'r>) -> Option<std::borrow::Cow<'r, str>> + Send + Sync + 'static,
{
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError> {
        let text = (self.function)(head).ok_or(KeyError::Missing(self.dimension))?;
        key.push_text(self.dimension, text);
        Ok(())
    }
}
