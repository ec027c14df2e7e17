"$L2G" bundle "$RUN" --out "$FOLDER/bundles" --jobs {JOBS}{SETTINGS}
count=$(find "$FOLDER/bundles" -name 'job-*.l2g' | wc -l)
if [ "$count" = 0 ]; then
    echo "all patches are there already"
    exit
fi
