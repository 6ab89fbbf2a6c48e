//! Arguments of `fit` that are for images.

use std::path::PathBuf;

/// Arguments of `fit` for images.
#[derive(clap::Args)]
pub struct ImageArgs {
    /// Of IDX images: the IDX file of their labels
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Of images: file of the images whose labels are used, an integer array of splits x images (NPY); all others count
    /// as unlabelled
    #[arg(long, value_name = "FILE", hide_short_help = true, hide_long_help = true)]
    pub labelled: Option<PathBuf>,
    /// Which of the splits of --labelled
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        requires = "labelled",
        hide_short_help = true,
        hide_long_help = true
    )]
    pub split: usize,
    /// Of images: height and width, such as 32x32; others are cut and scaled [default: that of most]
    #[arg(long, value_name = "HxW", value_parser = size)]
    pub size: Option<(usize, usize)>,
    /// Of IDX images of --test: the IDX file of their labels
    #[arg(long, value_name = "FILE", requires = "test", hide_short_help = true, hide_long_help = true)]
    pub test_labels: Option<PathBuf>,
}

impl ImageArgs {
    /// The first flag that is given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--labels", self.labels.is_some()),
            ("--labelled", self.labelled.is_some()),
            ("--size", self.size.is_some()),
            ("--test-labels", self.test_labels.is_some()),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }
}

/// `32x32` as height and width.
fn size(text: &str) -> std::result::Result<(usize, usize), String> {
    let sides = text.split_once(['x', 'X']).and_then(|(h, w)| Some((h.parse().ok()?, w.parse().ok()?)));
    let (height, width) = sides.ok_or("expected height and width, such as 32x32")?;
    let checked = flowgmm::data::ImageLayout::new(1, height, width);
    checked.map(|_| (height, width)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_is_refused() {
        assert_eq!((size("32x24"), size("8X8")), (Ok((32, 24)), Ok((8, 8))));
        for text in ["32", "0x8", "axb", "8x8x3", "4000x3000", ""] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
