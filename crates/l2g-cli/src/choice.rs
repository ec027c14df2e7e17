//! Options whose values are those of an enum of the library.

/// Declares the values of an option, with their help, and what each stands for: the variant of the
/// same name of an enum of the library, which knows nothing of command lines.
///
/// ```text
/// choice! { pub(crate) ComponentArg for Component { Largest, All } }
/// ```
macro_rules! choice {
    (
        $visibility:vis $arg:ident for $meaning:ident {
            $($(#[$help:meta])* $value:ident),* $(,)?
        }
    ) => {
        #[derive(Clone, Copy, Debug, clap::ValueEnum)]
        $visibility enum $arg {
            $($(#[$help])* $value),*
        }

        impl From<$arg> for $meaning {
            fn from(arg: $arg) -> Self {
                match arg {
                    $($arg::$value => Self::$value),*
                }
            }
        }
    };
}

pub(crate) use choice;
