//! Explaining a model: findings, page and JSON, with and without labels, of tables, matrices and images.

use flowgmm::{
    Control, Error, ErrorKind, ExplainRequest, Explanation, ImageArray, Model, Observer, Phase, Request,
    Source, explain,
    explain::{Abstention, Features},
};
use flowgmm_data::{Cells, Column, Frame};
use ndarray::ArrayView2;
use semisup::{ImageShape, Problem, Toy};
use serde_json::Value;

const HEADINGS: [&str; 11] = [
    "Are the probabilities calibrated?",
    "Prediction sets, and when to abstain",
    "Trust cards",
    "Label these next",
    "Map of the latent space",
    "How far from the decision boundary?",
    "Interpolation in the latent space",
    "Counterfactuals: what would have to change?",
    "Which columns matter",
    "What each class looks like to the model",
    "Out-of-distribution detection",
];

fn moons() -> (Problem, Model) {
    let problem = Toy::Moons.problem(3);
    let train = &problem.train;
    let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
    let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 300);
    let model = flowgmm::fit(&request, &mut ()).unwrap().model;
    (problem, model)
}

fn labelled(problem: &Problem) -> Source {
    let test = &problem.test;
    Source::matrix(test.x()).labels(test.y().iter().map(|&k| Some(test.classes()[k].clone())))
}

fn check_page(found: &Explanation, headings: &[&str]) -> String {
    let page = found.to_page().to_html();
    for heading in headings {
        assert_eq!(page.matches(&format!("<h2>{heading}</h2>")).count(), 1, "{heading}");
    }
    for broken in ["NaN", "inf\u{a0}%", "Some(", "None,", "--"] {
        let text = page.split("</style>").last().unwrap().replace("var(--", "");
        assert!(!text.contains(broken), "'{broken}' in the page");
    }
    page
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn labels_and_out_of_distribution_rows() {
    let (problem, model) = moons();
    let request = ExplainRequest {
        out_of_distribution: Some(Source::matrix((&problem.test.x() + 10.0).view())),
        unlabelled: Some(Source::matrix(problem.train.x())),
        ..ExplainRequest::new(labelled(&problem))
    };
    let found = explain(&model, &request, &mut ()).unwrap();
    let n = problem.test.x().nrows();
    assert_eq!((found.rows, found.rows_in_all, found.labelled), (n, n, n));

    let calibration = found.calibration.as_ref().unwrap();
    assert_eq!((calibration.labelled_rows, calibration.calibrated.ece.len()), (n, 3));
    assert!(
        calibration.calibrated.nll <= calibration.as_trained.nll + 0.02,
        "a temperature cannot do much harm"
    );
    let sets = found.prediction_sets.as_ref().unwrap();
    assert!((sets.measured.coverage - 0.9).abs() < 0.06, "{:?}", sets.measured);
    assert_eq!(found.trust.cards.len(), n);
    for card in &found.trust.cards {
        assert!((card.p.iter().sum::<f64>() - 1.0).abs() < 1e-6 && card.p.len() == 2);
        let one = card.set.as_ref().unwrap().len() == 1;
        assert_eq!(card.abstain, !one || card.typicality < 0.02);
        assert_eq!(card.why == Some(Abstention::Atypical), card.typicality < 0.02);
    }
    assert_eq!(found.label_next.as_ref().unwrap().suggestions.len(), 12);
    assert_eq!(found.map.points.len(), n.min(1500));
    assert_eq!(found.boundary.by_class.iter().map(|class| class.rows).sum::<usize>(), n);
    assert_eq!(found.counterfactuals.rows.len(), 2);
    for row in &found.counterfactuals.rows {
        assert!(row.from != row.to && row.distance > 0.0 && !row.changes.is_empty(), "{row:?}");
    }
    let Some(Features::Columns(columns)) = &found.features else { panic!("a matrix has columns") };
    assert_eq!(columns.columns.len(), 2);
    assert_eq!(found.samples.as_ref().unwrap().classes[1].samples.dim(), (2, 2));
    let far = found.out_of_distribution.as_ref().unwrap();
    assert!(far.best_auroc > 0.99 && far.scores.len() == 4, "{far:?}");
    let page = check_page(&found, &HEADINGS);
    for words in [
        "FPR at 95",
        "AUROC",
        "Calibration error",
        "What changes most",
        "no class is plausible at this level",
    ] {
        assert!(page.contains(words), "{words}");
    }

    let again = explain(&model, &request, &mut ()).unwrap();
    let json = |found: &Explanation| {
        let mut value = serde_json::to_value(found).unwrap();
        value["seconds"] = Value::Null;
        value
    };
    assert_eq!(json(&found), json(&again), "the same seed, the same findings");
}

#[test]
fn a_path_between_classes_dips_where_it_crosses_the_boundary() {
    let (problem, model) = moons();
    let found = explain(&model, &ExplainRequest::new(labelled(&problem)), &mut ()).unwrap();
    let paths = &found.paths.as_ref().unwrap().paths;
    assert_eq!(paths.iter().map(|path| path.within_class).collect::<Vec<_>>(), [true, true, false]);
    let path = &paths[2];
    assert_eq!((path.steps.len(), path.x.dim()), (41, (41, 2)));
    assert_ne!(path.classes.first(), path.classes.last());
    let crossing = (1..41).find(|&i| path.classes[i] != path.classes[0]).unwrap();
    let highest = |of: &[f64]| of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (before, after) = path.log_p_latent.split_at(crossing);
    assert!(after[0] < highest(before) && before[crossing - 1] < highest(after), "{:?}", path.log_p_latent);
}

#[test]
fn json_has_these_keys() {
    let (problem, model) = moons();
    let request = ExplainRequest {
        out_of_distribution: Some(Source::matrix((&problem.test.x() + 10.0).view())),
        unlabelled: Some(Source::matrix(problem.train.x())),
        rows: Some(200),
        ..ExplainRequest::new(labelled(&problem))
    };
    let json = serde_json::to_value(explain(&model, &request, &mut ()).unwrap()).unwrap();
    let all = [
        "boundary",
        "calibration",
        "classes",
        "columns",
        "counterfactuals",
        "data",
        "label_next",
        "out_of_distribution",
        "paths",
        "prediction_sets",
        "rows",
        "rows_in_all",
        "seconds",
        "seed",
        "trust",
    ];
    assert_eq!(keys(&json), all);
    let of_sections = [
        (&json["boundary"], vec!["by_class", "nearer_than_5"]),
        (&json["boundary"]["by_class"][0], vec!["class", "median", "nearer_than_5", "rows"]),
        (
            &json["calibration"],
            vec![
                "accuracy",
                "as_stored",
                "as_trained",
                "calibrated",
                "labelled_rows",
                "temperature_learnt",
                "temperature_of_model",
            ],
        ),
        (&json["columns"][0], vec!["changed", "column"]),
        (&json["counterfactuals"][0], vec!["distance", "from", "row", "to"]),
        (&json["label_next"][0], vec!["density", "distance", "entropy", "gain", "guess", "row"]),
        (&json["out_of_distribution"], vec!["best_auroc", "best_score", "rows", "scores"]),
        (&json["out_of_distribution"]["scores"][0], vec!["found", "score"]),
        (&json["out_of_distribution"]["scores"][0]["found"], vec!["aupr", "auroc", "fpr95"]),
        (&json["paths"][0], vec!["classes", "log_p", "log_p_latent", "path", "steps", "within_class"]),
        (&json["prediction_sets"], vec!["alpha", "aurc", "measured", "risk_coverage", "threshold"]),
        (
            &json["trust"][0],
            vec!["abstain", "boundary", "class", "label", "log_p", "p", "row", "set", "typicality", "why"],
        ),
    ];
    for (value, wanted) in of_sections {
        // Only rows of which the flow alone would predict another class have its class.
        let found: Vec<&str> = keys(value).into_iter().filter(|key| *key != "class_by_flow").collect();
        assert_eq!(found, wanted);
    }
}

#[test]
fn without_labels_the_page_says_what_is_missing() {
    let (problem, model) = moons();
    let request = ExplainRequest { rows: Some(50), ..ExplainRequest::new(Source::matrix(problem.test.x())) };
    let found = explain(&model, &request, &mut ()).unwrap();
    assert_eq!((found.rows, found.labelled), (50, 0));
    assert!(found.rows_in_all > 50 && found.described().contains("drawn at random"));
    assert!(found.calibration.is_none() && found.prediction_sets.is_none());
    assert!(found.out_of_distribution.is_none());
    assert!(found.trust.cards.iter().all(|card| card.set.is_none() && card.label.is_none()));
    assert_eq!(
        found.label_next.as_ref().unwrap().suggestions.len(),
        12,
        "rows without a label can be labelled"
    );
    let page = check_page(&found, &HEADINGS);
    assert!(
        page.contains("at least 20 rows with labels") && page.contains("Given rows of another distribution")
    );
    let json = serde_json::to_value(&found).unwrap();
    assert!(["calibration", "prediction_sets", "out_of_distribution"].iter().all(|key| json[key].is_null()));
}

#[test]
fn one_row_is_enough() {
    let (problem, model) = moons();
    let x = problem.test.x();
    let one =
        || Source::matrix(x.slice(ndarray::s![0..1, ..])).labels([Some(problem.test.classes()[0].clone())]);
    let request = ExplainRequest {
        out_of_distribution: Some(one()),
        unlabelled: Some(one()),
        ..ExplainRequest::new(one())
    };
    check_page(&explain(&model, &request, &mut ()).unwrap(), &HEADINGS);
}

/// The moons as a table with a category beside them, and with markup in every name.
fn hostile(x: ArrayView2<f64>, y: impl Iterator<Item = Option<usize>>) -> Frame {
    let column =
        |name: &str, j: usize| Column { name: name.into(), cells: Cells::Numbers(x.column(j).to_vec()) };
    let words = (0..x.nrows()).map(|row| Some(["<u>", "&amp;"][row % 2]));
    let classes = ["<img src=x onerror=alert(1)>", "{{ 7*7 }}</svg><b>"];
    let labels = y.map(|k| k.map(|k| classes[k]));
    let columns = vec![
        column("<script>x1", 0),
        column("x2\" onload=\"y", 1),
        Column { name: "word".into(), cells: Cells::Texts(words.collect()) },
        Column { name: "label".into(), cells: Cells::Texts(labels.collect()) },
    ];
    Frame::new("table", columns, (2..x.nrows() as u64 + 2).collect()).unwrap()
}

#[test]
fn names_in_a_table_stay_text() {
    let problem = Toy::Moons.problem(3);
    let train = hostile(problem.train.x(), problem.train.y().iter().copied());
    let request = Request::new(Source::frame(train).label_column("label")).with("train.steps", 20);
    let model = flowgmm::fit(&request, &mut ()).unwrap().model;
    let test = || hostile(problem.test.x(), problem.test.y().iter().map(|&k| Some(k)));
    let request = ExplainRequest {
        rows: Some(80),
        out_of_distribution: Some(Source::frame(test())),
        ..ExplainRequest::new(Source::frame(test()).label_column("label"))
    };
    let found = explain(&model, &request, &mut ()).unwrap();
    let Some(Features::Columns(columns)) = &found.features else { panic!("a table has columns") };
    assert_eq!(columns.columns.len(), 3, "a category is one column");
    let page = check_page(&found, &HEADINGS);
    for markup in ["<img", "<b>", "<u>", "<script", "onload=\"", "</svg><b"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(page.contains("&lt;img") && page.contains("{{ 7*7 }}"), "names are no templates either");
}

/// Names that would act on the text around them, or run on.
#[test]
fn names_are_shown_safely_and_cut_with_a_tooltip() {
    let problem = Toy::Moons.problem(3);
    let classes = ["a class whose name is much longer than there is room for", "\u{202e}reversed\u{1b}[31m"];
    let rows = |n: usize| -> Vec<Option<String>> {
        (0..n).map(|row| Some(classes[problem.test.y()[row]].to_string())).collect()
    };
    let n = problem.test.n();
    let source = || Source::matrix(problem.test.x()).labels(rows(n));
    let model = flowgmm::fit(&Request::new(source()).with("train.steps", 20), &mut ()).unwrap().model;
    let request = ExplainRequest { rows: Some(60), ..ExplainRequest::new(source()) };
    let page = check_page(&explain(&model, &request, &mut ()).unwrap(), &HEADINGS);
    assert!(!page.contains(['\u{202e}', '\u{1b}']), "shown, not acted on");
    assert!(page.contains(r"\u{202e}reversed\u{1b}[31m"));
    assert!(page.contains("a class whose name is m…") && page.contains(&format!("title=\"{}\"", classes[0])));
}

#[test]
fn images() {
    let shape = ImageShape { channels: 1, height: 8, width: 8 };
    let bar = |at: usize, pixel: usize| {
        let line = if at.is_multiple_of(2) { pixel / 8 } else { pixel % 8 };
        if line == at / 2 % 8 { 255 } else { (pixel * 7 + at * 3) as u8 % 9 }
    };
    let of = |value: &dyn Fn(usize, usize) -> u8, n: usize| {
        let pixels = (0..n * 64).map(|i| value(i / 64, i % 64)).collect();
        Source::images(ImageArray::new(shape, pixels).unwrap())
    };
    let labels = |n: usize| (0..n).map(|at| Some(["rows", "columns"][at % 2].to_string()));
    let request = Request::new(of(&bar, 48).labels(labels(48))).with("train.steps", 10);
    let model = flowgmm::fit(&request, &mut ()).unwrap().model;
    let noise = |at: usize, pixel: usize| ((pixel + 64 * at + 1) * 7919 % 1009 % 256) as u8;
    let request = ExplainRequest {
        out_of_distribution: Some(of(&noise, 20)),
        ..ExplainRequest::new(of(&bar, 48).labels(labels(48)))
    };
    let found = explain(&model, &request, &mut ()).unwrap();
    let Some(Features::Channels(channels)) = &found.features else { panic!("images have channels") };
    assert!(channels.statistics.layers.iter().all(|layer| !layer.spread.is_empty()));
    assert!(found.out_of_distribution.as_ref().unwrap().best_auroc > 0.9);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(keys(&json["channels"]), ["layers", "rows"]);
    let mut headings = HEADINGS;
    headings[8] = "What the channels do";
    let page = check_page(&found, &headings);
    assert!(page.matches("<image").count() > 60, "cards, paths, counterfactuals, channels, samples");
    assert!(
        page.matches("class=\"fg-tint fg-pixels\"").count() > 20,
        "channels are shown by what they change"
    );
    assert!(page.contains("Orange pixels gain ink"), "and it is said how");
}

struct StopAt(&'static str, bool, Vec<&'static str>);

impl Observer for StopAt {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        if let Phase::Section(name) = phase {
            assert_eq!(total, Some(11));
            self.2.push(*name);
            self.1 = *name == self.0;
        }
    }

    fn progress(&mut self, _done: usize) -> Control {
        if self.1 { Control::Stop } else { Control::Continue }
    }
}

#[test]
fn an_observer_sees_every_section_and_may_stop() {
    let (problem, model) = moons();
    let request = ExplainRequest::new(Source::matrix(problem.test.x()));
    let mut all = StopAt("never", false, Vec::new());
    explain(&model, &request, &mut all).unwrap();
    assert_eq!(all.2.len(), 11);
    let error = explain(&model, &request, &mut StopAt("boundary", false, Vec::new())).unwrap_err();
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
}

#[test]
fn bad_requests_and_rows_are_refused() {
    let (problem, model) = moons();
    let request = || ExplainRequest::new(Source::matrix(problem.test.x()));
    let refused = |request: ExplainRequest, kind: ErrorKind, word: &str| {
        let error = explain(&model, &request, &mut ()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    };
    refused(ExplainRequest { alpha: 1.5, ..request() }, ErrorKind::Request, "1.5");
    refused(ExplainRequest { rows: Some(0), ..request() }, ErrorKind::Request, "0");
    let x1 = ExplainRequest::new(Source::matrix(problem.test.x()).label_column("x1"));
    refused(x1, ErrorKind::Request, "x1");
    let zebra = Source::matrix(problem.test.x()).labels([Some("zebra".to_string())]);
    refused(ExplainRequest::new(zebra), ErrorKind::Data, "zebra");
    let far = ndarray::array![[0.1, 0.2], [1e300, 1e300]];
    refused(ExplainRequest::new(Source::matrix(far.view())), ErrorKind::Data, "line 2");
    let wide = ndarray::array![[0.1, 0.2, 0.3]];
    refused(ExplainRequest::new(Source::matrix(wide.view())), ErrorKind::Data, "3 columns");
    refused(
        ExplainRequest::new(Source::matrix(ndarray::Array2::zeros((0, 2)).view())),
        ErrorKind::Data,
        "no rows",
    );
}

/// Rows with an informative column, `copies` of it in all, and a column of noise; every sixth has a label.
fn copied(copies: usize) -> (ndarray::Array2<f64>, Vec<Option<String>>) {
    use rand_distr::{Distribution, StandardNormal};
    let (mut rng, n) = (semisup::rng(4), 300);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let rows: Vec<[f64; 2]> =
        (0..n).map(|i| [normal() + if i % 2 == 0 { 2.5 } else { -2.5 }, normal()]).collect();
    let x = ndarray::Array2::from_shape_fn((n, copies + 1), |(i, j)| rows[i][usize::from(j == copies)]);
    let labels = (0..n).map(|i| (i % 6 < 2).then(|| ["a", "b"][i % 2].to_string())).collect();
    (x, labels)
}

/// Two copies of a column matter together as much as the column does, however they share it.
#[test]
fn copies_of_a_column_matter_together_as_much_as_the_column() {
    let effects = |copies: usize| {
        let (x, labels) = copied(copies);
        let request = Request::new(Source::matrix(x.view()).labels(labels)).with("train.steps", 200);
        let model = flowgmm::fit(&request, &mut ()).unwrap().model;
        let found = explain(&model, &ExplainRequest::new(Source::matrix(x.view())), &mut ()).unwrap();
        let page = found.to_page().to_html();
        let Some(Features::Columns(effects)) = found.features else { panic!("a matrix has columns") };
        (effects.columns, page)
    };
    let ((one, _), (two, page)) = (effects(1), effects(2));
    assert!(one.iter().all(|effect| effect.group.is_none()), "{one:?}");
    // A class is drawn anew by each shuffle: half of the predictions change.
    assert!((one[0].changed - 0.5).abs() < 0.1 && one[1].changed < 0.1, "{one:?}");
    let group = two[0].group.as_ref().expect("the copies come first");
    assert_eq!((group.columns.len(), two[1].group.as_ref()), (2, Some(group)), "{two:?}");
    // The same permutation of the same 300 rows; only the fits differ.
    assert!((group.changed - one[0].changed).abs() < 0.05, "{two:?} {one:?}");
    assert!(two[..2].iter().all(|member| member.changed <= group.changed + 0.02), "{two:?}");
    assert!(two[2].group.is_none() && two[2].changed < 0.1, "{two:?}");
    assert!(page.contains("together: ") && page.contains(" alone"));
}

/// Where a forest stands beside the flow, classes are those of the blend, and the page says what is the flow's.
#[test]
fn classes_are_the_predicted_ones_and_the_flow_is_named_where_it_differs() {
    let (problem, model) = moons();
    let Some(blend) = model.blend() else { panic!("the recipe's fit has a forest") };
    let scored = model.score(problem.test.x());
    let (predicted, by_flow) = (scored.classes(), model.classes_by_flow(&scored));
    let found = explain(&model, &ExplainRequest::new(Source::matrix(problem.test.x())), &mut ()).unwrap();
    let name = |k: usize| problem.test.classes()[k].clone();
    for (i, card) in found.trust.cards.iter().enumerate() {
        assert_eq!(card.class, name(predicted[i]));
        assert_eq!(card.class_by_flow, (predicted[i] != by_flow[i]).then(|| name(by_flow[i])));
    }
    let page = found.to_page().to_html();
    let share = format!("{:.1}\u{a0}%", 100.0 * blend.flow_weight());
    assert!(page.contains("Predictions are a blend") && page.contains(&share));
    let alone = model.clone().pure_flow();
    assert_eq!(alone.score(problem.test.x()).classes(), by_flow, "the flow's own Bayes rule");
    let found = explain(&alone, &ExplainRequest::new(Source::matrix(problem.test.x())), &mut ()).unwrap();
    assert!(found.trust.cards.iter().all(|card| card.class_by_flow.is_none()));
    assert!(!found.to_page().to_html().contains("blend"));
}
