//! Digests of files, computed in one pass.

use std::{
    fmt::Write as _,
    io::{self, Read},
};

use md5::{Digest, Md5};
use sha2::Sha256;

/// A published or computed digest, in lower-case hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// MD5, which most dataset pages publish: enough to detect accidental damage, not tampering.
    Md5(&'static str),
    /// SHA-256, computed from a verified copy.
    Sha256(&'static str),
}

impl Checksum {
    /// "MD5" or "SHA-256".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Md5(_) => "MD5",
            Self::Sha256(_) => "SHA-256",
        }
    }

    /// The hexadecimal digits.
    pub fn hex(&self) -> &'static str {
        match self {
            Self::Md5(hex) | Self::Sha256(hex) => hex,
        }
    }

    /// The digest of the same kind of these bytes.
    pub(crate) fn of(&self, bytes: &mut dyn Read) -> io::Result<String> {
        match self {
            Self::Md5(_) => digest::<Md5>(bytes),
            Self::Sha256(_) => digest::<Sha256>(bytes),
        }
    }
}

fn digest<D: Digest>(bytes: &mut dyn Read) -> io::Result<String> {
    let (mut digest, mut buffer) = (D::new(), vec![0; 1 << 16]);
    loop {
        match bytes.read(&mut buffer)? {
            0 => break,
            n => digest.update(&buffer[..n]),
        }
    }
    let mut hex = String::new();
    for byte in digest.finalize() {
        write!(hex, "{byte:02x}").expect("a String takes everything");
    }
    Ok(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standards() {
        // RFC 1321, appendix A.5, and FIPS 180-2, appendix B.1.
        assert_eq!(Checksum::Md5("").of(&mut &b"abc"[..]).unwrap(), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(
            Checksum::Sha256("").of(&mut &b"abc"[..]).unwrap(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
