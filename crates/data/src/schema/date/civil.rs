//! The Gregorian calendar: (year, month, day) <-> days since 1970-01-01.
//!
//! With years that begin in March the leap day comes last, so the day of the year is a formula of the month, and the
//! calendar repeats every 400 years = 146,097 days.

/// 0001-01-01.
pub(super) const FIRST_DAY: i64 = -719_162;
/// 9999-12-31.
pub(super) const LAST_DAY: i64 = 2_932_896;

/// Days of a date, if it exists and its year is 1 to 9999.
pub(super) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let exists = (1..=9999).contains(&year) && (1..=12).contains(&month) && day >= 1;
    (exists && day <= length(year, month)).then(|| {
        let year = if month > 2 { year } else { year - 1 }; // from March on
        let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
    })
}

/// Year, month and day.
pub(super) fn date(days: i64) -> [i64; 3] {
    let from_march = days + 719_468; // since 0000-03-01
    let (era, day) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153; // 0 = March
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    [year, month, day]
}

fn length(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_ten_thousand_years_comes_back() {
        assert_eq!((days(1, 1, 1), days(9999, 12, 31)), (Some(FIRST_DAY), Some(LAST_DAY)));
        assert_eq!((days(1970, 1, 1), days(2000, 3, 1)), (Some(0), Some(11_017)));
        let mut previous = [0, 12, 31];
        for number in FIRST_DAY..=LAST_DAY {
            let [y, m, d] = date(number);
            assert_eq!(days(y, m, d), Some(number));
            assert!([y, m, d] > previous);
            previous = [y, m, d];
        }
    }
}
