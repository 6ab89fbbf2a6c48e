//! Embeds the lines of a file and prints the timing as JSON; with a third argument, writes the embeddings there as
//! little-endian f32, [lines, dim].
//!
//! `cargo run --release -p flowgmm-encoder --example embed -- MODEL_DIR FILE.txt [OUT.f32]`
//! (`RAYON_NUM_THREADS` sets the threads, `FLOWGMM_MAX_LENGTH` the tokens of a text.)

use flowgmm_encoder::{Encoder, Options};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, file, out @ ..] = args.as_slice() else {
        return Err("usage: embed MODEL_DIR FILE.txt [OUT.f32]".into());
    };
    let max_length = std::env::var("FLOWGMM_MAX_LENGTH").ok().map(|n| n.parse()).transpose()?;
    let text = std::fs::read_to_string(file)?;
    let texts: Vec<&str> = text.lines().collect();

    let start = Instant::now();
    let encoder = Encoder::open(Path::new(model), Options { max_length, ..Options::default() })?;
    let opened = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let rows = encoder.embed(&texts, &mut |_, _| ControlFlow::Continue(()))?;
    let seconds = start.elapsed().as_secs_f64();

    if let Some(out) = out.first() {
        std::fs::write(out, rows.iter().flat_map(|e| e.to_le_bytes()).collect::<Vec<u8>>())?;
    }
    let timing = serde_json::json!({
        "texts": texts.len(),
        "dim": encoder.dim(),
        "max_length": encoder.max_length(),
        "threads": rayon::current_num_threads(),
        "open_seconds": opened,
        "embed_seconds": seconds,
        "texts_per_second": texts.len() as f64 / seconds,
    });
    println!("{timing}");
    Ok(())
}
