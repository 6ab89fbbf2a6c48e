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

#[test]
fn a_dataset_of_another_kind_is_unusable() {
    let mut data = DataDirectory::new(".");
    let sounds = dataset("t.csv", "labels = 1\noptions = { kind = 'sounds' }");
    let error = data.check(&sounds).unwrap_err();
    assert!(matches!(error, LoadError::Unusable(_)), "{error:?}");
    assert!(error.to_string().contains("'sounds' is neither 'table' nor 'images'"), "{error}");
}
