//! The nodes nearest to a node, or to a vector: exact search over all rows of an embedding.
//!
//! ```text
//! cosine         x · q / (‖x‖ ‖q‖), and 0 where one of them is zero
//! inner product  x · q
//! ```
//!
//! Rows are scored in single precision first, block by block: a product of the block and all queries,
//! or, for a few queries, row by row as fast as memory gives them. A sum of `d` products in any order is
//! off by at most `d 2⁻²⁴ ‖x‖ ‖q‖`, so a row whose rough score lies below the worst of the `k` best by
//! more than that bound is left out for good. Those that remain, some dozens of a million, are
//! scored again in double precision, in a fixed order of additions, and these scores decide. So the
//! answer is that of scoring every pair in double precision, and does not depend on the number of threads, on the
//! instructions of the processor or on which queries are asked together. Among equal scores the
//! node with the smaller index comes first.
//!
//! Cost: `O(n d)` time a query, `O(n d)` memory traffic for all queries that are asked together; beside the
//! mapped embedding some megabytes a thread, and `16 k` bytes a query and thread. No randomness.

mod best;

mod block;

mod error;

pub mod files;

pub mod names;

mod query;

mod search;

pub mod vectors;

pub use best::Neighbor;
pub use error::NearError;
pub use query::{Query, Similarity};
pub use search::{Search, nearest};
