//! The learners there are, by name.

use std::{collections::BTreeMap, ops::Deref};

use flowgmm_learners::{AnyLearner, BoxedLearner};

use crate::{Error, Result};

/// Learners by name.
#[derive(Default)]
pub struct Registry {
    learners: BTreeMap<String, BoxedLearner>,
}

/// A learner as a plan wants it.
pub enum Chosen<'a> {
    /// As it is registered.
    Own(&'a BoxedLearner),
    /// With other steps.
    Stepped(BoxedLearner),
}

impl Deref for Chosen<'_> {
    type Target = dyn AnyLearner + Send + Sync;

    fn deref(&self) -> &Self::Target {
        match self {
            Chosen::Own(learner) => learner.as_ref(),
            Chosen::Stepped(learner) => learner.as_ref(),
        }
    }
}

impl Registry {
    /// A registry without learners.
    pub fn new() -> Self {
        Self::default()
    }

    /// The learners of [`flowgmm_learners::names`]. [`registry`](crate::registry) has FlowGMM, too.
    pub fn baselines() -> Self {
        let learner = |name: &&str| {
            (name.to_string(), flowgmm_learners::by_name(name).expect("a name that is listed is known"))
        };
        let paper = flowgmm_learners::paper_names().into_iter().map(|name| {
            let learner = flowgmm_learners::by_name(&name).expect("a name that is listed is known");
            (name, learner)
        });
        Self { learners: flowgmm_learners::names().iter().map(learner).chain(paper).collect() }
    }

    /// Adds a learner, or replaces the one of that name.
    pub fn register(&mut self, name: &str, learner: impl AnyLearner + Send + Sync + 'static) -> &mut Self {
        self.learners.insert(name.into(), Box::new(learner));
        self
    }

    /// The learner of that name, trained for so many steps instead of its own. Fails for one that is not trained in
    /// steps.
    pub fn learner(&self, name: &str, steps: Option<usize>) -> Result<Chosen<'_>> {
        let learner = self.learners.get(name).ok_or_else(|| self.unknown(name))?;
        let Some(steps) = steps else { return Ok(Chosen::Own(learner)) };
        let refused = || Error::Steps { name: name.into(), steps };
        learner.stepped(steps).filter(|_| steps > 0).map(Chosen::Stepped).ok_or_else(refused)
    }

    /// The error that no learner has this name.
    fn unknown(&self, name: &str) -> Error {
        Error::UnknownLearner { name: name.into(), known: self.names().collect::<Vec<_>>().join(", ") }
    }

    /// The learner of that name.
    pub fn get(&self, name: &str) -> Option<&(dyn AnyLearner + Send + Sync)> {
        self.learners.get(name).map(|learner| learner.as_ref())
    }

    /// All names, in order, but for the grids of the paper's baselines (`paper-knn/7`).
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.learners.keys().map(String::as_str).filter(|name| !name.contains('/'))
    }
}
