//! Whole numbers that may be codes: a passenger class or a type of pain rather than a quantity.
//!
//! Whole numbers without a hole, such as 1, 2, 3, may be a scale, and stay a number: with few labels, a column for each value
//! costs more accuracy than it brings. Numbers with a hole, such as 3, 6, 7, hardly are one. Such a column is used both ways: as
//! the number, which keeps the order, and as one column of 0 and 1 for each value, which tells the values apart.

/// Fewer values are told apart by the number alone.
const FEWEST: usize = 3;
const MOST: usize = 10;
/// The largest code.
const LARGEST: f64 = 20.;
/// Rows for each value, on average.
const ROWS_PER_VALUE: usize = 10;
/// If one value has a larger share, the others are too rare to be told apart, as in pixels at the edge of pictures.
const MOST_OF_ONE: f64 = 0.9;

/// The different values, ascending, of numbers that may be codes; nothing if they are quantities. NaN is missing.
pub(super) fn of(values: &[f64]) -> Vec<f64> {
    let mut counts: Vec<(f64, usize)> = Vec::new();
    let mut n = 0;
    for &value in values.iter().filter(|value| !value.is_nan()) {
        n += 1;
        match counts.iter().position(|(code, _)| *code == value) {
            Some(at) => counts[at].1 += 1,
            None if !is_code(value) || counts.len() == MOST => return Vec::new(),
            None => counts.push((value + 0., 1)), // -0 is 0
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let varied = most as f64 <= MOST_OF_ONE * n as f64;
    if counts.len() < FEWEST || n < ROWS_PER_VALUE * counts.len() || !varied {
        return Vec::new();
    }
    counts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let span = counts[counts.len() - 1].0 - counts[0].0;
    if span as usize + 1 == counts.len() {
        return Vec::new();
    }
    counts.into_iter().map(|(code, _)| code).collect()
}

/// Whether these may be the codes of a column: some whole numbers, ascending.
pub(crate) fn are_codes(codes: &[f64]) -> bool {
    let ascending = codes.windows(2).all(|pair| pair[0] < pair[1]);
    codes.len() <= MOST && ascending && codes.iter().all(|&code| is_code(code))
}

fn is_code(value: f64) -> bool {
    (0. ..=LARGEST).contains(&value) && value.fract() == 0.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_small_whole_numbers_in_many_rows_may_be_codes() {
        assert_eq!(of(&[3., 1., 6., f64::NAN].repeat(10)), [1., 3., 6.]);
        assert_eq!(of(&[-0., 0., 7., 20.].repeat(10)), [0., 7., 20.]);
        for (quantities, why) in [
            ([3., 1., 6.].repeat(9), "too few rows"),
            ([3., 1., 2.].repeat(90), "no hole: they may be a scale"),
            ([0., 1.].repeat(90), "two values are one column of 0 and 1"),
            ((0..11).map(f64::from).collect::<Vec<_>>().repeat(90), "too many values"),
            ([1., 3., 21.].repeat(90), "large"),
            ([-1., 0., 1.].repeat(90), "below 0"),
            ([1., 1.5, 2.].repeat(90), "not whole"),
            ([vec![0.; 28], vec![1., 3.]].concat().repeat(9), "nearly always 0"),
            (vec![f64::NAN; 90], "all missing"),
        ] {
            assert_eq!(of(&quantities), [] as [f64; 0], "{why}");
        }
    }
}
