#!/bin/bash
#SBATCH --job-name=l2g
#SBATCH --array=0-{LAST}
#SBATCH --cpus-per-task={THREADS}
#SBATCH --mem={MEGABYTES}M
#SBATCH --time={CLOCK}
#SBATCH --output=/dev/null
#
# Trains {PATCHES} patches of a run on Slurm, in an array of {JOBS} jobs.
#
#     bash THIS_FILE
#
# on a machine that can submit, with the run folder and the folder below on a file system that all
# machines see. Patches that are there already are not trained again, so after a failure the same
# command does the rest. One job needs about {MEMORY} of memory (asked for: more) and {TIME}
# on a machine like the one that wrote this (asked for: three times that, at least ten minutes).
# Partition, account and so on: add `#SBATCH` lines above, or set SBATCH_PARTITION, SBATCH_ACCOUNT.
set -euo pipefail

L2G=${L2G:-l2g}
RUN={RUN}
FOLDER={FOLDER}

# Inside of the array: one job, one bundle.
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    name=$(printf 'job-%05d' "$SLURM_ARRAY_TASK_ID")
    exec >"$FOLDER/logs/$name.log" 2>&1
    exec "$L2G" embed --bundle "$FOLDER/bundles/$name.l2g" --out "$FOLDER/results" --threads {THREADS}
fi

mkdir -p "$FOLDER/logs" "$FOLDER/results"
{PACK}
sbatch --wait --array="0-$((count - 1))" "$0" ||
    echo "some jobs failed; their logs are in $FOLDER/logs" >&2
"$L2G" collect "$RUN" "$FOLDER/results"{SETTINGS}
