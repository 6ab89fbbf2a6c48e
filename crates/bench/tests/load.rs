//! Datasets in a directory: found, not found, and not what a plan says.

use std::fs;

use flowgmm_bench::{DataDirectory, LoadError, Loader, Plan, PlanDataset};
use semisup::{Toy, rng};

fn dataset(file: &str, more: &str) -> PlanDataset {
    let text = format!(
        "title = 't'\nlearners = ['knn']\ndraws = {{ first = 0, count = 1 }}\n[[dataset]]\nname = 'd'\nfile = '{file}'\n{more}"
    );
    Plan::parse(&text).expect("a good plan").datasets.remove(0)
}

fn absent<T: std::fmt::Debug>(found: Result<T, LoadError>) -> String {
    match found {
        Err(LoadError::Absent(what)) => what,
        other => panic!("not absent: {other:?}"),
    }
}

#[test]
fn a_table_is_read_with_its_last_column_as_the_label() {
    let moons = Toy::Moons.sample(60, &mut rng(1));
    let mut text = String::from("x,y,moon\n");
    for (row, &y) in moons.x().rows().into_iter().zip(moons.y()) {
        text += &format!("{},{},{}\n", row[0], row[1], ["lower", "upper"][y]);
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("t.csv"), text).unwrap();
    let mut data = DataDirectory::new(directory.path());
    let table = dataset("t.csv", "labels = 1");
    data.check(&table).unwrap();
    let loaded = data.load(&table).unwrap();
    assert_eq!((loaded.all.x(), loaded.all.y()), (moons.x(), moons.y()));
    assert_eq!(loaded.all.classes(), ["lower", "upper"]);
    assert!(loaded.test.is_none() && loaded.splits.is_empty());
}

#[test]
fn what_is_not_there_is_named_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let mut data = DataDirectory::new(directory.path());
    let table = dataset("tables/t.csv", "labels = 1");
    for what in [absent(data.check(&table)), absent(data.load(&table))] {
        assert!(what.contains("tables/t.csv is not there") && what.contains("put it there"), "{what}");
    }
    let images = dataset("mnist", "labels = 1\noptions = { kind = 'images' }");
    for what in [absent(data.check(&images)), absent(data.load(&images))] {
        assert!(what.contains("flowgmm data get mnist --dir"), "{what}");
    }
    fs::write(directory.path().join("t.csv"), "a,class\n1,x\n2,y\n").unwrap();
    let what = absent(data.check(&dataset("t.csv", "split = 'labels.npy'")));
    assert!(what.contains("labels.npy is not there"), "{what}");
}

/// CIFAR-10 by its first batch alone: its images can be drawn from, but the authors' splits name rows of all five.
#[test]
fn a_split_of_a_whole_set_says_that_a_part_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("cifar10");
    fs::create_dir(&folder).unwrap();
    for (name, n) in [("data_batch_1.bin", 4u8), ("test_batch.bin", 2)] {
        let records = (0..n).flat_map(|k| [vec![k % 2], vec![40 * k; 3072]].concat());
        fs::write(folder.join(name), records.collect::<Vec<u8>>()).unwrap();
    }
    let text = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }";
    let header = format!("{text:<117}\n");
    let rows = [1i32, 49_999].iter().flat_map(|row| row.to_le_bytes());
    let npy = b"\x93NUMPY\x01\x00".iter().copied().chain((header.len() as u16).to_le_bytes());
    let npy: Vec<u8> = npy.chain(header.bytes()).chain(rows).collect();
    fs::write(directory.path().join("split.npy"), npy).unwrap();
    let mut data = DataDirectory::new(directory.path());
    let images = "options = { kind = 'images' }";
    assert_eq!(data.load(&dataset("cifar10", &format!("labels = 1\n{images}"))).unwrap().all.n(), 4);
    let what = absent(data.load(&dataset("cifar10", &format!("split = 'split.npy'\n{images}"))));
    assert!(what.contains("only a part") && what.contains("flowgmm data get cifar10"), "{what}");
}

#[test]
fn a_dataset_of_another_kind_is_unusable() {
    let mut data = DataDirectory::new(".");
    let sounds = dataset("t.csv", "labels = 1\noptions = { kind = 'sounds' }");
    let error = data.check(&sounds).unwrap_err();
    assert!(matches!(error, LoadError::Unusable(_)), "{error:?}");
    assert!(error.to_string().contains("'sounds' is neither 'table' nor 'images'"), "{error}");
}

/// Numbers without order or repetition.
fn number(row: usize, column: usize) -> f64 {
    ((row * 31 + column * 17) as f64 * 0.618_033_988_749_894_9).fract() - 0.5
}

/// Hepmass by its name: balanced, discrete columns dropped, standardised by the training rows; with its own test rows.
#[test]
fn hepmass_is_read_by_name_with_the_papers_preparation() {
    let file = |rows: usize| {
        let mut text = String::from("# label,f0,f1,f2,mass\n");
        for row in 0..rows {
            // Two of three rows are background; the last feature has two values only.
            let cells: Vec<String> = (0..27)
                .map(|j| if j == 26 { (row % 2) as f64 } else { 3.0 + 2.0 * number(row, j) }.to_string())
                .collect();
            text += &format!("{},{},1000\n", f64::from(u8::from(row % 3 == 0)), cells.join(","));
        }
        text
    };
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("hepmass");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("1000_train.csv"), file(90)).unwrap();
    fs::write(folder.join("1000_test.csv"), file(30)).unwrap();
    let mut data = DataDirectory::new(directory.path());
    let options = "labels = 1\noptions = { kind = 'dataset', fraction = '1', test_fraction = '1' }";
    let hepmass = dataset("hepmass", options);
    data.check(&hepmass).unwrap();
    let loaded = data.load(&hepmass).unwrap();
    let count = |class: usize| loaded.all.y().iter().filter(|&&y| y == class).count();
    assert_eq!([count(0), count(1)], [30, 30], "as many background rows as signal rows");
    assert_eq!((loaded.all.dim(), loaded.test.map(|test| test.n())), (26, Some(20)));
    let mean = loaded.all.x().column(0).sum() / 60.0;
    assert!(mean.abs() < 1e-12, "standardised: {mean}");
}

#[test]
fn miniboone_is_read_by_name_and_texts_ask_for_an_encoder() {
    let mut text = String::from(" 20 35\n");
    for row in 0..55 {
        let cells: Vec<String> = (0..50).map(|j| number(row, j).to_string()).collect();
        text += &format!(" {}\n", cells.join(" "));
    }
    let directory = tempfile::tempdir().unwrap();
    let mut data = DataDirectory::new(directory.path());
    let miniboone = dataset("miniboone", "labels = 1\noptions = { kind = 'dataset' }");
    let what = absent(data.check(&miniboone));
    assert!(what.contains("flowgmm data get miniboone"), "{what}");
    fs::create_dir(directory.path().join("miniboone")).unwrap();
    fs::write(directory.path().join("miniboone/MiniBooNE_PID.txt"), text).unwrap();
    let loaded = data.load(&miniboone).unwrap();
    assert_eq!((loaded.all.n(), loaded.all.dim(), loaded.test.is_none()), (40, 50, true));

    let news = "1,\"Oil\",\"Prices fall\"\n2,\"Cup\",\"Striker scores\"\n";
    fs::create_dir_all(directory.path().join("text/ag_news")).unwrap();
    for name in ["train.csv", "test.csv"] {
        fs::write(directory.path().join("text/ag_news").join(name), news).unwrap();
    }
    let texts = dataset("ag-news", "labels = 1\noptions = { kind = 'dataset' }");
    let error = data.load(&texts).unwrap_err().to_string();
    assert!(error.contains("sentence encoder") && error.contains("encoder = "), "{error}");
    let there = dataset("ag-news", "labels = 1\noptions = { kind = 'dataset', encoder = 'minilm' }");
    assert!(absent(data.check(&there)).contains("minilm is not there"));
    let unknown = dataset("minibone", "labels = 1\noptions = { kind = 'dataset' }");
    assert!(data.check(&unknown).unwrap_err().to_string().contains("Did you mean 'miniboone'?"));
}
