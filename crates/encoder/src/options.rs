//! Pooling, length and scaling of embeddings, and the progress callback.

use std::ops::ControlFlow;

/// How to embed. `None` is what the model's files say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// From token vectors to a text's vector; if the model does not say, [`Pooling::Mean`].
    pub pooling: Option<Pooling>,
    /// Tokens of a text that are read, special tokens included; if the model does not say, 256, or fewer if the
    /// model has fewer positions.
    pub max_length: Option<usize>,
    /// Lengths of the embeddings.
    pub scaling: Scaling,
}

/// How token vectors become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The mean over all tokens of the text.
    Mean,
    /// The vector of the first token.
    Cls,
}

/// The length of an embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// As the network gives it, even if the model's `modules.json` names a normalisation.
    #[default]
    AsIs,
    /// Divided by its Euclidean norm.
    UnitLength,
}

/// Called with (texts done, texts to compute) at the start and after every batch, from any thread, one at a time.
/// `Break` stops: batches under way are finished, the others not begun. Other batches wait while it runs, so it should
/// be short, and must not start work on rayon's threads.
pub type Progress<'a> = dyn FnMut(usize, usize) -> ControlFlow<()> + Send + 'a;
