//! AES-128-GCM and HKDF, as the library for cryptography has them.
//!
//! AWS-LC is called through its C interface, and not through its Rust one: what is sealed and opened here
//! lies in memory that other processes write, of which no slice may exist; and a frame is sealed from one
//! place to another, so that no copy comes before it. `examples/cryptography.rs` compares it with ring.

use aws_lc_sys as aws;
use std::ptr::NonNull;

pub(crate) const KEY_BYTES: usize = 16;
pub(crate) const NONCE_BYTES: usize = 12;
/// Bytes of the secret of a direction.
pub const SECRET_BYTES: usize = 32;

use super::frame::TAG_BYTES;
use super::layout::PAGE_BYTES;

/// The library for cryptography has refused; it says no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// A key of AES-128-GCM, expanded for use, in a page of its own that no core dump and no forked child has: a
/// rank that crashes leaves no key. It is wiped when it is dropped.
#[derive(Debug)]
pub(crate) struct Key(NonNull<aws::EVP_AEAD_CTX>);

// SAFETY: the context belongs to this value alone, and the library ties none to a thread.
unsafe impl Send for Key {}

const _: () = assert!(size_of::<aws::EVP_AEAD_CTX>() <= PAGE_BYTES, "the page holds the expanded key");

impl Key {
    pub fn new(key: &[u8; KEY_BYTES]) -> Result<Self, Refused> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the system's choice, which nothing else uses.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE_BYTES, protection, flags, -1, 0) };
        if page == libc::MAP_FAILED {
            return Err(Refused);
        }
        let context = Self(NonNull::new(page.cast()).ok_or(Refused)?);
        // SAFETY: the page that was just made; the advice changes nothing of what is in it.
        let advised = [libc::MADV_DONTDUMP, libc::MADV_DONTFORK]
            .map(|advice| unsafe { libc::madvise(page, PAGE_BYTES, advice) });
        // SAFETY: the page has room for a context, and the library reads so many bytes of the key.
        let made = unsafe {
            aws::EVP_AEAD_CTX_zero(context.0.as_ptr());
            let cipher = aws::EVP_aead_aes_128_gcm();
            let none = std::ptr::null_mut();
            aws::EVP_AEAD_CTX_init(context.0.as_ptr(), cipher, key.as_ptr(), KEY_BYTES, TAG_BYTES, none)
        };
        if made == 1 && advised == [0; 2] { Ok(context) } else { Err(Refused) }
    }

    /// Seals `bytes` from `input` to `output`, and puts the tag behind them.
    ///
    /// # Safety
    /// `input` can be read, and `output` can be written with [`TAG_BYTES`] more; the two are the same place,
    /// or do not overlap.
    pub unsafe fn seal(
        &self,
        nonce: &[u8; NONCE_BYTES],
        header: &[u8],
        input: *const u8,
        bytes: usize,
        output: *mut u8,
    ) -> Result<(), Refused> {
        let (mut written, room) = (0, bytes + TAG_BYTES);
        // SAFETY: the caller vouches for both ranges, and the others are borrowed.
        let sealed = unsafe {
            aws::EVP_AEAD_CTX_seal(
                self.0.as_ptr(),
                output,
                &raw mut written,
                room,
                nonce.as_ptr(),
                NONCE_BYTES,
                input,
                bytes,
                header.as_ptr(),
                header.len(),
            )
        };
        if sealed == 1 && written == room { Ok(()) } else { Err(Refused) }
    }

    /// Opens `bytes` and the tag behind them from `input` to `output`. When it refuses, nothing of what was
    /// sealed is in the output.
    ///
    /// # Safety
    /// `input` can be read with [`TAG_BYTES`] more, and `output` can be written; the two are the same place,
    /// or do not overlap.
    pub unsafe fn open(
        &self,
        nonce: &[u8; NONCE_BYTES],
        header: &[u8],
        input: *const u8,
        bytes: usize,
        output: *mut u8,
    ) -> Result<(), Refused> {
        let mut written = 0;
        // SAFETY: the caller vouches for both ranges, and the others are borrowed.
        let opened = unsafe {
            aws::EVP_AEAD_CTX_open(
                self.0.as_ptr(),
                output,
                &raw mut written,
                bytes,
                nonce.as_ptr(),
                NONCE_BYTES,
                input,
                bytes + TAG_BYTES,
                header.as_ptr(),
                header.len(),
            )
        };
        if opened == 1 && written == bytes { Ok(()) } else { Err(Refused) }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the context and its page are this value's, and are not used again.
        unsafe {
            aws::EVP_AEAD_CTX_cleanup(self.0.as_ptr());
            aws::OPENSSL_cleanse(self.0.as_ptr().cast(), PAGE_BYTES);
            libc::munmap(self.0.as_ptr().cast(), PAGE_BYTES);
        }
    }
}

/// Derives bytes from a secret, for one purpose (HKDF-Expand with SHA-256, RFC 5869, §2.3).
pub(crate) fn derive<const BYTES: usize>(
    secret: &[u8; SECRET_BYTES],
    purpose: &[u8],
) -> Result<[u8; BYTES], Refused> {
    let mut derived = [0; BYTES];
    // SAFETY: all ranges are borrowed, and their lengths are theirs.
    let expanded = unsafe {
        aws::HKDF_expand(
            derived.as_mut_ptr(),
            BYTES,
            aws::EVP_sha256(),
            secret.as_ptr(),
            SECRET_BYTES,
            purpose.as_ptr(),
            purpose.len(),
        )
    };
    if expanded == 1 { Ok(derived) } else { Err(Refused) }
}

/// Overwrites a secret, whoever thinks that nobody looks at it again.
pub(crate) fn wipe(secret: &mut [u8]) {
    // SAFETY: the range is borrowed.
    unsafe { aws::OPENSSL_cleanse(secret.as_mut_ptr().cast(), secret.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(key: &Key, nonce: &[u8; NONCE_BYTES], header: &[u8], text: &[u8]) -> Vec<u8> {
        let mut sealed = vec![0; text.len() + TAG_BYTES];
        // SAFETY: the output has room for the text and the tag.
        unsafe { key.seal(nonce, header, text.as_ptr(), text.len(), sealed.as_mut_ptr()) }.unwrap();
        sealed
    }

    fn opened(
        key: &Key,
        nonce: &[u8; NONCE_BYTES],
        header: &[u8],
        sealed: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let mut text = vec![0; sealed.len() - TAG_BYTES];
        let bytes = text.len();
        // SAFETY: the input has a tag behind so many bytes, for which the output has room.
        unsafe { key.open(nonce, header, sealed.as_ptr(), bytes, text.as_mut_ptr()) }.map(|()| text)
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().map(|digit| (digit as char).to_digit(16).unwrap() as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    #[test]
    fn it_is_aes_128_gcm() {
        // Test case 4 of the specification (McGrew and Viega, The Galois/Counter Mode of Operation).
        let key: [u8; KEY_BYTES] = hex("feffe9928665731c6d6a8f9467308308").try_into().unwrap();
        let nonce = hex("cafebabefacedbaddecaf888").try_into().unwrap();
        let header = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
        let text = hex(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        );
        let expected = hex(
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47",
        );
        let key = Key::new(&key).unwrap();
        assert_eq!(sealed(&key, &nonce, &header, &text), expected);
        assert_eq!(opened(&key, &nonce, &header, &expected), Ok(text));
    }

    #[test]
    fn it_is_hkdf_with_sha_256() {
        // Test case 1 of RFC 5869: the secret there is longer than 32 bytes only before the extraction.
        let secret = hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
        let derived = derive::<42>(&secret.try_into().unwrap(), &hex("f0f1f2f3f4f5f6f7f8f9"));
        let expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865";
        assert_eq!(derived.unwrap().to_vec(), hex(expected));
    }

    #[test]
    fn nothing_that_was_changed_is_opened() {
        let key = Key::new(&[7; KEY_BYTES]).unwrap();
        let (nonce, header, text) = ([1; NONCE_BYTES], [2; 16], [3; 40]);
        let good = sealed(&key, &nonce, &header, &text);
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(opened(&key, &nonce, &header, &bad), Err(Refused));
        }
        assert_eq!(opened(&key, &[0; NONCE_BYTES], &header, &good), Err(Refused));
        assert_eq!(opened(&key, &nonce, &[0; 16], &good), Err(Refused));
        assert_eq!(opened(&key, &nonce, &header, &good), Ok(text.to_vec()));
    }
}
