//! What the model looks at: channels of images (paper, section 6.3), columns of tables.

use std::time::Instant;

use flowgmm_report::{Bar, Bars, Grid, GridWidth, Plot, Section, SheetRow};
use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;
use semisup::{metrics::arg_max, split::evenly_spaced};
use serde::Serialize;

use super::{
    display::{CHANGE_LEGEND, Display, SheetRows},
    groups::collinear,
    subject::Subject,
};
use crate::{
    insight::{ChannelStatistics, Feature},
    pages::percent,
};

/// Images that channel statistics are collected from.
const IMAGES: usize = 512;
/// Layers shown.
const LAYERS: usize = 8;
/// Channels shown of each layer.
const CHANNELS: usize = 10;
/// How far one channel of each layer is moved, in standard deviations.
const ALPHAS: [f64; 9] = [-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0];
/// How far all shown channels are moved, in standard deviations.
const ALPHA: f64 = 3.0;
/// Rows whose columns are permuted.
const ROWS: usize = 1000;
/// Most columns that are permuted.
const MOST: usize = 80;
/// Columns shown.
const SHOWN: usize = 15;

/// What the model looks at.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Features {
    /// Channels of a flow of images.
    Channels(ChannelEffects),
    /// Columns of a table.
    Columns(ColumnEffects),
}

/// Statistics of each channel, and what raising it does to an image; in JSON, the statistics.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct ChannelEffects {
    /// Mean and standard deviation of every channel of every layer.
    pub statistics: ChannelStatistics,
    /// The image that is changed, `[1, dim]`.
    #[serde(skip)]
    image: Array2<f64>,
    /// The image with one channel raised: the channels that vary most, layer by layer.
    #[serde(skip)]
    raised: SheetRows,
    /// The image with the channel that varies most moved by several amounts, layer by layer.
    #[serde(skip)]
    moved: SheetRows,
    /// How long one such image takes.
    #[serde(skip)]
    milliseconds: f64,
}

/// Permutation importance of columns; in JSON, an array with those of most effect first, the members of a group one after
/// the other.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct ColumnEffects {
    /// The columns that were permuted, those of most effect, alone or with their group, first.
    pub columns: Vec<ColumnEffect>,
    /// Rows that they were permuted among.
    #[serde(skip)]
    pub rows: usize,
    /// Columns there are.
    #[serde(skip)]
    pub columns_in_all: usize,
}

/// Permutation importance of one column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnEffect {
    /// Its name.
    pub column: String,
    /// Share of predictions that change if its values are permuted among the rows.
    pub changed: f64,
    /// The columns that say the same, itself among them; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupEffect>,
}

/// Permutation importance of columns that say the same (absolute rank correlation of at least 0.9), permuted together. How it is
/// divided among them is arbitrary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupEffect {
    /// Their names.
    pub columns: Vec<String>,
    /// Share of predictions that change if the values of all are permuted among the rows together.
    pub changed: f64,
}

impl ColumnEffect {
    /// The effect of its group, or its own.
    fn whole(&self) -> f64 {
        self.group.as_ref().map_or(self.changed, |group| group.changed.max(self.changed))
    }
}

impl Features {
    pub(super) fn find(subject: &Subject) -> Option<Self> {
        match &subject.display {
            display if display.is_images() => Some(Self::Channels(ChannelEffects::find(subject))),
            display if display.is_text() => None,
            _ => Some(Self::Columns(ColumnEffects::find(subject))),
        }
    }
}

impl ChannelEffects {
    fn find(subject: &Subject) -> Self {
        let (seen, model) = (&subject.seen, subject.model);
        let rows = evenly_spaced(seen.rows.n(), IMAGES);
        let statistics = ChannelStatistics::collect(model, seen.rows.x.select(Axis(0), &rows).view());
        // A clear image: that of median distance to the boundary.
        let mut order: Vec<usize> = (0..seen.rows.n()).collect();
        order.sort_by(|&a, &b| seen.boundary[a].total_cmp(&seen.boundary[b]));
        let x = seen.rows.x.row(order[order.len() / 2]);
        let n_layers = statistics.layers.len();
        let layers: Vec<usize> = evenly_spaced(n_layers, LAYERS).into_iter().map(|at| at + 1).collect();
        let image = |layer: usize, channel: usize, alphas: &[f64]| {
            statistics.visualise(model, Feature { layer, channel, place: None }, alphas, x)
        };
        let began = Instant::now();
        image(n_layers, 0, &[ALPHA]);
        let milliseconds = 1e3 * began.elapsed().as_secs_f64();
        let raised = layers.iter().map(|&layer| {
            let mut images = Array2::zeros((0, x.len()));
            for &channel in widest(&statistics, layer).iter().take(CHANNELS) {
                images.append(Axis(0), image(layer, channel, &[ALPHA]).view()).expect("as many pixels");
            }
            (format!("layer {layer}"), images)
        });
        let raised = raised.collect();
        let moved = layers.iter().map(|&layer| {
            let channel = widest(&statistics, layer)[0];
            (format!("layer {layer}"), image(layer, channel, &ALPHAS))
        });
        let moved = moved.collect();
        let image = x.insert_axis(Axis(0)).to_owned();
        Self { statistics, image, raised, moved, milliseconds }
    }
}

/// Channels of a layer, those that vary most first.
fn widest(statistics: &ChannelStatistics, layer: usize) -> Vec<usize> {
    let spread = &statistics.layers[layer - 1].spread;
    let mut channels: Vec<usize> = (0..spread.len()).collect();
    channels.sort_by(|&a, &b| spread[b].total_cmp(&spread[a]).then(a.cmp(&b)));
    channels
}

impl ColumnEffects {
    fn find(subject: &Subject) -> Self {
        let (seen, model, display) = (&subject.seen, subject.model, &subject.display);
        let rows = evenly_spaced(seen.rows.n(), ROWS);
        let x = seen.rows.x.select(Axis(0), &rows);
        let before: Vec<usize> = rows.iter().map(|&row| seen.predicted[row]).collect();
        let mut permutation: Vec<usize> = (0..rows.len()).collect();
        permutation.shuffle(&mut semisup::rng(subject.seed));
        let origins = display.origins();
        let tried = &display.columns()[..display.columns().len().min(MOST)];
        let numbers: Vec<Vec<usize>> = tried
            .iter()
            .map(|column| (0..origins.len()).filter(|&j| origins[j] == column).collect())
            .collect();
        let changed = |columns: &[usize]| {
            let mut permuted = x.clone();
            for &j in columns.iter().flat_map(|&column| &numbers[column]) {
                permutation.iter().enumerate().for_each(|(to, &from)| permuted[[to, j]] = x[[from, j]]);
            }
            let after = arg_max(model.score(permuted.view()).log_probs.view());
            let changed = before.iter().zip(after).filter(|(before, after)| *before != after).count();
            changed as f64 / rows.len() as f64
        };
        let mut columns: Vec<ColumnEffect> = (tried.iter().enumerate())
            .map(|(at, name)| ColumnEffect { column: name.clone(), changed: changed(&[at]), group: None })
            .collect();
        for members in collinear(x.view(), &numbers) {
            let names = members.iter().map(|&at| tried[at].clone()).collect();
            let group = GroupEffect { columns: names, changed: changed(&members) };
            members.iter().for_each(|&at| columns[at].group = Some(group.clone()));
        }
        Self { columns: in_order(columns), rows: rows.len(), columns_in_all: display.columns().len() }
    }
}

/// Those of most effect first, the members of a group one after the other.
fn in_order(columns: Vec<ColumnEffect>) -> Vec<ColumnEffect> {
    let mut blocks: Vec<Vec<ColumnEffect>> = Vec::new();
    for column in columns {
        let own = |block: &&mut Vec<ColumnEffect>| column.group.is_some() && block[0].group == column.group;
        match blocks.iter_mut().find(own) {
            Some(block) => block.push(column),
            None => blocks.push(vec![column]),
        }
    }
    blocks.iter_mut().for_each(|block| block.sort_by(|a, b| b.changed.total_cmp(&a.changed)));
    let whole = |block: &Vec<ColumnEffect>| block.iter().map(ColumnEffect::whole).fold(0.0, f64::max);
    blocks.sort_by(|a, b| whole(b).total_cmp(&whole(a)));
    blocks.concat()
}

/// The heading of the section about channels of images.
pub(super) const CHANNELS_HEADING: &str = "What the channels do";
/// The heading of the section about columns of tables.
pub(super) const COLUMNS_HEADING: &str = "Which columns matter";

pub(super) fn section(found: Option<&Features>, display: &Display) -> Section {
    match found {
        Some(Features::Channels(found)) => of_channels(found, display),
        Some(Features::Columns(found)) => of_columns(found),
        None => Section {
            heading: COLUMNS_HEADING.into(),
            text: "The model reads sentence embeddings, whose single numbers have no meaning of their own."
                .into(),
            ..Section::default()
        },
    }
}

fn of_channels(found: &ChannelEffects, display: &Display) -> Section {
    let lines = |moved: &SheetRows| -> Vec<SheetRow> {
        let changes = moved.iter().map(|(name, x)| display.changes(name, found.image.view(), x.view()));
        std::iter::once(display.line("the image", found.image.view())).chain(changes).flatten().collect()
    };
    let raised = format!(
        "Each picture shows how the image at the top changes if one channel of one layer is raised everywhere by three \
         standard deviations: up to ten channels of each layer, those that vary most. {CHANGE_LEGEND}"
    );
    let moved = format!(
        "How the image changes as the channel that varies most is moved, from four standard deviations below its value to \
         four above; the middle is unchanged. {CHANGE_LEGEND}"
    );
    let mut grids = display.sheet_of(GridWidth::Two, "Channels of each layer", &raised, lines(&found.raised));
    grids.extend(display.sheet_of(GridWidth::Two, "One channel of each layer", &moved, lines(&found.moved)));
    Section {
        heading: CHANNELS_HEADING.into(),
        text: format!(
            "x(\u{3b1}) = f\u{207b}\u{b9}(f(x) + \u{3b1} \u{3c3} \u{3b4}): a channel in the middle of the flow is moved, and the \
             result is decoded exactly. Early layers change pixels and edges, late layers the whole image. The statistics of \
             all channels were collected in one pass over {} images; one image like those below takes {:.1} ms.",
            found.statistics.rows, found.milliseconds
        ),
        grids,
        ..Section::default()
    }
}

fn of_columns(found: &ColumnEffects) -> Section {
    let bar = |name: String, changed: f64, colour: usize| Bar {
        name,
        value: changed,
        shown: percent(changed),
        colour,
    };
    let (mut lines, mut last) = (Vec::new(), None);
    for effect in &found.columns {
        match &effect.group {
            Some(group) => {
                if last != Some(group) {
                    let name = format!("together: {}", group.columns.join(", "));
                    lines.push(bar(name, group.changed, 1));
                }
                lines.push(bar(format!("{} alone", effect.column), effect.changed, 0));
            }
            None => lines.push(bar(effect.column.clone(), effect.changed, 0)),
        }
        last = effect.group.as_ref();
    }
    lines.truncate(SHOWN);
    let caption = match found.columns.iter().any(|effect| effect.group.is_some()) {
        true => {
            "Columns that say the same are also shuffled together: the line to go by. How much each of them matters alone is \
             arbitrary, since the others stand in for it."
        }
        false => "An informative column may matter little here if several others together say the same.",
    };
    let bars = Bars {
        title: "Predictions that change when a column is shuffled".into(),
        caption: caption.into(),
        bars: lines,
    };
    let mut text = format!(
        "Permutation importance: how many predictions change when the values of one column are shuffled among {} rows, while \
         all other columns stay as they are? Columns with a rank correlation of at least 0.9, either way, are grouped.",
        found.rows
    );
    if found.columns_in_all > found.columns.len() {
        text += &format!(
            " Only the {} of {} columns that separate the classes most were tried.",
            found.columns.len(),
            found.columns_in_all
        );
    }
    let grids = vec![Grid::of(GridWidth::Two, vec![bars.figure()])];
    Section { heading: COLUMNS_HEADING.into(), text, grids, ..Section::default() }
}
