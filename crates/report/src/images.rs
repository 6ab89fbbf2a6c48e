//! A sheet of small images, one captioned row per class: data, samples, interpolations, and what changes between two.

use crate::plot::Plot;
use crate::png::{self, Pixels};
use crate::svg::{Drawing, Px, put, text_width, text_within};
use crate::theme;

/// Rows of images of one size. An image of three times as many numbers is in colour, a plane each of red, green and blue.
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
    /// Top to bottom.
    pub rows: Vec<SheetRow>,
}

/// A row of a sheet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SheetRow {
    /// Beside the row; may be empty.
    pub name: String,
    /// Left to right; the pixels of each row-major.
    pub images: Vec<Vec<f64>>,
    /// What the numbers are.
    pub shade: Shade,
}

/// How numbers become shades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shade {
    /// Intensities: 0 is paper and 1 is full ink, in both themes; in colour, from dark to bright.
    #[default]
    Ink,
    /// Signed differences between two images: orange above 0, blue below, paper at 0. The largest difference of the row,
    /// in either direction, has the full colour, so that faint changes are seen. Of colours, the mean is shown.
    Change,
}

impl SheetRow {
    /// A row of intensities.
    pub fn ink(name: impl Into<String>, images: Vec<Vec<f64>>) -> Self {
        SheetRow { name: name.into(), images, shade: Shade::Ink }
    }

    /// A row of signed differences.
    pub fn change(name: impl Into<String>, images: Vec<Vec<f64>>) -> Self {
        SheetRow { name: name.into(), images, shade: Shade::Change }
    }

    /// The largest number in either direction.
    fn largest(&self) -> f64 {
        self.images.iter().flatten().map(|v| v.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max)
    }
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
        let names = self.rows.iter().map(|row| text_width(&row.name, 12.0)).fold(0.0, f64::max).min(110.0);
        let left = if names > 0.0 { names + 10.0 } else { 0.0 };
        let columns = self.rows.iter().map(|row| row.images.len()).max().unwrap_or(0);

        let area = self.width * self.height;
        let mut body = String::new();
        for (at, row) in self.rows.iter().enumerate() {
            let y = at as f64 * (down + GAP) + 1.0;
            let largest = row.largest();
            text_within(&mut body, names, y + down / 2.0 + 4.0, "fg-soft fg-end", &row.name, names);
            for (column, image) in row.images.iter().enumerate() {
                if image.is_empty() || ![area, 3 * area].contains(&image.len()) {
                    continue;
                }
                let (class, png) = match row.shade {
                    Shade::Ink => self.ink(image),
                    Shade::Change => self.change(image, largest),
                };
                tile(&mut body, [left + column as f64 * (across + GAP), y], [across, down], class, &png);
            }
        }
        let width = (left + columns as f64 * (across + GAP)).max(60.0);
        let height = (self.rows.len() as f64 * (down + GAP)).max(10.0);
        Drawing { class: "fg fg-sheet", ..Drawing::new(width, height, &self.title, body) }
    }
}

impl ImageSheet {
    /// Style classes and PNG of an image of intensities.
    fn ink(&self, image: &[f64]) -> (&'static str, Vec<u8>) {
        let area = self.width * self.height;
        let byte = |v: f64| (255.0 * v).round() as u8;
        // NaN casts to 0, which is full ink: a broken pixel should be seen.
        if image.len() == area {
            let grey: Vec<u8> = image.iter().map(|v| byte(1.0 - v.clamp(0.0, 1.0))).collect();
            ("fg-thumb fg-pixels", png::encode(self.width, self.height, &grey, &Pixels::Grey))
        } else {
            let rgb: Vec<u8> =
                (0..3 * area).map(|i| byte(image[i % 3 * area + i / 3].clamp(0.0, 1.0))).collect();
            ("fg-pixels", png::encode(self.width, self.height, &rgb, &Pixels::Rgb))
        }
    }

    /// Style classes and PNG of an image of differences, of which `largest` has the full colour.
    fn change(&self, image: &[f64], largest: f64) -> (&'static str, Vec<u8>) {
        let area = self.width * self.height;
        let planes = image.len() / area;
        let share = |at: usize| {
            let sum: f64 = (0..planes).map(|plane| image[plane * area + at]).sum();
            if largest > 0.0 { sum / (planes as f64 * largest) } else { 0.0 }
        };
        // NaN casts to 0, the strongest blue.
        let bytes: Vec<u8> = (0..area).map(|at| (MIDDLE * (1.0 + share(at))).round() as u8).collect();
        let palette: Vec<[u8; 4]> =
            (0..=2 * MIDDLE as u8).map(|step| theme::diverging(step, MIDDLE)).collect();
        ("fg-tint fg-pixels", png::encode(self.width, self.height, &bytes, &Pixels::Palette(&palette)))
    }
}

/// The step of the palette of differences that means no change.
const MIDDLE: f64 = 127.0;

fn tile(out: &mut String, [x, y]: [f64; 2], [across, down]: [f64; 2], class: &str, png: &[u8]) {
    let uri = png::data_uri(png);
    let (x, y, across, down) = (Px(x), Px(y), Px(across), Px(down));
    put!(
        out,
        r#"<image class="{class}" x="{x}" y="{y}" width="{across}" height="{down}" href="{uri}"/><rect x="{x}" y="{y}" width="{across}" height="{down}" class="fg-edge" fill="none" stroke="currentColor"/>"#
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_the_wrong_size_and_broken_pixels_do_no_harm() {
        let rows = vec![
            SheetRow::ink("<b>0</b>", vec![vec![0.0, f64::NAN, 7.0, -1.0], vec![0.5], vec![0.5; 5]]),
            SheetRow::change("", vec![vec![f64::NAN; 4], vec![0.0]]),
            SheetRow::default(),
        ];
        let svg = ImageSheet { width: 2, height: 2, rows, ..ImageSheet::default() }.to_svg();
        assert_eq!(svg.matches("<image").count(), 2);
        assert!(!svg.contains("<b>") && !svg.contains("NaN"));
        assert!(ImageSheet::default().to_svg().contains("</svg>"));
    }

    #[test]
    fn colour_is_three_planes() {
        let rows = vec![SheetRow::ink("", vec![vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0], vec![0.0, 1.0]])];
        let svg = ImageSheet { width: 2, height: 1, rows, ..ImageSheet::default() }.to_svg();
        assert_eq!((svg.matches("<image").count(), svg.matches("fg-thumb fg-pixels\"").count()), (2, 1));
        let red_then_green = png::encode(2, 1, &[255, 0, 0, 0, 255, 0], &Pixels::Rgb);
        assert!(svg.contains(&png::data_uri(&red_then_green)));
    }

    /// Faint changes use the whole scale, and the images of a row share it.
    #[test]
    fn the_largest_change_of_a_row_has_the_full_colour() {
        let sheet = ImageSheet { width: 2, height: 1, ..ImageSheet::default() };
        let row = SheetRow::change("", vec![vec![0.0, 1e-3], vec![-2e-3, 0.0]]);
        let largest = row.largest();
        let steps: Vec<Vec<u8>> =
            row.images.iter().map(|image| steps(&sheet.change(image, largest).1)).collect();
        assert_eq!(steps, [[127, 191], [0, 127]]);
        let colour = [0.0, 0.0, 2e-3, 0.0, 4e-3, 0.0]; // the mean of three planes
        assert_eq!(steps_of(&sheet, &colour, 2e-3), [254, 127]);
        assert_eq!(steps_of(&sheet, &[0.0, 0.0], 0.0), [127, 127]);
    }

    fn steps_of(sheet: &ImageSheet, image: &[f64], largest: f64) -> Vec<u8> {
        steps(&sheet.change(image, largest).1)
    }

    fn steps(png: &[u8]) -> Vec<u8> {
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut indices = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut indices).unwrap();
        indices
    }
}
