//! The settings, in the order in which people meet them.

use super::setting::{Setting, choice, setting};

const SWITCH: &str = "true or false";
const COUNT: &str = "a whole number from 1";
const FILE: &str = "a path";

pub(super) const SETTINGS: &[Setting] = &[
    setting("seed", "0 to 9223372036854775807", "The seed of all chance. The same seed gives the same bytes."),
    setting(
        "memory",
        "a size such as 512M or 4G",
        "The most memory that a stage may take, mapped files not counted. What does not fit is done on disk, in \
         parts or on smaller samples; a stage that cannot be done within it is refused beforehand.",
    )
    .or("what is free"),
    setting(
        "graph.input",
        "a name, a path, a pattern, -, or a list of paths",
        "The graph: the name of a data set, a file, a folder (all its files), a quoted pattern such as \
         edges/part-*.parquet, a list of these, or `-` for standard input.",
    )
    .or("cora"),
    choice(
        "graph.format",
        &[
            ("edge-list", "text, one edge a line"),
            ("csv", "text, separated by commas"),
            ("tsv", "text, separated by tabs"),
            ("parquet", "a Parquet table with the columns src, dst and perhaps weight"),
            ("npy", "a NumPy array of edges, 2 x E or E x 2"),
            ("npz", "an archive of NumPy arrays"),
            ("matrix-market", "a Matrix Market coordinate file"),
            ("json-lines", "text, a JSON object for each edge in a line of its own"),
            ("graphml", "GraphML"),
            ("webgraph", "a compressed graph of WebGraph, if the program was built with the feature `webgraph`"),
        ],
        "The format of the graph's file.",
    )
    .or("the name of the file tells"),
    setting(
        "graph.columns",
        "SOURCE,TARGET or SOURCE,TARGET,WEIGHT",
        "The columns of an edge, by name or by number, counted from 1.",
    )
    .or("by their names, else the first two or three"),
    setting("graph.delimiter", "a character, tab or space", "What separates the columns of a text.")
        .or("the first line shows it"),
    setting("graph.weights", "auto, none or a column", "Where the weights of edges come from.")
        .or("auto: the third of the columns, or one with a usual name"),
    choice(
        "graph.component",
        &[("largest", "the largest connected part"), ("all", "everything, connected or not")],
        "Which part of the graph is kept.",
    ),
    setting("graph.symmetrise", SWITCH, "Put every edge into both directions."),
    setting("graph.self_loops", SWITCH, "Keep edges from a node to itself."),
    choice(
        "graph.duplicates",
        &[
            ("auto", "weights are added up; without weights the edge counts once"),
            ("sum", "weights are added up; without weights, the edge weighs as often as it is listed"),
            ("one", "the edge counts once, with weight 1"),
        ],
        "What happens to an edge that is listed more than once.",
    ),
    choice(
        "graph.header",
        &[("auto", "found out from the file"), ("yes", "it does"), ("no", "it does not")],
        "Whether the first line of a text file names its columns.",
    ),
    choice(
        "graph.ids",
        &[
            ("auto", "found out from the file"),
            ("integer", "whole numbers from 0"),
            ("string", "any text"),
        ],
        "What the node ids of a text file are.",
    ),
    setting("graph.features", FILE, "A file of node features.").or("those in the graph's file, if any"),
    setting("graph.labels", FILE, "A file of node labels.").or("those in the graph's file, if any"),
    setting(
        "graph.hold_out",
        "at least 0, below 1",
        "The share of edges that is hidden from everything but the scores, to test link prediction on.",
    ),
    setting("graph.max_bytes", "a number of bytes", "The most bytes to unpack or set aside for one file.")
        .or("what the machine has"),
    choice(
        "partition.method",
        &[
            ("auto", "`metis` while it fits in memory, `buffered` above"),
            ("metis", "balanced clusters with few edges between them"),
            ("buffered", "the same with a tenth of the memory, for graphs larger than memory"),
            ("fennel", "one streaming pass or more, with the least memory, and more edges between clusters"),
            ("louvain", "communities: dense inside, of any size"),
            ("given", "clusters from `partition.file`, or else from the labels"),
        ],
        "How the graph is split into clusters, from which patches grow.",
    ),
    setting(
        "partition.clusters",
        "\"auto\", or 1 to the number of nodes",
        "How many clusters. `auto` makes one for each 2000 nodes, but ten or more, and fewer where the \
         graph is too small for ten.",
    ),
    setting("partition.patch_size", COUNT, "About how many nodes each cluster has, instead of how many there are.")
        .or("partition.clusters decides"),
    setting(
        "partition.imbalance",
        "0.001 to 1000",
        "For `metis`, also as the choice of `auto`: how much larger than the mean a cluster may become; 0.03 is 3 %.",
    ),
    setting(
        "partition.attempts",
        COUNT,
        "For `metis`, also as the choice of `auto`: how many partitions are made; the best is kept.",
    ),
    setting(
        "partition.buffer",
        "1 to 536870912",
        "For `buffered`: how many edges between groups of nodes are held in memory, at some 80 bytes each.",
    )
    .or("an eighth of all edges, but at least 65536 and at most 33554432"),
    setting("partition.passes", COUNT, "For `fennel`: how often all nodes are placed."),
    setting("partition.gamma", "above 1", "For `fennel`: how steeply the price of a cluster rises with its size."),
    setting(
        "partition.load_limit",
        "a number from 1",
        "For `buffered` and `fennel`: how much larger than the mean a cluster may become; 1.1 is 10 %.",
    ),
    choice(
        "partition.order",
        &[
            ("natural", "as they lie in the graph"),
            ("random", "shuffled"),
            ("breadth-first", "neighbours after each other"),
        ],
        "For `fennel`: the order in which nodes come.",
    ),
    setting(
        "partition.resolution",
        "above 0",
        "For `louvain`: above 1 for more and smaller communities, below 1 for fewer and larger ones.",
    ),
    setting("partition.rounds", COUNT, "For `louvain`: how often all nodes are looked at on one level, at most."),
    setting("partition.file", FILE, "For `given`: a file with the cluster of each node.").or("the labels of the graph"),
    setting(
        "patch.degree",
        "a number from 0",
        "With how many others each patch is joined, on average. Joined patches share nodes.",
    ),
    setting(
        "patch.min_overlap",
        "from embed.dim + 1",
        "The least number of nodes that joined patches share. More make patches fit better, and larger.",
    )
    .or("129, less in small clusters, at least max(embed.dim + 1, 32)"),
    setting("patch.max_overlap", "from patch.min_overlap", "The largest number of shared nodes that is asked for.")
        .or("twice patch.min_overlap, less 2"),
    choice(
        "patch.cover",
        &[
            ("edges", "edges lie in some patch, so that they are trained on, as far as patch.cover_budget reaches"),
            ("nodes", "every node lies in some patch, as in the paper"),
        ],
        "What the patches together must hold.",
    )
    .or("edges; nodes for walks"),
    setting(
        "patch.cover_budget",
        "a number from 0, or inf",
        "For `edges`: how many nodes become guests of other patches to bring edges that would lie in no \
         patch, at most, as a share of all nodes. Those that bring most come first; what is left brings \
         edges to the patches of both their ends. `inf` does so for all edges.",
    ),
    choice(
        "patch.sparsify",
        &[
            ("resistance", "drawn by effective resistance times conductance, as in the paper"),
            ("conductance", "drawn by conductance: the share of edges that two clusters have in common"),
            ("nearest", "the strongest of each patch"),
            ("none", "all"),
        ],
        "Which of the touching clusters are joined.",
    ),
    setting("patch.bridge", SWITCH, "Join parts of the graph that no edge joins, through random nodes."),
    setting(
        "patch.landmarks",
        "0 to 1, or a number of nodes",
        "Nodes from all over the graph that every patch holds: up to 1 a share of the mean cluster, above a \
         number of nodes.",
    )
    .or("0.5 for hops and both, 0 for walks, 1 for others; less in graphs of 100 000 nodes or more"),
    choice(
        "embed.method",
        &[
            ("auto", "hops for graphs with features, walks for others, or what validation clearly prefers"),
            ("hops", "from the features of nodes two and three steps away"),
            ("walks", "from random walks to small clusters all over the graph; no features are used"),
            ("both", "half of the dimensions by hops, half by walks"),
            ("vgae", "variational graph auto-encoder, as in the paper"),
            ("gae", "graph auto-encoder"),
            ("dgi", "Deep Graph Infomax"),
            ("spectral", "singular vectors of the normalised adjacency"),
            ("command", "a program of yours, see embed.command"),
            ("given", "coordinates that are there already, see embed.coordinates"),
        ],
        "How every patch is embedded.",
    ),
    setting("embed.dim", "1 to 65536; from 2 with hops, from 3 with both", "The number of coordinates of a node."),
    setting("embed.hidden", "above 0, at most 1000", "The width of the hidden layer, as a multiple of embed.dim."),
    setting("embed.epochs", COUNT, "How often training goes over a patch, at most.")
        .or("20 for hops and both, 300 for vgae and gae, 2000 for dgi"),
    setting(
        "embed.learning_rate",
        "a number, a list such as [0.01, 0.001], or { from = 0.1, to = 0.001 }",
        "How large the steps of training are. A list or a range is gone through over the runs.",
    )
    .or("0.001 for hops, both and dgi, 0.006 for vgae and gae"),
    setting("embed.weight_decay", "a number from 0", "How strongly weights are pulled towards zero.")
        .or("0.001 for vgae and gae, 0 for others"),
    setting(
        "embed.patience",
        "a whole number from 0",
        "Stop when the loss has not fallen for so many epochs, or with `embed.validation` the score has not \
         risen for so many checks. The best weights are kept. 0 never stops early.",
    )
    .or("20 for vgae, gae and dgi, 0 for others"),
    setting(
        "embed.validation",
        "at least 0, below 1",
        "The share of a patch's edges that is kept out of training, to score weights on and keep the best.",
    )
    .or("0.05 for vgae and gae, 0 for others"),
    setting(
        "embed.hide",
        "at least 0, below 1",
        "For `hops`, `both`, `vgae` and `gae`: the share of the edges that each epoch hides and predicts from \
         the others.",
    )
    .or("0.5; 0 for dgi"),
    choice(
        "embed.start",
        &[("common", "all patches start from the same weights"), ("own", "each starts from its own")],
        "Where the first weights of a patch come from.",
    )
    .or("common"),
    setting("embed.runs", COUNT, "How often each patch is embedded; the best is kept."),
    choice(
        "embed.select",
        &[
            ("auc", "how well it tells the patch's edges from non-edges"),
            ("loss", "the loss at the end of training"),
        ],
        "By what the best run of a patch is chosen.",
    ),
    choice(
        "embed.decoder",
        &[
            ("inner-product", "an edge is likely where coordinates point the same way"),
            ("distance", "an edge is likely where coordinates are close"),
        ],
        "How coordinates tell edges from non-edges in training.",
    ),
    choice(
        "embed.normalise",
        &[
            ("none", "as they are"),
            ("row", "divided by the sum of the row"),
            ("length", "every row brought to the length 4, that of sixteen ones"),
        ],
        "For `vgae`, `gae` and `dgi`: how feature values enter training.",
    )
    .or("length; row for dgi"),
    choice(
        "embed.frame",
        &[
            ("common", "a small summary of the whole graph, so that patches nearly agree from the start"),
            ("none", "nothing: alignment alone joins the patches"),
        ],
        "For `hops`, `walks` and `both`: what every patch is sent before it is trained.",
    ),
    setting("embed.window", COUNT, "For `walks`: the number of steps of a walk.").or("validation decides"),
    setting("embed.walk_clusters", "a whole number from 2", "For `walks`: the number of small clusters that walks go to.")
        .or("a fifth of the nodes, at most 1000"),
    choice(
        "embed.scaling",
        &[
            ("unit", "all alike"),
            ("idf", "rare ones weigh more, for bags of words"),
            ("standard", "brought to mean 0 and spread 1, for measured values"),
        ],
        "For `hops`: how columns of features are weighed.",
    )
    .or("validation decides"),
    choice(
        "embed.late",
        &[
            ("copies", "each node by the mean of what its patches learned"),
            ("encoders", "every node by the mean of what all patches learned"),
            ("off", "not at all: the mean of the coordinates that patches gave"),
        ],
        "For `hops` with a common frame: how what patches learned is applied to the whole graph.",
    ),
    setting("embed.basis", COUNT, "For `hops`: the most directions of the features that are used."),
    setting("embed.power_iterations", "a whole number from 0", "For `spectral`: more give more exact vectors, and take longer."),
    setting(
        "embed.command",
        "a list such as [\"python3\", \"mine.py\", \"{edges}\", \"{out}\"]",
        "For `command`: a program that embeds one patch, and its arguments; no shell is involved. These \
         words stand for files and numbers. {edges}: .npy, E x 2, each edge once, nodes numbered by their \
         row in the patch. {features}: .npy, one row per node. {nodes}: .npy, the nodes' rows in the whole \
         graph. {dim}: the number of coordinates. {seed}: a number of its own for each patch and run. \
         {out}: where to put the coordinates, .npy, one row per node; needed.",
    ),
    setting(
        "embed.command_timeout",
        "a number of seconds from 0",
        "For `command`: how long the program may take for one run of one patch. 0 means no limit.",
    )
    .or("no limit"),
    setting("embed.coordinates", "a folder", "For `given`: the folder with a file NAME.npy for each patch."),
    setting("embed.memory_bytes", "a whole number from 0", "The most memory that training may use at a time. 0 means no limit."),
    setting(
        "embed.patches",
        "tables",
        "Settings of single patches, as in `embed.patches.patch-00003.epochs=50`; all of embed but those of \
         the common frame, embed.dim, embed.command_timeout and embed.memory_bytes.",
    )
    .or("none"),
    choice(
        "align.method",
        &[
            ("eigenvectors", "rotations by eigenvectors, then shifts by least squares, as in the paper"),
            ("procrustes", "from there on, every patch is fitted to the mean of all copies, in turn"),
            ("straighten", "the same from where patches lie, for patches that nearly agree already"),
        ],
        "How patches are moved into one frame.",
    )
    .or("straighten with a common frame, eigenvectors for spectral, procrustes for others"),
    setting("align.judge", SWITCH, "Try movements on shared nodes left out of fitting, and apply them only where they help."),
    choice(
        "align.weights",
        &[
            ("overlap", "by the number of shared nodes"),
            ("unit", "all the same"),
            ("robust", "by the number of shared nodes, less where they do not fit"),
        ],
        "How much two joined patches count.",
    ),
    setting("align.rotate", SWITCH, "Rotate patches."),
    setting("align.translate", SWITCH, "Shift patches."),
    setting("align.scale", SWITCH, "Stretch patches, for methods whose patches differ in size."),
    setting("align.weighted_translations", SWITCH, "Let `align.weights` count for shifts too; in the paper they do not."),
    choice(
        "align.centroid",
        &[
            ("weighted", "the mean, weighted by the share of the node's edges that each patch holds"),
            ("mean", "the plain mean, as in the paper"),
            ("median", "the median of each coordinate"),
        ],
        "Where a node goes that lies in several patches.",
    ),
    setting(
        "align.levels",
        "0 to 8",
        "1 aligns all patches at once, 2 groups of patches and then the groups, and so on. 0 chooses: 1 while \
         that fits into memory.",
    ),
    setting("align.tolerance", "above 0, below 0.1", "The largest angle by which eigenvectors may be off."),
    setting(
        "evaluate.tasks",
        "a list of reconstruction, link-prediction, classification",
        "What the embedding is scored on: the edges of the graph, held-out edges, classes of nodes.",
    )
    .or("all that the graph allows"),
    setting("evaluate.full", SWITCH, "Train on the whole graph too, for comparison."),
    choice(
        "evaluate.score",
        &[
            ("inner-product", "the inner product"),
            ("distance", "how near they are"),
            ("cosine", "the angle alone"),
        ],
        "How the coordinates of two nodes tell how likely they are joined.",
    ),
    setting("evaluate.samples", COUNT, "The most edges, and the most labelled nodes, to score on; more are sampled.")
        .or("500000 edges, 50000 nodes"),
    setting("evaluate.repeats", COUNT, "On how many random splits nodes are classified.")
        .or("10; 3 where more than 20000 nodes are used"),
    setting("evaluate.train_share", "above 0, below 1", "The share of labelled nodes that a classifier is trained on."),
    setting("evaluate.split", FILE, "A file with `id part` in each line, part being train or test, instead of random splits.")
        .or("random splits"),
    setting("evaluate.l2", "above 0", "The penalty on the squared weights of a classifier."),
    choice(
        "evaluate.scale",
        &[("common", "all columns by the same number"), ("columns", "every column to spread 1")],
        "How coordinates are scaled for a classifier.",
    ),
    setting("experiment.dims", "a list of whole numbers from 1", "The dimensions that `l2g experiment` compares."),
    setting("experiment.runs", COUNT, "How often the graph and each patch are embedded; the best is kept."),
    setting(
        "experiment.splits",
        "a whole number from 0",
        "On how many splits of the edges links and classes are predicted; 0 compares reconstruction alone.",
    ),
];
