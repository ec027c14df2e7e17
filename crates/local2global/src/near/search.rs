//! The search itself: pieces of the rows side by side, each with its best, then the best of all.

use std::ops::Range;

use rayon::prelude::*;

use super::best::Best;
use super::block::{Block, rows_of_block};
use super::query::Prepared;
use super::{NearError, Neighbor, Query, Similarity};
use crate::graph::NodeId;
use crate::progress::Progress;
use crate::score::Coordinates;

/// So many pieces a thread, so that one that is held up delays little.
const PIECES_PER_THREAD: usize = 4;

/// The best of all queries that are asked together take at most about this much memory.
const BEST_BYTES: usize = 32 << 20;

/// More queries at a time are not faster.
const MOST_AT_ONCE: usize = 1024;

/// A search over all rows of an embedding.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    coordinates: Coordinates<'a>,
    similarity: Similarity,
    count: usize,
}

impl<'a> Search<'a> {
    /// A search for the `count` nearest rows.
    ///
    /// # Errors
    /// [`NearError::NoNeighbors`] if `count` is 0.
    pub fn new(
        coordinates: Coordinates<'a>,
        similarity: Similarity,
        count: usize,
    ) -> Result<Self, NearError> {
        match count {
            0 => Err(NearError::NoNeighbors),
            count => Ok(Self { coordinates, similarity, count: count.min(coordinates.num_rows()) }),
        }
    }

    /// The number of queries that are best asked together.
    pub fn queries_at_once(&self) -> usize {
        let bytes = self.num_pieces() * self.count.min(self.rows_of_piece()) * size_of::<Neighbor>();
        (BEST_BYTES / bytes.max(1)).clamp(1, MOST_AT_ONCE)
    }

    /// The nearest rows of each query, the nearest first; all rows, if there are no more than were asked
    /// for.
    ///
    /// # Errors
    /// [`NearError`] if a query does not fit the embedding, a coordinate is not finite, or somebody asked
    /// to stop.
    pub fn nearest(
        &self,
        queries: &[Query<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Neighbor>>, NearError> {
        let mut nearest = Vec::with_capacity(queries.len());
        let at_once = self.queries_at_once();
        for (batch, queries) in queries.chunks(at_once).enumerate() {
            let numbered = (batch * at_once..).zip(queries);
            let prepared =
                numbered.map(|(position, &query)| Prepared::new(query, self.coordinates, position));
            let queries: Vec<Prepared<'_>> = prepared.collect::<Result<_, _>>()?;
            nearest.extend(self.nearest_at_once(&queries, progress)?);
        }
        Ok(nearest)
    }

    fn nearest_at_once(
        &self,
        queries: &[Prepared<'_>],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Neighbor>>, NearError> {
        let directions: Vec<f32> = queries.iter().flat_map(Prepared::direction).collect();
        let num_rows = self.coordinates.num_rows();
        let firsts: Vec<usize> = (0..num_rows).step_by(self.rows_of_piece().max(1)).collect();
        let of_piece = |&first: &usize| {
            let rows = first..(first + self.rows_of_piece()).min(num_rows);
            self.best_of(rows, queries, &directions, progress)
        };
        let pieces: Vec<Vec<Best>> = firsts.par_iter().map(of_piece).collect::<Result<_, _>>()?;
        let mut best = vec![Best::new(self.count); queries.len()];
        for piece in pieces {
            for (best, of_piece) in best.iter_mut().zip(piece) {
                of_piece.into_sorted().into_iter().for_each(|neighbor| best.offer(neighbor));
            }
        }
        Ok(best.into_iter().map(Best::into_sorted).collect())
    }

    /// The best of some rows for each query.
    fn best_of(
        &self,
        rows: Range<usize>,
        queries: &[Prepared<'_>],
        directions: &[f32],
        progress: &dyn Progress,
    ) -> Result<Vec<Best>, NearError> {
        let dim = self.coordinates.dim();
        let mut block = Block::new(dim, self.similarity);
        let mut best = vec![Best::new(self.count.min(rows.len())); queries.len()];
        // The thresholds that go with the directions, which have length 1.
        let scales: Vec<f64> = queries.iter().map(|query| self.scale_of(query)).collect();
        let mut thresholds = vec![f32::NEG_INFINITY; queries.len()];
        for first in rows.clone().step_by(rows_of_block(dim)) {
            if progress.is_cancelled() {
                return Err(NearError::Cancelled);
            }
            let end = (first + rows_of_block(dim)).min(rows.end);
            let values = &self.coordinates.values()[first * dim..end * dim];
            block.measure(values, first)?;
            let before = thresholds.clone();
            block.scan(
                values,
                directions,
                |query| before[query],
                |query, row| {
                    let node = NodeId::new(first + row);
                    if queries[query].own != Some(node) {
                        let score = queries[query].score(self.coordinates.row(node), self.similarity);
                        best[query].offer(Neighbor { node, score });
                        thresholds[query] = (best[query].threshold() / scales[query]) as f32;
                    }
                    thresholds[query]
                },
            );
        }
        Ok(best)
    }

    /// What a score is divided by to be compared with products of the direction.
    fn scale_of(&self, query: &Prepared<'_>) -> f64 {
        match self.similarity {
            Similarity::Cosine => 1.0,
            Similarity::InnerProduct => query.norm,
        }
    }

    fn num_pieces(&self) -> usize {
        self.coordinates.num_rows().div_ceil(self.rows_of_piece().max(1))
    }

    fn rows_of_piece(&self) -> usize {
        let block = rows_of_block(self.coordinates.dim());
        let pieces = PIECES_PER_THREAD * rayon::current_num_threads();
        self.coordinates.num_rows().div_ceil(pieces).next_multiple_of(block)
    }
}

/// The `count` rows nearest to each query, the nearest first.
///
/// # Errors
/// As [`Search::new`] and [`Search::nearest`].
///
/// # Examples
/// ```
/// use local2global::graph::NodeId;
/// use local2global::near::{Query, Similarity, nearest};
/// use local2global::progress::Silent;
/// use local2global::score::Coordinates;
///
/// let coordinates = Coordinates::new(&[1.0, 0.0, 3.0, 0.1, 0.0, 2.0], 2);
/// let queries = [Query::Node(NodeId(0)), Query::Vector(&[0.0, 1.0])];
/// let found = nearest(coordinates, &queries, 1, Similarity::Cosine, &Silent)?;
/// assert_eq!(found[0][0].node, NodeId(1));
/// assert_eq!((found[1][0].node, found[1][0].score), (NodeId(2), 1.0));
/// # Ok::<(), local2global::near::NearError>(())
/// ```
pub fn nearest(
    coordinates: Coordinates<'_>,
    queries: &[Query<'_>],
    count: usize,
    similarity: Similarity,
    progress: &dyn Progress,
) -> Result<Vec<Vec<Neighbor>>, NearError> {
    Search::new(coordinates, similarity, count)?.nearest(queries, progress)
}
