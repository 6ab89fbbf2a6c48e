//! Compares what a fit is said to need with what it takes: peak of the resident memory, and seconds of training.
//!
//!     cargo run --release -p flowgmm --example memory -- table 60000 40
//!     cargo run --release -p flowgmm --example memory -- image 4000 28
//!
//! One fit per process, since the peak (VmHWM, Linux) is that of a process. The rows are random; a hundred are labelled.

use std::time::Instant;

use flowgmm::{Control, ImageArray, Observer, Phase, Request, Source, Training};
use semisup::ImageShape;

const STEPS: usize = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, n, size] = arguments.as_slice() else {
        return Err("usage: memory (table ROWS COLUMNS | image IMAGES SIDE)".into());
    };
    let (n, size): (usize, usize) = (n.parse()?, size.parse()?);
    let labels = (0..n).map(|i| (i < 100).then(|| ["a", "b", "c"][i % 3].to_string()));
    // A mixture of three classes, by a generator of two lines: nothing here needs good random numbers.
    let mut state = 1_u64;
    let mut value = |i: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64 * 100.0 + (i % 3) as f64 * 50.0
    };
    let source = match kind.as_str() {
        "image" => {
            let shape = ImageShape { channels: 1, height: size, width: size };
            let pixels = (0..n * size * size).map(|at| value(at / (size * size)) as u8).collect();
            Source::images(ImageArray::new(shape, pixels)?)
        }
        _ => Source::matrix(ndarray::Array2::from_shape_fn((n, size), |(i, _)| value(i)).view()),
    };
    let request = Request::new(source.labels(labels)).with("train.steps", STEPS);
    let training = Training::read(&request, &mut ())?;
    let plan = training.plan(&request, &mut ())?;
    let (memory, seconds) = (plan.cost.memory, plan.seconds(&training));
    let mut watch = Watch { began: None, seconds: 0.0 };
    training.fit(plan, &request, Instant::now(), &mut watch)?;
    println!("memory: said {:.0} MB, took {:.0} MB", memory / 1e6, peak()? / 1e6);
    println!("training: said {:.1} s, took {:.1} s", seconds.unwrap_or(f64::NAN), watch.seconds);
    Ok(())
}

/// Times training and the short runs of calibration, not what comes between them.
struct Watch {
    began: Option<Instant>,
    seconds: f64,
}

impl Observer for Watch {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        let trains = matches!(phase, Phase::Training | Phase::Start { .. } | Phase::HoldingOut { .. });
        self.began = trains.then(Instant::now);
    }

    fn progress(&mut self, _done: usize) -> Control {
        if let Some(began) = self.began.replace(Instant::now()) {
            self.seconds += began.elapsed().as_secs_f64();
        } else {
            self.began = None;
        }
        Control::Continue
    }
}

/// The peak of the resident memory in bytes.
fn peak() -> Result<f64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(1024.0 * line.trim().trim_end_matches("kB").trim().parse::<f64>()?)
}
