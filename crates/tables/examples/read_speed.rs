//! How fast files are read: `cargo run --release -p flowgmm-tables --example read_speed -- <file>..`

use std::{path::Path, time::Instant};

use flowgmm_tables::{Header, Options, open};

fn main() -> Result<(), flowgmm_tables::Error> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::metadata(&path).map_or(0, |file| file.len()) as f64;
        for header in [Header::Present, Header::Absent] {
            let options = Options { header, ..Options::default() };
            let start = Instant::now();
            let Ok(reader) = open(Path::new(&path), &options) else { continue };
            let (mut rows, mut columns) = (0, 0);
            for batch in reader {
                let batch = batch?;
                (rows, columns) = (rows + batch.n(), batch.columns().len());
            }
            let seconds = start.elapsed().as_secs_f64();
            println!("{path}: {rows} x {columns} in {seconds:.3} s, {:.0} MB/s", bytes / 1e6 / seconds);
            break;
        }
    }
    Ok(())
}
