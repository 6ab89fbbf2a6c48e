//! The pairs of one JSON object, one after the other, without a tree of it in memory.
//!
//! Read more generously than the standard in what programs do write: Python's `NaN` is nothing, `Infinity` the number.
//! Nothing is nested here, so nothing recurses.

use std::borrow::Cow;

use crate::number;

/// What is wrong with a line, and after how many characters.
pub(super) struct Fault {
    pub at: usize,
    pub why: String,
}

/// A value that can be a cell, or one that cannot.
pub(super) enum Value<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    Truth(bool),
    Nothing,
    /// A list or an object, by that name; what follows is not read.
    Nested(&'static str),
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize, // bytes, at the start of a character
    state: State,
}

#[derive(PartialEq)]
enum State {
    Before,
    Inside,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, state: State::Before }
    }

    /// Characters read.
    pub fn at(&self) -> usize {
        self.text[..self.at].chars().count()
    }

    /// The next pair; none after the last, when nothing else may follow.
    pub fn pair(&mut self) -> Result<Option<(Cow<'a, str>, Value<'a>)>, Fault> {
        let first = std::mem::replace(&mut self.state, State::Inside) == State::Before;
        if first {
            self.expect('{', "the start of an object")?;
        }
        if self.skip('}') {
            return self.end();
        }
        if !first {
            self.expect(',', "a comma or the end of the object")?;
        }
        if self.peek() != Some(b'"') {
            return Err(self.fault("a key in quotes"));
        }
        let key = self.string()?;
        self.expect(':', "a colon after the key")?;
        Ok(Some((key, self.value()?)))
    }

    fn end(&mut self) -> Result<Option<(Cow<'a, str>, Value<'a>)>, Fault> {
        match self.peek() {
            None => Ok(None),
            Some(_) => Err(self.fault("the end of the line")),
        }
    }

    fn value(&mut self) -> Result<Value<'a>, Fault> {
        const WORDS: [(&str, Value<'static>); 6] = [
            ("null", Value::Nothing),
            ("true", Value::Truth(true)),
            ("false", Value::Truth(false)),
            ("NaN", Value::Nothing),
            ("Infinity", Value::Number(f64::INFINITY)),
            ("-Infinity", Value::Number(f64::NEG_INFINITY)),
        ];
        match self.peek() {
            Some(b'"') => return Ok(Value::Text(self.string()?)),
            Some(b'[') => return Ok(Value::Nested("a list")),
            Some(b'{') => return Ok(Value::Nested("an object")),
            _ => {}
        }
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)).count();
        let word = &rest[..length];
        let value = match WORDS.into_iter().find(|(known, _)| *known == word) {
            Some((_, value)) => value,
            None => Value::Number(number(word).ok_or_else(|| self.fault("a value"))?),
        };
        self.at += length;
        Ok(value)
    }

    /// A text in quotes, where the first quote is next.
    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        let mut end = 1;
        let mut plain = true;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    end += 2;
                }
                Some(byte) if *byte < b' ' && *byte != b'\n' && *byte != b'\r' => {
                    self.at += end;
                    let why = "a control character stands in a text: it must be written as \\t or \\u00..";
                    return Err(Fault { at: self.at(), why: why.into() });
                }
                Some(b'\n' | b'\r') | None => {
                    let why = "a quote is not closed on its line".to_string();
                    return Err(Fault { at: self.at(), why });
                }
                Some(_) => end += 1,
            }
        }
        let text = match plain {
            true => Cow::Borrowed(&rest[1..end]),
            false => match serde_json::from_str::<String>(&rest[..=end]) {
                Ok(text) => Cow::Owned(text),
                Err(_) => {
                    let why = "a text has an escape that JSON does not know".to_string();
                    return Err(Fault { at: self.at(), why });
                }
            },
        };
        self.at += end + 1;
        Ok(text)
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted as u8);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: char, what: &str) -> Result<(), Fault> {
        if self.skip(wanted) { Ok(()) } else { Err(self.fault(what)) }
    }

    /// What is next is not what was expected.
    fn fault(&self, expected: &str) -> Fault {
        let shown: String = self.text[self.at..].trim_end().chars().take(12).collect();
        let found = if shown.is_empty() { "the end of the line".into() } else { format!("'{shown}'") };
        Fault { at: self.at(), why: format!("expected {expected}, found {found}") }
    }
}

/// The number of a word; infinite if it is too large for 64-bit floating point, as in `1e999`.
fn number(word: &str) -> Option<f64> {
    let any = || word.parse::<f64>().ok().filter(|_| word.bytes().any(|byte| byte.is_ascii_digit()));
    number::parse(word.as_bytes()).or_else(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let mut scanner = Scanner::new(text);
        let mut pairs = Vec::new();
        loop {
            let pair = scanner.pair().map_err(|fault| format!("{}: {}", fault.at, fault.why))?;
            let Some((key, value)) = pair else { return Ok(pairs) };
            let value = match value {
                Value::Number(value) => format!("{value:?}"),
                Value::Text(text) => format!("'{text}'"),
                Value::Truth(value) => value.to_string(),
                Value::Nothing => "nothing".into(),
                Value::Nested(what) => return Err(format!("{key} is {what}")),
            };
            pairs.push(format!("{key}={value}"));
        }
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let line = r#" { "a":1.5e2 , "é \" \u00e9\ud83d\ude00" : "x\ty" ,"c":true,"d":null,"e":NaN,"f":-Infinity,"":-0} "#;
        let want = ["a=150.0", "é \" é😀='x\ty'", "c=true", "d=nothing", "e=nothing", "f=-inf", "=-0.0"];
        assert_eq!(read(line).unwrap(), want);
        assert_eq!(read(r#"{"a":-1e999}"#).unwrap(), ["a=-inf"]);
        assert_eq!(read("{}\r\n").unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_no_object_is_said_with_its_place() {
        for (line, says) in [
            ("[1]", "0: expected the start of an object, found '[1]'"),
            (r#"{"a":1"#, "6: expected a comma or the end of the object, found the end of the line"),
            (r#"{"a" 1}"#, "5: expected a colon after the key, found '1}'"),
            (r#"{"a":1,}"#, "7: expected a key in quotes, found '}'"),
            (r#"{"é":x}"#, "5: expected a value, found 'x}'"),
            (r#"{"a":1} {"#, "8: expected the end of the line, found '{'"),
            (r#"{"a":"b"#, "5: a quote is not closed on its line"),
            (r#"{"a":"\q"}"#, "5: a text has an escape that JSON does not know"),
            (r#"{"a":"\"}"#, "5: a quote is not closed on its line"),
            (r#"{"a":infinity}"#, "5: expected a value, found 'infinity}'"),
            ("{\"a\":\"\u{1}\"}", "6: a control character stands in a text"),
            (r#"{"a":[1]}"#, "a is a list"),
            (r#"{"a":{}}"#, "a is an object"),
        ] {
            let found = read(line).unwrap_err();
            assert!(found.starts_with(says), "{line}: {found}");
        }
    }
}
