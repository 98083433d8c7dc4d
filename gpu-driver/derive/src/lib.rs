//! `#[derive(DevicePod)]`, which `gpu_driver` re-exports beside the trait; it is described there.
#![forbid(unsafe_code)]

mod names;
mod repr;

use proc_macro::TokenStream;
use quote::quote;
use syn::{
    Data, DeriveInput, Error, Fields, FieldsNamed, Path, Result, ext::IdentExt, parse_macro_input, spanned::Spanned,
};

/// Implements `gpu_driver::DevicePod` for a `#[repr(C)]` structure of such types without padding.
///
/// The structure has the same name in CUDA C++, and fields of the same names. `#[device_pod(crate = path)]` says where `gpu_driver` is,
/// for crates that reach it through another one.
#[proc_macro_derive(DevicePod, attributes(device_pod))]
pub fn device_pod(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(|error| error.into_compile_error().into())
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = fields(input)?;
    repr::check(input)?;
    if !input.generics.params.is_empty() {
        return Err(Error::new(
            input.generics.span(),
            "a structure of device memory has one name in CUDA C++, so it has no parameters",
        ));
    }
    let driver = driver(input)?;
    let cuda_name = names::check(name)?;
    let idents = fields.named.iter().filter_map(|field| field.ident.as_ref()).collect::<Vec<_>>();
    let cuda_fields = idents.iter().map(|ident| names::check(ident)).collect::<Result<Vec<_>>>()?;
    let types = fields.named.iter().map(|field| &field.ty).collect::<Vec<_>>();
    let padding = format!(
        "`{}` has padding: its fields do not fill it, so some bytes of it mean nothing (add fields that do)",
        name.unraw()
    );
    Ok(quote! {
        // An attribute between the derive and the structure may have changed the fields that are checked here.
        const _: fn(#name) = |value| {
            let #name { #(#idents),* } = value;
            #(let _: #types = #idents;)*
        };
        const _: () = assert!(::core::mem::size_of::<#name>() == 0 #(+ ::core::mem::size_of::<#types>())*, #padding);

        // SAFETY: a `repr(C)` structure of plain types that fill it: no padding, no pointer, no invalid bits. The C++ text
        // asserts its layout.
        #[automatically_derived]
        unsafe impl #driver::DevicePod for #name {
            const CUDA_NAME: &'static str = #cuda_name;

            // A field may ask for more in C++ than in Rust.
            const CUDA_ALIGN: usize = {
                let mut most = ::core::mem::align_of::<#name>();
                #(if <#types as #driver::DevicePod>::CUDA_ALIGN > most {
                    most = <#types as #driver::DevicePod>::CUDA_ALIGN;
                })*
                most
            };

            fn define(definitions: &mut #driver::Definitions) -> #driver::Result<()> {
                #(<#types as #driver::DevicePod>::define(definitions)?;)*
                definitions.add::<Self>(&[
                    #((#cuda_fields, <#types as #driver::DevicePod>::CUDA_NAME),)*
                ])
            }
        }
    }
    .into())
}

fn fields(input: &DeriveInput) -> Result<&FieldsNamed> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => Ok(fields),
            _ => Err(Error::new(input.ident.span(), "a structure of device memory has fields, and they have names")),
        },
        _ => Err(Error::new(
            input.ident.span(),
            "only a structure can be in device memory: not every byte is a value of an enum or a union",
        )),
    }
}

/// The path of `gpu_driver`.
fn driver(input: &DeriveInput) -> Result<Path> {
    let mut path = syn::parse_quote!(::gpu_driver);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("device_pod")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("expected `crate = path`"));
            }
            path = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        })?;
    }
    Ok(path)
}
