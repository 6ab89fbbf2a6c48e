//! The version of the automatic recipe.
//!
//! A result names the settings of its learner, and a plan runs a cell again only if those change. FlowGMM's settings are
//! chosen from the data, so its results name a version of the recipe instead. A test compares what the recipe chooses for
//! a few embedded problems with a fingerprint, so that the version is not forgotten.

/// Version of the automatic recipe. Results of other versions are not reused.
pub(super) const RECIPE: u32 = 9;

#[cfg(test)]
mod tests {
    use std::fmt;

    use flowgmm::{Preset, Recipe};
    use semisup::{ImageShape, SemiSupervised, Toy, digits_problem};
    use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

    use super::RECIPE;

    /// Fingerprint of what version [`RECIPE`] of the recipe chooses for [`problems`].
    const FINGERPRINT: &str = "5e54603c2e9175f7";

    /// Problems that need no file.
    fn problems() -> Vec<(&'static str, SemiSupervised)> {
        let images = digits_problem(5, 0).train;
        let shape = ImageShape { channels: 1, height: 8, width: 8 };
        let mut problems = vec![
            ("digits, 5 labels of each class", digits_problem(5, 0).train),
            ("digits, 20 labels of each class", digits_problem(20, 1).train),
            ("digits as images", images.with_image_shape(shape)),
        ];
        problems.extend(
            [Toy::Moons, Toy::Circles, Toy::EightGaussians, Toy::Pinwheel]
                .map(|toy| (toy.name(), toy.problem(0).train)),
        );
        problems
    }

    #[test]
    fn a_recipe_that_chooses_otherwise_has_another_version() {
        let mut hasher = blake3::Hasher::new();
        let mut shown = String::new();
        for (name, data) in problems() {
            let config = Recipe::of(Preset::Auto, &data, 0).unwrap().config;
            let json = serde_json::to_string(&config).unwrap();
            let line = format!("{name}: {}\n", values(&json).join(" "));
            hasher.update(line.as_bytes());
            shown += &line;
        }
        let found = hasher.finalize().to_hex()[..16].to_string();
        assert_eq!(
            found, FINGERPRINT,
            "the automatic recipe chooses other settings than version {RECIPE} did. If that is meant, raise RECIPE in \
             this file by 1, so that results of the old recipe are run again, and set FINGERPRINT to the value found. \
             If only the order or the spelling of values in the configuration changed, set FINGERPRINT alone. The \
             values:\n{shown}"
        );
    }

    /// The values of a JSON text in their order, without keys, nesting and nulls, so that a renamed key does not matter.
    /// Numbers have 6 significant digits: processors may differ in the last ones.
    fn values(json: &str) -> Vec<String> {
        let mut values = Vec::new();
        let mut deserializer = serde_json::Deserializer::from_str(json);
        Values(&mut values).deserialize(&mut deserializer).unwrap();
        values
    }

    struct Values<'a>(&'a mut Vec<String>);

    impl<'de> DeserializeSeed<'de> for Values<'_> {
        type Value = ();

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
            deserializer.deserialize_any(self)
        }
    }

    impl<'de> Visitor<'de> for Values<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("JSON")
        }

        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }

        fn visit_bool<E>(self, value: bool) -> Result<(), E> {
            self.0.push(value.to_string());
            Ok(())
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
            self.visit_f64(value as f64)
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
            self.visit_f64(value as f64)
        }

        fn visit_f64<E>(self, value: f64) -> Result<(), E> {
            self.0.push(format!("{value:.5e}"));
            Ok(())
        }

        fn visit_str<E>(self, value: &str) -> Result<(), E> {
            self.0.push(value.into());
            Ok(())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
            while sequence.next_element_seed(Values(self.0))?.is_some() {}
            Ok(())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(_key) = map.next_key::<String>()? {
                map.next_value_seed(Values(self.0))?;
            }
            Ok(())
        }
    }

    #[test]
    fn values_do_not_depend_on_keys() {
        let one =
            values(r#"{"guides": [{"by": {"kind": "knn"}, "weight": 1}], "imagined": 0.1, "ema": null}"#);
        assert_eq!(one, ["knn", "1.00000e0", "1.00000e-1"]);
        assert_eq!(one, values(r#"{"teachers": ["knn", 1.0], "pseudo_count": 0.10000000001}"#));
        assert_ne!(one, values(r#"{"guides": ["knn", 2], "imagined": 0.1}"#));
    }
}
