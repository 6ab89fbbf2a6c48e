//! What a reader of a page relies on, checked through the public interface.

use flowgmm_report::*;

const HOSTILE: &str = "<img src=x onerror=\"alert('1')\"></svg></style><script>alert(2)</script>&";

/// What would act on a terminal or on the text around it, or cannot be seen.
const ACTING: &str = "a\u{1b}[2J\u{202e}b\u{2066}\u{200b}\u{7}\r\nc";

/// A page that carries the string in every place that takes text.
fn page_of(string: &str) -> Page {
    let text = || string.to_string();
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
            series: vec![Series::per_epoch(string, &[1.0, 2.0])],
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
            rows: vec![SheetRow::ink(text(), vec![vec![0.5]])],
        }
        .figure(),
        Confusion { title: text(), caption: text(), classes: vec![text(); 2], counts: vec![vec![1, 2]] }
            .figure(),
        Reliability { title: text(), caption: text(), note: text(), bins: vec![bin] }.figure(),
    ];
    let table = Table {
        caption: text(),
        columns: vec![TableColumn::text(string), TableColumn::number("").named(string, 400)],
        rows: vec![
            vec![string.into()],
            vec![TableCell::shown(1.0, string)],
            vec![TableCell::name(string, 400)],
        ],
    };
    let grid =
        Grid { label: text(), legend: Legend::for_classes(&[string]), ..Grid::of(GridWidth::Three, figures) };
    let sections =
        vec![Section { heading: text(), text: text(), tables: vec![table.clone()], grids: vec![grid] }];
    let tiles = vec![Tile { name: text(), value: text(), note: text() }];
    Page { title: text(), lead: text(), tiles, headline: Some(table), sections, footer: text() }
}

#[test]
fn text_from_outside_stays_text_everywhere() {
    let html = page_of(HOSTILE).to_html();
    assert!(!html.contains("<img") && !html.contains("<script") && !html.contains("onerror=\""));
    assert!(html.matches("&lt;img").count() > 20);
    assert_eq!(html.matches("</style>").count(), 1);
}

#[test]
fn nothing_in_a_text_acts_on_what_is_around_it() {
    let page = page_of(ACTING);
    let html = page.to_html();
    let acts = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{200b}".contains(c);
    assert!(!html.contains(acts), "{:?}", html.find(acts).map(|at| &html[at.saturating_sub(80)..at]));
    assert!(html.matches(r"\u{202e}b\u{2066}").count() > 20, "what is there is shown");
    let svg = Bars {
        bars: vec![Bar { name: ACTING.into(), value: 1.0, shown: ACTING.into(), colour: 0 }],
        ..Bars::default()
    };
    assert!(!svg.to_svg().replace('\n', "").contains(acts));
}

#[test]
fn long_names_are_cut_and_a_tooltip_has_the_rest() {
    let long = "name ".repeat(400);
    let table = Table {
        columns: vec![TableColumn::number("").named(&long, 18)],
        rows: vec![vec![TableCell::name(&long, 24)]],
        ..Table::default()
    };
    let legend = Legend { items: vec![(Mark::Class(0), long.clone())] };
    let grid = Grid::of(GridWidth::Two, vec![Panel { title: long.clone(), ..Panel::default() }.figure()]);
    let sections = vec![Section { grids: vec![grid.with_legend(legend)], ..Section::default() }];
    let html = Page { headline: Some(table), sections, ..Page::default() }.to_html();
    assert!(!html.contains(&long), "nothing is shown in full length");
    assert_eq!(html.matches(" title=\"name name").count(), 4, "cell, heading, legend and figure");
}

#[test]
fn terms_are_explained_at_the_end_and_linked_where_they_are_first_used() {
    let section = |text: &str| Section { heading: "h".into(), text: text.into(), ..Section::default() };
    let sections = vec![section("The ECE is small."), section("ECE and temperature.")];
    let html = Page { sections, ..Page::default() }.to_html();
    for term in ["term-ece", "term-temperature"] {
        assert_eq!(html.matches(&format!("href=\"#{term}\"")).count(), 1, "{term}");
        assert_eq!(html.matches(&format!("id=\"{term}\"")).count(), 1, "{term}");
    }
    assert!(html.contains(r#">ECE</a> is small."#) && html.contains("<p>ECE and <a"));
    assert!(!html.contains("term-brier"), "only terms that the page uses");
    assert!(
        !Page { sections: vec![section("Plain words.")], ..Page::default() }
            .to_html()
            .contains("id=\"terms\"")
    );
}

#[test]
fn every_link_within_a_page_has_a_target() {
    let sections = ["one", "two", "three"].map(|text| Section {
        heading: text.into(),
        text: "Typicality, log p(x), NLL, AUROC, prediction sets.".into(),
        ..Section::default()
    });
    let html = Page { sections: sections.into(), ..Page::default() }.to_html();
    let targets: Vec<&str> =
        html.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(targets.len() >= 8, "{targets:?}");
    for target in targets {
        assert_eq!(html.matches(&format!(" id=\"{target}\"")).count(), 1, "{target}");
    }
}

#[test]
fn paper_is_light_and_clips_nothing() {
    let html = Page::default().to_html();
    let print = html.split("@media print").nth(1).expect("a style sheet for paper");
    for rule in ["color-scheme:light", "overflow:visible", "break-inside:avoid"] {
        assert!(print.contains(rule), "{rule}");
    }
    assert!(!html.contains("@media (prefers-color-scheme:dark)"), "dark colours are for screens only");
}

#[test]
fn a_page_refers_to_nothing_outside_itself() {
    let html = page_of(HOSTILE).to_html();
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
