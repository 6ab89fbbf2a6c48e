//! Large numbers in words: bytes, operations.

/// `3.1 GiB`
pub(crate) fn bytes(n: f64) -> String {
    scaled(n, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024.0)
}

/// `2.5 TFLOP`
pub(crate) fn operations(n: f64) -> String {
    scaled(n, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"], 1000.0)
}

fn scaled(n: f64, units: &[&str], step: f64) -> String {
    let power = (1..units.len()).take_while(|&power| n >= step.powi(power as i32)).count();
    let value = n / step.powi(power as i32);
    let digits = usize::from(value < 10.0 && power > 0);
    format!("{value:.digits$} {}", units[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_put_in_words() {
        assert_eq!((bytes(500.0).as_str(), bytes(3.3e9).as_str()), ("500 B", "3.1 GiB"));
        assert_eq!((operations(2.5e12).as_str(), operations(1e19).as_str()), ("2.5 TFLOP", "10 EFLOP"));
    }
}
