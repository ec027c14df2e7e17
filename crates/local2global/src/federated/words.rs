//! What a share and a frame hold, and what not, in words for their owners.

use super::privacy::PrivacySpent;

/// What stands in `share.json`, for people.
pub(super) struct Words {
    pub(super) holds: Vec<String>,
    pub(super) does_not_hold: Vec<String>,
    pub(super) tells: Vec<String>,
}

/// The words of a share of ids.
pub(super) fn of_ids(nodes: usize) -> Words {
    Words {
        holds: vec![format!(
            "{nodes} node ids, each blinded by HMAC-SHA-256, in the order of the blinded ids"
        )],
        does_not_hold: vec![
            "ids as they are, or the order of nodes at the site".into(),
            "coordinates, edges, features or labels of any node".into(),
        ],
        tells: vec![
            "how many nodes the site has".into(),
            "how many nodes it shares with other sites".into(),
            "to who holds the key: whether the site has a node whose id they know or can guess".into(),
        ],
    }
}

/// The words of a share of rows.
pub(super) fn of_rows(nodes: usize, dim: usize, privacy: Option<&PrivacySpent>) -> Words {
    let mut holds = vec![
        format!("{nodes} blinded node ids, of nodes that another site may have too"),
        format!(
            "{dim} coordinates of each, turned by a secret orthogonal matrix and shifted by a secret vector \
             that stayed at the site"
        ),
    ];
    let distances = match privacy {
        Some(spent) => {
            holds.push(format!(
                "Gaussian noise of standard deviation {:.4} on every coordinate, rows no longer than {}",
                spent.sigma, spent.clip
            ));
            format!(
                "the distance between any two of these rows, blurred by the noise: epsilon {} and delta {:e} are \
                 spent on the row of one node",
                spent.epsilon, spent.delta
            )
        }
        None => {
            holds.push("no noise".into());
            "the exact distance between any two of these rows".into()
        }
    };
    Words {
        holds,
        does_not_hold: vec![
            "rows of nodes that no other site has".into(),
            "ids as they are, or the order of nodes at the site".into(),
            "edges, features or labels of any node".into(),
            "the secret motion".into(),
        ],
        tells: vec![
            distances,
            "which of these nodes other sites have shared too".into(),
            "to who holds the key: which nodes these are, if they know or can guess the ids".into(),
        ],
    }
}

/// What a frame holds, and what not.
pub(super) fn of_frame(sites: usize, nodes: usize) -> [Vec<String>; 2] {
    let holds = vec![
        format!("the motion of each of {sites} sites, for rows that are hidden by the secret of the site"),
        format!("the blinded ids of {nodes} nodes that sites have shared"),
        "how well the sites fit each other".into(),
    ];
    let does_not_hold = vec!["coordinates of any node".into(), "the secret of any site".into()];
    [holds, does_not_hold]
}
