//! The directory that commands of a page run in: the example tables, pictures, news with a tiny encoder, and the results.

use std::fs;

use crate::{
    common::{Bench, pictures},
    root, tiny,
};

pub fn directory() -> Bench {
    let bench = Bench::new();
    for name in ["examples", "experiments"] {
        #[cfg(unix)]
        std::os::unix::fs::symlink(root().join(name), bench.path(name)).unwrap();
    }
    pictures::folder(&bench, "pictures", 0, 12, 60);
    pictures::folder(&bench, "new-pictures", 200, 10, 0);
    tiny::Model::random(tiny::Family::Bert, 5).write(&bench.path("encoder"));
    bench.write("news.csv", news());
    bench
        .write("foreign.csv", foreign(&fs::read_to_string(bench.path("examples/tumours/test.csv")).unwrap()));
    bench
}

/// Two topics with words of their own, every tenth row labelled.
fn news() -> String {
    const WORDS: [[&str; 5]; 2] =
        [["oil", "price", "market", "falls", "rises"], ["team", "wins", "game", "goal", "world"]];
    let row = |i: usize| {
        let word = |k: usize| WORDS[i % 2][(i * 7 + k * k * 3 + i / 10 * k) % 5];
        let label = if i % 10 < 2 { ["money", "sport"][i % 2] } else { "" };
        format!("the {} {} a {},{label}\n", word(1), word(2), word(3))
    };
    format!("body,topic\n{}", (0..120).map(row).collect::<String>())
}

/// A table with the same columns and three times the numbers.
fn foreign(table: &str) -> String {
    let tripled = |line: &str| {
        let cells: Vec<String> = line
            .split(',')
            .map(|cell| cell.parse::<f64>().map_or(cell.into(), |v| (3.0 * v).to_string()))
            .collect();
        cells.join(",") + "\n"
    };
    table.lines().map(tripled).collect()
}
