//! Tables in Markdown, and their place in a file that people write.

use std::path::Path;

use crate::stats::{MeanSd, least_p_flip};
use crate::summary::{Entry, SIGNIFICANCE, Summary, SummaryRow};
use crate::{Error, LabelSource, Result};

/// Most columns of data in a table; more are set down the page.
const MOST_COLUMNS: usize = 12;

/// Accuracy of all learners (down) on all data (across, with their labels), as in the paper's table 1: the best on each
/// data in bold, those not significantly worse marked, and what that means. More data than a page is wide are set down,
/// number of labels by number of labels, and learners across.
pub fn accuracy_table(summary: &Summary) -> String {
    let table = if summary.rows.len() > MOST_COLUMNS { data_down(summary) } else { data_across(summary) };
    table + "\n" + &explanation(summary) + "\n"
}

fn data_across(summary: &Summary) -> String {
    let heads: Vec<String> = summary.rows.iter().map(head).collect();
    let mut text = format!("| learner | {} |\n", heads.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(heads.len()));
    for (i, learner) in summary.learners.iter().enumerate() {
        let cells: Vec<String> =
            summary.rows.iter().map(|row| shown(summary, row, i, &row.entries[i])).collect();
        text += &format!("| {learner} | {} |\n", cells.join(" | "));
    }
    text
}

fn data_down(summary: &Summary) -> String {
    let mut rows: Vec<&SummaryRow> = summary.rows.iter().collect();
    let first = |row: &SummaryRow| summary.rows.iter().position(|other| other.labels == row.labels);
    rows.sort_by_key(|row| first(row));
    let mut text = format!("| data | {} |\n", summary.learners.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(summary.learners.len()));
    for row in rows {
        let cells = row.entries.iter().enumerate().map(|(i, entry)| shown(summary, row, i, entry));
        text += &format!("| {} | {} |\n", head(row), cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// Our learner against the best of the others on every dataset, by both significance tests.
pub fn comparison_table(summary: &Summary) -> String {
    let mut text =
        String::from("| data | labels | learner | best rival | difference | p, paired t | p, sign flips |\n");
    text += "|---|---|---|---|---|---|---|\n";
    for row in &summary.rows {
        let Some(versus) = &row.headline else { continue };
        let paired = &versus.paired;
        text += &format!(
            "| {} | {} | {} | {} | {:+.1} | {} | {} |\n",
            row.dataset,
            row.labels.short(),
            versus.learner,
            versus.rival,
            100. * paired.difference,
            p_text(paired.p_t),
            p_text(paired.p_flip),
        );
    }
    let draws = summary.draws;
    let least = p_text(least_p_flip(draws));
    text + &format!(
        "\nDifference in points of accuracy over the draws both finished, two-sided p. With {draws} draws the sign-flip \
         test cannot go below {least}.\n"
    )
}

/// The data and their labels, as short as a table with many columns needs it.
pub(crate) fn head(row: &SummaryRow) -> String {
    format!("{} ({})", row.dataset, row.labels.short())
}

/// Mean and spread in percent; one draw has no spread.
pub(crate) fn percent(accuracy: MeanSd) -> String {
    match accuracy.n {
        1 => format!("{:.1}", 100. * accuracy.mean),
        _ => format!("{:.1} ± {:.1}", 100. * accuracy.mean, 100. * accuracy.sd),
    }
}

fn shown(summary: &Summary, row: &SummaryRow, place: usize, entry: &Entry) -> String {
    let Some(accuracy) = entry.accuracy else {
        return if entry.failed > 0 { "failed".into() } else { "–".into() };
    };
    let number = percent(accuracy);
    let number = if row.best == Some(place) { format!("**{number}**") } else { number };
    let close = if row.is_close(entry) { "†" } else { "" };
    let partial = if accuracy.n < summary.draws {
        format!(" ({}/{})", accuracy.n, summary.draws)
    } else {
        String::new()
    };
    number + close + &partial
}

/// What the numbers, bold type and daggers of [`accuracy_table`] mean, and where classes had no label.
pub fn explanation(summary: &Summary) -> String {
    numbers_explained(summary) + &random_explained(summary)
}

/// What happens to classes without a label, if labels are drawn at random.
fn random_explained(summary: &Summary) -> String {
    let is_random = |row: &&SummaryRow| {
        matches!(row.labels, LabelSource::RandomPerClass(_) | LabelSource::RandomTotal(_))
    };
    let random: Vec<&SummaryRow> = summary.rows.iter().filter(is_random).collect();
    if random.is_empty() {
        return String::new();
    }
    let place = |row: &&SummaryRow| {
        let most = row.without_label.iter().map(|(_, classes)| *classes).max()?;
        let draws = counted(row.without_label.len(), "draw", "draws");
        Some(format!("{} in {draws} (up to {})", head(row), counted(most, "class", "classes")))
    };
    let places: Vec<String> = random.iter().filter_map(place).collect();
    let places = if places.is_empty() { "none".into() } else { places.join(", ") };
    format!(
        " At random: rows are drawn whatever their class; K is the number of classes. A class without a label is unknown \
         to the learner, and its test rows count as errors: {places}."
    )
}

fn counted(n: usize, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

fn numbers_explained(summary: &Summary) -> String {
    let draws = summary.draws;
    if draws == 1 {
        return "Test accuracy in percent, of one draw; in brackets, labels of each class, or the split. Bold: the best."
            .into();
    }
    let least = p_text(least_p_flip(draws));
    format!(
        "Test accuracy in percent, mean ± standard deviation (n − 1) over {draws} draws; in brackets, labels of each class. \
         Bold: the best. †: not significantly worse than the best (paired t-test over draws, two-sided p ≥ \
         {SIGNIFICANCE}, not corrected for the number of comparisons; with {draws} draws the exact sign-flip test \
         cannot go below p = {least}). (k/n): only k draws finished."
    )
}

/// p with two leading digits.
pub(crate) fn p_text(p: f64) -> String {
    match p {
        p if p < 1e-4 => "< 0.0001".into(),
        p if p < 0.001 => format!("{p:.5}"),
        p if p < 0.1 => format!("{p:.4}"),
        p => format!("{p:.2}"),
    }
}

/// The text with what stands between `<!-- table:NAME -->` and the next `<!-- end -->` replaced by a table.
pub fn replace_block(text: &str, name: &str, table: &str) -> Result<String> {
    const END: &str = "<!-- end -->";
    let begin = format!("<!-- table:{name} -->");
    let mut places = text.match_indices(&begin).map(|(at, _)| at + begin.len());
    let start = places.next().ok_or_else(|| Error::Block(format!("'{begin}' is not in the text")))?;
    if places.next().is_some() {
        return Err(Error::Block(format!("'{begin}' is there twice")));
    }
    let rest = &text[start..];
    let length = rest.find(END).ok_or_else(|| Error::Block(format!("no '{END}' after '{begin}'")))?;
    if rest[..length].contains("<!-- table:") {
        return Err(Error::Block(format!("another block begins before the '{END}' of '{begin}'")));
    }
    Ok(format!("{}\n{}\n{}", &text[..start], table.trim_end(), &rest[length..]))
}

/// [`replace_block`] in a file, which is replaced at once or not at all.
pub fn update_file(path: &Path, name: &str, table: &str) -> Result<()> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    crate::output::write_whole(path, &replace_block(&text, name, table)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_nothing_else() {
        let text = "before\n<!-- table:a -->\nold\n<!-- end -->\nbetween\n<!-- table:b -->\n<!-- end -->\n";
        let new = replace_block(text, "a", "| x |\n").unwrap();
        assert_eq!(new, text.replace("old", "| x |"));
        assert_eq!(replace_block(&new, "a", "| x |\n").unwrap(), new, "once is enough");
        assert_eq!(
            replace_block(text, "b", "B").unwrap(),
            text.replace("table:b -->\n<!-- end", "table:b -->\nB\n<!-- end")
        );
        let error = |text: &str| replace_block(text, "a", "").unwrap_err().to_string();
        assert!(error("nothing").contains("'<!-- table:a -->' is not in the text"));
        assert!(error("<!-- table:a -->").contains("no '<!-- end -->'"));
        assert!(error("<!-- table:a --> <!-- table:b --> <!-- end -->").contains("another block"));
        assert!(error("<!-- table:a --><!-- end --><!-- table:a --><!-- end -->").contains("twice"));
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("README.md");
        std::fs::write(&path, "# A\n<!-- table:t -->\n<!-- end -->\nB\n").unwrap();
        update_file(&path, "t", "| 1 |\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "# A\n<!-- table:t -->\n| 1 |\n<!-- end -->\nB\n");
        assert!(update_file(&path, "u", "| 2 |").is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
        assert!(
            update_file(&directory.path().join("none.md"), "t", "")
                .unwrap_err()
                .to_string()
                .contains("none.md")
        );
    }

    #[test]
    fn p_values_as_people_write_them() {
        let shown = [0.7321, 0.0625, 0.0497, 0.00283, 0.000123, 0.].map(p_text);
        assert_eq!(shown, ["0.73", "0.0625", "0.0497", "0.0028", "0.00012", "< 0.0001"]);
    }
}
