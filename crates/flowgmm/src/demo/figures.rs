//! The figures of a section, which also become files.

use flowgmm_report::{Figure, Plot, Section};

/// A section of the report and its figures as files: name and SVG text.
pub(super) struct Drawn {
    /// For the page.
    pub(super) section: Section,
    /// For a directory.
    pub(super) files: Vec<(String, String)>,
}

/// Collects figures, keeping each as a file too.
pub(super) struct Album {
    prefix: &'static str,
    /// Name and SVG text of each figure so far.
    pub(super) files: Vec<(String, String)>,
}

impl Album {
    /// Names of files begin with `prefix`.
    pub(super) fn new(prefix: &'static str) -> Self {
        Self { prefix, files: Vec::new() }
    }

    /// The figure for the page; its file is `prefix-name.svg`.
    pub(super) fn add(&mut self, name: &str, plot: &impl Plot) -> Figure {
        self.files.push((format!("{}-{name}.svg", self.prefix), plot.to_svg()));
        plot.figure()
    }
}
