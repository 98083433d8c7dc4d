//! The layout that a structure declares.

use syn::{DeriveInput, Error, Result, parenthesized};

const NEEDED: &str = "a structure of device memory needs #[repr(C)]: otherwise Rust chooses the order of its fields";

/// Checks that the structure is `repr(C)`, possibly with an alignment.
pub(crate) fn check(input: &DeriveInput) -> Result<()> {
    let mut is_c = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("C") {
                is_c = true;
                return Ok(());
            }
            if !meta.path.is_ident("align") {
                return Err(meta.error("a structure of device memory is #[repr(C)] or #[repr(C, align(N))]"));
            }
            let content;
            parenthesized!(content in meta.input);
            content.parse::<syn::LitInt>().map(drop)
        })?;
    }
    if is_c { Ok(()) } else { Err(Error::new(input.ident.span(), NEEDED)) }
}
