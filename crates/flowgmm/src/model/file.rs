//! The model file: one container with a versioned JSON header, on disk or in memory, that trusts nothing it reads.

use std::path::Path;

use flowgmm_core::{
    Container, FlowGmm, ModelSpec, load_tensors, model_tensors, tensor::Place, train::History,
};
use flowgmm_data::{Encoding, ImageLayout};
use flowgmm_learners::Logistic;
use semisup::Preprocess;
use serde::{Deserialize, Serialize};

use super::{Blend, Model, Provenance, Support, Tempering, blend::BlendWeights};
use crate::{
    Error, Result,
    recipe::Decision,
    rows::{Rows, TextColumn},
};

/// The version of the file format this program writes. It reads versions 3 to 5, too.
pub const FORMAT: u32 = 6;

/// Everything of a model file but its tensors.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    rows: Rows,
    spec: ModelSpec,
    preprocess: Preprocess,
    classes: Vec<String>,
    temperature: f64,
    #[serde(default)]
    tempering: Tempering,
    /// The experts beside the flow: trees since version 5, the others since version 6. Trees and naive Bayes are tensors.
    #[serde(default)]
    blend: Option<BlendWeights>,
    #[serde(default)]
    regression: Option<Logistic>,
    typical: Vec<f64>,
    #[serde(default)]
    support: Support,
    decisions: Vec<Decision>,
    provenance: Provenance,
    history: History,
}

/// The header of version 3, which had three optional fields for what rows are.
#[derive(Deserialize)]
struct Header3 {
    spec: ModelSpec,
    preprocess: Preprocess,
    classes: Vec<String>,
    columns: Vec<String>,
    encoding: Option<Encoding>,
    #[serde(default)]
    texts: Vec<TextColumn>,
    #[serde(default)]
    layout: Option<ImageLayout>,
    temperature: f64,
    typical: Vec<f64>,
    decisions: Vec<Decision>,
    provenance: Provenance,
    history: History,
}

impl From<Header3> for Header {
    fn from(old: Header3) -> Self {
        let rows = match (old.encoding, old.layout) {
            (Some(encoding), _) => Rows::Table { encoding, texts: old.texts, label: None },
            (None, Some(layout)) => Rows::Images { layout },
            (None, None) => Rows::Matrix { columns: old.columns },
        };
        let Header3 {
            spec, preprocess, classes, temperature, typical, decisions, provenance, history, ..
        } = old;
        Self {
            format: 3,
            rows,
            spec,
            preprocess,
            classes,
            temperature,
            tempering: Tempering::default(),
            blend: None,
            regression: None,
            typical,
            support: Support::default(),
            decisions,
            provenance,
            history,
        }
    }
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Model {
    /// Writes the model file: complete or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(self.container().write(path)?)
    }

    /// The content of the model file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.container().to_bytes()
    }

    /// Whether a file that begins with these bytes looks like a model file; [`Model::load`] looks further.
    pub fn recognises(head: &[u8]) -> bool {
        const START: &[u8] = b"{\"__metadata__\":{\"digest\":\"";
        head.get(8..).is_some_and(|json| json.starts_with(START))
    }

    /// Reads a model file, trusting nothing in it. The model computes at `place`.
    pub fn load(path: &Path, place: &Place) -> Result<Self> {
        Self::from_container(Container::read(path)?, place).map_err(|reason| {
            let name = path.display().to_string();
            Error::ModelFile { name, reason }
        })
    }

    /// Reads the content of a model file, trusting nothing in it. The model computes at `place`.
    pub fn from_bytes(bytes: &[u8], place: &Place) -> Result<Self> {
        let named = |reason| Error::ModelFile { name: "the model".into(), reason };
        let container = Container::from_bytes(bytes).map_err(named)?;
        Self::from_container(container, place).map_err(named)
    }

    fn container(&self) -> Container {
        let header = Header {
            format: FORMAT,
            rows: self.rows.clone(),
            spec: self.gmm.spec(),
            preprocess: self.preprocess.clone(),
            classes: self.classes.clone(),
            temperature: self.temperature,
            tempering: self.tempering,
            blend: self.blend.as_ref().map(|blend| blend.weights),
            regression: self.blend.as_ref().and_then(|blend| blend.experts.regression.clone()),
            typical: self.typical.clone(),
            support: self.support.clone(),
            decisions: self.decisions.clone(),
            provenance: self.provenance.clone(),
            history: self.history.clone(),
        };
        let header = serde_json::to_string(&header).expect("plain data");
        let mut container = Container { header, tensors: model_tensors(&self.gmm, "") };
        if let Some(blend) = &self.blend {
            blend.to_tensors(&mut container);
        }
        container
    }

    fn from_container(mut file: Container, place: &Place) -> std::result::Result<Self, String> {
        let header = Header::read(&file.header)?;
        header.check()?;
        let sizes = [header.rows.dim(), header.preprocess.dim_out(), header.classes.len()];
        let blend = match header.blend {
            None => None,
            Some(weights) => Some(Blend::from_tensors(weights, header.regression, &mut file, sizes)?),
        };
        let stored: usize = file.tensors.values().map(|(_, values)| values.len()).sum();
        if header.spec.n_parameters() != Some(stored) {
            return Err(format!("it holds {stored} numbers, its architecture needs another count"));
        }
        let mut gmm = FlowGmm::blank(&header.spec, place).map_err(|error| error.to_string())?;
        load_tensors(&mut gmm, &mut file, "")?;
        if let Some(extra) = file.tensors.keys().next() {
            return Err(format!("tensor {extra} belongs to no part of the architecture"));
        }
        let Header {
            rows,
            preprocess,
            classes,
            temperature,
            tempering,
            typical,
            support,
            decisions,
            provenance,
            history,
            ..
        } = header;
        Ok(Self {
            rows,
            preprocess,
            gmm,
            classes,
            temperature,
            tempering,
            blend,
            typical,
            support,
            decisions,
            provenance,
            history,
        })
    }
}

impl Header {
    fn read(text: &str) -> std::result::Result<Self, String> {
        let unreadable = |error: serde_json::Error| format!("its header is not readable: {error}");
        let version: Version = serde_json::from_str(text).map_err(unreadable)?;
        match version.format {
            4 | 5 | FORMAT => serde_json::from_str(text).map_err(unreadable),
            3 => {
                let old: Header3 = serde_json::from_str(text).map_err(unreadable)?;
                let columns = old.columns.clone();
                let header = Self::from(old);
                match header.rows.dim() == columns.len() {
                    true => Ok(header),
                    false => Err("its description of rows and its columns do not fit together".into()),
                }
            }
            format => Err(format!(
                "it has format {format}, this program reads formats 3 to {FORMAT}; use the version that wrote it, or fit \
                 again"
            )),
        }
    }

    /// The checks before anything is allocated.
    fn check(&self) -> std::result::Result<(), String> {
        let wrong = |error: flowgmm_core::Error| error.to_string();
        self.spec.flow.validate().and_then(|()| self.spec.mixture.validate()).map_err(wrong)?;
        self.preprocess.validate().map_err(|error| error.to_string())?;
        self.rows.validate()?;
        if !(self.temperature.is_finite() && self.temperature > 0.0)
            || self.typical.iter().any(|v| v.is_nan())
            || !self.typical.is_sorted()
        {
            return Err("its calibration is not made of numbers in order".into());
        }
        let Provenance { evidence, class_share_intervals, .. } = &self.provenance;
        let n_classes = self.classes.len();
        let possible = |[low, high]: &[f64; 2]| 0.0 <= *low && low <= high && *high <= 1.0;
        if evidence.as_ref().is_some_and(|found| !found.is_valid(n_classes))
            || !(class_share_intervals.is_empty() || class_share_intervals.len() == n_classes)
            || !class_share_intervals.iter().all(possible)
        {
            return Err("what it says of its accuracy and class shares is impossible".into());
        }
        if !self.support.is_valid(self.rows.dim()) {
            return Err("the values that samples keep to are impossible".into());
        }
        if self.classes.len() != self.spec.mixture.n_classes()
            || self.rows.dim() != self.preprocess.dim_in()
            || self.preprocess.dim_out() != self.spec.flow.dim
            || self.spec.flow.dim != self.spec.mixture.dim
        {
            return Err("classes, columns, preprocessing and architecture do not fit together".into());
        }
        Ok(())
    }
}
