//! Handles that other processes open, as bytes to send.

use std::{ffi::c_char, fmt};

use crate::raw::all::{CUipcEventHandle, CUipcMemHandle};

/// Defines a handle over the driver's structure of 64 bytes.
macro_rules! handles {
    ($($(#[doc = $doc:literal])* $name:ident of $raw:ident;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name([u8; Self::BYTES]);

        impl $name {
            /// Bytes of a handle.
            pub const BYTES: usize = 64;

            /// The bytes to send.
            pub fn to_bytes(self) -> [u8; Self::BYTES] {
                self.0
            }

            /// The handle of bytes that were received.
            pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
                Self(bytes)
            }

            /// The driver's structure, as a call fills it.
            pub(crate) fn ask<E>(ask: impl FnOnce(&mut $raw) -> Result<(), E>) -> Result<Self, E> {
                let mut raw = $raw { reserved: [0; Self::BYTES] };
                ask(&mut raw)?;
                Ok(Self(raw.reserved.map(|byte| byte as u8)))
            }

            pub(crate) fn to_raw(self) -> $raw {
                $raw { reserved: self.0.map(|byte| byte as c_char) }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

handles! {
    /// Device memory of a process, in words for another process on the same machine: 64 bytes that pass through a pipe, file or argument.
    IpcMemoryHandle of CUipcMemHandle;

    /// An event of a process, in words for another process on the same machine: 64 bytes.
    IpcEventHandle of CUipcEventHandle;
}
