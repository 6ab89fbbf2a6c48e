//! How messages name columns: shortened lists, likely typing errors, the wrong separator.

/// A sentence about the columns there are; a single column with semicolons or tabs in it means another separator.
pub fn present(columns: &[String]) -> String {
    if let [only] = columns
        && only.contains([';', '\t'])
    {
        return format!("The header is one column, '{}': separate the columns with commas", visible(only));
    }
    format!("The columns are {}", list(columns))
}

/// The text with invisible characters escaped, so that names that differ look different.
pub fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{a0}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    text.chars().map(|c| if hidden(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

/// `1 column`, `3 columns`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("{n} {noun}") } else { format!("{n} {noun}s") }
}

/// `'a', 'b' and 7 more`: a file may have thousands of columns, a message may not.
pub fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text =
        names.iter().take(SHOWN).map(|name| format!("'{}'", visible(name))).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// The name nearest to `wanted`, if it is near enough to be a typing error: up to a third of the letters inserted, deleted,
/// replaced or swapped with their neighbour, in any mix of capitals.
pub fn closest<'a>(wanted: &str, names: &'a [String]) -> Option<&'a String> {
    let wanted = wanted.to_lowercase();
    let tolerated = (wanted.chars().count() / 3).max(1);
    names
        .iter()
        .map(|name| (strsim::osa_distance(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= tolerated)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognised_and_another_name_is_not() {
        let names = ["label", "width", "Species"].map(String::from);
        assert_eq!(closest("lable", &names).unwrap(), "label", "a swap is one error");
        assert_eq!(closest("balel", &names), None, "two replacements are more than a third of five letters");
        assert_eq!(closest("labl", &names).unwrap(), "label");
        assert_eq!(closest("species", &names).unwrap(), "Species");
        assert_eq!(closest("target", &names), None);
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..100).map(|i| format!("c{i}")).collect();
        assert!(list(&names).ends_with("'c11' and 88 more"));
        assert_eq!(list(&names[..2]), "'c0', 'c1'");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(visible("é 漢 y"), "é 漢 y");
        assert_eq!(visible("y\u{200b}\t"), "y\\u{200b}\\u{9}");
        assert_eq!(list(&["\u{feff}y".into()]), "'\\u{feff}y'");
    }
}
