//! Colours for two themes and the style sheet every figure shares.
//!
//! A shape never names a colour. It wears a class such as `fg-c3` or `fg-soft`, which sets the CSS `color`
//! for the light and, under a media query, for the dark theme, and it paints itself in `currentColor`.
//! A standalone SVG file carries this sheet; a page carries it once. No CSS variables, so that viewers
//! with little CSS still show the light theme.

/// One colour as it looks on light and on dark paper, `[red, green, blue]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// On white paper.
    pub light: [u8; 3],
    /// On dark paper.
    pub dark: [u8; 3],
}

impl Colour {
    /// `#rrggbb` on white paper.
    pub fn hex(&self) -> String {
        hex(self.light)
    }
}

/// The colour of class `k`. Ten colours, then again from the first.
///
/// Picked by simulating protanopia, deuteranopia and tritanopia (Machado et al. 2009): the first two are at
/// least 65 CIELAB units apart, the first five 25, all ten 15, on both papers. Only the eighth comes near
/// the soft blue of unlabelled data.
pub fn class_colour(k: usize) -> Colour {
    CLASSES[k % CLASSES.len()]
}

/// A step of the palette for signed differences, from 0 (the lowest) to twice `middle`: blue below, orange above, clear
/// in the middle, so that it serves light and dark paper.
pub(crate) fn diverging(step: u8, middle: f64) -> [u8; 4] {
    let share = f64::from(step) / middle - 1.0;
    let [r, g, b] = if share < 0.0 { rgb(0x215a9c) } else { rgb(0xc2410c) };
    // Faint changes are still seen: the eye is not linear in opacity.
    [r, g, b, (255.0 * share.abs().powf(0.7)).round() as u8]
}

/// The style class that paints class `k`.
pub(crate) fn class_tone(k: usize) -> String {
    format!("fg-c{}", k % CLASSES.len())
}

pub(crate) const N_COLOURS: usize = CLASSES.len();

const CLASSES: [Colour; 10] = [
    colour(0xbf4408, 0xdd6420), // vermilion
    colour(0x3f3fae, 0xbc84ff), // indigo
    colour(0x2aa772, 0x24e6e2), // green
    colour(0xcc4f9f, 0xbc667c), // magenta
    colour(0xd2a615, 0xffda4a), // gold
    colour(0x3a76cc, 0x6d6cc1), // blue
    colour(0x85382f, 0x9a7649), // brown
    colour(0x2fb4ee, 0x5ea4c8), // sky
    colour(0x5c4a66, 0xc1d2b4), // plum
    colour(0x98ad4c, 0xa1ed86), // olive
];

/// Colours with a role instead of a class.
const TONES: [(&str, Colour); 10] = [
    ("ink", colour(0x1d222b, 0xeceef2)),   // titles, outlines
    ("soft", colour(0x59616d, 0xa9b1bd)),  // labels
    ("rule", colour(0xb9bfc8, 0x4c535e)),  // frames
    ("grid", colour(0xe6e9ed, 0x2d323b)),  // grid lines
    ("edge", colour(0xdce0e6, 0x333943)),  // borders of cards and images
    ("paper", colour(0xffffff, 0x181b21)), // background of figures and cards
    ("desk", colour(0xf6f7f9, 0x101216)),  // background of a page
    ("dots", colour(0x7aa6d8, 0x6b97cc)),  // unlabelled data
    ("heat", colour(0x215a9c, 0x74aee8)),  // agreement
    ("warn", colour(0xc2410c, 0xf08a4b)),  // error
];

/// What does not depend on the theme.
const SHAPES: &str = "\
.fg{font:12px/1.3 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}\
.fg text{fill:currentColor}.fg-title{font-size:14px;font-weight:600}.fg-tick{font-size:11px}\
.fg-num{font-variant-numeric:tabular-nums}\
.fg-end{text-anchor:end}.fg-mid{text-anchor:middle}.fg-pixels{image-rendering:pixelated}";

const DARK_QUERY: &str = "@media screen and (prefers-color-scheme:dark)";

/// The sheet for figures, alone or in a page.
pub(crate) fn figure_css() -> String {
    let rules = |pick: fn(&Colour) -> [u8; 3]| -> String {
        let classes = CLASSES.iter().enumerate().map(|(k, c)| (format!("c{k}"), c));
        let tones = TONES.iter().map(|(name, c)| (name.to_string(), c));
        classes.chain(tones).map(|(name, c)| format!(".fg-{name}{{color:{}}}", hex(pick(c)))).collect()
    };
    // Images cannot wear a class. Thumbnails are ink on paper, so dark paper means inverted grey; tints are
    // mixed for light paper and need more light on dark.
    format!(
        "{SHAPES}{}{DARK_QUERY}{{{}.fg-thumb{{filter:invert(1) contrast(.9)}}.fg-tint{{filter:brightness(1.5)}}}}",
        rules(|c| c.light),
        rules(|c| c.dark)
    )
}

/// The colours of roles as CSS variables (`--ink`, `--paper`, ..), for the page around the figures.
pub(crate) fn page_variables() -> String {
    let list = |pick: fn(&Colour) -> [u8; 3]| -> String {
        TONES.iter().map(|(name, c)| format!("--{name}:{};", hex(pick(c)))).collect()
    };
    format!(":root{{{}}}{DARK_QUERY}{{:root{{{}}}}}", list(|c| c.light), list(|c| c.dark))
}

const fn colour(light: u32, dark: u32) -> Colour {
    Colour { light: rgb(light), dark: rgb(dark) }
}

const fn rgb(packed: u32) -> [u8; 3] {
    [(packed >> 16) as u8, (packed >> 8) as u8, packed as u8]
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}
