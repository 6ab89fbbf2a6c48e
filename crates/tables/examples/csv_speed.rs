//! How fast tables are read and written: `cargo run --release -p flowgmm-tables --example csv_speed -- <file>..`
//!
//! Writes every table back as CSV into memory that is dropped, so that no disk is measured.

use std::{io, path::Path, time::Instant};

use flowgmm_data::Cells;
use flowgmm_tables::{ColumnType, Header, Options, OutputFormat, Writer, open};

fn main() -> Result<(), flowgmm_tables::Error> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::metadata(&path).map_or(0, |file| file.len()) as f64;
        let options = |header| Options { header, ..Options::default() };
        let present = open(Path::new(&path), &options(Header::Present));
        let start = Instant::now();
        let reader = present.or_else(|_| open(Path::new(&path), &options(Header::Absent)))?;
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        let seconds = start.elapsed().as_secs_f64();
        let (rows, columns) = (batches.iter().map(|batch| batch.n()).sum::<usize>(), batches[0].columns());
        println!(
            "{path}: {rows} x {} read in {seconds:.3} s, {:.0} MB/s",
            columns.len(),
            bytes / 1e6 / seconds
        );

        let kind = |cells: &Cells| match cells {
            Cells::Numbers(_) => ColumnType::Number,
            Cells::Texts(_) => ColumnType::Text,
        };
        let columns: Vec<_> = columns.iter().map(|c| (c.name.clone(), kind(&c.cells))).collect();
        let start = Instant::now();
        let mut writer = Writer::new(Counter(0), "memory", OutputFormat::Csv, &columns)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        let written = writer.finish()?.0 as f64;
        let seconds = start.elapsed().as_secs_f64();
        println!("{path}: written as CSV in {seconds:.3} s, {:.0} MB/s", written / 1e6 / seconds);
    }
    Ok(())
}

/// Counts what is written to it.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
