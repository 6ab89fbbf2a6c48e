//! PNG by the `png` crate: every colour type and bit depth, interlaced or not, to bytes of grey or of red, green and
//! blue; and back.
//!
//! Samples of 16 bits keep their upper 8. Transparent pixels are composited on black. An animation gives its default
//! image. Every checksum must be right, and no memory is allocated for pixels that the file does not hold.

use std::io::{Cursor, ErrorKind};

use flowgmm_data::Image;
use png::{
    BitDepth, ColorType, DecodeOptions, Decoded, Decoder, DecodingError, Encoder, Info, Limits, Reader,
    StreamingDecoder, UnfilterRegion,
};

use super::file::Head;

pub(super) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// More pixels than any photograph has.
const MAX_PIXELS: u64 = 1 << 28;
/// Memory for one row and for what a file says about itself.
const MAX_OVERHEAD: usize = 1 << 26;
/// Start and distance of pixels, down and across, in each pass of an interlaced picture.
const PASSES: [[u64; 4]; 7] =
    [[0, 0, 8, 8], [0, 4, 8, 8], [4, 0, 8, 4], [0, 2, 4, 4], [2, 0, 4, 2], [0, 1, 2, 2], [1, 0, 2, 1]];

type Outcome<T> = std::result::Result<T, String>;

/// Size and colour, from the chunks before the pixels.
pub(super) fn head(bytes: &[u8]) -> Outcome<Head> {
    guarded(|| Ok(head_of(open(bytes)?.info())))
}

/// The picture.
pub(super) fn decode(bytes: &[u8]) -> Outcome<Image> {
    guarded(|| {
        let mut reader = open(bytes)?;
        check_length(bytes, reader.info())?;
        let size = reader.output_buffer_size().ok_or("it is larger than the memory")?;
        let mut samples = vec![0; size];
        let line = reader.next_frame(&mut samples).map_err(describe)?.line_size;
        reader.finish().map_err(describe)?;
        picture(reader.info(), &samples, line)
    })
}

/// A PNG of the picture.
pub(super) fn encode(picture: &Image) -> Vec<u8> {
    let Image { channels, height, width, pixels } = picture;
    let area = height * width;
    let interleaved: Vec<u8> =
        (0..area).flat_map(|at| (0..*channels).map(move |c| pixels[c * area + at])).collect();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, *width as u32, *height as u32);
    encoder.set_color(if *channels == 1 { ColorType::Grayscale } else { ColorType::Rgb });
    encoder.set_depth(BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&interleaved)?;
        writer.finish()
    });
    written.expect("a picture has pixels, and memory takes them all");
    bytes
}

/// Reads up to the pixels, and checks what was read.
fn open(bytes: &[u8]) -> Outcome<Reader<Cursor<&[u8]>>> {
    if !bytes.starts_with(SIGNATURE) {
        return Err("it does not start as PNG files do".into());
    }
    let mut decoder = Decoder::new_with_options(Cursor::new(bytes), strict());
    decoder.set_limits(Limits { bytes: MAX_OVERHEAD });
    let (width, height) = decoder.read_header_info().map_err(describe)?.size();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(format!("its size is {height} x {width} pixels, at most {MAX_PIXELS} are read"));
    }
    let reader = decoder.read_info().map_err(describe)?;
    let info = reader.info();
    if info.color_type == ColorType::Indexed && palette(info).is_empty() {
        return Err("its palette is missing".into());
    }
    Ok(reader)
}

/// Checksums count, texts and colour profiles do not.
fn strict() -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.set_ignore_adler32(false);
    options.set_skip_ancillary_crc_failures(false);
    options.set_ignore_text_chunk(true);
    options.set_ignore_iccp_chunk(true);
    options
}

fn head_of(info: &Info) -> Head {
    let grey = match info.color_type {
        ColorType::Grayscale | ColorType::GrayscaleAlpha => true,
        ColorType::Rgb | ColorType::Rgba => false,
        ColorType::Indexed => palette(info).iter().all(|[r, g, b]| r == g && g == b),
    };
    let channels = if grey { 1 } else { 3 };
    Head { channels, height: info.height as usize, width: info.width as usize }
}

fn palette<'a>(info: &'a Info) -> &'a [[u8; 3]] {
    info.palette.as_deref().unwrap_or_default().as_chunks::<3>().0
}

/// Decompresses the scanlines into a small buffer to count them. Decoders make up missing pixels and pass over
/// surplus ones; a picture whose size contradicts its pixels is damaged. It also means that memory for the pixels is
/// allocated only once they are known to be there.
fn check_length(bytes: &[u8], info: &Info) -> Outcome<()> {
    let expected = scanline_bytes(info);
    let mut decoder = StreamingDecoder::new_with_options(strict());
    let (mut buffer, mut region) = (vec![0; 1 << 18], UnfilterRegion::default());
    let (mut rest, mut found) = (bytes, 0);
    while found <= expected {
        let before = region.filled;
        let read = decoder.update(rest, Some(&mut region.as_buf(&mut buffer)));
        let (used, event) = read.map_err(describe)?;
        found += (region.filled - before) as u64;
        rest = &rest[used..];
        if matches!(event, Decoded::ImageDataFlushed) {
            break;
        }
        if rest.is_empty() {
            return Err(TOO_SHORT.into());
        }
        // What was decompressed moves to the front, so that there is always room behind it.
        buffer.copy_within(region.available..region.filled, 0);
        region = UnfilterRegion { available: 0, filled: region.filled - region.available };
    }
    match found == expected {
        true => Ok(()),
        false => Err(format!("its pixels take {found} bytes, expected {expected}")),
    }
}

/// Bytes of all scanlines, each with the byte that names its filter.
fn scanline_bytes(info: &Info) -> u64 {
    let (height, width) = (u64::from(info.height), u64::from(info.width));
    let bytes = |height: u64, width: u64| match width {
        0 => 0, // a pass without columns has no scanlines either
        _ => height * (1 + (width * info.bits_per_pixel() as u64).div_ceil(8)),
    };
    let count = |size: u64, start: u64, step: u64| size.saturating_sub(start).div_ceil(step);
    match info.interlaced {
        false => bytes(height, width),
        true => PASSES
            .iter()
            .map(|&[y, x, down, across]| bytes(count(height, y, down), count(width, x, across)))
            .sum(),
    }
}

/// Planes of grey, or of red, green and blue, from lines of `line` bytes.
fn picture(info: &Info, samples: &[u8], line: usize) -> Outcome<Image> {
    let Head { channels, height, width } = head_of(info);
    let area = height * width;
    let mut pixels = vec![0; channels * area];
    for (y, samples) in samples.chunks_exact(line).enumerate() {
        for x in 0..width {
            let colour = composited(info, samples, x)?;
            (0..channels).for_each(|c| pixels[c * area + y * width + x] = colour[c]);
        }
    }
    Ok(Image::new(channels, height, width, pixels))
}

/// Red, green and blue of pixel `x` of a line, on black.
fn composited(info: &Info, line: &[u8], x: usize) -> Outcome<[u8; 3]> {
    let (per_pixel, depth) = (info.color_type.samples(), info.bit_depth as usize);
    let stored = |s: usize| sample(line, x * per_pixel + s, depth);
    let byte = |s: usize| match depth {
        16 => (stored(s) >> 8) as u8,
        8 => stored(s) as u8,
        depth => (usize::from(stored(s)) * 255 / ((1 << depth) - 1)) as u8,
    };
    let transparent = info.trns.as_deref().unwrap_or_default();
    let key = |s: usize| match depth {
        16 => transparent.get(2 * s..2 * s + 2).map(|k| u16::from_be_bytes([k[0], k[1]])),
        _ => transparent.get(s).map(|&k| u16::from(k)),
    };
    let keyed = |n: usize| if (0..n).all(|s| key(s) == Some(stored(s))) { 0 } else { 255 };
    let (colour, alpha) = match info.color_type {
        ColorType::Grayscale => ([byte(0); 3], keyed(1)),
        ColorType::Rgb => ([byte(0), byte(1), byte(2)], keyed(3)),
        ColorType::GrayscaleAlpha => ([byte(0); 3], byte(1)),
        ColorType::Rgba => ([byte(0), byte(1), byte(2)], byte(3)),
        ColorType::Indexed => {
            let index = usize::from(stored(0));
            let colour = palette(info).get(index).copied();
            let colour = colour.ok_or_else(|| format!("colour {index} is not in its palette"))?;
            (colour, transparent.get(index).copied().unwrap_or(255))
        }
    };
    Ok(colour.map(|v| ((u32::from(v) * u32::from(alpha) + 127) / 255) as u8))
}

/// Sample `at` of a line of samples of `depth` bits.
fn sample(line: &[u8], at: usize, depth: usize) -> u16 {
    match depth {
        16 => u16::from_be_bytes([line[2 * at], line[2 * at + 1]]),
        8 => line[at].into(),
        _ => {
            let bit = at * depth;
            u16::from(line[bit / 8] >> (8 - depth - bit % 8)) & ((1 << depth) - 1)
        }
    }
}

const TOO_SHORT: &str = "it ends too early";

fn describe(error: DecodingError) -> String {
    match error {
        DecodingError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => TOO_SHORT.into(),
        DecodingError::LimitsExceeded => {
            format!("one of its rows or chunks takes more than {MAX_OVERHEAD} bytes")
        }
        other => other.to_string().trim_end_matches('.').into(),
    }
}

/// Runs a decoder; a panic of its own is damage too.
fn guarded<T>(decode: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    flowgmm_tables::survive(decode).unwrap_or_else(|| Err("its parts contradict each other".into()))
}

#[cfg(test)]
mod tests;
