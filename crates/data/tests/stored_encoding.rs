//! An encoding survives its file, and a damaged one is refused or harmless.

mod common;

use common::*;
use flowgmm_data::{Encoding, Error};
use proptest::prelude::*;

#[test]
fn an_encoding_survives_its_file_and_a_contradicting_one_is_refused() {
    let (encoding, frame) = learn_mixed(60, 0.3, 11);
    let text = serde_json::to_string(&encoding).unwrap();
    let read: Encoding = serde_json::from_str(&text).unwrap();
    assert_eq!(read, encoding);
    assert_eq!(read.apply(&frame).unwrap(), encoding.apply(&frame).unwrap());

    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let refused = |what: &str, damage: &dyn Fn(&mut serde_json::Value)| {
        let mut damaged = value.clone();
        damage(&mut damaged);
        assert_ne!(damaged, value, "{what}");
        let read = serde_json::from_value::<Encoding>(damaged);
        assert!(
            read.is_err() || matches!(read.unwrap().validate(), Err(Error::BadEncoding { .. })),
            "{what}"
        );
    };
    refused("no columns", &|v| v["columns"] = serde_json::json!([]));
    refused("a column twice", &|v| v["columns"][1]["name"] = "number".into());
    refused("no name", &|v| v["columns"][1]["name"] = "".into());
    refused("a step below 0", &|v| v["columns"][1]["code"]["number"]["step"] = (-0.1).into());
    refused("a gap less", &|v| v["columns"][0]["code"]["number"]["gaps"] = false.into());
    refused("a level twice", &|v| v["columns"][4]["code"]["levels"]["levels"][0] = "Oslo".into());
    refused("a level less", &|v| {
        drop(v["columns"][4]["code"]["levels"]["levels"].as_array_mut().unwrap().pop())
    });
    refused("a level beyond", &|v| v["columns"][4]["code"]["levels"]["most_frequent"] = 99.into());
    refused("an odd separator", &|v| v["columns"][9]["code"]["date"]["format"]["separator"] = "x".into());
    refused("a cycle twice", &|v| {
        v["columns"][9]["code"]["date"]["cycles"] = serde_json::json!(["season", "season"]);
    });
    refused("a cycle less", &|v| {
        drop(v["columns"][9]["code"]["date"]["cycles"].as_array_mut().unwrap().pop());
    });
    refused("an odd cycle", &|v| v["columns"][9]["code"]["date"]["cycles"][0] = "tide".into());
    for codes in [&[3., 2., 1.][..], &[1., 1.], &[0.5, 1.5], &[-1., 1.], &[1., 1e300], &[0., 1., 2.]] {
        refused("codes that cannot be", &|v| v["columns"][0]["code"]["number"]["codes"] = codes.into());
    }
    refused("a centre less", &|v| drop(v["imputer"]["centre"].as_array_mut().unwrap().pop()));
    refused("a scale of 0", &|v| v["imputer"]["scale"][0] = 0.into());
    refused("an infinite centre", &|v| v["imputer"]["centre"][0] = 1e300.into());
    refused("a filling less", &|v| drop(v["imputer"]["values"].as_array_mut().unwrap().pop()));
    refused("another dimension", &|v| v["imputer"]["values"][0]["dim"] = 1.into());
    refused("an upside-down range", &|v| v["imputer"]["values"][0]["low"] = 1e30.into());
    refused("a coefficient less", &|v| {
        drop(v["imputer"]["values"][0]["regression"]["coefficients"].as_array_mut().unwrap().pop());
    });
    refused("an infinite coefficient", &|v| {
        v["imputer"]["values"][0]["regression"]["coefficients"][0] = 1e300.into()
    });
    refused("an unknown field", &|v| v["columns"][0]["code"]["number"]["more"] = 1.into());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_damaged_file_is_refused_or_harmless(at in 0. ..1_f64, byte in 32u8..127, seed in 0u64..4) {
        let (encoding, frame) = learn_mixed(30, 0.3, seed);
        let mut text = serde_json::to_string(&encoding).unwrap().into_bytes();
        let at = (at * (text.len() - 1) as f64) as usize;
        text[at] = byte;
        if let Ok(damaged) = serde_json::from_slice::<Encoding>(&text)
            && damaged.validate().is_ok()
            && let Ok(encoded) = damaged.apply(&frame)
        {
            prop_assert!(encoded.x.iter().all(|value| value.is_finite()));
            damaged.invert(encoded.x.view());
        }
    }
}
