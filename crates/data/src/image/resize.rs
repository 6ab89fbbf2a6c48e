//! Centre crop and resize: area averages when scaling down, bilinear when scaling up.
//!
//! Both are linear along each axis: out[i] = sum_j w[i][j] in[j] over a short window of j, with weights that sum to 1.

use super::Image;

/// The input pixels that an output pixel is made of, and their weights.
struct Window {
    start: usize,
    weights: Vec<f32>,
}

/// The image cropped and resized.
pub(super) fn resized(image: Image, height: usize, width: usize) -> Image {
    if (image.height, image.width) == (height, width) {
        return image;
    }
    let (tall, wide) = kept(image.height, image.width, height, width);
    let down = axis((image.height - tall) / 2, tall, height);
    let across = axis((image.width - wide) / 2, wide, width);
    let mut pixels = Vec::with_capacity(image.channels * height * width);
    for plane in image.pixels.chunks_exact(image.height * image.width) {
        let lines: Vec<Vec<f32>> =
            plane.chunks_exact(image.width).map(|line| combine_bytes(line, &across)).collect();
        for Window { start, weights } in &down {
            for x in 0..width {
                let sum: f32 = weights.iter().zip(&lines[*start..]).map(|(w, line)| w * line[x]).sum();
                pixels.push(sum.round() as u8);
            }
        }
    }
    Image::new(image.channels, height, width, pixels)
}

/// Height and width of the largest crop with the aspect ratio of the output.
fn kept(height: usize, width: usize, to_height: usize, to_width: usize) -> (usize, usize) {
    let part = |n: usize, numerator: usize, denominator: usize| {
        ((n * numerator + denominator / 2) / denominator).max(1)
    };
    if width * to_height > height * to_width {
        (height, part(height, to_width, to_height).min(width))
    } else {
        (part(width, to_height, to_width).min(height), width)
    }
}

fn combine_bytes(line: &[u8], axis: &[Window]) -> Vec<f32> {
    let pixel = |Window { start, weights }: &Window| {
        weights.iter().zip(&line[*start..]).map(|(w, &byte)| w * f32::from(byte)).sum()
    };
    axis.iter().map(pixel).collect()
}

/// The windows of `to` output pixels over `from` input pixels that begin at `first`.
fn axis(first: usize, from: usize, to: usize) -> Vec<Window> {
    let scale = from as f64 / to as f64;
    let of = |i: usize| if to < from { area(i, from, scale) } else { bilinear(i, from, scale) };
    (0..to).map(of).map(|window| Window { start: first + window.start, ..window }).collect()
}

/// Every input pixel by how much of it lies in [i, i + 1) * scale.
fn area(i: usize, from: usize, scale: f64) -> Window {
    let (low, high) = (i as f64 * scale, (i + 1) as f64 * scale);
    let start = low.floor() as usize;
    let end = (high.ceil() as usize).min(from);
    let share = |j: usize| (high.min((j + 1) as f64) - low.max(j as f64)).max(0.0) / scale;
    Window { start, weights: (start..end).map(|j| share(j) as f32).collect() }
}

/// The two input pixels whose centres are nearest.
fn bilinear(i: usize, from: usize, scale: f64) -> Window {
    let at = ((i as f64 + 0.5) * scale - 0.5).clamp(0.0, (from - 1) as f64);
    let start = (at.floor() as usize).min(from.saturating_sub(2));
    let second = (at - start as f64) as f32;
    let weights = if from == 1 { vec![1.0] } else { vec![1.0 - second, second] };
    Window { start, weights }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(height: usize, width: usize, pixels: &[u8]) -> Image {
        Image::new(1, height, width, pixels.to_vec())
    }

    #[test]
    fn down_is_the_mean_of_an_area_and_up_lies_between_middles() {
        let halved = resized(grey(2, 4, &[0, 100, 8, 8, 100, 200, 8, 8]), 1, 2);
        assert_eq!(halved.pixels, [100, 8]);
        // Three pixels to two: each takes one and a half.
        assert_eq!(resized(grey(3, 3, &[0, 30, 60, 0, 30, 60, 0, 30, 60]), 2, 2).pixels, [10, 50, 10, 50]);
        let doubled = resized(grey(1, 2, &[0, 100]), 2, 4);
        assert_eq!(doubled.pixels, [0, 25, 75, 100, 0, 25, 75, 100]);
        assert_eq!(resized(grey(1, 1, &[7]), 3, 3).pixels, [7; 9]);
    }

    #[test]
    fn the_middle_of_a_longer_side_is_kept() {
        let wide = grey(1, 6, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(resized(wide, 1, 2).pixels, [3, 4]);
        let tall = grey(5, 1, &[1, 2, 3, 4, 5]);
        assert_eq!(resized(tall, 3, 1).pixels, [2, 3, 4]);
    }

    #[test]
    fn a_flat_image_stays_flat_at_any_size() {
        for (height, width) in [(1, 9), (4, 3), (17, 13), (40, 41)] {
            let out = resized(Image::new(3, 10, 12, vec![77; 360]), height, width);
            assert_eq!((out.pixels.len(), out.pixels.iter().all(|&v| v == 77)), (3 * height * width, true));
        }
    }
}
