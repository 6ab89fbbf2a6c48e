//! What a reader of a page relies on, checked through the public interface.

use flowgmm_report::*;

const HOSTILE: &str = "<img src=x onerror=\"alert('1')\"></svg></style><script>alert(2)</script>&";

/// A page that carries the hostile string in every place that takes text.
fn hostile_page() -> Page {
    let text = || HOSTILE.to_string();
    let bin = ReliabilityBin { low: 0.5, high: 1.0, confidence: 0.8, accuracy: 0.7, count: 3 };
    let bars = vec![Bar { name: text(), value: 1.0, shown: text(), colour: 0 }];
    let estimates = vec![Estimate { name: text(), value: 1.0, low: 0.0, high: 2.0, colour: 0 }];
    let figures = vec![
        Bars { title: text(), caption: text(), bars }.figure(),
        Intervals { title: text(), caption: text(), x_label: text(), reference: None, estimates }.figure(),
        Panel { title: text(), caption: text(), ..Panel::default() }.figure(),
        LineChart {
            title: text(),
            caption: text(),
            x_label: text(),
            y_label: text(),
            series: vec![Series::per_epoch(HOSTILE, &[1.0, 2.0])],
            ..LineChart::default()
        }
        .figure(),
        Histogram {
            title: text(),
            x_label: text(),
            samples: vec![(text(), vec![1.0])],
            ..Histogram::default()
        }
        .figure(),
        ImageSheet {
            title: text(),
            caption: text(),
            width: 1,
            height: 1,
            rows: vec![(text(), vec![vec![0.5]])],
        }
        .figure(),
        Confusion { title: text(), caption: text(), classes: vec![text(); 2], counts: vec![vec![1, 2]] }
            .figure(),
        Reliability { title: text(), caption: text(), note: text(), bins: vec![bin] }.figure(),
    ];
    let table = Table {
        caption: text(),
        columns: vec![TableColumn::text(HOSTILE)],
        rows: vec![vec![HOSTILE.into()], vec![TableCell::shown(1.0, HOSTILE)]],
    };
    let grid = Grid {
        label: text(),
        legend: Legend::for_classes(&[HOSTILE]),
        ..Grid::of(GridWidth::Three, figures)
    };
    let sections =
        vec![Section { heading: text(), text: text(), tables: vec![table.clone()], grids: vec![grid] }];
    let tiles = vec![Tile { name: text(), value: text(), note: text() }];
    Page { title: text(), lead: text(), tiles, headline: Some(table), sections, footer: text() }
}

#[test]
fn text_from_outside_stays_text_everywhere() {
    let html = hostile_page().to_html();
    assert!(!html.contains("<img") && !html.contains("<script") && !html.contains("onerror=\""));
    assert!(html.matches("&lt;img").count() > 20);
    assert_eq!(html.matches("</style>").count(), 1);
}

#[test]
fn a_page_refers_to_nothing_outside_itself() {
    let html = hostile_page().to_html();
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("url("));
    assert!(!html.contains("<link") && !html.contains("@import"));
}

#[test]
fn an_svg_file_stands_alone() {
    let svg = Confusion { classes: vec![HOSTILE.into(), "b".into()], ..Confusion::default() }.to_svg();
    assert!(svg.starts_with(r#"<svg xmlns="http://www.w3.org/2000/svg""#));
    assert_eq!(svg.matches("http").count(), 1);
    assert!(svg.contains("prefers-color-scheme:dark") && svg.contains("<style>"));
    assert!(!svg.contains("<img") && !svg.contains("<script"));
}

#[test]
fn an_empty_page_is_a_page() {
    let html = Page::default().to_html();
    assert!(html.trim_start().starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
}

#[test]
fn thousands_of_dots_stay_small() {
    let points: Vec<[f64; 2]> =
        (0..5000).map(|i| [f64::from(i % 71) / 71.0, f64::from(i) / 5000.0]).collect();
    let panel = Panel { layers: vec![Layer::Unlabelled(points)], ..Panel::default() };
    assert!(panel.to_svg().len() < 80_000);
}
