//! Fits of rows in shards: the same model whoever holds the rows, in whatever order.

use std::sync::{Arc, Barrier, Mutex};

use flowgmm::{
    Classifier as _, Request, Source,
    data::{Cells, Column, Frame},
    sharded::{Every, RowKeys, Sampling, Worker, Workers, shard_of},
    train::{Reduce, Reduced},
};

const SHARDS: usize = 5;
const SAMPLE: usize = 120;
const SEED: u64 = 3;

/// Row i of a table with numbers, counts, categories and gaps; every 40th row is labelled.
fn table(rows: &[usize]) -> (Frame, Vec<Option<String>>) {
    let numbers = |name: &str, of: &dyn Fn(usize) -> f64| Column {
        name: name.into(),
        cells: Cells::Numbers(rows.iter().map(|&row| of(row)).collect()),
    };
    let side = |row: usize| (row % 2) as f64;
    let noise = |row: usize, by: usize| ((row * by) % 97) as f64 / 97.0;
    let city = |row: &usize| (!row.is_multiple_of(11)).then_some(["Rome", "Oslo", "Lima"][(row / 3) % 3]);
    let columns = vec![
        numbers("a", &|row| 3.0 * side(row) + noise(row, 31)),
        numbers("b", &|row| if row % 13 == 0 { f64::NAN } else { noise(row, 57) - 2.0 * side(row) }),
        numbers("count", &|row| ((row * 7) % 9) as f64),
        Column { name: "city".into(), cells: Cells::Texts(rows.iter().map(city).collect()) },
    ];
    let lines = (1..=rows.len() as u64).collect();
    let labels = rows.iter().map(|&row| (row / 2 % 20 == 0).then(|| ["left", "right"][row % 2].to_string()));
    (Frame::new("rows", columns, lines).unwrap(), labels.collect())
}

fn request(rows: &[usize]) -> Request {
    let (frame, labels) = table(rows);
    Request::new(Source::frame(frame).named_labels("side", labels))
        .with("seed", SEED)
        .with("sample", SAMPLE)
        .with("train.shards", SHARDS)
        .with("train.steps", 24)
        .with("train.batch_unlabelled", 60)
        .with("architecture.depth", 4)
        .with("architecture.hidden", serde_json::json!([16]))
}

#[derive(Clone, Debug)]
struct Threads {
    barrier: Arc<Barrier>,
    max: Arc<Mutex<Vec<f64>>>,
    sum: Arc<Mutex<Vec<i64>>>,
}

impl Threads {
    fn all<T: Copy>(&self, shared: &Mutex<Vec<T>>, values: &mut [T], join: impl Fn(T, T) -> T) {
        {
            let mut shared = shared.lock().unwrap();
            match shared.is_empty() {
                true => shared.extend_from_slice(values),
                false => shared.iter_mut().zip(&*values).for_each(|(all, own)| *all = join(*all, *own)),
            }
        }
        self.barrier.wait();
        values.copy_from_slice(&shared.lock().unwrap());
        if self.barrier.wait().is_leader() {
            shared.lock().unwrap().clear();
        }
        self.barrier.wait();
    }
}

impl Reduce for Threads {
    fn max(&mut self, values: &mut [f64]) -> Reduced {
        self.all(&self.max, values, f64::max);
        Ok(())
    }

    fn sum(&mut self, values: &mut [i64]) -> Reduced {
        self.all(&self.sum, values, |a, b| a + b);
        Ok(())
    }
}

/// Workers in threads that hold the rows that are not sampled; at first they are stopped in the middle, and go on.
#[derive(Debug)]
struct InThreads {
    workers: usize,
    /// The other rows, in the order in which they come.
    rows: Vec<usize>,
    /// Rows that come together.
    together: usize,
}

impl Workers for InThreads {
    fn train(&mut self, job: Vec<u8>) -> flowgmm::Result<Vec<u8>> {
        let n = self.workers;
        let reduce = Threads { barrier: Arc::new(Barrier::new(n)), max: Arc::default(), sum: Arc::default() };
        let (job, this) = (&job, &*self);
        let kept: Mutex<Option<Vec<u8>>> = Mutex::new(None);
        let kept = &kept;
        let run = |from: Option<Vec<u8>>| -> Vec<Vec<u8>> {
            std::thread::scope(|scope| {
                let worker = |w: usize| {
                    let (mut reduce, from) = (reduce.clone(), from.clone());
                    scope.spawn(move || {
                        let own: Vec<usize> = (0..SHARDS).filter(|shard| shard * n / SHARDS == w).collect();
                        let mut worker = Worker::new(job).unwrap();
                        let (frame, _) = table(&this.rows);
                        let keys = RowKeys::new(SEED).of(&frame, None);
                        let mine: Vec<usize> = (0..keys.len())
                            .filter(|&row| own.contains(&shard_of(keys[row], SHARDS)))
                            .collect();
                        for rows in mine.chunks(this.together) {
                            worker.add(&frame.select(rows)).unwrap();
                        }
                        assert_eq!(worker.n(), mine.len());
                        let mut keep = |bytes: Vec<u8>| {
                            kept.lock().unwrap().get_or_insert(bytes);
                            Ok(())
                        };
                        let every = (w == 0).then_some(Every { steps: 10, keep: &mut keep });
                        worker.train(&own, from.as_deref(), &mut reduce, every, &mut ()).unwrap()
                    })
                };
                let threads: Vec<_> = (0..n).map(worker).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            })
        };
        let straight = run(None);
        assert!(straight.iter().all(|state| *state == straight[0]), "all workers end alike");
        let from = kept.lock().unwrap().take();
        assert!(run(from)[0] == straight[0], "from the checkpoint of step 10 on");
        Ok(straight[0].clone())
    }
}

#[test]
fn workers_fit_the_model_of_one_machine_to_the_bit() {
    let rows: Vec<usize> = (0..800).collect();
    let alone = flowgmm::fit(&request(&rows), &mut ()).unwrap();
    assert_eq!(alone.model.provenance().n_unlabelled, 760);
    assert!(alone.decisions().iter().any(|decision| decision.what == "shards"));
    assert!(alone.training.data.n() < 250, "{} rows are not a sample", alone.training.data.n());
    let bytes = alone.model.to_bytes();
    let backwards: Vec<usize> = (0..800).rev().collect();
    assert!(flowgmm::fit(&request(&backwards), &mut ()).unwrap().model.to_bytes() == bytes, "another order");

    let (frame, labels) = table(&backwards);
    let keys = RowKeys::new(SEED).of(&frame, None);
    let sampling = Sampling::new(SAMPLE, 760);
    let here = |at: &usize| labels[*at].is_some() || sampling.holds(keys[*at]);
    let (sample, rest): (Vec<usize>, Vec<usize>) = (0..800).partition(here);
    let of = |at: Vec<usize>| -> Vec<usize> { at.into_iter().map(|at| backwards[at]).collect() };
    let (sample, rest) = (of(sample), of(rest));
    for (workers, together) in [(1, 1000), (2, 3), (3, 50), (5, 1)] {
        let mut elsewhere = InThreads { workers, rows: rest.clone(), together };
        let fit = flowgmm::fit_on(&request(&sample), 760, &mut elsewhere, &mut ()).unwrap();
        assert!(fit.model.to_bytes() == bytes, "{workers} workers");
    }
}

#[test]
fn a_sharded_model_predicts_and_other_shards_are_another_fit() {
    let rows: Vec<usize> = (0..800).collect();
    let fit = flowgmm::fit(&request(&rows).with("train.steps", 200), &mut ()).unwrap();
    assert!(fit.labelled_accuracy() > 0.95, "{}", fit.labelled_accuracy());
    assert_eq!(fit.model.classes(), ["left", "right"]);
    let other = flowgmm::fit(&request(&rows).with("train.shards", 4), &mut ()).unwrap();
    let plain = flowgmm::fit(&request(&rows).with("train.shards", serde_json::Value::Null), &mut ()).unwrap();
    assert!(other.model.to_bytes() != fit.model.to_bytes());
    assert_eq!(plain.training.data.n(), 800, "without shards all rows are the data");
}

#[test]
fn what_cannot_be_cut_into_shards_is_refused_by_name() {
    let rows: Vec<usize> = (0..200).collect();
    let refused = |request: Request| flowgmm::fit(&request, &mut ()).expect_err("refused").to_string();
    assert!(refused(request(&rows).with("train.shards", 0)).contains("train.shards"));
    let em = serde_json::json!({"every": 1, "mixture": {"kind": "fixed"}, "wait": 0.5});
    assert!(refused(request(&rows).with("train.em", em)).contains("train.em"));
    assert!(refused(request(&rows).with("sample", 0)).contains("sample"));
    let mut nobody = InThreads { workers: 1, rows: Vec::new(), together: 1 };
    let (frame, labels) = table(&rows);
    let plain = Request::new(Source::frame(frame).named_labels("side", labels));
    let error = flowgmm::fit_on(&plain, 10, &mut nobody, &mut ()).expect_err("no shards").to_string();
    assert!(error.contains("train.shards"), "{error}");
    assert!(Worker::new(b"rubbish").is_err());
}
