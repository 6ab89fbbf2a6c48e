//! A model of a small table, made once, and servers of it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread::JoinHandle,
    time::Duration,
};

use flowgmm::{Model, Request, Source, tensor::Place};
use flowgmm_server::{Limits, Options};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// A name that is markup elsewhere.
pub const ODD: &str = "<img src=x onerror=alert(1)>";

/// The table: numbers, a category and gaps; few labels.
pub fn csv() -> String {
    let mut text = format!("width,height,colour,{ODD},kind\n");
    for i in 0..160_u32 {
        let k = i % 2;
        // A cheap, fixed sequence that looks random enough.
        let noise =
            |salt: u32| f64::from((i * 2_654_435_761_u32.wrapping_add(salt * 40_503)) % 1000) / 1000.0 - 0.5;
        let width = 2.0 + 3.0 * f64::from(k) + noise(1);
        let height =
            if i % 17 == 5 { String::new() } else { format!("{:.3}", 1.0 - f64::from(k) + noise(2)) };
        let colour = if (i / 2) % 3 == 0 { "red" } else { "blue" };
        let label = if i % 8 < 2 { [ODD, "plain"][k as usize] } else { "" };
        text += &format!("{width:.3},{height},{colour},{:.2},{label}\n", noise(3));
    }
    text
}

/// The files of the fixture: a model, its data, and another model of the same columns.
pub struct Files {
    _folder: tempfile::TempDir,
    pub model: PathBuf,
    pub other: PathBuf,
    pub data: PathBuf,
}

pub fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("kinds.csv");
        std::fs::write(&data, csv()).unwrap();
        let fit = |seed: u64, name: &str| {
            let request = Request::new(Source::path(&data).label_column("kind"))
                .with("train.steps", 60)
                .with("seed", seed);
            let path = folder.path().join(name);
            flowgmm::fit(&request, &mut ()).unwrap().model.save(&path).unwrap();
            path
        };
        let (model, other) = (fit(1, "kinds.flow"), fit(2, "other.flow"));
        Files { _folder: folder, model, other, data }
    })
}

pub fn load(path: &Path) -> Model {
    Model::load(path, &Place::cpu()).unwrap()
}

/// A server that runs until it is dropped.
pub struct Running {
    pub address: SocketAddr,
    leave: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options {
            models: vec![files().model.clone()],
            data: Some(Source::path(&files().data)),
            address: "127.0.0.1:0".parse().unwrap(),
            token: None,
            hosts: Vec::new(),
            workers: 2,
            limits: Limits { grace: Duration::from_secs(5), ..Limits::default() },
        };
        change(&mut options);
        let server = flowgmm_server::start(options).unwrap();
        let address = server.address();
        let (leave, left) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            server.run(async move { drop(left.await) }).unwrap();
        });
        Self { address, leave: Some(leave), thread: Some(thread) }
    }

    /// A server of the fixture's model and data that all tests share.
    pub fn shared() -> SocketAddr {
        static SHARED: OnceLock<Running> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(|_| {})).address
    }

    /// Tells it to leave and waits until it has.
    pub fn stop(&mut self) {
        drop(self.leave.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The tensors of some rows, chosen by number, as `flowgmm predict` would read them.
pub fn tensors(rows: &[usize]) -> Value {
    let text = csv();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let cells: Vec<Vec<&str>> = lines.collect();
    let column = |j: usize| {
        let texts = names[j] == "colour";
        let cell = |&row: &usize| match cells[row][j] {
            "" => Value::Null,
            text if texts => json!(text),
            text => json!(text.parse::<f64>().unwrap()),
        };
        json!({
            "name": names[j],
            "datatype": if texts { "BYTES" } else { "FP64" },
            "shape": [rows.len()],
            "data": rows.iter().map(cell).collect::<Vec<_>>(),
        })
    };
    json!((0..4).map(column).collect::<Vec<_>>())
}
