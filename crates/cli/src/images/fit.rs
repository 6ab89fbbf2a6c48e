//! `flowgmm fit` on images: from a folder or a file of images with few labels to a model file.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::ArgMatches;
use flowgmm::{Cost, Decision, FitConfig, Model, Recipe, tensor::Place};
use flowgmm_data::Layout;
use flowgmm_datasets::{Collection, ImageSource, LabelSplits, ReadOptions};
use semisup::{
    Scores, SemiSupervised,
    ndarray::{Array2, Axis},
};

use super::{Images, Sought, bits, describe, outcome::Outcome, places, recognise, say};
use crate::{
    configure_threads,
    data::failure,
    evaluate,
    exit::{Failure, Result},
    fit::{Args, Preset, check_finite, gather, train},
    interrupt, output,
    progress::{Display, FitProgress, write_line},
    rival::Rival,
    settings::Settings,
};

/// Images that bits per pixel value are measured on.
const MEASURED: usize = 1000;
/// Operations in a second that a few cores do, to put a cost in words.
const CPU_SPEED: f64 = 1e11;

/// Arguments of `fit` for images.
#[derive(clap::Args)]
pub struct ImageArgs {
    /// Of IDX images: the IDX file of their labels
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Of images: file of the images whose labels are used, an integer array of splits x images (NPY); all others count
    /// as unlabelled
    #[arg(long, value_name = "FILE")]
    labelled: Option<PathBuf>,
    /// Which of the splits of --labelled
    #[arg(long, value_name = "N", default_value_t = 0, requires = "labelled")]
    split: usize,
    /// Of images: their height and width, such as 32x32 [default: that of most images]; others are cut to its shape about
    /// their middle and scaled
    #[arg(long, value_name = "HxW", value_parser = size)]
    size: Option<(usize, usize)>,
    /// Of IDX images of --test: the IDX file of their labels
    #[arg(long, value_name = "FILE", requires = "test")]
    test_labels: Option<PathBuf>,
}

impl ImageArgs {
    /// Refuses to be used on a table.
    pub fn refuse(&self) -> Result<()> {
        let given = [
            ("--labels", self.labels.is_some()),
            ("--labelled", self.labelled.is_some()),
            ("--size", self.size.is_some()),
            ("--test-labels", self.test_labels.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::Usage(format!("{flag} is for images, and this is a table"))),
        }
    }
}

/// Refuses what makes sense for tables only.
fn refuse_table_arguments(args: &Args) -> Result<()> {
    let given = [
        ("--report", args.report.is_some()),
        ("--print-schema", args.print_schema),
        ("--text", !args.text.is_empty()),
        ("--unlabelled-value", !args.unlabelled_value.is_empty()),
        ("--numeric, --categorical, --date or --ignore", !args.declared.is_empty()),
        ("--preset reference-code", matches!(args.preset, Preset::ReferenceCode)),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::Usage(format!(
            "{flag} is for tables, and {} holds images; leave it out, or name a column of labels with --label if it \
             is a table",
            args.file.display()
        ))),
    }
}

/// Runs the command.
pub fn run(args: &Args, source: ImageSource, matches: &ArgMatches) -> Result<()> {
    refuse_table_arguments(args)?;
    let rival = Rival::asked_for(args)?;
    configure_threads(args.threads.among(args.config.as_deref()))?;
    interrupt::listen()?;
    let Training { data, layout, why } = Training::read(args, source)?;
    if let Some(rival) = rival {
        return compare(&rival, args, &data.with_image_shape(layout.shape()), &layout);
    }
    let recipe = recipe(args, &data, &layout, why)?;
    let settings = gather(args, &recipe, matches)?;
    let Some(path) = args.model.as_ref().filter(|_| !args.print_config) else {
        return output::print(&settings.to_toml());
    };
    if let Some(test) = &args.test {
        check_ahead(args, test, data.classes())?;
    }
    let place = Place::on(&settings.device)?;
    settings.config.validate()?;
    let cost = Cost::of(&settings.config, &data);
    if !args.quiet {
        write_line(&announced(&data, &layout, &settings, &cost));
    }
    let began = Instant::now();
    let progress = FitProgress::new(Display::new(args.quiet)).of_images(cost.rows_per_step);
    let model = train(args, &settings, &data, &place, progress)?;
    check_finite(&model, &data)?;
    let model = model.with_layout(layout).with_decisions(recipe.decisions);
    model.save(path)?;
    let seconds = began.elapsed().as_secs_f64();
    let test = args.test.as_ref().map(|test| tested(args, &model, &layout, path, test)).transpose()?;
    let bits = bits(&model, &layout, spread(&data).view());
    let outcome =
        Outcome { model: &model, data: &data, settings: &settings, cost, path, bits, test, seconds };
    if args.json { output::print_json(&outcome.to_json()) } else { output::print(&outcome.to_text(&layout)) }
}

/// Another learner in FlowGMM's place.
fn compare(rival: &Rival, args: &Args, data: &SemiSupervised, layout: &Layout) -> Result<()> {
    if let Some(test) = &args.test {
        check_ahead(args, test, data.classes())?;
    }
    rival.run(args, data, ("images", describe(layout)), |model, test| {
        let sought = Sought { labels: args.images.test_labels.as_deref(), suffix: args.reading.suffix() };
        let source = recognise(test, sought.suffix)?.expect("checked ahead");
        let rows =
            Images::open(test, source, *layout, &sought)?.labelled_as(data.classes(), |_, _| Ok(()))?;
        Ok(Scores::from_log_probs(&model.log_probs(rows.x.view()), &rows.y))
    })
}

/// The images to learn from.
struct Training {
    data: SemiSupervised,
    layout: Layout,
    /// Why they have this size.
    why: String,
}

impl Training {
    fn read(args: &Args, source: ImageSource) -> Result<Self> {
        if source == ImageSource::Picture {
            let what = "is one picture: give a folder with a folder of pictures for each class";
            return Err(Failure::Data(format!("{} {what}", args.file.display())));
        }
        let options = ReadOptions { labels: args.images.labels.as_deref(), suffix: args.reading.suffix() };
        let mut main = Collection::open(&args.file, source, &options).map_err(failure)?;
        let name = args.file.display();
        if let Some(class) = main.empty_classes().first() {
            return Err(Failure::Data(format!(
                "{name}: the folder of class '{class}' holds no PNG or JPEG files; put images of the class into it, or \
                 remove it"
            )));
        }
        if let Some(splits) = &args.images.labelled {
            let splits = LabelSplits::read(splits, main.n()).map_err(failure)?;
            main.keep_labels(splits.seed(args.images.split).map_err(failure)?);
        }
        if main.classes().is_empty() {
            let remedy = match source {
                ImageSource::Idx => "give the IDX file of their labels with --labels FILE",
                ImageSource::Folder => {
                    "put some images of every class into a folder of its name beside the others, which belong into \
                     'unlabelled'"
                }
                _ => "label at least one image of every class",
            };
            return Err(Failure::Data(format!("{name} has no labels: {remedy}")));
        }
        if let [class] = main.classes() {
            return Err(Failure::Data(format!(
                "{name} has labels of one class only, '{class}': label at least one image of a second class"
            )));
        }
        let mut parts = vec![main];
        for path in &args.unlabelled {
            let source = recognise(path, args.reading.suffix())?;
            let source =
                source.ok_or_else(|| Failure::Data(format!("{} holds no images", path.display())))?;
            let options = ReadOptions { labels: None, ..options };
            let mut more = Collection::open(path, source, &options).map_err(failure)?;
            more.keep_labels(&[]); // whatever labels those files have are not looked at
            parts.push(more);
        }
        Self::join(args, &parts)
    }

    /// All images in one size and colour; the first part has the labels.
    fn join(args: &Args, parts: &[Collection]) -> Result<Self> {
        let mut layout = parts[0].layout(args.images.size).map_err(failure)?;
        for part in parts {
            // Grey only if all are.
            layout.channels = layout.channels.max(part.layout(args.images.size).map_err(failure)?.channels);
        }
        let mut x = Array2::zeros((0, layout.dim()));
        x.reserve_rows(parts.iter().map(Collection::n).sum()).expect("fewer numbers than an isize counts");
        for part in parts {
            say(part, &layout);
            for start in (0..part.n()).step_by(super::STRETCH) {
                let rows =
                    part.rows(&layout, start..(start + super::STRETCH).min(part.n())).map_err(failure)?;
                x.append(Axis(0), rows.view()).expect("as many columns");
            }
        }
        let y = parts.iter().flat_map(|part| part.labels().to_vec()).collect();
        let data = SemiSupervised::new(x, y, parts[0].classes().to_vec(), layout.names())?;
        let why = match args.images.size {
            Some(_) => "as asked for",
            None => "as most images are",
        };
        Ok(Self { data, layout, why: why.into() })
    }
}

fn recipe(args: &Args, data: &SemiSupervised, layout: &Layout, why: String) -> Result<Recipe> {
    let shape = layout.shape();
    let (config, settings) = match args.preset {
        Preset::Paper => (FitConfig::paper_image(data, shape)?, "the paper's"),
        Preset::Auto | Preset::ReferenceCode => (FitConfig::image(data, shape)?, "for images on CPUs"),
    };
    let decision = |what: &str, choice: String, why: String| Decision { what: what.into(), choice, why };
    let asked = "by --preset; --print-config shows them".to_string();
    let decisions =
        vec![decision("images", describe(layout), why), decision("preset", settings.into(), asked)];
    Ok(Recipe { config, decisions })
}

/// What is about to happen, and what it will take.
fn announced(data: &SemiSupervised, layout: &Layout, settings: &Settings, cost: &Cost) -> String {
    let steps = settings.config.train.steps;
    format!(
        "{} images, {} of them labelled, {}\nabout {} of memory; {steps} steps of {} images and {} each, {} in all ({} at {})",
        data.n(),
        data.labelled().len(),
        describe(layout),
        bytes(cost.memory),
        cost.rows_per_step,
        operations(cost.flop_per_step),
        operations(cost.flop),
        duration(cost.flop / CPU_SPEED),
        operations(CPU_SPEED) + "/s"
    )
}

fn scaled(value: f64, units: &[&str], step: f64) -> String {
    let power = (0..units.len() - 1).take_while(|&p| value >= step.powi(p as i32 + 1)).count();
    let value = value / step.powi(power as i32);
    let digits = if value < 10.0 { 1 } else { 0 };
    format!("{value:.digits$} {}", units[power])
}

fn bytes(n: f64) -> String {
    scaled(n, &["B", "KiB", "MiB", "GiB", "TiB"], 1024.0)
}

fn operations(n: f64) -> String {
    scaled(n, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"], 1000.0)
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} minutes", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} hours", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// `32x32` as height and width.
fn size(text: &str) -> std::result::Result<(usize, usize), String> {
    let sides = text.split_once(['x', 'X']).and_then(|(h, w)| Some((h.parse().ok()?, w.parse().ok()?)));
    let (height, width) = sides.ok_or("expected height and width, such as 32x32")?;
    Layout::new(1, height, width).map(|_| (height, width)).map_err(|error| error.to_string())
}

/// Up to so many images as bits are measured on, evenly spaced.
fn spread(data: &SemiSupervised) -> Array2<f64> {
    let count = data.n().min(MEASURED);
    let rows: Vec<usize> = (0..count).map(|i| i * data.n() / count).collect();
    data.x().select(Axis(0), &rows)
}

/// Says what is wrong with `--test` before a long fit, as far as can be seen without decoding every picture.
fn check_ahead(args: &Args, test: &Path, classes: &[String]) -> Result<()> {
    let source = recognise(test, args.reading.suffix())?.ok_or_else(|| match test.exists() {
        true => Failure::Data(format!(
            "{} holds no images, but the model is to learn from images",
            test.display()
        )),
        false => Failure::io(test)(std::io::ErrorKind::NotFound.into()),
    })?;
    let options = ReadOptions { labels: args.images.test_labels.as_deref(), suffix: args.reading.suffix() };
    let collection = Collection::open(test, source, &options).map_err(failure)?;
    places(&collection, classes).map(drop)
}

/// Scores on the images of `--test`, and their bits per pixel value.
fn tested(args: &Args, model: &Model, layout: &Layout, path: &Path, test: &Path) -> Result<(Scores, f64)> {
    let labels = args.images.test_labels.as_deref();
    let rows = evaluate::labelled(model, path, test, None, &args.reading, labels)?;
    let scores = Scores::from_log_probs(&model.score(rows.x.view()).log_probs, &rows.y);
    Ok((scores, bits(model, layout, rows.x.view())))
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

    #[test]
    fn costs_are_put_in_words() {
        assert_eq!((bytes(500.0).as_str(), bytes(3.3e9).as_str()), ("500 B", "3.1 GiB"));
        assert_eq!((operations(2.5e12).as_str(), operations(1e19).as_str()), ("2.5 TFLOP", "10 EFLOP"));
        assert_eq!([30.0, 600.0, 9000.0, 1e6].map(duration), ["30 s", "10 minutes", "2 hours", "12 days"]);
    }
}
