//! Items with the same key together.

/// The items by key, keys and items in order of first appearance.
#[must_use]
pub fn grouped<T, K: PartialEq>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    stats::grouped(items.into_iter().map(|item| (key(&item), item)))
}
