//! The learners there are, by name.

use std::collections::BTreeMap;

use flowgmm_rivals::{AnyLearner, BoxedLearner};

use crate::{Error, Result};

/// Learners by name. The caller adds those this crate does not know, such as FlowGMM.
#[derive(Default)]
pub struct Registry {
    learners: BTreeMap<String, BoxedLearner>,
}

impl Registry {
    /// Without any.
    pub fn new() -> Self {
        Self::default()
    }

    /// All of [`flowgmm_rivals::names`].
    pub fn rivals() -> Self {
        let learner = |name: &&str| {
            (name.to_string(), flowgmm_rivals::by_name(name).expect("a name that is listed is known"))
        };
        Self { learners: flowgmm_rivals::names().iter().map(learner).collect() }
    }

    /// Adds a learner, or replaces the one of that name.
    pub fn register(&mut self, name: &str, learner: impl AnyLearner + Send + Sync + 'static) -> &mut Self {
        self.learners.insert(name.into(), Box::new(learner));
        self
    }

    /// Learners that are trained for so many steps, instead of their own. Fails for those that are not trained in steps.
    pub fn set_steps(&mut self, steps: &BTreeMap<String, usize>) -> Result<()> {
        for (name, &steps) in steps {
            let learner = self.learners.get(name).ok_or_else(|| self.unknown(name))?;
            let stepped = learner.stepped(steps).filter(|_| steps > 0);
            let why = || Error::Plan(format!("steps: '{name}' cannot be trained for {steps} steps"));
            self.learners.insert(name.clone(), stepped.ok_or_else(why)?);
        }
        Ok(())
    }

    /// The error that no learner has this name.
    pub(crate) fn unknown(&self, name: &str) -> Error {
        Error::UnknownLearner { name: name.into(), known: self.names().collect::<Vec<_>>().join(", ") }
    }

    /// The learner of that name.
    pub fn get(&self, name: &str) -> Option<&(dyn AnyLearner + Send + Sync)> {
        self.learners.get(name).map(|learner| learner.as_ref())
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.learners.keys().map(String::as_str)
    }
}
