//! Contact sheets: a row of images for each class, as one picture.

use flowgmm_data::{Image, ImageLayout};
use ndarray::Array2;

/// Pixels between images.
const GAP: usize = 2;
/// Images are enlarged by a whole factor until a side has about this many pixels.
const SIDE: usize = 56;
/// Brightness between images.
const BACKGROUND: u8 = 255;

/// Images of each class, `[n, dim]`, as a PNG file with a row of images for each class.
pub fn contact_sheet(rows: &[(String, Array2<f64>)], layout: &ImageLayout) -> Vec<u8> {
    let factor = (SIDE / layout.height.max(layout.width)).max(1);
    let columns = rows.iter().map(|row| row.1.nrows()).max().unwrap_or(0);
    let (down, across) = (layout.height * factor + GAP, layout.width * factor + GAP);
    let (height, width) = (rows.len() * down + GAP, columns * across + GAP);
    let mut pixels = vec![BACKGROUND; layout.channels * height * width];
    for (r, row) in rows.iter().enumerate() {
        for (c, image) in row.1.rows().into_iter().enumerate() {
            let picture = layout.image(&image.to_vec());
            let (top, left) = (GAP + r * down, GAP + c * across);
            for plane in 0..layout.channels {
                for y in 0..layout.height * factor {
                    let from = &picture.pixels[(plane * layout.height + y / factor) * layout.width..];
                    let to = &mut pixels[(plane * height + top + y) * width + left..];
                    (0..layout.width * factor).for_each(|x| to[x] = from[x / factor]);
                }
            }
        }
    }
    flowgmm_datasets::png(&Image::new(layout.channels, height, width, pixels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_a_row_for_each_class_and_background_in_between() {
        let layout = ImageLayout::new(1, 2, 3).unwrap();
        let x = |n: usize, value: f64| Array2::from_elem((n, layout.dim()), value);
        let bytes = contact_sheet(&[("a".into(), x(2, 10.0)), ("b".into(), x(1, 300.0))], &layout);
        assert!(bytes.starts_with(b"\x89PNG"));
        let size = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        // Factor 56 / 3 = 18: images of 36 x 54, two across and two down.
        assert_eq!((size(16), size(20)), (2 * 56 + 2, 2 * 38 + 2));
    }
}
