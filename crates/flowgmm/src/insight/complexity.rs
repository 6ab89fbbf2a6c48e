//! The complexity of an image: the length of a universal code, as a background for the likelihood (Serra et al. 2020).
//!
//! Each pixel is predicted from its neighbours (left, above and above left, by the median rule of lossless JPEG), and the
//! prediction error is coded by an adaptive model: with n errors seen in this context, c_e of them equal to e,
//!
//!   p(e) = (c_e + w q(e)) / (n + w),   q half on 0, a quarter uniform, a quarter falling geometrically with |e|
//!
//! Contexts are three levels of activity around the pixel. -sum log p(e), in nats, is a code length in the strict sense:
//! a decoder can undo it pixel by pixel. Smooth images have short codes, textured ones long codes.

use std::f64::consts::LN_2;

use flowgmm_data::Image;

/// Weight of q: counts outweigh it once this many errors have been seen.
const WEIGHT: f64 = 4.0;
/// Possible values of an error, which wraps around like a byte.
const VALUES: usize = 256;

/// The length of an image's code, in nats.
pub fn code_length(picture: &Image) -> f64 {
    let (height, width) = (picture.height, picture.width);
    let q = initial();
    let mut counts = vec![[0u32; VALUES]; 3];
    let mut seen = [0u32; 3];
    let mut nats = 0.0;
    for plane in picture.pixels.chunks_exact((height * width).max(1)) {
        for at in 0..plane.len() {
            let (row, column) = (at / width, at % width);
            let left = if column > 0 { plane[at - 1] } else { 0 };
            let above = if row > 0 { plane[at - width] } else { 0 };
            let corner = if row > 0 && column > 0 { plane[at - width - 1] } else { 0 };
            let context = activity(left, above, corner);
            let error = plane[at].wrapping_sub(predicted(left, above, corner)) as usize;
            let p =
                (f64::from(counts[context][error]) + WEIGHT * q[error]) / (f64::from(seen[context]) + WEIGHT);
            nats -= p.ln();
            counts[context][error] += 1;
            seen[context] += 1;
        }
    }
    nats
}

/// The median of left, above, and left + above - corner.
fn predicted(left: u8, above: u8, corner: u8) -> u8 {
    let (low, high) = (left.min(above), left.max(above));
    match corner {
        c if c >= high => low,
        c if c <= low => high,
        // Between the two, so it fits a byte.
        c => (i16::from(left) + i16::from(above) - i16::from(c)) as u8,
    }
}

/// How much the neighbours differ, in three levels.
fn activity(left: u8, above: u8, corner: u8) -> usize {
    match left.abs_diff(corner).max(above.abs_diff(corner)) {
        0 => 0,
        1..32 => 1,
        _ => 2,
    }
}

/// q(e), the distribution of errors before any is seen, `[256]`.
fn initial() -> [f64; VALUES] {
    let falling = |e: usize| (-LN_2 / 8.0 * (e.min(VALUES - e)) as f64).exp();
    let total: f64 = (0..VALUES).map(falling).sum();
    std::array::from_fn(|e| 0.25 / VALUES as f64 + 0.25 * falling(e) / total + if e == 0 { 0.5 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;

    #[test]
    fn initial_probabilities_sum_to_one() {
        assert!((initial().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    /// A constant costs next to nothing, a ramp little, noise at least log 256 nats a pixel.
    #[test]
    fn noise_is_long_and_order_is_short() {
        let length =
            |of: &mut dyn FnMut(usize) -> u8| code_length(&Image::new(1, 28, 28, (0..784).map(of).collect()));
        let mut rng = semisup::rng(1);
        let (flat, ramp) = (length(&mut |_| 7), length(&mut |at| (5 * (at % 28) + 2 * (at / 28)) as u8));
        let noise = length(&mut |_| rng.random());
        assert!(flat < 60.0 && ramp < 250.0, "{flat} {ramp}");
        assert!(noise > 784.0 * 256_f64.ln(), "no code is shorter than noise: {noise}");
    }
}
