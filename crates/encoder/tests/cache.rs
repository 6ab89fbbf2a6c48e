//! What the cache promises: the same bits, no work twice, and no trust in damaged files.
#![allow(missing_docs)]

mod common;

use common::{DIM, Family, Model, TEXTS, go_on};
use flowgmm_encoder::{Cache, CacheWarning, Cached, Encoder, Options};
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const HEADER: u64 = 48;
const RECORD: u64 = 32 + 4 * DIM as u64 + 8;

struct Bench {
    dir: tempfile::TempDir,
    encoder: Encoder,
    cache: Cache,
}

impl Bench {
    fn new(seed: u64) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let encoder = model(&dir.path().join("model"), seed, Options::default());
        let cache = Cache::open(&dir.path().join("deep/cache")).unwrap();
        Bench { dir, encoder, cache }
    }

    fn embed(&self, texts: &[&str]) -> Cached {
        self.encoder.embed_cached(texts, &self.cache, &mut go_on).unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.dir.path().join("deep/cache")).unwrap();
        entries.map(|e| e.unwrap().path()).collect()
    }

    fn size(&self) -> u64 {
        std::fs::metadata(&self.files()[0]).unwrap().len()
    }
}

fn model(dir: &Path, seed: u64, options: Options) -> Encoder {
    Model::random(Family::Bert, seed).write(dir);
    Encoder::open(dir, options).unwrap()
}

#[test]
fn what_was_computed_once_is_found_with_the_same_bits() {
    let bench = Bench::new(1);
    let plain = bench.encoder.embed(&TEXTS, &mut go_on).unwrap();
    let first = bench.embed(&TEXTS[..4]);
    assert_eq!((first.found, first.computed), (0, 4));
    let second = bench.embed(&TEXTS);
    assert_eq!((second.found, second.computed), (4, TEXTS.len() - 4));
    let third = bench.embed(&[&TEXTS[..], &TEXTS[..]].concat());
    assert_eq!((third.found, third.computed), (TEXTS.len(), 0), "duplicates count once");
    assert_eq!(first.embeddings, plain[..4 * DIM]);
    assert_eq!(second.embeddings, plain);
    assert_eq!(third.embeddings, [plain.clone(), plain].concat());
    assert!(first.warnings.is_empty() && second.warnings.is_empty() && third.warnings.is_empty());
    assert_eq!(bench.size(), HEADER + TEXTS.len() as u64 * RECORD);
}

#[test]
fn another_model_or_other_options_find_nothing() {
    let bench = Bench::new(2);
    bench.embed(&TEXTS);
    let others = [
        model(&bench.dir.path().join("other"), 3, Options::default()),
        model(&bench.dir.path().join("same"), 2, Options { max_length: Some(7), ..Options::default() }),
    ];
    for other in &others {
        let cached = other.embed_cached(&TEXTS, &bench.cache, &mut go_on).unwrap();
        assert_eq!((cached.found, cached.embeddings), (0, other.embed(&TEXTS, &mut go_on).unwrap()));
    }
    assert_eq!(bench.files().len(), 3);
    let same = model(&bench.dir.path().join("copy"), 2, Options::default());
    assert_eq!(same.embed_cached(&TEXTS, &bench.cache, &mut go_on).unwrap().computed, 0, "another place");
}

#[test]
fn a_torn_tail_is_dropped_and_written_again() {
    for cut in [1, 7, RECORD - 1, RECORD + 5, HEADER + RECORD * TEXTS.len() as u64 - 10] {
        let bench = Bench::new(4);
        let plain = bench.embed(&TEXTS).embeddings;
        let whole = bench.size();
        OpenOptions::new().write(true).open(&bench.files()[0]).unwrap().set_len(whole - cut).unwrap();

        let after = bench.embed(&TEXTS);
        assert_eq!(after.embeddings, plain);
        assert!(
            after.computed > 0 && matches!(after.warnings[..], [CacheWarning::Damaged { records: 1, .. }])
        );
        let again = bench.embed(&TEXTS);
        assert_eq!(
            (again.computed, again.warnings.len(), bench.size()),
            (0, 0, whole),
            "repaired, cut {cut}"
        );
        assert_eq!(again.embeddings, plain);
    }
}

#[test]
fn a_changed_number_is_noticed() {
    let bench = Bench::new(5);
    let plain = bench.embed(&TEXTS).embeddings;
    let mut file = OpenOptions::new().write(true).open(&bench.files()[0]).unwrap();
    file.seek(SeekFrom::Start(HEADER + 2 * RECORD + 40)).unwrap();
    file.write_all(&[0xff]).unwrap();
    let after = bench.embed(&TEXTS);
    assert_eq!((after.embeddings, after.computed), (plain, 1));
    assert!(after.warnings[0].to_string().contains("1 damaged records"), "{}", after.warnings[0]);
}

#[test]
fn a_file_that_is_no_cache_is_neither_used_nor_changed() {
    let bench = Bench::new(6);
    let plain = bench.embed(&TEXTS).embeddings;
    let file = &bench.files()[0];
    let foreign = vec![7; 5000];
    std::fs::write(file, &foreign).unwrap();
    let after = bench.embed(&TEXTS);
    assert_eq!((after.embeddings, after.computed), (plain, TEXTS.len()));
    assert!(matches!(after.warnings[..], [CacheWarning::NotRead { .. }, CacheWarning::NotWritten { .. }]));
    assert_eq!(std::fs::read(file).unwrap(), foreign);
}

#[test]
fn an_unwritable_cache_is_a_warning() {
    let bench = Bench::new(7);
    let plain = bench.embed(&TEXTS).embeddings;
    let file = bench.files()[0].clone();
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let after = bench.embed(&TEXTS);
    assert_eq!(after.embeddings, plain);
    let warning = after.warnings.last().unwrap().to_string();
    assert!(warning.contains("could not be added") && warning.contains(file.to_str().unwrap()), "{warning}");
}

#[test]
fn a_stopped_call_keeps_what_it_finished() {
    let bench = Bench::new(8);
    let many: Vec<String> = (0..400).map(|i| format!("{} {i}", TEXTS[i % 9])).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut stop = |done, _| if done > 50 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert!(bench.encoder.embed_cached(&many, &bench.cache, &mut stop).is_err());
    let rest = bench.embed(&many);
    assert!(rest.found > 50 && rest.computed > 0, "{} found", rest.found);
}

/// Every writer has its own handle and lock, as processes have.
#[test]
fn writers_at_the_same_time_lose_nothing() {
    let bench = Bench::new(9);
    let many: Vec<String> = (0..400).map(|i| format!("{} {i}", TEXTS[i % 9])).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let plain = bench.encoder.embed(&many, &mut go_on).unwrap();
    std::thread::scope(|scope| {
        for part in many.chunks(100) {
            scope.spawn(|| bench.embed(part));
        }
    });
    let after = bench.embed(&many);
    assert_eq!((after.found, after.warnings.len()), (400, 0));
    assert_eq!(after.embeddings, plain);
}
