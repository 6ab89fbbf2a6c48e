//! PNG images inside an SVG: class maps, densities and thumbnails as `data:` URIs, encoded by the `png` crate.

use png::{BitDepth, ColorType, Encoder};

/// How a pixel byte becomes a colour.
pub(crate) enum Pixels<'a> {
    /// 0 black to 255 white.
    Grey,
    /// Red, green and blue bytes of each pixel.
    Rgb,
    /// An index into red, green, blue, alpha entries (at most 256).
    Palette(&'a [[u8; 4]]),
}

/// A PNG of `width * height` pixels, row-major from the top left.
///
/// # Panics
/// If there are no pixels, or not as many bytes as they take.
pub(crate) fn encode(width: usize, height: usize, bytes: &[u8], pixels: &Pixels) -> Vec<u8> {
    let mut png = Vec::new();
    let mut encoder = Encoder::new(&mut png, width as u32, height as u32);
    encoder.set_depth(BitDepth::Eight);
    match pixels {
        Pixels::Grey => encoder.set_color(ColorType::Grayscale),
        Pixels::Rgb => encoder.set_color(ColorType::Rgb),
        Pixels::Palette(entries) => {
            encoder.set_color(ColorType::Indexed);
            encoder.set_palette(entries.iter().flat_map(|e| [e[0], e[1], e[2]]).collect::<Vec<u8>>());
            encoder.set_trns(entries.iter().map(|e| e[3]).collect::<Vec<u8>>());
        }
    }
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(bytes)?;
        writer.finish()
    });
    written.expect("an image has pixels, and memory takes them all");
    png
}

/// A PNG as text an `href` can hold.
pub(crate) fn data_uri(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", base64(png))
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |w, i| (w << 8) | u32::from(three.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let sextet = (word >> (18 - 6 * i)) & 63;
            out.push(if i <= three.len() { ALPHABET[sextet as usize] as char } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use png::Decoder;

    use super::*;

    #[test]
    fn base64_matches_the_published_examples() {
        // RFC 4648, section 10.
        assert_eq!(["", "f", "fo", "foo"].map(|s| base64(s.as_bytes())), ["", "Zg==", "Zm8=", "Zm9v"]);
    }

    #[test]
    fn pixels_survive_the_round_trip() {
        let (width, height) = (300, 250);
        for (pixels, samples) in [(Pixels::Grey, 1), (Pixels::Rgb, 3)] {
            let bytes: Vec<u8> = (0..samples * width * height).map(|i| (i * 7 % 251) as u8).collect();
            let png = encode(width, height, &bytes, &pixels);
            let mut reader = Decoder::new(Cursor::new(&png)).read_info().unwrap();
            let mut decoded = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut decoded).unwrap();
            assert_eq!(decoded, bytes);
        }
    }

    #[test]
    fn a_palette_is_split_into_colours_and_alpha() {
        let png = encode(2, 1, &[0, 1], &Pixels::Palette(&[[1, 2, 3, 4], [5, 6, 7, 8]]));
        let mut reader = Decoder::new(Cursor::new(&png)).read_info().unwrap();
        assert_eq!(reader.info().palette.as_deref(), Some(&[1, 2, 3, 5, 6, 7][..]));
        assert_eq!(reader.info().trns.as_deref(), Some(&[4, 8][..]));
        let mut indices = [9; 2];
        reader.next_frame(&mut indices).unwrap();
        assert_eq!(indices, [0, 1]);
    }
}
