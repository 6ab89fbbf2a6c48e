//! Text from strangers, made safe to show.
//!
//! Class names, column names and cells come from files that anyone may have written. Such text can move a
//! terminal's cursor, reverse the reading order of the line around it, hide characters, or run on for
//! megabytes. [`safe_text`] shows what is there and lets none of it act.
//!
//! It does not escape HTML: a page's template does that to whatever text it is given.

use std::borrow::Cow;

/// The most characters of a class or column name that a page or a line of output shows.
pub const MAX_NAME_CHARS: usize = 40;

const ELLIPSIS: char = '…';

/// `text` on one line, with nothing in it that acts, in at most `max_chars` characters.
///
/// Line feed, carriage return and tab become `\n`, `\r` and `\t`. Every other control character (C0, DEL and C1,
/// so ESC too), line separator, direction mark or override, and invisible character becomes its code point, such as
/// `\u{202e}`. Text that is longer than `max_chars` is cut, never inside an escape, and ends in an ellipsis that
/// counts as one of the characters. Ordinary text is borrowed, unchanged. The work is bounded by `max_chars`, not by
/// the text's length.
///
/// The two variation selectors of emoji (U+FE0E, U+FE0F) stay, because they change what is seen. A backslash
/// stays a backslash: the result is for people to read, not for programs to parse.
///
/// ```
/// use flowgmm_report::safe_text;
///
/// assert_eq!(safe_text("setosa", 40), "setosa");
/// assert_eq!(safe_text("\u{1b}[2Jgone", 40), r"\u{1b}[2Jgone");
/// assert_eq!(safe_text("user\u{202e}nimda", 40), r"user\u{202e}nimda");
/// assert_eq!(safe_text("Iris versicolor", 8), "Iris ve…");
/// ```
#[must_use]
pub fn safe_text(text: &str, max_chars: usize) -> Cow<'_, str> {
    // One more than may be shown is enough to know that the text is too long.
    let mut seen = 0;
    let plain = text.chars().take(max_chars.saturating_add(1)).all(|c| {
        seen += 1;
        !acts_or_hides(c)
    });
    if plain && seen <= max_chars { Cow::Borrowed(text) } else { Cow::Owned(escaped(text, max_chars)) }
}

fn escaped(text: &str, max_chars: usize) -> String {
    let mut shown = String::new();
    let mut count = 0;
    // Where `shown` ends if an ellipsis has to follow: a border between two pieces.
    let mut cut = 0;
    for c in text.chars() {
        let start = shown.len();
        push_visible(&mut shown, c);
        count += shown[start..].chars().count();
        if count > max_chars {
            shown.truncate(cut);
            if max_chars > 0 {
                shown.push(ELLIPSIS);
            }
            break;
        }
        if count < max_chars {
            cut = shown.len();
        }
    }
    shown
}

fn push_visible(shown: &mut String, c: char) {
    if !acts_or_hides(c) {
        shown.push(c);
        return;
    }
    match c {
        '\n' => shown.push_str(r"\n"),
        '\r' => shown.push_str(r"\r"),
        '\t' => shown.push_str(r"\t"),
        _ => shown.extend(c.escape_unicode()),
    }
}

/// Whether a character does something to the text around it, or cannot be seen.
fn acts_or_hides(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' // soft hyphen
            | '\u{34f}' // combining grapheme joiner
            | '\u{61c}' // Arabic letter mark
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // Hangul fillers
            | '\u{17b4}' | '\u{17b5}' // Khmer inherent vowels
            | '\u{180b}'..='\u{180f}' // Mongolian selectors and vowel separator
            | '\u{200b}'..='\u{200f}' // zero-width space and joiners, direction marks
            | '\u{2028}' | '\u{2029}' // line and paragraph separators
            | '\u{202a}'..='\u{202e}' // direction embeddings and overrides
            | '\u{2060}'..='\u{206f}' // word joiner, invisible operators, direction isolates
            | '\u{fe00}'..='\u{fe0d}' // variation selectors, except those of emoji
            | '\u{feff}' // zero-width no-break space, byte-order mark
            | '\u{fff0}'..='\u{fffb}' // interlinear annotations
            | '\u{e0000}'..='\u{e0fff}' // tags and further variation selectors
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_or_hides_is_shown_as_an_escape() {
        let cases = [
            // what it is, text, shown
            ("ordinary", "Iris setosa", "Iris setosa"),
            ("empty", "", ""),
            ("other scripts", "Ζεύς 東京 ناز", "Ζεύς 東京 ناز"),
            ("combining accent", "e\u{301}", "e\u{301}"),
            ("emoji with its selector", "☀\u{fe0f}", "☀\u{fe0f}"),
            ("backslash", r"C:\new", r"C:\new"),
            ("markup is the template's task", "<b>&", "<b>&"),
            ("escape sequence", "\u{1b}[31mred", r"\u{1b}[31mred"),
            ("C1 control sequence introducer", "\u{9b}31m", r"\u{9b}31m"),
            ("bell, backspace, NUL, DEL", "\u{7}\u{8}\0\u{7f}", r"\u{7}\u{8}\u{0}\u{7f}"),
            ("line ends and tabs", "a\r\nb\tc", r"a\r\nb\tc"),
            ("next line, separators", "\u{85}\u{2028}\u{2029}", r"\u{85}\u{2028}\u{2029}"),
            ("direction overrides", "\u{202a}\u{202e}", r"\u{202a}\u{202e}"),
            ("direction isolates", "\u{2066}\u{2069}", r"\u{2066}\u{2069}"),
            ("direction marks", "\u{200e}\u{200f}\u{61c}", r"\u{200e}\u{200f}\u{61c}"),
            ("zero width", "a\u{200b}b\u{200d}c\u{feff}", r"a\u{200b}b\u{200d}c\u{feff}"),
            ("soft hyphen", "co\u{ad}op", r"co\u{ad}op"),
            ("tag characters", "x\u{e0041}", r"x\u{e0041}"),
        ];
        for (what, text, shown) in cases {
            assert_eq!(safe_text(text, 100), shown, "{what}");
        }
    }

    #[test]
    fn long_text_ends_in_an_ellipsis_within_its_limit() {
        let cases = [
            // text, limit, shown
            ("abcd", 5, "abcd"),
            ("abcd", 4, "abcd"),
            ("abcd", 3, "ab…"),
            ("abcd", 1, "…"),
            ("abcd", 0, ""),
            ("", 0, ""),
            ("東京都庁", 3, "東京…"),
            ("ab\n", 4, r"ab\n"),
            ("ab\n", 3, "ab…"), // an escape is shown whole or not at all
            ("ab\u{1b}cd", 7, "ab…"),
            ("ab\u{1b}cd", 9, r"ab\u{1b}…"),
            ("ab\u{1b}cd", 10, r"ab\u{1b}cd"),
        ];
        for (text, limit, shown) in cases {
            let got = safe_text(text, limit);
            assert_eq!(got, shown, "{text:?} in {limit}");
            assert!(got.chars().count() <= limit);
        }
    }

    #[test]
    fn ordinary_text_is_not_copied() {
        assert!(matches!(safe_text("versicolor", 10), Cow::Borrowed("versicolor")));
        assert!(matches!(safe_text("versicolor", 9), Cow::Owned(_)));
    }

    #[test]
    fn nothing_that_acts_survives_whatever_the_text() {
        let every = (0..=0x10_ffff).filter_map(char::from_u32);
        for c in every.filter(|&c| acts_or_hides(c)) {
            let text = format!("a{c}b");
            let shown = safe_text(&text, 100);
            assert!(shown.chars().all(|c| c.is_ascii_graphic()), "{c:?} gave {shown:?}");
        }
    }
}
