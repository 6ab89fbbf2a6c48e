//! Columns that number or name the rows: 1, 2, 3, ..; UUIDs; `customer-0001`, ..; distinct values in a column called id.

use super::levels::Tally;

/// The smallest number of rows on which an identifier is detected: a few whole numbers may be in order by chance.
const ENOUGH: usize = 10;

/// Why these whole numbers, in the order of the rows and none missing, are an identifier.
pub(super) fn of_numbers(name: &str, values: &[f64]) -> Option<&'static str> {
    if values.len() < ENOUGH || values.iter().any(|value| value.fract() != 0.) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    let n = values.len() as f64;
    if (sorted.len() as f64) < 0.99 * n {
        return None;
    }
    let span = sorted[sorted.len() - 1] - sorted[0] + 1.;
    let in_order = values.is_sorted_by(|a, b| a < b);
    if span <= 1.05 * n || in_order && span <= 2. * n {
        return Some("whole numbers that count the rows");
    }
    is_name(name).then_some("whole numbers, different in every row, and named like an identifier")
}

/// Why these texts are an identifier.
pub(super) fn of_texts(name: &str, tally: &Tally) -> Option<&'static str> {
    if tally.distinct() < ENOUGH || !tally.nearly_distinct() {
        return None;
    }
    if tally.texts().all(is_uuid) {
        return Some("a UUID in every row");
    }
    let stems: Option<Vec<&str>> = tally.texts().map(stem).collect();
    if stems.is_some_and(|stems| stems.iter().all(|stem| *stem == stems[0])) {
        return Some("one word with a different number in every row");
    }
    let without_spaces = || tally.texts().all(|text| !text.contains(char::is_whitespace));
    (is_name(name) && without_spaces())
        .then_some("texts, different in every row, and named like an identifier")
}

/// Whether a name says identifier: `id`, `user_id`, `PassengerId`, `id number`, `Unnamed: 0`.
pub(super) fn is_name(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || after_lower && c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("never empty").extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    let id = |word: Option<&String>| word.is_some_and(|word| matches!(word.as_str(), "id" | "uuid" | "guid"));
    id(words.first())
        || id(words.last())
        || matches!(words.join(" ").as_str(), "index" | "row" | "rowid" | "row number" | "unnamed 0")
}

/// 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// What stands before the digits at the end, if there are both.
fn stem(text: &str) -> Option<&str> {
    let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
    (!stem.is_empty() && stem.len() < text.len() && !stem.contains(char::is_whitespace)).then_some(stem)
}

#[cfg(test)]
mod tests {
    use rand::seq::SliceRandom as _;

    use super::*;
    use crate::Cells;

    #[test]
    fn names_of_identifiers() {
        for name in
            ["id", "ID", "user_id", "PassengerId", "customerID", "id number", "Unnamed: 0", "uuid", "index"]
        {
            assert!(is_name(name), "{name}");
        }
        for name in ["paid", "idle", "width", "index of refraction", "video", "", "grid"] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn numbers_that_count_the_rows() {
        let mut rows: Vec<f64> = (100..140).map(f64::from).collect();
        assert!(of_numbers("x", &rows).is_some());
        rows.shuffle(&mut semisup::rng(1));
        assert!(of_numbers("x", &rows).is_some());
        let wide: Vec<f64> = (0..40).map(|i| f64::from(i * 7919 % 1000)).collect();
        assert!(of_numbers("price", &wide).is_none());
        assert!(of_numbers("user_id", &wide).is_some());
        let halves: Vec<f64> = (0..40).map(|i| f64::from(i) / 2.).collect();
        assert!(of_numbers("id", &halves).is_none());
        assert!(of_numbers("x", &rows[..5]).is_none());
        let repeated: Vec<f64> = (0..40).map(|i| f64::from(i % 10)).collect();
        assert!(of_numbers("store_id", &repeated).is_none());
    }

    #[test]
    fn texts_that_name_the_rows() {
        let of = |name: &str, text: &dyn Fn(usize) -> String| {
            let texts: Vec<String> = (0..30).map(text).collect();
            let cells = Cells::from_texts(texts.iter().map(|text| Some(text.as_str())).collect());
            of_texts(name, &Tally::of(&cells)).is_some()
        };
        assert!(of("key", &|i| format!("123e4567-e89b-12d3-a456-4266141740{i:02}")));
        assert!(of("who", &|i| format!("customer-{i:04}")));
        assert!(of("user id", &|i| format!("{i}x{i}")));
        assert!(!of("who", &|i| format!("{i}x{i}")));
        assert!(!of("who", &|i| format!("customer-{:04}", i % 10)));
    }
}
