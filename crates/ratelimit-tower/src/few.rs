//! A list that is one item long nearly always, and then needs no allocation.

/// One item, or several.
#[derive(Debug, Clone)]
pub(crate) enum Few<T> {
    One(T),
    Several(Vec<T>),
}

impl<T> Few<T> {
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Few::One(item) => std::slice::from_ref(item),
            Few::Several(items) => items,
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        let Some(first) = items.next() else { return Few::Several(Vec::new()) };
        match items.next() {
            None => Few::One(first),
            Some(second) => Few::Several([first, second].into_iter().chain(items).collect()),
        }
    }
}
