//! Tables of other libraries through the Arrow PyCapsule interface: buffers are shared, nothing passes through Python objects.

use std::sync::Arc;

use arrow_array::{
    RecordBatch, RecordBatchReader,
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
};
use flowgmm::tables::arrow::schema::{ArrowError, Schema};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyCapsule,
};

/// The name that the interface gives to capsules of streams.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// The record batches of an object with `__arrow_c_stream__`, and the names of its columns: its own, or these.
pub fn batches(
    object: &Bound<'_, PyAny>,
    names: Option<Vec<String>>,
) -> PyResult<(Vec<RecordBatch>, Vec<String>)> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| not_a_stream())?;
    let reader = take(capsule)?;
    let own = reader.schema();
    let names = names.unwrap_or_else(|| own.fields().iter().map(|field| field.name().clone()).collect());
    if names.len() != own.fields().len() {
        let (wanted, got) = (own.fields().len(), names.len());
        return Err(PyValueError::new_err(format!("{wanted} columns, and {got} names")));
    }
    let fields = own.fields().iter().zip(&names).map(|(field, name)| field.as_ref().clone().with_name(name));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let renamed = |batch: Result<RecordBatch, ArrowError>| {
        RecordBatch::try_new(Arc::clone(&schema), batch?.columns().to_vec())
    };
    let batches = reader.map(renamed).collect::<Result<_, _>>();
    Ok((batches.map_err(|error| PyValueError::new_err(error.to_string()))?, names))
}

/// Moves the stream out of its capsule.
#[allow(unsafe_code)]
fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrowArrayStreamReader> {
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds an ArrowArrayStream by the Arrow PyCapsule interface. `from_raw` leaves a released
    // one behind, which the capsule's destructor knows; the GIL is held, so nobody else takes it at the same time.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr()) };
    reader.map_err(|error| PyValueError::new_err(format!("not a readable Arrow stream: {error}")))
}

fn not_a_stream() -> PyErr {
    PyTypeError::new_err("__arrow_c_stream__ did not return a capsule of an Arrow stream")
}
