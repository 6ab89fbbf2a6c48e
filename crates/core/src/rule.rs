//! Rules that settings must follow, so that a typo is a message and not a strange model.

use crate::{Error, Result};

/// One rule of a configuration: the setting, whether the rule holds, and what the setting must be.
pub type Rule = (&'static str, bool, &'static str);

/// An error that names the first rule that does not hold.
pub fn check(rules: impl IntoIterator<Item = Rule>) -> Result<()> {
    match rules.into_iter().find(|(_, holds, _)| !holds) {
        None => Ok(()),
        Some((what, _, wanted)) => Err(Error::Config(format!("{what} must be {wanted}"))),
    }
}
