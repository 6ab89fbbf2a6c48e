//! Tables as Arrow IPC, in and out.

use std::io::Cursor;

use flowgmm::{
    Predictions, RowNames, Source,
    data::{Cells, Column, Frame},
    tables::{self, ColumnType, InputFormat, OutputFormat, Writer},
};
use hyper::body::Bytes;

use super::infer::Output;
use crate::{
    failure::{Failure, Result},
    queue::Answer,
    served::Served,
};

/// The rows of an Arrow stream or file.
pub fn source(body: &Bytes, most: usize) -> Result<Source> {
    let options = tables::Options { format: Some(InputFormat::Arrow), ..tables::Options::default() };
    let stream = tables::Source::stream("the request", Cursor::new(body.clone()));
    let wrong = |error: tables::Error| Failure::from(flowgmm::Error::from(error));
    let mut frames = Vec::new();
    let mut rows = 0;
    for frame in tables::open(stream, &options).map_err(wrong)? {
        let frame = frame.map_err(wrong)?;
        rows += frame.n();
        if rows > most {
            return Err(Failure::too_large(format!("more than {most} rows; send them in several requests")));
        }
        frames.push(frame);
    }
    if rows == 0 {
        return Err(Failure::request("the table has no rows"));
    }
    Ok(Source::frames_of(frames.into()))
}

/// The outputs as a table, named as `flowgmm predict` names them; latent points as z1, z2, ...
pub fn answer(served: &Served, found: &Predictions, outputs: &[Output]) -> Result<Answer> {
    let names = RowNames::Lines((1..=found.n() as u64).collect());
    let all = found.to_frame(&served.model, &names)?;
    let wanted = |output: Output| -> Vec<Column> {
        let pick = |keep: &dyn Fn(&str) -> bool| -> Vec<Column> {
            all.columns().iter().filter(|column| keep(&column.name)).cloned().collect()
        };
        match output {
            Output::Probabilities => pick(&|name| name.starts_with("p_")),
            Output::Z => {
                let columns = found.z.columns().into_iter().enumerate();
                columns
                    .map(|(j, z)| Column { name: format!("z{}", j + 1), cells: Cells::Numbers(z.to_vec()) })
                    .collect()
            }
            other => pick(&|name| name == other.name()),
        }
    };
    let columns: Vec<Column> = outputs.iter().flat_map(|output| wanted(*output)).collect();
    let kind = |column: &Column| match column.cells {
        Cells::Numbers(_) => ColumnType::Number,
        Cells::Texts(_) => ColumnType::Text,
    };
    let described: Vec<_> = columns.iter().map(|column| (column.name.clone(), kind(column))).collect();
    let frame = Frame::new("answer", columns, all.lines().to_vec())
        .map_err(|error| Failure::from(flowgmm::Error::from(error)))?;
    let written =
        Writer::new(Vec::new(), "the answer", OutputFormat::Arrow, &described).and_then(|mut writer| {
            writer.write(&frame)?;
            writer.finish()
        });
    let bytes = written.map_err(|error| Failure::from(flowgmm::Error::from(error)))?;
    Ok(Answer { kind: "application/vnd.apache.arrow.file", bytes, json: None })
}
