//! One Arrow array as the cells of a column.

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray,
    cast::AsArray,
    types::{
        ArrowTimestampType, Float64Type, TimestampMicrosecondType, TimestampMillisecondType,
        TimestampNanosecondType, TimestampSecondType,
    },
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use flowgmm_data::Cells;

use crate::{column::ColumnBuilder, missing::Missing};

/// Whether [`cells`] knows the type.
pub(super) fn is_read(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        Dictionary(_, value) => is_read(value) && !matches!(**value, Dictionary(..)),
        Null | Boolean | Utf8 | LargeUtf8 | Utf8View => true,
        Date32 | Date64 | Timestamp(..) | Time32(_) | Time64(_) => true,
        other => other.is_numeric(),
    }
}

/// The cells of an array; the type, if there is no way to read it.
pub(super) fn cells(array: &ArrayRef, missing: Missing) -> Result<Cells, DataType> {
    use DataType::*;
    let mut column = ColumnBuilder::new(missing.clone(), array.len());
    match array.data_type() {
        Null => (0..array.len()).for_each(|_| column.missing()),
        Boolean => array.as_boolean().iter().for_each(|cell| match cell {
            Some(value) => column.truth(value),
            None => column.missing(),
        }),
        Utf8 => texts(&mut column, array.as_string::<i32>().iter()),
        LargeUtf8 => texts(&mut column, array.as_string::<i64>().iter()),
        Utf8View => texts(&mut column, array.as_string_view().iter()),
        Dictionary(_, value) => return cells(&cast(array, value)?, missing),
        // The nearest number to a decimal is that of its text; dividing by a power of ten would round twice.
        data_type if data_type.is_decimal() => return cells(&cast(array, &Utf8)?, missing),
        data_type if data_type.is_numeric() => {
            let numbers = cast(array, &Float64)?;
            let numbers: &PrimitiveArray<Float64Type> = numbers.as_primitive();
            numbers.iter().for_each(|cell| column.number(cell.unwrap_or(f64::NAN)));
        }
        Date64 => return cells(&cast(array, &Date32)?, missing),
        Date32 | Time32(_) | Time64(_) => return cells(&cast(array, &Utf8)?, missing),
        Timestamp(unit, zone) => {
            let texts = cast(&without_zone(array, unit), &Utf8)?;
            let zone = if zone.is_some() { "Z" } else { "" }; // stored in UTC, whatever the zone to show it in
            for cell in texts.as_string::<i32>() {
                match cell {
                    Some(text) => column.text(&format!("{text}{zone}")),
                    None => column.missing(),
                }
            }
        }
        other => return Err(other.clone()),
    }
    Ok(column.finish())
}

fn texts<'a>(column: &mut ColumnBuilder, cells: impl Iterator<Item = Option<&'a str>>) {
    cells.for_each(|cell| match cell {
        Some(text) => column.text(text),
        None => column.missing(),
    });
}

/// Fails rather than turning what cannot be expressed into nulls.
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, DataType> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &strict).map_err(|_| array.data_type().clone())
}

fn without_zone(array: &ArrayRef, unit: &TimeUnit) -> ArrayRef {
    fn naive<T: ArrowPrimitiveType + ArrowTimestampType>(array: &ArrayRef) -> ArrayRef {
        std::sync::Arc::new(array.as_primitive::<T>().clone().with_timezone_opt(None::<&str>))
    }
    match unit {
        TimeUnit::Second => naive::<TimestampSecondType>(array),
        TimeUnit::Millisecond => naive::<TimestampMillisecondType>(array),
        TimeUnit::Microsecond => naive::<TimestampMicrosecondType>(array),
        TimeUnit::Nanosecond => naive::<TimestampNanosecondType>(array),
    }
}
