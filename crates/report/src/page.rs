//! A self-contained HTML page: title, lead, headline table, and sections of text, tables and figures.
//!
//! No script, no font, no address outside the file, and a content policy that says so. Text is escaped by
//! the template; the only markup passed through is that of drawings and marks made by this crate.

use minijinja::{Environment, Value, context};

use crate::legend::Legend;
use crate::svg::Drawing;
use crate::table::Table;
use crate::theme;

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Heading and window title.
    pub title: String,
    /// The first paragraph: what this page says, in a sentence or two.
    pub lead: String,
    /// The result in a few large numbers.
    pub tiles: Vec<Tile>,
    /// The result as a table, before any detail.
    pub headline: Option<Table>,
    /// The detail.
    pub sections: Vec<Section>,
    /// How the page came about: command, version, time.
    pub footer: String,
}

/// One large number with its name and what to make of it.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// The number, in a few characters.
    pub value: String,
    /// A line below: an interval, a comparison; may be empty.
    pub note: String,
}

/// A part of a page. Everything but the heading may be empty.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Its text; a blank line starts a new paragraph.
    pub text: String,
    /// Its tables, before the figures.
    pub tables: Vec<Table>,
    /// Its figures, grid by grid.
    pub grids: Vec<Grid>,
}

/// Figures side by side.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// What these figures have in common, for example "Labelled data only"; may be empty.
    pub label: String,
    /// How many stand side by side on a wide screen; fewer on a narrow one.
    pub width: GridWidth,
    /// What the marks mean; may be empty.
    pub legend: Legend,
    /// Left to right, then down.
    pub figures: Vec<Figure>,
}

/// Figures side by side on a wide screen, a tablet, and a phone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GridWidth {
    /// 1, 1, 1: sheets and wide charts.
    One,
    /// 2, 2, 1: charts.
    #[default]
    Two,
    /// 3, 2, 1.
    Three,
    /// 4, 2, 2: the panels of the paper's figure 1.
    Four,
}

/// A drawing with its title and caption. Made by [`Plot::figure`](crate::Plot::figure).
#[derive(Clone, Debug)]
pub struct Figure {
    title: String,
    caption: String,
    svg: String,
}

impl Figure {
    pub(crate) fn new(title: &str, caption: &str, drawing: &Drawing) -> Self {
        Figure { title: title.to_string(), caption: caption.to_string(), svg: drawing.inline() }
    }
}

impl Grid {
    /// One row of a comparison: a label and its panels, four across on a wide screen.
    pub fn row(label: impl Into<String>, figures: Vec<Figure>) -> Self {
        Grid { label: label.into(), width: GridWidth::Four, figures, ..Grid::default() }
    }

    /// Figures without a label.
    pub fn of(width: GridWidth, figures: Vec<Figure>) -> Self {
        Grid { width, figures, ..Grid::default() }
    }

    /// Puts the grid under a legend.
    pub fn with_legend(self, legend: Legend) -> Self {
        Grid { legend, ..self }
    }
}

impl Page {
    /// The page as one HTML file.
    pub fn to_html(&self) -> String {
        let mut environment = Environment::new();
        // The name's ending switches HTML escaping on.
        environment.add_template("page.html", include_str!("page.html")).expect("our own template parses");
        let page = environment.get_template("page.html").expect("it was just added");
        let css = format!("{}{}{}", theme::page_variables(), theme::figure_css(), include_str!("page.css"));
        page.render(context! {
            css,
            title => self.title.as_str(),
            lead => paragraphs(&self.lead),
            tiles => Value::from_iter(self.tiles.iter().map(Tile::view)),
            headline => self.headline.as_ref().map(Table::view),
            sections => Value::from_iter(self.sections.iter().map(Section::view)),
            footer => self.footer.as_str(),
        })
        .expect("our own template renders")
    }
}

impl Tile {
    fn view(&self) -> Value {
        context! { name => self.name.as_str(), value => self.value.as_str(), note => self.note.as_str() }
    }
}

impl Section {
    fn view(&self) -> Value {
        context! {
            heading => self.heading.as_str(),
            paragraphs => paragraphs(&self.text),
            tables => Value::from_iter(self.tables.iter().map(Table::view)),
            grids => Value::from_iter(self.grids.iter().map(Grid::view)),
        }
    }
}

impl Grid {
    fn view(&self) -> Value {
        let figures = self.figures.iter().map(|f| {
            context! { title => f.title.as_str(), caption => f.caption.as_str(), svg => f.svg.as_str() }
        });
        context! {
            label => self.label.as_str(),
            columns => self.width.class(),
            legend => self.legend.view(),
            figures => Value::from_iter(figures),
        }
    }
}

impl GridWidth {
    /// Its name in the style sheet.
    fn class(self) -> &'static str {
        match self {
            GridWidth::One => "one",
            GridWidth::Two => "two",
            GridWidth::Three => "three",
            GridWidth::Four => "four",
        }
    }
}

/// Blank lines separate paragraphs.
fn paragraphs(text: &str) -> Value {
    Value::from_iter(text.split("\n\n").map(str::trim).filter(|p| !p.is_empty()))
}
