//! Images from outside: every form they come in, the way of a user, and what is said where something is wrong.

mod common;

use common::{Bench, cells, json, pictures::*, stderr};

/// A directory with a folder of pictures to learn from, one to test on, and tiny settings.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("tiny.toml", TINY);
    folder(&bench, "train", 0, 12, 40);
    folder(&bench, "test", 100, 20, 0);
    bench
}

const FIT: &str = "fit train --model m.flow --config tiny.toml --seed 1";

#[test]
fn a_folder_becomes_a_model_that_predicts_evaluates_samples_and_explains_itself() {
    let bench = bench();
    let output = bench.run(&format!("{FIT} --test test --verbose"));
    let (said, summary) = (stderr(&output), String::from_utf8(output.stdout.clone()).unwrap());
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in [
        "64 images",
        "24 of them labelled",
        "8 x 10 grey, padded to 8 x 12",
        "of memory",
        "120 steps",
        "FLOP",
    ] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    let parts = [
        "24 labelled, 40 unlabelled",
        "level: 12",
        "defaults for images",
        "bits per pixel",
        "round trip",
        "test",
        "m.flow",
    ];
    for part in parts {
        assert!(summary.contains(part), "'{part}' is not in: {summary}");
    }

    let scores = json(&bench.ok("evaluate m.flow test --json"));
    assert!(scores["accuracy"].as_f64().unwrap() > 0.9, "{scores}");
    assert_eq!(
        (scores["n"].as_u64(), scores["classes"].clone()),
        (Some(40), serde_json::json!(["level", "upright"]))
    );
    assert!((0.0..16.0).contains(&scores["bits_per_dim"].as_f64().unwrap()), "{scores}");
    assert!(bench.ok("evaluate m.flow train").contains("40 without a label skipped"));

    // One row for each picture, by its name, agreeing with evaluate.
    bench.ok("predict m.flow test --out p.csv");
    let predicted = cells(&bench.read("p.csv"));
    assert_eq!(predicted[0][..4], ["image", "class", "p_level", "p_upright"]);
    assert_eq!((predicted.len(), predicted[1][0].as_str()), (41, "level/100.png"));
    let right = predicted[1..].iter().filter(|row| row[0].starts_with(&row[1])).count();
    assert_eq!(right as f64 / 40.0, scores["accuracy"].as_f64().unwrap());
    bench.ok("predict m.flow test/level/100.png --out one.csv");
    assert_eq!(cells(&bench.read("one.csv"))[1][1..3], predicted[1][1..3]);

    // Samples: a sheet of two rows, the means, and pixels without the padding.
    assert_eq!(
        bench.ok("sample m.flow --n 3 --out sheet.png --temperature 0.7"),
        "row 1: level\nrow 2: upright\n"
    );
    assert_eq!(png_size(&bench.path("sheet.png")), (3 * 52 + 2, 2 * 42 + 2, 0));
    let sheet = bench.bytes("sheet.png");
    bench.ok("sample m.flow --n 3 --out sheet.png --temperature 0.7");
    assert_eq!(bench.bytes("sheet.png"), sheet, "the same seed");
    assert_eq!(bench.ok("sample m.flow --means --class upright --out means.png"), "row 1: upright\n");
    assert_eq!(png_size(&bench.path("means.png")), (52 + 2, 42 + 2, 0));
    bench.ok("sample m.flow --n 5 --out s.csv");
    let rows = cells(&bench.read("s.csv"));
    assert_eq!(
        (rows.len(), rows[0].len(), rows[0][0].as_str(), rows[0][79].as_str()),
        (6, 81, "r0c0", "r7c9")
    );
    assert!(rows[1][..80].iter().all(|cell| cell.parse::<u8>().is_ok()), "{:?}", rows[1]);

    let card = json(&bench.ok("inspect m.flow --data test --json"));
    assert_eq!(card["rows"]["layout"], serde_json::json!({ "channels": 1, "height": 8, "width": 10 }));
    let images = &card["certificates"]["images"];
    assert_eq!(images["images"], 40);
    assert!(images["largest"].as_f64().unwrap() < 0.5 && images["exact"] == 1.0, "{images}");
    let text = bench.ok("inspect m.flow --data test");
    assert!(text.contains("8 x 10 grey, padded to 8 x 12") && text.contains("come back exactly"), "{text}");
    for certificate in ["training", "samples", "data"] {
        let gap = card["certificates"][certificate]["round_trip"].as_f64();
        assert!(gap.is_some_and(|gap| gap < 1e-3), "{certificate}: {gap:?}");
    }

    // Calibration takes images too.
    assert!(bench.ok("calibrate m.flow test --out c.flow").contains("temperature"));
}

#[test]
fn runs_repeat_and_resume() {
    let bench = bench();
    let fit = "fit train --config tiny.toml --steps 30 --quiet";
    bench.ok(&format!("{fit} --model a --threads 1"));
    bench.ok(&format!("{fit} --model b --threads 2 --checkpoint c"));
    assert_eq!(bench.bytes("a"), bench.bytes("b"), "neither threads nor checkpoints change a model");
    bench.ok(&format!("{fit} --model d --checkpoint c --resume"));
    assert_eq!(bench.bytes("a"), bench.bytes("d"));
    let settings = bench.ok("fit train --print-config --config tiny.toml --steps 7");
    for part in ["steps = 7  # from: flag", "[architecture.image", "kind = \"light\"", "prepare"] {
        assert!(settings.contains(part), "'{part}' is not in: {settings}");
    }
    bench.write("whole.toml", settings.replace("steps = 7", "steps = 30"));
    bench.ok("fit train --model e --config whole.toml --quiet");
    assert_eq!(bench.bytes("a"), bench.bytes("e"), "what is printed can be read");
}

/// Fits and returns the summary.
fn fitted(bench: &Bench, words: &str) -> serde_json::Value {
    json(&bench.ok(&format!("fit {words} --model f.flow --config tiny.toml --steps 3 --json --quiet")))
}

#[test]
fn every_form_of_images_is_recognised() {
    let bench = bench();
    let (pixels, labels) = many(30, 1, 8, 8);
    bench.write("images.idx", idx(&[30, 8, 8], &pixels));
    bench.write("labels.idx", idx(&[30], &labels));
    let found = fitted(&bench, "images.idx --labels labels.idx --test images.idx --test-labels labels.idx");
    assert_eq!((&found["images"], &found["labelled"]), (&30.into(), &30.into()));
    assert_eq!((found["test"]["n"].as_u64(), &found["layout"]["width"]), (Some(30), &8.into()));
    bench.ok("evaluate f.flow images.idx --labels labels.idx --json");
    bench.ok("predict f.flow images.idx --out p.csv");
    assert_eq!(cells(&bench.read("p.csv"))[1][0], "0");

    // Only some labels are shown.
    let splits: Vec<u8> =
        [0, 1, 2, 3, 4, 5, 6, 7, 9, 8].iter().flat_map(|&row: &i32| row.to_le_bytes()).collect();
    bench.write("splits.npy", npy("<i4", &[2, 5], &splits));
    let found = fitted(&bench, "images.idx --labels labels.idx --labelled splits.npy --split 1");
    assert_eq!((&found["labelled"], &found["unlabelled"]), (&5.into(), &25.into()));
    assert_eq!(found["labelled_per_class"], serde_json::json!({ "0": 2, "1": 3 }));

    // NPZ, in all three orders; a negative label is none. More images without labels come from elsewhere.
    let signed: Vec<u8> = labels
        .iter()
        .enumerate()
        .flat_map(|(at, &y)| if at < 10 { i64::from(y) } else { -1 }.to_le_bytes())
        .collect();
    let y = npy("<i8", &[30], &signed);
    bench.write("grey.npz", zip(&[("x.npy", npy("|u1", &[30, 8, 8], &pixels)), ("y.npy", y.clone())]));
    let found = fitted(&bench, "grey.npz --unlabelled images.idx");
    assert_eq!((&found["labelled"], &found["unlabelled"]), (&10.into(), &50.into()));
    let (colour, _) = many(30, 3, 8, 8);
    bench.write(
        "planes.npz",
        zip(&[("x_a.npy", npy("|u1", &[30, 3, 8, 8], &colour)), ("y_a.npy", y.clone())]),
    );
    let found = fitted(&bench, "planes.npz --suffix _a");
    assert_eq!(found["layout"], serde_json::json!({ "channels": 3, "height": 8, "width": 8 }));
    let last: Vec<u8> = colour
        .chunks_exact(192)
        .flat_map(|image| {
            (0..64).flat_map(|at| [image[at], image[64 + at], image[128 + at]]).collect::<Vec<_>>()
        })
        .collect();
    bench.write("last.npz", zip(&[("x.npy", npy("|u1", &[30, 8, 8, 3], &last)), ("y.npy", y)]));
    bench.ok("predict f.flow planes.npz --suffix _a --out planes.csv");
    bench.ok("predict f.flow last.npz --out last.csv");
    assert_eq!(bench.read("planes.csv"), bench.read("last.csv"), "the same images in another order");

    // CIFAR-10 and SVHN, scaled down.
    bench.write("batch.bin", cifar(12));
    let found = fitted(&bench, "batch.bin --size 8x8");
    assert_eq!(found["labelled_per_class"], serde_json::json!({ "airplane": 6, "automobile": 6 }));
    bench.write("digits.mat", svhn(12));
    let found = fitted(&bench, "digits.mat --size 8x8");
    assert_eq!(found["labelled_per_class"], serde_json::json!({ "1": 6, "2": 6 }));
    let output = bench.run("predict f.flow digits.mat --out p.csv");
    assert!(stderr(&output).contains("all images have another size than 8 x 8"), "{}", stderr(&output));
}

#[test]
fn pictures_of_other_sizes_and_colours_are_made_alike_and_said_so() {
    let bench = bench();
    write_png(&bench, "train/level/wide.png", &bars(0, 1, 1, 8, 30));
    write_png(&bench, "train/upright/large.png", &bars(1, 1, 3, 24, 30));
    bench.write("train/level/flat.jpg", flat_jpeg(100));
    bench.write("train/level/readme.txt", "not a picture");
    let output = bench.run("fit train --model m --config tiny.toml --steps 3");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in [
        "3 of 67 images have another size than 8 x 10",
        "66 of 67 images are grey",
        "1 entries",
        "readme.txt",
    ] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    let output = bench.run("predict m test --out p.csv");
    assert!(stderr(&output).contains("all images are grey"), "{}", stderr(&output));
    // A model of grey images takes the brightness of colours; a flat JPEG is as flat as a flat PNG.
    std::fs::remove_file(bench.path("train/upright/large.png")).unwrap();
    bench.ok("fit train --model g --config tiny.toml --steps 3 --quiet --size 8x8");
    write_png(&bench, "other/colour.png", &bars(0, 1, 3, 8, 8));
    bench.write("other/flat.jpeg", flat_jpeg(70));
    write_png(&bench, "other/flat2.png", &flowgmm::data::Image::new(1, 8, 8, vec![70; 64]));
    let output = bench.run("predict g other --out p.csv");
    assert!(stderr(&output).contains("1 of 3 images are in colour"), "{}", stderr(&output));
    let rows = cells(&bench.read("p.csv"));
    assert_eq!((rows[2][0].as_str(), &rows[2][1..]), ("flat.jpeg", &rows[3][1..]));
}

#[test]
fn folders_that_cannot_be_learnt_from_are_described() {
    let bench = bench();
    let fit = |path: &str, code: i32, said: &[&str]| {
        bench.fails(&format!("fit {path} --model n --config tiny.toml --quiet"), code, said);
        assert!(!bench.path("n").exists(), "no model from {path}");
    };
    std::fs::create_dir_all(bench.path("nothing/empty")).unwrap();
    fit("nothing", 3, &["nothing", "no PNG or JPEG files", "unlabelled"]);
    std::fs::create_dir(bench.path("test/none")).unwrap();
    fit("test", 3, &["test", "'none'", "no PNG or JPEG files", "remove it"]);
    bench.ok("fit train --model m --config tiny.toml --steps 3 --quiet");
    bench.ok("evaluate m test --json"); // where nothing is learnt, an empty class does no harm
    for at in 0..3 {
        write_png(&bench, &format!("one/only/{at}.png"), &bars(0, at, 1, 8, 8));
        write_png(&bench, &format!("bare/unlabelled/{at}.png"), &bars(0, at, 1, 8, 8));
        write_png(&bench, &format!("strange/cat/{at}.png"), &bars(0, at, 1, 8, 8));
        write_png(&bench, &format!("two/a/{at}.png"), &bars(0, at, 1, 8, 8));
        write_png(&bench, &format!("two/b/{at}.png"), &bars(1, at, 1, 8, 8));
    }
    fit("one", 3, &["one class only", "'only'"]);
    fit("bare", 3, &["bare has no labels", "folder"]);
    fit("train/level/000.png", 3, &["one picture"]);
    bench.fails("evaluate m bare", 3, &["bare has no labels"]);
    bench.fails("evaluate m strange", 3, &["'cat'", "level, upright"]);
    bench.ok("fit two --model n --config tiny.toml --steps 3 --quiet"); // no unlabelled images are no mistake
    std::fs::remove_file(bench.path("n")).unwrap();

    let whole = bench.bytes("two/a/0.png");
    bench.write("two/a/0.png", &whole[..whole.len() - 9]);
    fit("two", 3, &["0.png", "PNG", "ends too early"]);
    let mut spoilt = whole.clone();
    spoilt[50] ^= 4;
    bench.write("two/a/0.png", &spoilt);
    fit("two", 3, &["0.png", "cannot be read as PNG"]);
    bench.write("two/a/0.png", "I am a text");
    fit("two", 3, &["0.png", "PNG or JPEG", "Take another copy"]);
    bench.write("two/a/0.png", b"GIF89a....");
    fit("two", 3, &["0.png", "GIF", "convert"]);
    bench.write("two/a/0.png", "");
    fit("two", 3, &["0.png", "empty"]);
    let jpeg = flat_jpeg(90);
    for length in [4, 100, jpeg.len() - 2] {
        bench.write("two/a/0.png", &jpeg[..length]);
        fit("two", 3, &["0.png", "JPEG"]);
    }
    bench.write("two/a/0.png", whole);
    write_png(&bench, "huge/a/0.png", &bars(0, 0, 1, 200, 300));
    write_png(&bench, "huge/b/0.png", &bars(1, 0, 1, 200, 300));
    fit("huge", 3, &["huge", "200 x 300", "128"]);
    bench.ok("fit huge --model h --config tiny.toml --steps 2 --quiet --size 8x12");
}

#[test]
fn damaged_and_unfit_files_are_described() {
    let bench = bench();
    let fit = |words: &str, code: i32, said: &[&str]| {
        bench.fails(&format!("fit {words} --model n --config tiny.toml --quiet"), code, said);
    };
    let (pixels, labels) = many(6, 1, 8, 8);
    let images = idx(&[6, 8, 8], &pixels);
    bench.write("images.idx", &images);
    bench.write("labels.idx", idx(&[6], &labels));
    fit("images.idx", 3, &["images.idx has no labels", "--labels"]);
    bench.write("few.idx", idx(&[5], &labels[..5]));
    fit("images.idx --labels few.idx", 3, &["few.idx", "5 labels", "6 images"]);
    fit("images.idx --labels images.idx", 3, &["images.idx", "IDX"]);
    fit("images.idx --labels absent.idx", 5, &["absent.idx"]);
    bench.write("short.idx", &images[..images.len() - 7]);
    fit("short.idx --labels labels.idx", 3, &["short.idx", "ends too early"]);
    bench.write("long.idx", [&images[..], b"x"].concat());
    fit("long.idx --labels labels.idx", 3, &["long.idx", "after its end"]);
    bench.write("none.idx", idx(&[0, 8, 8], &[]));
    fit("none.idx --labels labels.idx", 3, &["none.idx", "nothing is in it"]);
    bench.write("splits.npy", npy("<i4", &[1, 2], &[0, 0, 0, 0, 9, 0, 0, 0]));
    fit("images.idx --labels labels.idx --labelled splits.npy", 3, &["splits.npy", "row 9", "6 rows"]);
    bench.write("good.npy", npy("<i4", &[1, 2], &[0, 0, 0, 0, 1, 0, 0, 0]));
    fit("images.idx --labels labels.idx --labelled good.npy --split 3", 3, &["good.npy", "no seed 3"]);
    let cut = &cifar(3)[..5000];
    bench.write("cut.bin", cut);
    fit("cut.bin", 3, &["cut.bin", "record 1"]);
    let mat = svhn(3);
    bench.write("cut.mat", &mat[..mat.len() / 2]);
    fit("cut.mat", 3, &["cut.mat", "ends too early"]);
    let floats = npy("<f4", &[2, 2, 2], &[0; 32]);
    bench.write("floats.npz", zip(&[("x.npy", floats)]));
    fit("floats.npz", 3, &["floats.npz", "'x'", "uint8"]);
    bench.write("five.npz", zip(&[("x.npy", npy("|u1", &[2, 5, 2, 2], &[0; 40]))]));
    fit("five.npz", 3, &["five.npz", "[2, 5, 2, 2]", "channels"]);
    let y = npy("|u1", &[3], &[0, 1, 0]);
    bench.write("uneven.npz", zip(&[("x.npy", npy("|u1", &[2, 4, 4], &[0; 32])), ("y.npy", y)]));
    fit("uneven.npz", 3, &["uneven.npz", "'y'", "[3]", "2 images"]);
    fit("train --labels labels.idx", 3, &["train", "only IDX"]);
    // What is wrong with --test is said before the fit.
    fit("train --test test.csv", 3, &["test.csv holds no images"]);
    fit("train --test absent", 5, &["absent"]);
    fit("train --test images.idx", 3, &["images.idx has no labels"]);
    fit("train --test images.idx --test-labels labels.idx", 3, &["'0'", "level, upright"]);
}

#[test]
fn tables_and_images_are_not_mixed_up() {
    let bench = bench();
    bench.ok("fit train --model m --config tiny.toml --steps 3 --quiet");
    bench.write("small.toml", common::TINY);
    bench.ok("fit train.csv --label label --model t --config small.toml --quiet");
    bench.fails("predict m test.csv --out p", 3, &["test.csv holds no images", "8 x 10 grey", "folder"]);
    bench.fails("evaluate m test.csv --label label", 3, &["test.csv holds no images"]);
    bench.fails("inspect m --data test.csv", 3, &["test.csv holds no images"]);
    bench.fails("predict m absent --out p", 5, &["absent"]);
    bench.fails("predict t test --out p", 3, &["test is a folder", "fitted to a table"]);
    bench.fails("predict t test/level/100.png --out p", 3, &["holds images", "fitted to a table"]);
    bench.fails("sample t --means --out s.png", 2, &["fitted to a table"]);
    bench.fails("sample t --n 2 --out s.png", 2, &["fitted to a table"]);
    bench.fails("sample m --means --out s.csv", 2, &[".png"]);
    bench.fails("sample m --out s.png", 2, &["--n"]);
    bench.fails("sample m --n 2 --means --out s.png", 2, &["--means"]);
    bench.fails("sample m --n 2 --class cat --out s.png", 2, &["'cat'", "level, upright"]);
    assert!(
        bench.ok("evaluate t test.csv").contains("accuracy"),
        "the label column of training is remembered"
    );
    bench.fails("fit train.csv --label label --model n --size 8x8", 2, &["--size", "table"]);
    bench.fails("fit train --model n --size 8", 2, &["--size", "32x32"]);
    bench.fails("fit train --model n --print-schema", 2, &["--print-schema", "tables"]);
    bench.fails("fit train --model n --preset reference-code", 2, &["reference-code", "tables"]);
    bench.fails("fit train --model n --ignore a", 2, &["--ignore", "tables"]);
    assert!(["n", "p", "s.png"].iter().all(|name| !bench.path(name).exists()), "{:?}", bench.files());
}

#[test]
fn the_papers_model_is_there_and_says_what_it_costs() {
    let bench = bench();
    let settings = bench.ok("fit train --print-config --preset paper");
    for part in ["kind = \"paper\"", "blocks = 8", "hidden = 64"] {
        assert!(settings.contains(part), "'{part}' is not in: {settings}");
    }
    bench
        .write("paper.toml", "[architecture.image]\nhidden = 4\nblocks = 1\n[train]\nbatch_unlabelled = 8\n");
    let output = bench.run("fit train --model m --preset paper --config paper.toml --steps 2");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("2 steps") && said.contains("40 images and") && said.contains("FLOP in all"),
        "{said}"
    );
}

#[test]
fn a_path_that_is_not_there_is_said_to_be_so() {
    let bench = Bench::new();
    bench.fails("fit nowhere --model m.flowgmm", 5, &["nowhere"]);
    bench.fails("fit train.csv --model m.flowgmm", 2, &["train.csv", "--label"]);
}
