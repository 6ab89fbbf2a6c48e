//! Images with a class each, as every image loader returns them.

use semisup::{Labelled, ndarray::Array2};

use crate::Result;

/// Images of one size. A value that exists has `n` images and `n` labels below the number of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSet {
    /// `[n, channels, height, width]`, row by row from the top left, colours in the order red, green, blue.
    pub images: Vec<u8>,
    /// Number of images.
    pub n: usize,
    /// 1 for grey, 3 for colour.
    pub channels: usize,
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
    /// The class of each image, an index into `classes`.
    pub labels: Vec<u8>,
    /// The names of the classes.
    pub classes: Vec<String>,
}

impl ImageSet {
    /// Bytes of an image: channels x height x width.
    pub fn dim(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// One image, `[channels, height, width]`.
    ///
    /// # Panics
    /// If `index` is not below `n`.
    pub fn image(&self, index: usize) -> &[u8] {
        &self.images[index * self.dim()..][..self.dim()]
    }

    /// The given images in the given order.
    ///
    /// # Panics
    /// If an index is not below `n`.
    pub fn select(&self, indices: &[usize]) -> Self {
        Self {
            images: indices.iter().flat_map(|&at| self.image(at)).copied().collect(),
            labels: indices.iter().map(|&at| self.labels[at]).collect(),
            n: indices.len(),
            classes: self.classes.clone(),
            ..*self
        }
    }

    /// Rows of `dim` numbers between 0 and 1, for learners of tables: eight times the memory.
    pub fn to_labelled(&self) -> Result<Labelled> {
        let x = self.images.iter().map(|&byte| f64::from(byte) / 255.0).collect();
        let x = Array2::from_shape_vec((self.n, self.dim()), x).expect("an image set has n x dim bytes");
        let y = self.labels.iter().map(|&label| label.into()).collect();
        let columns = (0..self.dim()).map(|at| self.pixel_name(at)).collect();
        let data = Labelled::new(x, y, self.classes.clone(), columns);
        data.map_err(|error| crate::Error::content("the images".as_ref(), error))
    }

    /// `r3c7` in grey images; `red_r3c7` in colour.
    fn pixel_name(&self, at: usize) -> String {
        let (plane, pixel) = (at / (self.height * self.width), at % (self.height * self.width));
        let place = format!("r{}c{}", pixel / self.width, pixel % self.width);
        match self.channels {
            1 => place,
            3 => format!("{}_{place}", ["red", "green", "blue"][plane]),
            _ => format!("plane{plane}_{place}"),
        }
    }
}

pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_become_rows_and_are_selected() {
        let set = ImageSet {
            images: (0..24).map(|byte| byte * 5).collect(),
            n: 2,
            channels: 3,
            height: 2,
            width: 2,
            labels: vec![1, 0],
            classes: names(&["a", "b"]),
        };
        assert_eq!(set.image(1), (12..24).map(|byte| byte * 5).collect::<Vec<u8>>());
        let rows = set.to_labelled().unwrap();
        assert_eq!((rows.n(), rows.dim(), rows.y()), (2, 12, &[1, 0][..]));
        assert_eq!(rows.x()[[0, 3]], 15.0 / 255.0);
        assert_eq!(rows.columns()[5], "green_r0c1");
        let one = set.select(&[1]);
        assert_eq!((one.n, one.image(0), &one.labels[..]), (1, set.image(1), &[0][..]));
    }
}
