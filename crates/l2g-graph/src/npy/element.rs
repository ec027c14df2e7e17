//! The types that arrays hold.

use bytemuck::Pod;

/// The kind of values an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Signed integers.
    Int,
    /// Unsigned integers.
    Uint,
    /// Floating-point numbers.
    Float,
    /// Truth values, one byte each.
    Bool,
    /// Text of fixed width, four bytes a character.
    Unicode,
    /// Text of fixed width, one byte a character.
    Bytes,
}

/// A type that arrays of a run folder can hold.
pub trait Element: Pod {
    /// What the values are.
    const KIND: Kind;
    /// The type as messages call it.
    const NAME: &'static str;
    /// The type as NumPy spells it.
    const DESCR: &'static str;
}

macro_rules! elements {
    ($($ty:ty: $kind:ident, $descr:literal;)*) => {
        $(impl Element for $ty {
            const KIND: Kind = Kind::$kind;
            const NAME: &'static str = stringify!($ty);
            const DESCR: &'static str = $descr;
        })*
    };
}

elements! {
    u8: Uint, "|u1";
    u16: Uint, "<u2";
    u32: Uint, "<u4";
    u64: Uint, "<u8";
    i8: Int, "|i1";
    i16: Int, "<i2";
    i32: Int, "<i4";
    i64: Int, "<i8";
    f32: Float, "<f4";
    f64: Float, "<f8";
}
