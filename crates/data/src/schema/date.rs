//! Dates and times as numbers, x = days since 1970-01-01 (UTC where the text names its offset), and back to text.
//!
//! Read are `2024-01-31`, `2024/01/31`, `31.01.2024`, `31/01/2024`, `01/31/2024` and `20240131`, each alone or with a
//! time of day: `T` or a space, `23:59`, `23:59:58` or `23:59:58.25`, then nothing, `Z`, `+01:00` or `+0100`. A
//! format is learnt from a whole column: one field beyond 12 settles which is the day. Fractions of a second are kept
//! to six digits, which is what 64 bits hold next to some ten thousand days. The calendar is that of `chrono`; reading a
//! format off the texts and writing back what stood there, digit for digit, is done here.

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Serialize};

use super::date::stamp::{Clock, Stamp, Zone};

mod cycle;
mod stamp;

pub use cycle::Cycle;
pub(crate) use cycle::are_cycles;

/// How the dates of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateFormat {
    order: Order,
    separator: Option<char>,
    padded: bool,
    clock: Option<Clock>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    YearMonthDay,
    DayMonthYear,
    MonthDayYear,
}

/// A format, and whether the day and the month could as well be the other way round.
pub(super) struct Found {
    pub format: DateFormat,
    pub ambiguous: bool,
}

impl DateFormat {
    /// The one format in which all of these are dates.
    pub(super) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<Found> {
        let stamps: Vec<Stamp> = texts.into_iter().map(Stamp::read).collect::<Option<_>>()?;
        let first = *stamps.first()?;
        let alike = |s: &Stamp| (s.year_first, s.separator) == (first.year_first, first.separator);
        if !stamps.iter().all(alike) {
            return None;
        }
        let beyond_12 = |field: usize| stamps.iter().any(|stamp| stamp.fields[field] > 12);
        let dotted = first.separator == Some('.');
        let (order, ambiguous) = match (first.year_first, beyond_12(0), beyond_12(1)) {
            (true, _, _) => (Order::YearMonthDay, false),
            (false, true, true) => return None,
            (false, false, true) => (Order::MonthDayYear, false),
            (false, day_first, false) => (Order::DayMonthYear, !day_first && !dotted),
        };
        let padded = stamps.iter().all(|stamp| stamp.padded);
        let clock = stamps.iter().filter_map(|stamp| stamp.clock).reduce(Clock::join);
        let format = Self { order, separator: first.separator, padded, clock };
        let all_exist = stamps.iter().all(|stamp| format.days(stamp).is_some());
        all_exist.then_some(Found { format, ambiguous })
    }

    /// Days since 1970-01-01, if the text is a date whose fields come in this order.
    pub fn read(&self, text: &str) -> Option<f64> {
        let stamp = Stamp::read(text)?;
        (stamp.year_first == (self.order == Order::YearMonthDay)).then(|| self.days(&stamp)).flatten()
    }

    /// The date in this format, rounded to its last digit; years outside 1 to 9999 become the nearest of these.
    pub fn write(&self, days: f64) -> String {
        let per_day = self.clock.map_or(1, |clock| clock.ticks_per_day());
        let local = days + self.clock.map_or(0., |clock| f64::from(clock.zone.minutes()) / 1440.);
        let [first, last] = [(1, 1, 1), (9999, 12, 31)].map(|(y, m, d)| epoch_day(y, m, d).expect("a date"));
        let local = local.clamp(f64::from(first), f64::from(last));
        let ticks = (local * per_day as f64).round() as i64;
        let days = ticks.div_euclid(per_day) as i32; // between the two, by the clamp
        let date = NaiveDate::from_epoch_days(days).expect("a year between 1 and 9999");
        let (year, month, day) = (date.year(), date.month(), date.day());
        let two = |value: u32| if self.padded { format!("{value:02}") } else { value.to_string() };
        let (year, month, day) = (format!("{year:04}"), two(month), two(day));
        let fields = match self.order {
            Order::YearMonthDay => [year, month, day],
            Order::DayMonthYear => [day, month, year],
            Order::MonthDayYear => [month, day, year],
        };
        let mut text = fields.join(&self.separator.map_or(String::new(), String::from));
        if let Some(clock) = &self.clock {
            clock.write(ticks.rem_euclid(per_day), self.padded, &mut text);
        }
        text
    }

    /// The local time of a date, in days since 1970-01-01 to the last digit of the format: what a clock at its offset shows.
    pub(crate) fn local(&self, days: f64) -> f64 {
        let Some(clock) = &self.clock else { return days.round() };
        let per_day = clock.ticks_per_day() as f64;
        ((days + f64::from(clock.zone.minutes()) / 1440.) * per_day).round() / per_day
    }

    /// A date as an example of the format.
    pub fn example(&self) -> String {
        self.write(f64::from(epoch_day(2024, 1, 31).expect("a date")))
    }

    /// Whether [`DateFormat::write`] is defined for it.
    pub(crate) fn is_valid(&self) -> bool {
        let separated = match self.separator {
            None => self.order == Order::YearMonthDay && self.padded,
            Some(separator) => stamp::SEPARATORS.contains(&separator),
        };
        separated && self.clock.is_none_or(|clock| clock.is_valid())
    }

    fn days(&self, stamp: &Stamp) -> Option<f64> {
        let [a, b, c] = stamp.fields;
        let [year, month, day] = match self.order {
            Order::YearMonthDay => [a, b, c],
            Order::DayMonthYear => [c, b, a],
            Order::MonthDayYear => [c, a, b],
        };
        let minutes = stamp.clock.map_or(Zone::Unknown, |clock| clock.zone).minutes();
        let seconds = stamp.seconds - 60. * f64::from(minutes);
        Some(f64::from(epoch_day(year, month, day)?) + seconds / 86_400.)
    }
}

/// Days since 1970-01-01 of a day of the Gregorian calendar, if it exists and its year is 1 to 9999.
fn epoch_day(year: u32, month: u32, day: u32) -> Option<i32> {
    let year = i32::try_from(year).ok().filter(|year| (1..=9999).contains(year))?;
    Some(NaiveDate::from_ymd_opt(year, month, day)?.to_epoch_days())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(texts: &[&str]) -> DateFormat {
        DateFormat::of(texts.iter().copied()).unwrap_or_else(|| panic!("{texts:?}")).format
    }

    /// The law: every text comes back from its number.
    fn check_round_trip(texts: &[&str]) {
        let format = format(texts);
        assert!(format.is_valid());
        for text in texts {
            assert_eq!(format.write(format.read(text).unwrap()), *text, "{format:?}");
        }
    }

    #[test]
    fn texts_come_back_from_their_numbers() {
        check_round_trip(&["2024-01-31", "1969-12-31", "0001-01-01", "9999-12-31", "2000-02-29"]);
        check_round_trip(&["2024/01/31", "2024/02/01"]);
        check_round_trip(&["31.01.2024", "01.02.2024"]);
        check_round_trip(&["31/1/2024", "1/2/2024"]);
        check_round_trip(&["1/31/2024", "2/1/2024"]);
        check_round_trip(&["01-31-2024", "02-01-2024"]);
        check_round_trip(&["20240131", "19991231"]);
        check_round_trip(&["2024-01-31T23:59", "1969-12-31T00:00"]);
        check_round_trip(&["2024-01-31 23:59:59", "2024-01-31 00:00:01"]);
        check_round_trip(&["2024-01-31T23:59:59.25Z", "2024-01-31T00:00:00.75Z"]);
        check_round_trip(&["2024-01-31T23:59:59.000001", "2024-01-31T23:59:59.999999"]);
        check_round_trip(&["2024-01-31T00:30:00+05:30", "2024-02-01T23:00:00+05:30"]);
        check_round_trip(&["2024-01-31T00:30:00-0800", "2024-02-01T23:00:00-0800"]);
        check_round_trip(&["1/31/2024 9:05", "12/1/2024 23:00"]);
    }

    #[test]
    fn days_count_from_1970_in_utc() {
        let iso = format(&["1970-01-02T12:00:00Z"]);
        assert_eq!(iso.read("1970-01-02T12:00:00Z"), Some(1.5));
        assert_eq!(iso.read("1970-01-02T12:00:00+06:00"), Some(1.25));
        assert_eq!(iso.read("1970-01-02"), Some(1.));
        assert_eq!(format(&["2024-03-01"]).read("2024-03-01"), Some(19783.));
        let mixed = format(&["2024-01-31T01:00+01:00", "2024-01-31T01:00+02:00"]);
        assert_eq!(mixed.write(mixed.read("2024-01-31T01:00+02:00").unwrap()), "2024-01-30T23:00Z");
    }

    #[test]
    fn the_day_is_found_where_a_value_proves_it() {
        let order =
            |texts: &[&str]| DateFormat::of(texts.iter().copied()).map(|f| (f.format.order, f.ambiguous));
        assert_eq!(order(&["03/04/2024", "13/04/2024"]), Some((Order::DayMonthYear, false)));
        assert_eq!(order(&["03/04/2024", "04/13/2024"]), Some((Order::MonthDayYear, false)));
        assert_eq!(order(&["03/04/2024", "04/03/2024"]), Some((Order::DayMonthYear, true)));
        assert_eq!(order(&["03.04.2024"]), Some((Order::DayMonthYear, false)));
        assert_eq!(order(&["13/04/2024", "04/13/2024"]), None);
    }

    #[test]
    fn what_is_no_date_is_none() {
        let no = [
            "",
            "2024",
            "2024-01",
            "2024-13-01",
            "2023-02-29",
            "2024-01-32",
            "0000-01-01",
            "24-01-01",
            "2024-01/01",
            "2024-01-01x",
            "2024-01-01T",
            "2024-01-01T24:00",
            "2024-01-01T10",
            "2024-01-01T10:60",
            "2024-01-01T10:00+25:00",
            "1.2.3.4",
            "192.168.1.1",
            "+024-01-01",
            "2024-01-01T10:00:00.",
            "2024-01-01T10:00.5",
            "zwölf",
            "2024-01-01TZ",
            "12345678",
            "2024--1-01",
        ];
        for text in no {
            assert!(DateFormat::of([text]).is_none(), "{text}");
        }
        assert!(DateFormat::of(["2024-01-01", "01/02/2024"]).is_none());
        assert!(DateFormat::of([]).is_none());
    }

    #[test]
    fn every_day_of_ten_thousand_years_comes_back() {
        let iso = format(&["2024-01-31"]);
        let (first, last) = (epoch_day(1, 1, 1).unwrap(), epoch_day(9999, 12, 31).unwrap());
        assert_eq!((first, last, epoch_day(2000, 3, 1)), (-719_162, 2_932_896, Some(11_017)));
        let mut before = String::new();
        for day in (first..=last).map(f64::from) {
            let text = iso.write(day);
            assert!(text > before && iso.read(&text) == Some(day), "{text}");
            before = text;
        }
    }

    #[test]
    fn any_number_has_a_date() {
        let iso = format(&["2024-01-31T23:59:59.000001"]);
        for days in [f64::MAX, f64::MIN, 1e9, -1e9, 0.1 + 0.2, f64::INFINITY] {
            assert!(iso.read(&iso.write(days)).is_some(), "{days}");
        }
        assert_eq!(format(&["2024-01-31"]).write(1e300), "9999-12-31");
    }
}
