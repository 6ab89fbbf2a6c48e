//! Whether a command printed what a page shows.
//!
//! Words must be the same. Numbers may differ by [`TOLERANCE`], since processors round differently; times, which differ from
//! run to run, may be any. On a processor with another instruction set than [`MADE_WITH`], numbers may be any, too. A line
//! `...` stands for any lines.

/// The instruction set of the machine whose output the pages show.
const MADE_WITH: &str = "AVX-512";
/// Relative difference of numbers that are the same.
const TOLERANCE: f64 = 0.02;

/// Whether these lines are those; the first that is not, otherwise.
pub fn agrees(shown: &[&str], printed: &[&str]) -> Result<(), String> {
    let Some((first, rest)) = shown.split_first() else {
        return match printed.first() {
            None => Ok(()),
            Some(line) => Err(format!("it also printed '{line}'")),
        };
    };
    if *first == "..." {
        return match (0..=printed.len()).any(|skipped| agrees(rest, &printed[skipped..]).is_ok()) {
            true => Ok(()),
            false => Err(format!("nothing after '...' is {rest:?}")),
        };
    }
    match printed.split_first() {
        Some((line, printed)) if same(first, line) => agrees(rest, printed),
        Some((line, _)) => Err(format!("shown:   {first}\nprinted: {line}")),
        None => Err(format!("it did not print '{first}'")),
    }
}

fn same(shown: &str, printed: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.split([' ', ',', '(', ')', ':']).filter(|word| !word.is_empty()).map(String::from).collect()
    };
    let (shown, printed) = (words(shown), words(printed));
    let unit = |at: usize| shown.get(at + 1).map(String::as_str);
    shown.len() == printed.len()
        && shown.iter().zip(&printed).enumerate().all(|(at, (a, b))| match (number(a), number(b)) {
            (Some(a), Some(b)) => {
                matches!(unit(at), Some("s" | "ms" | "MB"))
                    || flowgmm::instruction_set() != MADE_WITH
                    || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
            }
            _ => a == b,
        })
}

/// A number, as people write it.
fn number(word: &str) -> Option<f64> {
    word.trim_end_matches(['%', ';', '.']).replace('−', "-").parse().ok()
}

#[test]
fn words_and_numbers_are_compared_and_times_are_not() {
    let agree = |shown: &str, printed: &str| {
        agrees(&shown.lines().collect::<Vec<_>>(), &printed.lines().collect::<Vec<_>>()).is_ok()
    };
    assert!(agree("time 2.0 s for 400 rows", "time 9.1 s for 400 rows"));
    assert!(!agree("accuracy 95 %", "accuracies 95 %"));
    assert!(agree("a\n...\nz", "a\nb\nc\nz") && agree("a\n...", "a"));
    assert!(!agree("a\n...\nz", "a\nb") && !agree("a", "a\nb") && !agree("a\nb", "a"));
    if flowgmm::instruction_set() == MADE_WITH {
        assert!(!agree("accuracy 95.3 %", "accuracy 85.3 %") && agree("ECE 0.1000", "ECE 0.1001"));
    }
}
