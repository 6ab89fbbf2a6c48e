//! The results over all tables in Markdown, and as tables of the page.

use flowgmm_report::{Section, Table, TableCell as Shown, TableColumn};

use crate::falls::{Fall, Falls};
use crate::record::LEAST_PROBABILITY;
use crate::suite::{Group, Overall, Shortfall, Suite};

const MEANS: [&str; 7] = [
    "learner",
    "accuracy, %",
    "NLL",
    "ECE",
    "mean rank",
    "NLL less that of class shares",
    "tables where NLL is above it",
];
const SHORTFALLS: [&str; 5] = ["learner", "largest shortfall", "on", "to", "tables above 4 points"];
const FALLS: [&str; 3] = ["learner", "falls", "on, from → to labels of each class"];

/// What the results say over all tables, in Markdown; empty if no two tables have the same labels.
pub fn suite_tables(suite: &Suite) -> String {
    let mut text = String::new();
    for group in &suite.groups {
        text += &format!("## {}\n\n", heading(group));
        text += &markdown(&MEANS, &means_table(group));
        if group.ranked_tables < group.tables {
            text += &format!("\nRanks over {} of {} tables.\n", group.ranked_tables, group.tables);
        }
        if !group.shortfalls.is_empty() {
            text += &("\n".to_string() + &markdown(&SHORTFALLS, &shortfall_table(group)));
        }
        text += "\n";
    }
    if !suite.groups.is_empty() {
        text += &(explanation() + "\n\n");
    }
    if !suite.falls.is_empty() {
        text += &format!(
            "## Lower accuracy with more labels\n\n{}\n",
            markdown(&FALLS, &falls_table(&suite.falls))
        );
        text += &(falls_explanation() + "\n");
    }
    text
}

/// What the results say over all tables, for the page.
pub(crate) fn suite_sections(suite: &Suite) -> Vec<Section> {
    let of_group = |group: &Group| {
        let mut tables = vec![means_table(group)];
        tables.extend((!group.shortfalls.is_empty()).then(|| shortfall_table(group)));
        Section { heading: heading(group), text: explanation(), tables, ..Section::default() }
    };
    let mut sections: Vec<Section> = suite.groups.iter().map(of_group).collect();
    if !suite.falls.is_empty() {
        let tables = vec![falls_table(&suite.falls)];
        let heading = "Lower accuracy with more labels".into();
        sections.push(Section { heading, text: falls_explanation(), tables, ..Section::default() });
    }
    sections
}

fn heading(group: &Group) -> String {
    format!("{} tables, labels {}", group.tables, group.labels)
}

fn means_table(group: &Group) -> Table {
    let line = |overall: &Overall| {
        let name = match overall.tables == group.tables {
            true => overall.learner.clone(),
            false => format!("{} ({}/{} tables)", overall.learner, overall.tables, group.tables),
        };
        let number = |value: Option<f64>, decimals: usize| match value {
            Some(value) => Shown::number(value, decimals),
            None => Shown::Missing,
        };
        vec![
            name.into(),
            Shown::number(100. * overall.accuracy, 1),
            number(overall.nll, 3),
            Shown::number(overall.ece, 3),
            number(overall.mean_rank, 2),
            overall.against_shares.map_or(Shown::Missing, |shares| {
                Shown::shown(shares.difference, format!("{:+.3}", shares.difference))
            }),
            number(overall.against_shares.map(|shares| shares.worse as f64), 0),
        ]
    };
    let [learner, accuracy, nll, ece, rank, less, above] = MEANS;
    let columns = vec![
        TableColumn::text(learner),
        TableColumn::number(accuracy).highest(),
        TableColumn::number(nll).lowest(),
        TableColumn::number(ece).lowest(),
        TableColumn::number(rank).lowest(),
        TableColumn::number(less).lowest(),
        TableColumn::number(above),
    ];
    let caption = match group.ranked_tables == group.tables {
        true => "Means over tables".into(),
        false => format!("Means over tables; ranks over {} of them", group.ranked_tables),
    };
    Table { caption, columns, rows: group.learners.iter().map(line).collect() }
}

fn shortfall_table(group: &Group) -> Table {
    let line = |short: &Shortfall| {
        vec![
            short.learner.clone().into(),
            Shown::shown(short.largest, format!("{:+.1}", 100. * short.largest)),
            short.dataset.clone().into(),
            short.rival.clone().into(),
            format!("{} of {}", short.large, short.tables).into(),
        ]
    };
    let columns = SHORTFALLS.map(TableColumn::text).into();
    let caption = "Shortfall to the best rival, points of accuracy".into();
    Table { caption, columns, rows: group.shortfalls.iter().map(line).collect() }
}

fn falls_table(falls: &[Falls]) -> Table {
    let shown = |fall: &Fall| {
        let (difference, error) = (100. * fall.difference, 100. * fall.standard_error);
        format!("{} {} → {} ({difference:+.1} ± {error:.1})", fall.dataset, fall.from, fall.to)
    };
    let line = |of: &Falls| {
        let places: Vec<String> = of.falls.iter().map(shown).collect();
        let places = if places.is_empty() { "–".into() } else { places.join(", ") };
        vec![of.learner.clone().into(), format!("{} of {}", of.falls.len(), of.steps).into(), places.into()]
    };
    let columns = FALLS.map(TableColumn::text).into();
    Table { caption: "Falls".into(), columns, rows: falls.iter().map(line).collect() }
}

fn explanation() -> String {
    format!(
        "Each table counts the same. In NLL a probability below {LEAST_PROBABILITY} counts as {LEAST_PROBABILITY}; class \
         shares are those of the labels, predicted for every row. Ranks (1 is the best) and shortfalls (accuracy of the \
         best rival less ours) are among the learners that the plan ranks, on the draws that all of them finished."
    )
}

fn falls_explanation() -> String {
    "A fall is a step from one number of labels to the next on one table at which the mean accuracy becomes lower by more \
     than one standard error of the difference over draws: points of accuracy ± standard error."
        .into()
}

fn markdown(heads: &[&str], table: &Table) -> String {
    let shown = |cell: &Shown| match cell {
        Shown::Missing => "–".to_string(),
        Shown::Text(shown) | Shown::Name { shown, .. } | Shown::Number { shown, .. } => shown.clone(),
    };
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(shown).collect();
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}
