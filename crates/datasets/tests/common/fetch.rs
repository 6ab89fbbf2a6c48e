//! A dataset of one file, and a store to fetch it into.
#![allow(dead_code)] // each test file uses its own share

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use flowgmm_datasets::*;

/// 200,000 bytes that differ from place to place, and their MD5 (`md5sum` of the same bytes).
pub fn content() -> Vec<u8> {
    (0..200_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}
pub const MD5: Checksum = Checksum::Md5("7340da468b423f050180eed803596380");
pub const SIZE: Option<u64> = Some(200_000);

pub fn dataset(urls: &[String], size: Option<u64>, checksum: Option<Checksum>) -> &'static Dataset {
    let urls: Vec<&'static str> = urls.iter().map(|url| &*url.clone().leak()).collect();
    let file = DataFile { name: "file.bin", urls: urls.leak(), size, checksum, copies: &[] };
    Box::leak(Box::new(Dataset {
        name: "test",
        title: "",
        licence: "",
        home: "http://example.org/",
        folder: "test",
        kind: DatasetKind::MiniBoone,
        files: Box::leak(Box::new([file])),
        merged: None,
    }))
}

pub fn store(folder: &Path, attempts: u32) -> Store {
    let retry = Retry { attempts, first_wait: Duration::from_millis(5) };
    Store::new(StoreOptions { retry, ..StoreOptions::default() }).with_directory(folder)
}

pub fn get(store: &Store, dataset: &'static Dataset) -> Result<Vec<Fetched>> {
    store.get_dataset(dataset, &mut |_| ControlFlow::Continue(()))
}

pub fn target(folder: &Path, ending: &str) -> PathBuf {
    folder.join(format!("test/file.bin{ending}"))
}

/// The file is there whole, and nothing else of it.
pub fn check_done(folder: &Path) {
    assert!(fs::read(target(folder, "")).unwrap() == content());
    assert!(!target(folder, ".part").exists() && !target(folder, ".tag").exists());
}
