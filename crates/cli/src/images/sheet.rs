//! Contact sheets: a row of images for each class, as one picture; and images as rows of pixels.

use flowgmm::Model;
use flowgmm_data::{Cells, Column, Frame, Layout, Picture};
use semisup::{
    Classifier,
    ndarray::{Array2, ArrayView2, Axis},
};

use crate::exit::Result;

/// Pixels between images.
const GAP: usize = 2;
/// Images are enlarged by a whole factor until a side has about this many pixels.
const SIDE: usize = 56;
/// Between images.
const PAPER: u8 = 255;

/// Images of one class.
pub struct Row {
    /// Its name.
    pub class: String,
    /// Pixels, `[n, dim]`.
    pub x: Array2<f64>,
}

/// `n` draws of each class, or of one.
pub fn drawn(model: &Model, class: Option<usize>, n: usize, temperature: f64, seed: u64) -> Vec<Row> {
    let mut rng = semisup::rng(seed);
    let mut draw = |k: usize| model.sample(n, Some(k), temperature, &mut rng).0;
    wanted(model, class).map(|k| Row { class: model.classes()[k].clone(), x: draw(k) }).collect()
}

/// f^-1 of the means of each class, or of one.
pub fn means(model: &Model, class: Option<usize>) -> Vec<Row> {
    let mixture = model.gmm().mixture();
    let (means, class_of) = (mixture.values().means, mixture.spec().class_of());
    let of = |k: usize| {
        let components: Vec<usize> = (0..class_of.len()).filter(|&c| class_of[c] == k).collect();
        model.decode(means.select(Axis(0), &components).view())
    };
    wanted(model, class).map(|k| Row { class: model.classes()[k].clone(), x: of(k) }).collect()
}

fn wanted(model: &Model, class: Option<usize>) -> std::ops::Range<usize> {
    class.map_or(0..model.classes().len(), |k| k..k + 1)
}

/// The sheet as a PNG file.
pub fn png(rows: &[Row], layout: &Layout) -> Vec<u8> {
    let factor = (SIDE / layout.height.max(layout.width)).max(1);
    let columns = rows.iter().map(|row| row.x.nrows()).max().unwrap_or(0);
    let (down, across) = (layout.height * factor + GAP, layout.width * factor + GAP);
    let (height, width) = (rows.len() * down + GAP, columns * across + GAP);
    let mut pixels = vec![PAPER; layout.channels * height * width];
    for (r, row) in rows.iter().enumerate() {
        for (c, image) in row.x.rows().into_iter().enumerate() {
            let picture = layout.picture(&image.to_vec());
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
    flowgmm_datasets::png(&Picture::new(layout.channels, height, width, pixels))
}

/// Images as a table of whole pixel values, without padding.
pub fn pixel_rows(x: ArrayView2<f64>, layout: &Layout) -> Result<Frame> {
    let pictures: Vec<Picture> = x.rows().into_iter().map(|row| layout.picture(&row.to_vec())).collect();
    let column = |(at, name): (usize, String)| {
        let cells = Cells::Numbers(pictures.iter().map(|picture| picture.pixels[at].into()).collect());
        Column { name, cells }
    };
    let columns = layout.pixel_names().into_iter().enumerate().map(column).collect();
    Ok(Frame::new("images", columns, (1..=x.nrows() as u64).collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_a_row_for_each_class_and_paper_in_between() {
        let layout = Layout::new(1, 2, 3).unwrap();
        let x = |n: usize, value: f64| Array2::from_elem((n, layout.dim()), value);
        let rows = [Row { class: "a".into(), x: x(2, 10.0) }, Row { class: "b".into(), x: x(1, 300.0) }];
        let bytes = png(&rows, &layout);
        assert!(bytes.starts_with(b"\x89PNG"));
        let size = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        // Factor 56 / 3 = 18: images of 36 x 54, two across and two down.
        assert_eq!((size(16), size(20)), (2 * 56 + 2, 2 * 38 + 2));
        let table = pixel_rows(x(2, 10.4).view(), &layout).unwrap();
        assert_eq!((table.n(), table.columns().len()), (2, 6));
        assert_eq!(table.column_names()[5], "r1c2");
        assert_eq!(table.column("r1c2").unwrap().number(1), Ok(Some(10.0)));
    }
}
