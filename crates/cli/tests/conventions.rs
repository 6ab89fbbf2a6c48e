//! Conventions that people know from other commands: standard output, short flags, help on one screen, a version to quote.

mod common;

use common::{Bench, cells, json, stderr};

const COMMANDS: [&str; 17] = [
    "demo",
    "fit",
    "predict",
    "evaluate",
    "calibrate",
    "explain",
    "sample",
    "encode",
    "decode",
    "inspect",
    "export-onnx",
    "serve",
    "bench",
    "paper",
    "data",
    "completions",
    "man",
];

#[test]
fn help_fits_on_a_screen_and_shows_an_example() {
    let bench = Bench::new();
    let help = |words: &str| {
        let output = bench.command(words).env("COLUMNS", "100").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let check = |words: &str| {
        let text = help(words);
        assert!(text.lines().count() <= 50, "{words}: {} lines", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{words}:\n{text}");
        text
    };
    let all = check("--help");
    for command in COMMANDS {
        assert!(all.contains(&format!("  {command} ")), "{command} is not in the list");
        let text = check(&format!("{command} --help"));
        assert!(text.contains(&format!("Example:\n  flowgmm {command}")), "{command}:\n{text}");
        assert_eq!(text, help(&format!("{command} -h")));
        assert!(text.contains("Global options:"), "{command}");
    }
    for line in
        all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty())
    {
        let name = line.split_whitespace().next().unwrap();
        assert!(name == "help" || COMMANDS.contains(&name), "{name} is not tested here");
    }
}

#[test]
fn manuals_and_completions_know_every_flag() {
    let bench = Bench::new();
    let page = bench.ok("man fit");
    for flag in ["checkpoint\\-every", "max\\-tokens", "engine", "device"] {
        assert!(page.contains(flag), "{flag}");
    }
    bench.ok("man --out pages --quiet");
    let pages = std::fs::read_dir(bench.path("pages")).unwrap().count();
    assert_eq!(pages, COMMANDS.len() + 1);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(bench.ok(&format!("completions {shell}")).contains("checkpoint-every"), "{shell}");
    }
    bench.fails("man explode", 2, &["explode", "predict"]);
    bench.fails("completions csh", 2, &["csh", "bash"]);
}

#[test]
fn the_version_says_what_a_bug_report_needs() {
    let text = Bench::new().ok("--version");
    assert!(text.starts_with(concat!("flowgmm ", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(text.contains("instruction set: ") && text.contains("model file format: 6"), "{text}");
}

#[test]
fn tables_go_to_standard_output_unless_a_file_is_named() {
    let bench = Bench::new();
    bench.tiny_model("m");
    bench.ok("predict m test.csv -o p.csv");
    let shown = bench.ok("predict m test.csv");
    assert_eq!(shown, bench.read("p.csv"));
    assert_eq!(shown, bench.ok("predict m test.csv --out -"));
    assert!(bench.ok("sample m -n 3").lines().count() == 4);
    let z = bench.ok("encode m test.csv");
    bench.write("z.csv", &z);
    assert_eq!(bench.ok("decode m z.csv").lines().count(), z.lines().count());
    let lines = bench.ok("predict m test.csv --json");
    let first = json(lines.lines().next().unwrap());
    assert!(first["class"].is_string() && lines.lines().count() + 1 == shown.lines().count(), "{first}");
    let summary = json(&bench.ok("predict m test.csv --json -o p.csv"));
    assert_eq!((summary["predictions"].as_str(), summary["rows"].as_u64()), (Some("p.csv"), Some(2000)));
}

#[test]
fn the_label_column_is_remembered() {
    let bench = Bench::new();
    bench.tiny_model("m");
    let explained =
        |words: &str| json(&bench.ok(&format!("explain m {words} --rows 60 --out e.html --json")));
    assert!(explained("test.csv")["calibration"]["accuracy"].is_number());
    bench.write("rows.csv", "x1,x2\n0.5,1\n0.1,-1\n1,0\n");
    assert!(explained("rows.csv")["calibration"].is_null(), "a table without the column has no labels");
    assert!(json(&bench.ok("evaluate m test.csv --json"))["accuracy"].is_number());
    bench.ok("calibrate m test.csv --out c");
    bench.fails("explain m rows.csv --label label --out e.html", 3, &["'label'"]);
}

#[test]
fn numbers_have_seven_digits_unless_more_are_asked_for() {
    let bench = Bench::new();
    bench.tiny_model("m");
    let digits = |cell: &String| {
        let mantissa = cell.split('e').next().unwrap().trim_start_matches(['-', '0', '.']);
        mantissa.chars().filter(char::is_ascii_digit).count()
    };
    let most = |text: &str| cells(text).iter().skip(1).flat_map(|row| row[1..].iter().map(digits)).max();
    assert_eq!(most(&bench.ok("predict m test.csv")), Some(7));
    assert_eq!(most(&bench.ok("predict m test.csv --digits 3")), Some(3));
    assert!(most(&bench.ok("predict m test.csv --digits 17")) >= Some(16));
    bench.fails("predict m test.csv --digits 0", 2, &["--digits"]);
}

#[test]
fn columns_are_carried_through_as_they_are_written() {
    let bench = Bench::new();
    bench.tiny_model("m");
    bench.write("ids.csv", "id,x1,when,x2\n007,0.5,2024-02-03,1\n12345678901234567890,0.1,NA,-1\n,1,,0\n");
    let found = cells(&bench.ok("predict m ids.csv --keep id,when"));
    assert_eq!(found[0][..3], ["id", "when", "class"]);
    let kept: Vec<&[String]> = found[1..].iter().map(|row| &row[..2]).collect();
    assert_eq!(kept, [["007", "2024-02-03"], ["12345678901234567890", "NA"], ["", ""]]);
    bench.fails("predict m ids.csv --keep name", 3, &["'name'", "id"]);
    bench.write("clash.csv", "class,x1,x2\na,0.5,1\n");
    bench.fails("predict m clash.csv --keep class", 2, &["'class'", "rename"]);
}

#[test]
fn formulas_are_kept_unless_a_spreadsheet_is_meant() {
    let bench = Bench::new();
    bench.tiny_model("m");
    bench.write("ids.csv", "id,x1,x2\n=1+1,0.5,1\n@a,0.1,0\n-3,0,0\nplain,0,0\n");
    let first =
        |text: String| -> Vec<String> { cells(&text).iter().skip(1).map(|row| row[0].clone()).collect() };
    assert_eq!(first(bench.ok("predict m ids.csv --keep id")), ["=1+1", "@a", "-3", "plain"]);
    let safe = first(bench.ok("predict m ids.csv --keep id --spreadsheet-safe"));
    assert_eq!(safe, ["'=1+1", "'@a", "'-3", "plain"]);
}

#[test]
fn a_fit_is_summed_up_in_a_few_lines() {
    let bench = Bench::new();
    let short = bench.ok("fit train.csv -l label -m m -c tiny.toml -q");
    assert!(short.lines().count() <= 6, "{short}");
    for part in ["interval", "guessing", "class shares", "time", "flowgmm predict m"] {
        assert!(short.contains(part), "{part}: {short}");
    }
    let expected = short.lines().find(|line| line.starts_with("expect ")).expect("what to expect");
    assert!(
        expected.contains(" % right on rows like these") && expected.ends_with("by 10 held-out labels"),
        "{short}"
    );
    assert!(
        bench.ok("inspect m").contains(expected.trim_start_matches("expect").trim()),
        "the model keeps it"
    );
    bench.write("one.csv", "x,label\n0,a\n1,b\n0.1,\n0.9,\n0.2,\n0.8,\n");
    let unknown = bench.ok("fit one.csv -l label -m one -c tiny.toml -q");
    assert!(unknown.contains("no estimate, since no label could be held out"), "{unknown}");
    let long = bench.ok("fit train.csv -l label -m m -c tiny.toml -v");
    assert!(long.lines().count() > 15 && long.contains("teachers"), "{long}");
    let settings = bench.ok("fit train.csv -l label -c tiny.toml --print-config --steps 50");
    let from = |key: &str| {
        let line = settings.lines().find(|line| line.starts_with(&format!("{key} = ")));
        line.unwrap_or_else(|| panic!("{key}: {settings}")).split("# from: ").nth(1).unwrap().to_string()
    };
    assert_eq!(
        (from("steps"), from("depth"), from("ema")),
        ("flag".into(), "config file".into(), "default".into())
    );
    assert_eq!(from("teachers"), "chosen from the data");
}

/// A class, a column and a file from a stranger, with an escape sequence, a carriage return and a reversed text.
#[test]
fn text_from_files_cannot_act_on_a_terminal() {
    const EVIL: &str = "\u{1b}[31mred\u{9b}2J\u{202e}x";
    let bench = Bench::new();
    let text =
        bench.read("train.csv").replace(",0\n", &format!(",{EVIL}\n")).replace("x1,", &format!("x{EVIL},"));
    bench.write("evil.csv", &text);
    let labelled =
        bench.read("test.csv").replace(",0\n", &format!(",{EVIL}\n")).replace("x1,", &format!("x{EVIL},"));
    let name = format!("t{EVIL}.csv");
    bench.write(&name, &labelled);
    let run = |arguments: &[&str]| {
        let output = bench.command("").args(arguments).output().unwrap();
        let shown = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        for act in ['\u{1b}', '\u{9b}', '\u{202e}', '\r'] {
            assert!(!shown.contains(act), "{arguments:?} printed {act:?}: {shown:?}");
        }
        (output.status.code(), shown)
    };
    let (code, said) =
        run(&["fit", "evil.csv", "-l", "label", "-m", "m", "-c", "tiny.toml", "-v", "--test", &name]);
    assert!(code == Some(0) && said.contains("\\u{1b}[31mred"), "{said}");
    let fine: [&[&str]; 9] = [
        &["fit", "evil.csv", "-l", "label", "-m", "m", "-c", "tiny.toml"],
        &["fit", "evil.csv", "-l", "label", "--print-schema"],
        &["fit", "evil.csv", "-l", "label", "--print-config", "-c", "tiny.toml"],
        &["inspect", "m"],
        &["inspect", "m", "--json"],
        &["evaluate", "m", &name],
        &["evaluate", "m", &name, "--json"],
        &["explain", "m", &name, "--rows", "40"],
        &["calibrate", "m", &name, "-o", "c"],
    ];
    for arguments in fine {
        assert_eq!(run(arguments).0, Some(0), "{arguments:?}");
    }
    bench.write("lacks.csv", "y\n1\n");
    let wrong: [&[&str]; 4] = [
        &["predict", "m", "lacks.csv"],
        &["sample", "m", "-n", "1", "--class", EVIL, "--temperature", "-1"],
        &["predict", EVIL, "lacks.csv"],
        &["fit", "evil.csv", "-l", EVIL, "-m", "n"],
    ];
    for arguments in wrong {
        assert_ne!(run(arguments).0, Some(0), "{arguments:?}");
    }
}
