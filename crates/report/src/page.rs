//! A self-contained HTML page: title, lead, headline table, and sections of text, tables and figures.
//!
//! No script, no font, no address outside the file, and a content policy that says so. Text is made safe by
//! [`safe_text`] and escaped by the template; the only markup passed through is that of drawings and marks made by
//! this crate. Terms of art are linked to what they mean, in a list at the end of the page.

use minijinja::{Environment, Value, context, escape_formatter};

use crate::glossary::Linker;
use crate::legend::Legend;
use crate::safe_text::{safe_text, with_tooltip};
use crate::svg::Drawing;
use crate::table::{Span, Table};
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

/// Longer texts stand above their figures, in columns, and not beside them.
const LONG_TEXT: usize = 900;
/// Tables estimated to be wider than this want the whole width of a page.
const WIDE_TABLE: f64 = 1000.0;
/// The most characters of a figure's title that are shown.
const MAX_TITLE_CHARS: usize = 90;

impl Page {
    /// The page as one HTML file.
    pub fn to_html(&self) -> String {
        let mut environment = Environment::new();
        environment.set_formatter(|out, state, value| match value.as_str().filter(|_| !value.is_safe()) {
            Some(text) => escape_formatter(out, state, &Value::from(safe_text(text, usize::MAX).as_ref())),
            None => escape_formatter(out, state, value),
        });
        // The name's ending switches HTML escaping on.
        environment.add_template("page.html", include_str!("page.html")).expect("our own template parses");
        let page = environment.get_template("page.html").expect("it was just added");
        let css = format!("{}{}{}", theme::page_variables(), theme::figure_css(), include_str!("page.css"));
        // In reading order: a term is linked where it is used first.
        let mut terms = Linker::default();
        let lead = paragraphs(&self.lead, &mut terms);
        let tiles = Value::from_iter(self.tiles.iter().map(|tile| tile.view(&mut terms)).collect::<Vec<_>>());
        let headline = self.headline.as_ref().map(|table| table.view(Span::Full, &mut terms));
        let sections: Vec<Value> = self.sections.iter().map(|section| section.view(&mut terms)).collect();
        page.render(context! {
            css,
            title => self.title.as_str(),
            lead,
            tiles,
            headline,
            sections,
            terms => terms.list(),
            footer => self.footer.as_str(),
        })
        .expect("our own template renders")
    }
}

impl Tile {
    fn view(&self, terms: &mut Linker) -> Value {
        context! { name => terms.whole(&self.name), value => self.value.as_str(), note => self.note.as_str() }
    }
}

impl Section {
    fn view(&self, terms: &mut Linker) -> Value {
        let paragraphs = paragraphs(&self.text, terms);
        let span = Span::of_tables(&self.tables);
        let mut media: Vec<Value> = self.tables.iter().map(|table| table.view(span, terms)).collect();
        let mut places = if span == Span::Half { self.tables.len() } else { 0 };
        for grid in &self.grids {
            places += grid.add_to(&mut media, terms);
        }
        // Two or four charts fill lines of two; others stand as many across as fit.
        let across = if matches!(places, 2 | 4) { "pairs" } else { "" };
        let layout = match media.is_empty() {
            true => "plain",
            false if self.wants_width() => "stacked",
            false => "split",
        };
        context! { heading => self.heading.as_str(), paragraphs, media, layout, across }
    }
}

impl Section {
    /// Whether text and tables are too large to stand side by side on a wide screen.
    fn wants_width(&self) -> bool {
        let widest = self.tables.iter().map(Table::estimated_width).fold(0.0, f64::max);
        self.text.chars().count() > LONG_TEXT || widest > WIDE_TABLE
    }
}

impl Grid {
    /// Plain pairs of charts flow with the section's tables; other grids stay together. Returns how many of them take a
    /// place beside others, and not a whole line.
    fn add_to(&self, media: &mut Vec<Value>, terms: &mut Linker) -> usize {
        if self.width == GridWidth::Two && self.label.is_empty() && self.legend.items.is_empty() {
            media.extend(self.figures.iter().map(|figure| figure.view(terms)));
            return self.figures.len();
        }
        let figures: Vec<Value> = self.figures.iter().map(|figure| figure.view(terms)).collect();
        let alone = self.figures.len() == 1 && self.width != GridWidth::One;
        media.push(context! {
            kind => "grid",
            span => if alone { Span::Half } else { Span::Full }.class(),
            label => self.label.as_str(),
            columns => if alone { GridWidth::One.class() } else { self.width.class() },
            legend => self.legend.view(),
            figures,
        });
        usize::from(alone)
    }
}

impl Figure {
    fn view(&self, terms: &mut Linker) -> Value {
        let (title, full) = with_tooltip(&self.title, MAX_TITLE_CHARS);
        context! {
            kind => "figure",
            title => title.as_ref(),
            full => full.as_deref(),
            caption => terms.prose(&self.caption),
            has_caption => !self.caption.is_empty(),
            svg => self.svg.as_str(),
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

/// Blank lines separate paragraphs; other line ends are spaces.
fn paragraphs(text: &str, terms: &mut Linker) -> Value {
    let paragraphs = text.split("\n\n").map(str::trim).filter(|p| !p.is_empty());
    Value::from(paragraphs.map(|p| terms.prose(&p.replace('\n', " "))).collect::<Vec<_>>())
}
