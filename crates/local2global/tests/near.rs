//! The search agrees with scoring every pair, and with NumPy, on any number of threads.

mod common;

use common::on_threads;
use local2global::graph::NodeId;
use local2global::near::{NearError, Neighbor, Query, Search, Similarity, nearest};
use local2global::progress::{Progress, Silent};
use local2global::score::{Coordinates, Score};
use local2global::seed::{Seed, Stage};
use rand::RngExt;

const BOTH: [Similarity; 2] = [Similarity::Cosine, Similarity::InnerProduct];

/// Rows of very different lengths, some zero, some equal.
fn rows(num_rows: usize, dim: usize, seed: u64) -> Vec<f32> {
    let mut random = Seed(seed).stream(Stage::Generate, 0);
    let mut values = Vec::with_capacity(num_rows * dim);
    for row in 0..num_rows {
        let length = match row % 50 {
            0 => 0.0,
            odd => 10_f32.powi(odd as i32 % 5 - 2),
        };
        if row % 10 == 9 {
            values.extend_from_within((row - 3) * dim..(row - 2) * dim);
        } else {
            values.extend((0..dim).map(|_| length * (random.random::<f32>() - 0.5)));
        }
    }
    values
}

/// Every pair, scored and sorted.
fn by_hand(
    coordinates: Coordinates<'_>,
    query: Query<'_>,
    count: usize,
    similarity: Similarity,
) -> Vec<Neighbor> {
    let score = match similarity {
        Similarity::Cosine => Score::Cosine,
        Similarity::InnerProduct => Score::InnerProduct,
    };
    let (row, own) = match query {
        Query::Node(node) => (coordinates.row(node), Some(node)),
        Query::Vector(row) => (row, None),
    };
    let nodes = (0..coordinates.num_rows()).map(NodeId::new).filter(|&node| Some(node) != own);
    let of_node = |node| Neighbor { node, score: 0.0 + score.of(row, coordinates.row(node)) };
    let mut all: Vec<Neighbor> = nodes.map(of_node).collect();
    all.sort();
    all.truncate(count);
    all
}

/// The same nodes; scores may differ in the last digits, and so may the order of nodes whose scores do.
fn assert_same(found: &[Neighbor], expected: &[Neighbor], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let error = (found.score - expected.score).abs();
        assert!(error <= 1e-13 * expected.score.abs().max(1.0), "{what}: {found:?}, {expected:?}");
    }
}

#[test]
fn the_best_are_those_of_scoring_every_pair() {
    for (case, (num_rows, dim)) in [(3000, 7), (1500, 64), (900, 33), (40, 1), (1, 3)].into_iter().enumerate()
    {
        let values = rows(num_rows, dim, case as u64);
        let coordinates = Coordinates::new(&values, dim);
        let vector: Vec<f32> = (0..dim).map(|column| column as f32 - 1.5).collect();
        let nodes = (0..num_rows).step_by(1 + num_rows / 9).map(|row| Query::Node(NodeId::new(row)));
        let queries: Vec<Query<'_>> = nodes.chain([Query::Vector(&vector)]).collect();
        for similarity in BOTH {
            for count in [1, 10, num_rows] {
                let found = nearest(coordinates, &queries, count, similarity, &Silent).unwrap();
                for (query, found) in queries.iter().zip(&found) {
                    let what = format!("case {case}, {similarity:?}, {count}, {query:?}");
                    let expected = by_hand(coordinates, *query, count, similarity);
                    assert_same(found, &expected, &what);
                }
            }
        }
    }
}

#[test]
fn threads_and_company_do_not_change_a_bit() {
    let values = rows(5000, 40, 7);
    let coordinates = Coordinates::new(&values, 40);
    let queries: Vec<Query<'_>> = (0..300).map(|row| Query::Node(NodeId::new(11 * row))).collect();
    let bits = |found: Vec<Vec<Neighbor>>| -> Vec<(u64, u64)> {
        found.into_iter().flatten().map(|near| (near.node.0, near.score.to_bits())).collect()
    };
    for similarity in BOTH {
        let together = |threads| {
            on_threads(threads, || nearest(coordinates, &queries, 12, similarity, &Silent).unwrap())
        };
        let all = bits(together(1));
        assert_eq!(bits(together(3)), all);
        let alone =
            |query| nearest(coordinates, std::slice::from_ref(query), 12, similarity, &Silent).unwrap();
        assert_eq!(bits(queries.iter().flat_map(alone).collect()), all);
    }
}

#[test]
fn among_equal_scores_the_smaller_index_comes_first() {
    let values = vec![1.0_f32; 4000 * 3];
    let coordinates = Coordinates::new(&values, 3);
    let queries = [Query::Node(NodeId(2)), Query::Vector(&[1.0, 1.0, 1.0])];
    for similarity in BOTH {
        let found = nearest(coordinates, &queries, 4, similarity, &Silent).unwrap();
        let nodes = |query: usize| found[query].iter().map(|near| near.node.0).collect::<Vec<_>>();
        assert_eq!((nodes(0), nodes(1)), (vec![0, 1, 3, 4], vec![0, 1, 2, 3]));
    }
}

#[test]
fn numbers_near_the_ends_of_single_precision_are_no_exception() {
    let lengths = [1e-38_f32, 1e-30, 1e-20, 1e-3, 1e10, 1e19, 1e37];
    let mut random = Seed(3).stream(Stage::Generate, 0);
    let values: Vec<f32> = (0..700 * 20)
        .map(|at| {
            lengths[at / 20 % 7] * (random.random::<f32>() - 0.5) + if at % 20 == 0 { 0.0 } else { 1e-40 }
        })
        .collect();
    let coordinates = Coordinates::new(&values, 20);
    let queries: Vec<Query<'_>> = (0..14).map(|row| Query::Node(NodeId(row))).collect();
    for similarity in BOTH {
        let found = nearest(coordinates, &queries, 9, similarity, &Silent).unwrap();
        for (query, found) in queries.iter().zip(&found) {
            let expected = by_hand(coordinates, *query, 9, similarity);
            for (found, expected) in found.iter().zip(&expected) {
                let error = (found.score - expected.score).abs();
                assert!(error <= 1e-12 * expected.score.abs(), "{query:?}: {found:?}, {expected:?}");
            }
        }
    }
}

/// What NumPy finds among `rows(i, j) = sin(1 + i j + i)` of 200 rows in 6 columns, in double precision of
/// the same single-precision numbers:
/// `s = x @ x[5]; n = np.linalg.norm(x, axis=1); order = np.argsort(-s / (n * n[5]), kind="stable")`.
#[test]
fn it_agrees_with_numpy() {
    let values: Vec<f32> = (0..200 * 6)
        .map(|at| {
            let (i, j) = ((at / 6) as f64, (at % 6) as f64);
            (1.0 + i * j + i).sin() as f32
        })
        .collect();
    let coordinates = Coordinates::new(&values, 6);
    for (similarity, expected) in BOTH.into_iter().zip(NUMPY) {
        let found = nearest(coordinates, &[Query::Node(NodeId(5))], 5, similarity, &Silent).unwrap();
        for (found, (node, score)) in found[0].iter().zip(expected) {
            assert_eq!(found.node.0, node, "{similarity:?}");
            // The sine may differ in its last digit between libraries.
            assert!((found.score - score).abs() < 1e-7, "{similarity:?}: {found:?}, {score}");
        }
    }
}

const NUMPY: [[(u64, f64); 5]; 2] = [
    [
        (49, 0.996679596757594),
        (93, 0.9865457506842823),
        (137, 0.9695467261908606),
        (181, 0.9459233469465819),
        (162, 0.9432072132184125),
    ],
    [
        (49, 2.5817020471604515),
        (162, 2.570428283606267),
        (93, 2.546576044275019),
        (118, 2.530516851258187),
        (137, 2.5006324057933873),
    ],
];

#[test]
fn what_cannot_be_searched_is_told() {
    let mut values = rows(2000, 4, 1);
    let queries = [Query::Node(NodeId(1))];
    let message = |values: &[f32], queries: &[Query<'_>], count| {
        nearest(Coordinates::new(values, 4), queries, count, Similarity::Cosine, &Silent)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(message(&values, &queries, 0), "the number of neighbours is 0; needed at least 1");
    assert_eq!(
        message(&values, &[Query::Node(NodeId(2000))], 1),
        "there is no row 2000: the embedding has 2000 rows"
    );
    let odd = [queries[0], Query::Vector(&[1.0])];
    assert_eq!(message(&values, &odd, 1), "vector 2 has 1 numbers, but the embedding has 4 coordinates");
    assert_eq!(
        message(&values, &[Query::Vector(&[f32::NAN; 4])], 1),
        "vector 1 has a number that is not finite"
    );
    values[4 * 1700 + 2] = f32::INFINITY;
    assert_eq!(message(&values, &queries, 1), "embedding has a coordinate that is not finite in row 1700");
}

#[test]
fn a_search_can_be_stopped() {
    struct Stopped;
    impl Progress for Stopped {
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let values = rows(100, 4, 1);
    let search = Search::new(Coordinates::new(&values, 4), Similarity::Cosine, 3).unwrap();
    assert!(search.queries_at_once() > 100);
    assert!(matches!(search.nearest(&[Query::Node(NodeId(1))], &Stopped), Err(NearError::Cancelled)));
    assert!(search.nearest(&[], &Stopped).unwrap().is_empty());
}
