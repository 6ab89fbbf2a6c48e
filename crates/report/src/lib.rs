//! Figures as SVG and self-contained HTML pages.
//!
//! This crate turns numbers into pictures and knows nothing of models. A figure is a plain struct that
//! implements [`Plot`]: [`Plot::to_svg`] makes a file of it, [`Plot::figure`] a part of a [`Page`].
//!
//! | figure | shows |
//! |---|---|
//! | [`Panel`] | a square of the plane: decision regions, data, mixture components (paper, figures 1, 2) |
//! | [`LineChart`] | losses over epochs |
//! | [`Scatter`] | a few named points: time against accuracy |
//! | [`Histogram`] | overlaid distributions (paper, figure 5c) |
//! | [`Bars`] | counts by name |
//! | [`Intervals`] | estimates with what they may be |
//! | [`ImageSheet`] | small images in rows (paper, figure 5a, b) |
//! | [`Confusion`] | true against predicted class |
//! | [`Reliability`] | accuracy against confidence |
//!
//! What holds throughout: text from outside is shown by [`safe_text`] and escaped; a point that is not finite is
//! dropped; a figure of nothing is an empty figure; nothing refers outside its file; light and dark follow the
//! reader's system, and paper is light. A page explains the terms of art it uses in a list at its end.
//!
//! ```
//! use flowgmm_report::{Viewport, Grid, Layer, Page, Panel, Plot, Section};
//!
//! let points = vec![[0.0, 0.0], [1.0, 0.5], [f64::NAN, 0.0]];
//! let viewport = Viewport::around(&points);
//! let panel = Panel {
//!     title: "Data".into(),
//!     viewport,
//!     layers: vec![Layer::Unlabelled(points), Layer::Labelled(vec![([1.0, 0.5], 1)])],
//!     ..Panel::default()
//! };
//! assert!(panel.to_svg().starts_with("<svg"));
//!
//! let grids = vec![Grid::row("Labelled + unlabelled", vec![panel.figure()])];
//! let sections = vec![Section { heading: "Moons".into(), grids, ..Section::default() }];
//! let page = Page { title: "Report".into(), sections, ..Page::default() };
//! assert!(page.to_html().contains("<h2>Moons</h2>"));
//! ```

mod axis;
mod bars;
mod confusion;
mod contour;
mod glossary;
mod histogram;
mod images;
mod intervals;
mod legend;
mod line;
mod page;
mod panel;
mod plot;
mod png;
mod raster;
mod reliability;
mod safe_text;
mod scatter;
mod svg;
mod table;
mod theme;
mod viewport;

pub use axis::AxisScale;
pub use bars::{Bar, Bars};
pub use confusion::Confusion;
pub use histogram::Histogram;
pub use images::{ImageSheet, Shade, SheetRow};
pub use intervals::{Estimate, Intervals};
pub use legend::{Legend, Mark};
pub use line::{LineChart, Series, Stroke};
pub use page::{Figure, Grid, GridWidth, Page, Section, Tile};
pub use panel::{Ellipse, Layer, Panel};
pub use plot::Plot;
pub use raster::Raster;
pub use reliability::{Reliability, ReliabilityBin};
pub use safe_text::{MAX_NAME_CHARS, safe_text};
pub use scatter::{NamedPoint, Scatter};
pub use svg::Drawing;
pub use table::{Align, Best, Table, TableCell, TableColumn};
pub use theme::{Colour, class_colour};
pub use viewport::Viewport;
