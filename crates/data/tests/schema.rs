//! What a schema makes of columns a user would bring.

use flowgmm_data::schema::{Concern, Strays};
use flowgmm_data::{Cells, Column, ColumnKind, Cycle, DeclaredKind, Error, Frame, Schema};

/// Columns of cells as they stand in a file, an empty one missing; the first row is line 2.
fn frame(columns: &[(&str, Vec<String>)]) -> Frame {
    let cells = |texts: &[String]| {
        Cells::from_texts(
            texts.iter().map(|text| Some(text.as_str()).filter(|text| !text.is_empty())).collect(),
        )
    };
    let n = columns[0].1.len() as u64;
    let columns = columns.iter().map(|(name, texts)| Column { name: (*name).into(), cells: cells(texts) });
    Frame::new("t.csv", columns.collect(), (2..2 + n).collect()).unwrap()
}

fn column(n: usize, cell: impl Fn(usize) -> String) -> Vec<String> {
    (0..n).map(cell).collect()
}

fn infer(
    cells: Vec<String>,
    overrides: &[DeclaredKind],
) -> Result<flowgmm_data::schema::ColumnSchema, Error> {
    let overrides: Vec<(String, DeclaredKind)> = overrides.iter().map(|kind| ("x".into(), *kind)).collect();
    let schema = Schema::infer(&frame(&[("x", cells)]), None, &overrides)?;
    schema.validate().unwrap();
    Ok(schema.columns()[0].clone())
}

#[test]
fn every_kind_is_recognised() {
    let kind = |cell: &dyn Fn(usize) -> String| infer(column(60, cell), &[]).unwrap().kind.name();
    assert_eq!(kind(&|i| (i * i % 17).to_string()), "numeric");
    assert_eq!(kind(&|i| (i % 2).to_string()), "numeric");
    assert_eq!(kind(&|i| ["yes", "No"][i % 2].into()), "boolean");
    assert_eq!(kind(&|i| ["red", "green", "blue"][i % 3].into()), "categorical");
    assert_eq!(kind(&|i| format!("2024-01-{:02}", i % 28 + 1)), "date");
    assert_eq!(kind(&|i| format!("the {i}th customer was not pleased")), "text");
    assert_eq!(kind(&|_| "7.0".into()), "constant");
    assert_eq!(kind(&|i| (i + 1).to_string()), "identifier");
    assert_eq!(kind(&|_| String::new()), "empty");
    assert_eq!(kind(&|i| if i % 3 == 0 { String::new() } else { "7".into() }), "categorical");
    assert_eq!(kind(&|i| if i % 3 == 0 { String::new() } else { "yes".into() }), "categorical");
}

#[test]
fn numbers_keep_their_facts() {
    let seen = infer(
        column(150, |i| if i % 5 == 0 { String::new() } else { format!("{}", (i % 50) as f64 / 10.) }),
        &[],
    );
    let seen = seen.unwrap();
    let ColumnKind::Numeric { facts, strays: Strays::Refused, .. } = &seen.kind else { panic!("{seen:?}") };
    assert_eq!((facts.step, facts.integer, facts.min, facts.max), (Some(0.1), false, 0.1, 4.9));
    assert_eq!(seen.missing, 0.2);
}

#[test]
fn the_users_word_counts() {
    let code = || column(40, |i| ["10", "9", "-1"][i % 3].into());
    let ColumnKind::Categorical { levels, .. } = infer(code(), &[DeclaredKind::Categorical]).unwrap().kind
    else {
        panic!()
    };
    assert_eq!(levels, ["-1", "9", "10"]);
    assert_eq!(infer(code(), &[DeclaredKind::Text]).unwrap().kind, ColumnKind::Text);
    assert_eq!(infer(code(), &[DeclaredKind::Ignore]).unwrap().kind, ColumnKind::Ignored);
    let rows = column(40, |i| i.to_string());
    assert_eq!(infer(rows.clone(), &[DeclaredKind::Numeric]).unwrap().kind.name(), "numeric");
    let many =
        infer(rows.iter().cycle().take(200).map(|text| format!("{text}{}", text.len())).collect(), &[]);
    assert_eq!(many.unwrap().kind.name(), "numeric");
    let compact = column(40, |i| (20_240_101 + i % 28).to_string());
    assert_eq!(infer(compact, &[DeclaredKind::Date]).unwrap().kind.name(), "date");
}

#[test]
fn a_word_that_cannot_be_is_an_error() {
    let words = || column(40, |i| ["a", "b", "c"][i % 3].into());
    let message = |kind| infer(words(), &[kind]).unwrap_err().to_string();
    let numeric = message(DeclaredKind::Numeric);
    assert!(
        numeric.contains("not one cell is a number: found 'a' (line 2), 'b' (line 3), 'c' (line 4)"),
        "{numeric}"
    );
    assert!(message(DeclaredKind::Date).contains("declared a date"));
    let twice = infer(words(), &[DeclaredKind::Text, DeclaredKind::Categorical]).unwrap_err().to_string();
    assert!(twice.contains("two kinds"), "{twice}");
    let data = frame(&[("age", column(5, |i| i.to_string())), ("y", column(5, |i| i.to_string()))]);
    let error = |label, name: &str| {
        Schema::infer(&data, label, &[(name.into(), DeclaredKind::Text)]).unwrap_err().to_string()
    };
    assert!(error(None, "agee").contains("Did you mean 'age'?"), "{}", error(None, "agee"));
    assert!(error(Some("y"), "y").contains("it is the label"));
    assert!(matches!(Schema::infer(&data, Some("z"), &[]), Err(Error::NoLabelColumn { .. })));
}

#[test]
fn dirty_numbers_are_named_with_their_lines() {
    let dirty = || {
        column(80, |i| match i {
            3 => "12 kg".into(),
            7 | 9 => "n/a".into(),
            i => (i * 7 % 40).to_string(),
        })
    };
    let seen = infer(dirty(), &[]).unwrap();
    assert_eq!(seen.kind.name(), "categorical");
    let [warning] = seen.warnings.as_slice() else { panic!("{seen:?}") };
    assert_eq!(warning.concern, Concern::Strays);
    assert!(warning.message.contains("'12 kg' (line 5), 'n/a' (line 9). Correct"), "{}", warning.message);

    let declared = infer(dirty(), &[DeclaredKind::Numeric]).unwrap();
    assert!(matches!(declared.kind, ColumnKind::Numeric { strays: Strays::Missing, .. }));
    assert!(declared.warnings[0].message.starts_with("3 cells treated as missing: '12 kg' (line 5)"));
    assert_eq!(declared.missing, 3. / 80.);

    let dates = || column(50, |i| if i == 20 { "soon".into() } else { format!("{:02}.03.2024", i % 28 + 1) });
    let spoilt = infer(dates(), &[]).unwrap();
    assert!(
        spoilt.warnings[0].message.contains("nearly all of its cells are dates, but not 'soon' (line 22)")
    );
    assert!(matches!(
        infer(dates(), &[DeclaredKind::Date]).unwrap().kind,
        ColumnKind::Date { strays: Strays::Missing, .. }
    ));
}

#[test]
fn doubtful_columns_are_warned_about() {
    let concerns = |cells: Vec<String>| {
        let seen = infer(cells, &[]).unwrap();
        (seen.kind.name(), seen.warnings.iter().map(|warning| warning.concern).collect::<Vec<_>>())
    };
    assert_eq!(concerns(column(40, |i| i.to_string())), ("identifier", vec![Concern::Identifier]));
    assert_eq!(concerns(column(40, |_| String::new())), ("empty", vec![Concern::Missing]));
    let sparse = column(100, |i| if i % 25 == 0 { format!("{}.5", i * i) } else { String::new() });
    assert_eq!(concerns(sparse), ("numeric", vec![Concern::Missing]));
    let slashes = column(40, |i| format!("{:02}/{:02}/2024", i % 12 + 1, i % 7 + 1));
    assert_eq!(concerns(slashes), ("date", vec![Concern::AmbiguousDate]));
    let zip = column(1000, |i| format!("zip{}", i * i % 211));
    assert_eq!(concerns(zip), ("categorical", vec![Concern::ManyLevels]));
    let data = frame(&[("store_id", column(90, |i| (i * i % 41).to_string()))]);
    let schema = Schema::infer(&data, None, &[]).unwrap();
    let (name, warning) = schema.warnings().next().unwrap();
    assert_eq!((name, warning.concern), ("store_id", Concern::Identifier));
    let few = frame(&[("store_id", column(90, |i| [1, 3, 4, 9][i % 4].to_string()))]);
    assert_eq!(Schema::infer(&few, None, &[]).unwrap().warnings().count(), 0, "used as categories, too");
}

#[test]
fn few_whole_numbers_with_a_hole_are_used_as_a_number_and_as_categories() {
    let classes = || column(60, |i| [1, 2, 4][i % 3].to_string());
    let codes = |declared: &[DeclaredKind]| match infer(classes(), declared).unwrap().kind {
        ColumnKind::Numeric { codes, .. } => Some(codes),
        _ => None,
    };
    assert_eq!(codes(&[]), Some(vec![1., 2., 4.]));
    assert_eq!(codes(&[DeclaredKind::Numeric]), Some(vec![]), "declared: a quantity");
    assert_eq!(codes(&[DeclaredKind::Categorical]), None, "declared: no number");
}

#[test]
fn dates_have_the_cycles_that_vary() {
    let cycles = |cell: &dyn Fn(usize) -> String| match infer(column(60, cell), &[]).unwrap().kind {
        ColumnKind::Date { cycles, .. } => cycles,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        cycles(&|i| format!("2024-{:02}-{:02}", i % 12 + 1, i % 28 + 1)),
        [Cycle::Season, Cycle::Weekday]
    );
    assert_eq!(cycles(&|i| format!("2024-02-{:02} {:02}:30", 5 + 7 * (i % 4), i % 24)), [Cycle::Hour]);
    // Midnight in Oslo is still the day before in UTC.
    assert_eq!(cycles(&|i| format!("2024-02-{:02}T00:00+01:00", 5 + 7 * (i % 4))), []);
    assert_eq!(cycles(&|i| format!("{}-01-01", 1960 + i % 7 * 7)), [Cycle::Weekday], "one time of the year");
}

#[test]
fn a_leak_is_kept_and_named() {
    let label = column(90, |i| if i % 3 == 2 { String::new() } else { ["p", "q"][i % 2].into() });
    let price = column(90, |i| format!("{}", (i * i % 37) as f64 / 7.));
    let data = frame(&[("y", label.clone()), ("copy", label), ("price", price)]);
    let schema = Schema::infer(&data, Some("y"), &[]).unwrap();
    assert!(schema.column("y").is_none() && schema.label() == Some("y"));
    let copy = schema.column("copy").unwrap();
    assert!(copy.kind.is_encoded() && copy.warnings[0].concern == Concern::Leak, "{copy:?}");
    assert!(schema.column("price").unwrap().warnings.is_empty());
}

#[test]
fn numbers_beyond_32_bits_are_refused_with_their_line() {
    let cells = column(30, |i| if i == 4 { "1e39".into() } else { format!("{i}.5") });
    let error = infer(cells.clone(), &[]).unwrap_err().to_string();
    assert!(error.contains("line 6, column 'x'") && error.contains("1e39"), "{error}");
    assert!(infer(cells, &[DeclaredKind::Ignore]).is_ok());
}

#[test]
fn the_summary_is_a_table_for_people() {
    let gap = |i: usize, text: String| if i.is_multiple_of(4) { String::new() } else { text };
    let data = frame(&[
        ("age", column(80, |i| gap(i, (20 + i * i % 50).to_string()))),
        ("city", column(80, |i| ["Rome", "Oslo", "Bonn"][i % 3].into())),
        ("member", column(80, |i| ["no", "yes"][i % 2].into())),
        ("since", column(80, |i| format!("2024-01-{:02}", i % 28 + 1))),
        ("class", column(80, |i| gap(i, [1, 2, 4][i % 3].to_string()))),
        ("row", column(80, |i| i.to_string())),
        ("unit", column(80, |_| "cm".into())),
    ]);
    let lines: Vec<String> = Schema::infer(&data, None, &[])
        .unwrap()
        .summary()
        .into_iter()
        .map(|line| format!("{} | {} | {} | {}", line.name, line.kind, line.saw, line.becomes))
        .collect();
    assert_eq!(
        lines,
        [
            "age | numeric | whole numbers 20 to 69, 25% missing | a number, and whether it is missing",
            "city | categorical | 3 levels: Bonn, Oslo, Rome | 3 columns of 0 or 1",
            "member | boolean | no, yes | 0 or 1",
            "since | date | 2024-01-01 to 2024-01-28 | days since 1970-01-01, weekday",
            "class | numeric | whole numbers 1 to 4, 33% are 1, 25% missing | a number and 3 columns of 0 or 1, and whether it is missing",
            "row | identifier | whole numbers that count the rows | not used",
            "unit | constant | always cm | left out, written back",
        ]
    );
}

#[test]
fn a_schema_survives_its_file_and_a_damaged_one_is_refused() {
    let data = frame(&[
        ("age", column(80, |i| (20 + i * i % 50).to_string())),
        ("city", column(80, |i| ["Rome", "Oslo", "Bonn"][i % 3].into())),
        ("since", column(80, |i| format!("2024-01-{:02}T{:02}:00+01:00", i % 28 + 1, i % 24))),
        ("class", column(80, |i| [1, 2, 4][i % 3].to_string())),
    ]);
    let schema = Schema::infer(&data, None, &[]).unwrap();
    let text = serde_json::to_string(&schema).unwrap();
    assert_eq!(serde_json::from_str::<Schema>(&text).unwrap(), schema);
    for (from, to) in [
        ("\"Oslo\"", "\"Rome\""),
        ("\"name\":\"city\"", "\"name\":\"age\""),
        ("\"min\":20.0", "\"min\":2000.0"),
        ("\"grid\":1.0", "\"grid\":-1.0"),
        ("\"minutes\":60", "\"minutes\":60000"),
        ("\"missing\":0.0", "\"missing\":2.0"),
        ("[\"weekday\",\"hour\"]", "[\"hour\",\"hour\"]"),
        ("\"codes\":[1.0,2.0,4.0]", "\"codes\":[1.0,4.0,2.0]"),
    ] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text, "{from} is not in {text}");
        let schema: Schema = serde_json::from_str(&damaged).unwrap();
        assert!(matches!(schema.validate(), Err(Error::BadSchema { .. })), "{from} -> {to}");
    }
}
