#!/bin/bash
# Trains {PATCHES} patches of a run with GNU parallel, in {JOBS} jobs: on this machine, or over SSH.
#
#     bash THIS_FILE                                   here, as many jobs at a time as processors
#     PARALLEL='--sshloginfile hosts' bash THIS_FILE   on the machines that the file `hosts` lists,
#                                                      which see the folder below
#
# Patches that are there already are not trained again, so after a failure the same command does the
# rest. One job needs about {MEMORY} of memory and {TIME} on a machine like the one that wrote this.
# Without GNU parallel, xargs does the same on this machine.
set -euo pipefail

L2G=${L2G:-l2g}
RUN={RUN}
FOLDER={FOLDER}

mkdir -p "$FOLDER/results"
{PACK}

train=("$L2G" embed --out "$FOLDER/results" --threads {THREADS} --quiet --bundle)
if command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
    # Each job is tried three times; `--memfree` waits until there is memory for one more.
    find "$FOLDER/bundles" -name 'job-*.l2g' | sort |
        parallel --quote --retries 3 --memfree {MEGABYTES}M "${train[@]}" '{}' || failed=$?
else
    jobs=$(($(getconf _NPROCESSORS_ONLN) / {THREADS}))
    find "$FOLDER/bundles" -name 'job-*.l2g' -print0 | sort -z |
        xargs -0 -r -n 1 -P "$((jobs > 0 ? jobs : 1))" "${train[@]}" || failed=$?
fi
if [ "${failed:-0}" != 0 ]; then
    echo "some jobs failed; what they say is above" >&2
fi
"$L2G" collect "$RUN" "$FOLDER/results"{SETTINGS}
