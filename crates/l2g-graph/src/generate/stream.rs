//! Pieces made in parallel, delivered in order.
//!
//! Pieces are made in waves of a few per thread. While one wave is delivered, the next
//! is made: at most two waves are in memory, whatever the number of pieces.

use std::ops::Range;

use rayon::prelude::*;

use crate::progress::Progress;

/// Makes the pieces of a range on all threads and delivers them in order.
///
/// Stops at the first error of `deliver`.
pub(super) fn in_order<T: Send, E: Send>(
    task: &str,
    pieces: Range<usize>,
    progress: &dyn Progress,
    make: impl Fn(usize) -> T + Sync,
    mut deliver: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let wave = 2 * rayon::current_num_threads();
    let make_from = |start: usize| -> Vec<T> {
        let end = pieces.end.min(start.saturating_add(wave));
        (start.min(end)..end).into_par_iter().map(&make).collect()
    };
    progress.begin(task, pieces.len() as u64, "chunks");
    let mut ready = make_from(pieces.start);
    let mut start = pieces.start + ready.len();
    let mut outcome = Ok(());
    while !ready.is_empty() && outcome.is_ok() {
        let delivered = ready.len() as u64;
        let (result, next) =
            rayon::join(|| ready.into_iter().try_for_each(&mut deliver), || make_from(start));
        outcome = result;
        start += next.len();
        ready = next;
        progress.advance(delivered);
    }
    progress.end();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn pieces_arrive_in_order() {
        for num_pieces in [0, 1, 7, 100] {
            let mut seen = Vec::new();
            let deliver = |piece| {
                seen.push(piece);
                Ok::<(), ()>(())
            };
            in_order("pieces", 0..num_pieces, &Silent, |index| index * index, deliver).unwrap();
            assert!(seen.into_iter().eq((0..num_pieces).map(|index| index * index)));
        }
    }

    #[test]
    fn the_first_error_stops_the_work() {
        let mut delivered = 0;
        let result = in_order(
            "pieces",
            0..1_000_000,
            &Silent,
            |index| index,
            |index| {
                delivered += 1;
                if index == 3 { Err("enough") } else { Ok(()) }
            },
        );
        assert_eq!((result, delivered), (Err("enough"), 4));
    }
}
