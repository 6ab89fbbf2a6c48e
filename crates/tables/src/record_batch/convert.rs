//! One Arrow array as the cells of a column.

use std::fmt::Display;

use arrow_array::{
    Array, ArrayRef, PrimitiveArray,
    cast::AsArray,
    temporal_conversions::{as_date, as_datetime, as_time},
    types::{
        ArrowPrimitiveType, ArrowTimestampType, Date32Type, Date64Type, Decimal32Type, Decimal64Type,
        Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type, Float64Type, Int8Type,
        Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
        Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
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
    let into = &mut column;
    let unreadable = || array.data_type().clone();
    match array.data_type() {
        Null => (0..array.len()).for_each(|_| into.missing()),
        Boolean => array.as_boolean().iter().for_each(|cell| match cell {
            Some(value) => into.truth(value),
            None => into.missing(),
        }),
        Utf8 => texts(into, array.as_string::<i32>().iter()),
        LargeUtf8 => texts(into, array.as_string::<i64>().iter()),
        Utf8View => texts(into, array.as_string_view().iter()),
        Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = arrow_select::take::take(dictionary.values(), dictionary.keys(), None);
            return cells(&values.map_err(|_| unreadable())?, missing);
        }
        Decimal32(..) => decimals::<Decimal32Type>(into, array),
        Decimal64(..) => decimals::<Decimal64Type>(into, array),
        Decimal128(..) => decimals::<Decimal128Type>(into, array),
        Decimal256(..) => decimals::<Decimal256Type>(into, array),
        Date32 => written::<Date32Type, _>(into, array, |day| as_date::<Date32Type>(day.into()))
            .ok_or_else(unreadable)?,
        Date64 => written::<Date64Type, _>(into, array, as_date::<Date64Type>).ok_or_else(unreadable)?,
        Time32(_) | Time64(_) => times(into, array).ok_or_else(unreadable)?,
        Timestamp(unit, zone) => {
            let zone = if zone.is_some() { "Z" } else { "" }; // stored in UTC, whatever the zone to show it in
            timestamps(into, array, *unit, zone).ok_or_else(unreadable)?;
        }
        _ => {
            let numbers = numbers(array).ok_or_else(unreadable)?;
            numbers.into_iter().for_each(|cell| into.number(cell));
        }
    }
    Ok(column.finish())
}

/// The numbers of an array, NaN for null; `None` if it holds something else.
pub(super) fn numbers(array: &ArrayRef) -> Option<Vec<f64>> {
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef, number: impl Fn(T::Native) -> f64) -> Option<Vec<f64>> {
        let cells = array.as_primitive::<T>().iter();
        Some(cells.map(|cell| cell.map_or(f64::NAN, &number)).collect())
    }
    fn of_decimals<T: DecimalType + ArrowPrimitiveType>(array: &ArrayRef) -> Option<Vec<f64>> {
        let array: &PrimitiveArray<T> = array.as_primitive();
        let number = |row| match array.is_valid(row) {
            true => array.value_as_string(row).parse().ok(),
            false => Some(f64::NAN),
        };
        (0..array.len()).map(number).collect()
    }
    match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array, f64::from),
        DataType::Int16 => of::<Int16Type>(array, f64::from),
        DataType::Int32 => of::<Int32Type>(array, f64::from),
        DataType::Int64 => of::<Int64Type>(array, |v| v as f64),
        DataType::UInt8 => of::<UInt8Type>(array, f64::from),
        DataType::UInt16 => of::<UInt16Type>(array, f64::from),
        DataType::UInt32 => of::<UInt32Type>(array, f64::from),
        DataType::UInt64 => of::<UInt64Type>(array, |v| v as f64),
        DataType::Float16 => of::<Float16Type>(array, f64::from),
        DataType::Float32 => of::<Float32Type>(array, f64::from),
        DataType::Float64 => of::<Float64Type>(array, |v| v),
        DataType::Decimal32(..) => of_decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => of_decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => of_decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => of_decimals::<Decimal256Type>(array),
        _ => None,
    }
}

fn texts<'a>(column: &mut ColumnBuilder, cells: impl Iterator<Item = Option<&'a str>>) {
    cells.for_each(|cell| match cell {
        Some(text) => column.text(text),
        None => column.missing(),
    });
}

/// Decimals by their text: its nearest number is the decimal's, where dividing by a power of ten would round twice.
fn decimals<T: DecimalType + ArrowPrimitiveType>(column: &mut ColumnBuilder, array: &ArrayRef) {
    let array: &PrimitiveArray<T> = array.as_primitive();
    (0..array.len()).for_each(|row| match array.is_valid(row) {
        true => column.text(&array.value_as_string(row)),
        false => column.missing(),
    });
}

/// Cells that are written as text; `None` if one of them has no meaning.
fn written<T: ArrowPrimitiveType, D: Display>(
    column: &mut ColumnBuilder,
    array: &ArrayRef,
    text: impl Fn(T::Native) -> Option<D>,
) -> Option<()> {
    for cell in array.as_primitive::<T>() {
        match cell {
            Some(value) => column.text(&text(value)?.to_string()),
            None => column.missing(),
        }
    }
    Some(())
}

fn times(column: &mut ColumnBuilder, array: &ArrayRef) -> Option<()> {
    match array.data_type() {
        DataType::Time32(TimeUnit::Second) => {
            written::<Time32SecondType, _>(column, array, |t| as_time::<Time32SecondType>(t.into()))
        }
        DataType::Time32(_) => {
            written::<Time32MillisecondType, _>(column, array, |t| as_time::<Time32MillisecondType>(t.into()))
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            written::<Time64MicrosecondType, _>(column, array, as_time::<Time64MicrosecondType>)
        }
        _ => written::<Time64NanosecondType, _>(column, array, as_time::<Time64NanosecondType>),
    }
}

/// Timestamps as `2024-05-01T12:30:00`, with the mark of their zone.
fn timestamps(column: &mut ColumnBuilder, array: &ArrayRef, unit: TimeUnit, zone: &str) -> Option<()> {
    fn of<T: ArrowTimestampType>(column: &mut ColumnBuilder, array: &ArrayRef, zone: &str) -> Option<()> {
        let text =
            |value| as_datetime::<T>(value).map(|at| format!("{}{zone}", at.format("%Y-%m-%dT%H:%M:%S%.f")));
        written::<T, _>(column, array, text)
    }
    match unit {
        TimeUnit::Second => of::<TimestampSecondType>(column, array, zone),
        TimeUnit::Millisecond => of::<TimestampMillisecondType>(column, array, zone),
        TimeUnit::Microsecond => of::<TimestampMicrosecondType>(column, array, zone),
        TimeUnit::Nanosecond => of::<TimestampNanosecondType>(column, array, zone),
    }
}
