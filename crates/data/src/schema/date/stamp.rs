//! A date text split into its parts: three numbers and their separator, the time of day and how it is written.

use serde::{Deserialize, Serialize};

/// What may stand between the fields of a date.
pub(super) const SEPARATORS: [char; 3] = ['-', '/', '.'];

/// The parts of a date text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    pub fields: [u32; 3], // in the order of the text
    pub year_first: bool,
    pub separator: Option<char>,
    pub padded: bool, // no field of one digit
    pub seconds: f64, // since midnight
    pub clock: Option<Clock>,
}

/// How a time of day is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Clock {
    /// Between date and time: `T` or a space.
    pub between: char,
    pub precision: Precision,
    pub zone: Zone,
}

/// The last part of a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Precision {
    Minutes,
    Seconds,
    /// Digits of a second.
    Fraction(u32),
}

/// The offset of a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Zone {
    Unknown,
    Utc,
    /// Minutes ahead of UTC, written `+01:00`, or `+0100` if compact.
    Offset {
        minutes: i32,
        compact: bool,
    },
}

const MOST_DIGITS: u32 = 6;
const MOST_OFFSET: i32 = 18 * 60;

impl Stamp {
    /// Splits a text; the format decides which number is the day and whether it exists.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (date, time) = match text.find(['T', ' ']) {
            Some(at) => (&text[..at], Some((text[at..].chars().next()?, &text[at + 1..]))),
            None => (text, None),
        };
        let stamp = Self::read_date(date)?;
        let Some((between, time)) = time else { return Some(stamp) };
        let (seconds, hour_padded, precision, zone) = read_time(time)?;
        let clock = Some(Clock { between, precision, zone });
        Some(Self { seconds, padded: stamp.padded && hour_padded, clock, ..stamp })
    }

    fn read_date(date: &str) -> Option<Self> {
        let whole = Self {
            fields: [0; 3],
            year_first: true,
            separator: None,
            padded: true,
            seconds: 0.,
            clock: None,
        };
        let Some(separator) = date.chars().find(|c| SEPARATORS.contains(c)) else {
            let compact = date.len() == 8 && date.is_ascii();
            let fields = [date.get(..4)?, date.get(4..6)?, date.get(6..)?];
            return compact.then_some(Self { fields: numbers(fields)?, ..whole });
        };
        let mut parts = date.split(separator);
        let fields = [parts.next()?, parts.next()?, parts.next()?];
        let lengths = fields.map(str::len);
        let short = |length: usize| length == 1 || length == 2;
        let year_first = match lengths {
            [4, b, c] if short(b) && short(c) => true,
            [a, b, 4] if short(a) && short(b) => false,
            _ => return None,
        };
        let fields = parts.next().is_none().then(|| numbers(fields)).flatten()?;
        let padded = lengths.iter().all(|&length| length > 1);
        Some(Self { fields, year_first, separator: Some(separator), padded, ..whole })
    }
}

impl Clock {
    /// A clock that can write both: with the finer precision, and UTC if the offsets differ.
    pub fn join(self, other: Self) -> Self {
        let zone = if self.zone == other.zone { self.zone } else { Zone::Utc };
        Self { precision: self.precision.max(other.precision), zone, ..self }
    }

    /// The number of smallest units in a day.
    pub fn ticks_per_day(&self) -> i64 {
        match self.precision {
            Precision::Minutes => 1440,
            Precision::Seconds => 86_400,
            Precision::Fraction(digits) => 86_400 * 10_i64.pow(digits),
        }
    }

    /// Appends the time that is `ticks` of the smallest unit after midnight.
    pub fn write(&self, ticks: i64, padded: bool, text: &mut String) {
        let per_minute = self.ticks_per_day() / 1440;
        let (minutes, rest) = (ticks / per_minute, ticks % per_minute);
        let (hour, minute) = (minutes / 60, minutes % 60);
        let hour = if padded { format!("{hour:02}") } else { hour.to_string() };
        text.push_str(&format!("{}{hour}:{minute:02}", self.between));
        match self.precision {
            Precision::Minutes => {}
            Precision::Seconds => text.push_str(&format!(":{rest:02}")),
            Precision::Fraction(digits) => {
                let (second, fraction) = (rest / 10_i64.pow(digits), rest % 10_i64.pow(digits));
                text.push_str(&format!(":{second:02}.{fraction:0width$}", width = digits as usize));
            }
        }
        match self.zone {
            Zone::Unknown => {}
            Zone::Utc => text.push('Z'),
            Zone::Offset { minutes, compact } => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let colon = if compact { "" } else { ":" };
                let minutes = minutes.abs();
                text.push_str(&format!("{sign}{:02}{colon}{:02}", minutes / 60, minutes % 60));
            }
        }
    }

    pub fn is_valid(&self) -> bool {
        let digits = match self.precision {
            Precision::Fraction(digits) => (1..=MOST_DIGITS).contains(&digits),
            _ => true,
        };
        matches!(self.between, 'T' | ' ')
            && digits
            && (-MOST_OFFSET..=MOST_OFFSET).contains(&self.zone.minutes())
    }
}

impl Zone {
    /// Minutes ahead of UTC.
    pub fn minutes(self) -> i32 {
        match self {
            Self::Unknown | Self::Utc => 0,
            Self::Offset { minutes, .. } => minutes,
        }
    }
}

/// Seconds since midnight, whether the hour has two digits, and how the rest is written.
fn read_time(time: &str) -> Option<(f64, bool, Precision, Zone)> {
    let zone_at = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let zone = read_zone(&time[zone_at..])?;
    let mut parts = time[..zone_at].trim_end().split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() || minute.len() != 2 || !(1..=2).contains(&hour.len()) {
        return None;
    }
    let (h, m) = (number(hour).filter(|&h| h < 24)?, number(minute).filter(|&m| m < 60)?);
    let (second, precision) = match second {
        None => (0., Precision::Minutes),
        Some(text) => {
            let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
            let whole = number(whole).filter(|&s| s < 60 && text.len() >= 2)?;
            match fraction {
                None => (f64::from(whole), Precision::Seconds),
                Some(digits) => {
                    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                    let fraction: f64 = all.then(|| format!("0.{digits}").parse().ok()).flatten()?;
                    let digits = (digits.len() as u32).min(MOST_DIGITS);
                    (f64::from(whole) + fraction, Precision::Fraction(digits))
                }
            }
        }
    };
    Some((f64::from(h * 3600 + m * 60) + second, hour.len() == 2, precision, zone))
}

fn read_zone(zone: &str) -> Option<Zone> {
    let (sign, rest) = match zone.chars().next() {
        None => return Some(Zone::Unknown),
        Some('Z') => return (zone.len() == 1).then_some(Zone::Utc),
        Some(sign) => (if sign == '-' { -1 } else { 1 }, &zone[1..]),
    };
    let compact = !rest.contains(':');
    let (hours, minutes) = match rest.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None => (rest.get(..2)?, rest.get(2..).filter(|minutes| !minutes.is_empty()).unwrap_or("00")),
    };
    let two = |text: &str| (text.len() == 2).then(|| number(text)).flatten();
    let minutes = sign * (two(hours)? * 60 + two(minutes).filter(|&m| m < 60)?) as i32;
    (minutes.abs() <= MOST_OFFSET).then_some(Zone::Offset { minutes, compact })
}

fn numbers(fields: [&str; 3]) -> Option<[u32; 3]> {
    let [a, b, c] = fields.map(number);
    Some([a?, b?, c?])
}

/// A number of digits only: `parse` alone would accept a sign.
fn number(digits: &str) -> Option<u32> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}
