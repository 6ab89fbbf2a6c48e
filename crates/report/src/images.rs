//! A sheet of small images, one captioned row per class: data, samples, interpolations.

use crate::plot::Plot;
use crate::png::{self, Pixels};
use crate::svg::{Drawing, Px, put, text_width, text_within};

/// Rows of images of one size. Grey is ink: 0 is paper, 1 is full ink, in both themes. An image of three times as many
/// numbers is in colour, a plane each of red, green and blue.
#[derive(Clone, Debug, Default)]
pub struct ImageSheet {
    /// Above the sheet.
    pub title: String,
    /// Below it, in a page.
    pub caption: String,
    /// Pixels across one image.
    pub width: usize,
    /// Pixels down one image.
    pub height: usize,
    /// A caption and the images of each row, row-major, intensities in 0..1.
    pub rows: Vec<(String, Vec<Vec<f64>>)>,
}

/// The longer side of an image as drawn.
const TILE: f64 = 40.0;
const GAP: f64 = 5.0;

impl Plot for ImageSheet {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    /// Images whose length is neither `width * height` nor three times that are left out.
    fn draw(&self) -> Drawing {
        let longest = self.width.max(self.height).max(1) as f64;
        let (across, down) = (TILE * self.width as f64 / longest, TILE * self.height as f64 / longest);
        let names = self.rows.iter().map(|(name, _)| text_width(name, 12.0)).fold(0.0, f64::max).min(110.0);
        let left = if names > 0.0 { names + 10.0 } else { 0.0 };
        let columns = self.rows.iter().map(|(_, images)| images.len()).max().unwrap_or(0);

        let area = self.width * self.height;
        let mut body = String::new();
        for (row, (name, images)) in self.rows.iter().enumerate() {
            let y = row as f64 * (down + GAP) + 1.0;
            text_within(&mut body, names, y + down / 2.0 + 4.0, "fg-soft fg-end", name, names);
            for (column, image) in images.iter().enumerate() {
                if !image.is_empty() && [area, 3 * area].contains(&image.len()) {
                    self.tile(&mut body, left + column as f64 * (across + GAP), y, [across, down], image);
                }
            }
        }
        let width = (left + columns as f64 * (across + GAP)).max(60.0);
        let height = (self.rows.len() as f64 * (down + GAP)).max(10.0);
        Drawing::new(width, height, &self.title, body)
    }
}

impl ImageSheet {
    fn tile(&self, out: &mut String, x: f64, y: f64, [across, down]: [f64; 2], image: &[f64]) {
        let area = self.width * self.height;
        let byte = |v: f64| (255.0 * v).round() as u8;
        // NaN casts to 0, which is full ink: a broken pixel should be seen.
        let (class, png) = if image.len() == area {
            let grey: Vec<u8> = image.iter().map(|v| byte(1.0 - v.clamp(0.0, 1.0))).collect();
            ("fg-thumb fg-pixels", png::encode(self.width, self.height, &grey, &Pixels::Grey))
        } else {
            let rgb: Vec<u8> =
                (0..3 * area).map(|i| byte(image[i % 3 * area + i / 3].clamp(0.0, 1.0))).collect();
            ("fg-pixels", png::encode(self.width, self.height, &rgb, &Pixels::Rgb))
        };
        let uri = png::data_uri(&png);
        let (x, y, across, down) = (Px(x), Px(y), Px(across), Px(down));
        put!(
            out,
            r#"<image class="{class}" x="{x}" y="{y}" width="{across}" height="{down}" href="{uri}"/>"#
        );
        put!(
            out,
            r##"<rect x="{x}" y="{y}" width="{across}" height="{down}" fill="none" stroke="#d9dce2"/>"##
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_the_wrong_size_and_broken_pixels_do_no_harm() {
        let rows = vec![
            ("<b>0</b>".to_string(), vec![vec![0.0, f64::NAN, 7.0, -1.0], vec![0.5], vec![0.5; 5]]),
            (String::new(), vec![]),
        ];
        let svg = ImageSheet { width: 2, height: 2, rows, ..ImageSheet::default() }.to_svg();
        assert_eq!(svg.matches("<image").count(), 1);
        assert!(!svg.contains("<b>") && !svg.contains("NaN"));
        assert!(ImageSheet::default().to_svg().contains("</svg>"));
    }

    #[test]
    fn colour_is_three_planes() {
        let rows = vec![(String::new(), vec![vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0], vec![0.0, 1.0]])];
        let svg = ImageSheet { width: 2, height: 1, rows, ..ImageSheet::default() }.to_svg();
        assert_eq!((svg.matches("<image").count(), svg.matches("fg-thumb fg-pixels\"").count()), (2, 1));
        let red_then_green = png::encode(2, 1, &[255, 0, 0, 0, 255, 0], &Pixels::Rgb);
        assert!(svg.contains(&png::data_uri(&red_then_green)));
    }
}
