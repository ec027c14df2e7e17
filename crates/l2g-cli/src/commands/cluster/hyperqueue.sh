#!/bin/bash
# Trains {PATCHES} patches of a run with HyperQueue, as an array of {JOBS} tasks.
#
#     bash THIS_FILE
#
# where `hq server` runs, with workers (`hq worker start`, or `hq alloc add`) that see the run folder
# and the folder below. Patches that are there already are not trained again, so after a failure the
# same command does the rest. One task needs about {MEMORY} of memory (asked for: more)
# and {TIME} on a machine like the one that wrote this (asked for: three times that).
set -euo pipefail

L2G=${L2G:-l2g}
RUN={RUN}
FOLDER={FOLDER}

mkdir -p "$FOLDER/logs" "$FOLDER/results"
{PACK}
# HQ_TASK_ID is the number of the task; tasks of a lost worker are started again.
# shellcheck disable=SC2016  # the shell of the task expands these
hq submit --wait --array "0-$((count - 1))" --name l2g --cpus {THREADS} --crash-limit 4 \
    --resource "mem={MEGABYTES}" --time-limit {SECONDS}s --log "$FOLDER/logs/hq.log" \
    --env L2G="$L2G" --env FOLDER="$FOLDER" -- \
    bash -c '"$L2G" embed --threads {THREADS} --out "$FOLDER/results" \
        --bundle "$FOLDER/bundles/$(printf job-%05d "$HQ_TASK_ID").l2g"' ||
    echo "some tasks failed; read $FOLDER/logs/hq.log with 'hq log'" >&2
"$L2G" collect "$RUN" "$FOLDER/results"{SETTINGS}
