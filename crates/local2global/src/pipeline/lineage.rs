//! Whether the files of a run folder belong together.
//!
//! A stage that is done by itself may leave later ones behind: what they hold was made from what
//! was there before. Whoever reads several folders asks here first. A folder without a stamp, or
//! with other files than its stamp names, was made by somebody else and is trusted.

use super::{PipelineError, StageName, Stamp};
use crate::run_dir::RunDir;

/// Checks that a stage was made from what the stages before it have left, all the way back.
///
/// # Errors
/// [`PipelineError::Outdated`] with the two folders that do not belong together.
pub fn check_lineage(run: &RunDir, stage: StageName) -> Result<(), PipelineError> {
    let folder = stage.folder(run);
    let Some(stamp) = Stamp::read(&folder) else { return Ok(()) };
    // An embedding outlives an alignment that was updated or interrupted; other folders that are
    // not finished are under way, perhaps by other hands.
    if !stamp.is_finished() && stage != StageName::Align {
        return Ok(());
    }
    for &earlier in stage.reads() {
        let left = Stamp::finished(&earlier.folder(run)).map(|stamp| stamp.output);
        let agree = match &left {
            Some(left) => stamp.inputs.of_stage(earlier) == Some(left.as_str()),
            // The graph is what rows and ids are counted by; other folders may be under way.
            None => earlier != StageName::Graph,
        };
        if !agree && (!stamp.is_finished() || stamp.damaged(&folder).is_none()) {
            return Err(PipelineError::Outdated { folder, earlier: earlier.folder(run) });
        }
        check_lineage(run, earlier)?;
    }
    Ok(())
}

/// Checks what a stage is about to read, as [`check_lineage`].
///
/// # Errors
/// As [`check_lineage`].
pub fn check_sources(run: &RunDir, stage: StageName) -> Result<(), PipelineError> {
    stage.reads().iter().try_for_each(|&earlier| check_lineage(run, earlier))
}

/// Checks that a stage's files are those it left, and as [`check_lineage`].
///
/// # Errors
/// [`PipelineError::Damaged`] with a file that is not what the stage left; as [`check_lineage`].
pub fn check_unchanged(run: &RunDir, stage: StageName) -> Result<(), PipelineError> {
    let folder = stage.folder(run);
    let damaged = Stamp::finished(&folder).and_then(|stamp| stamp.damaged(&folder));
    // One that is missing is told by whoever reads it.
    match damaged.map(|file| folder.join(file)).filter(|path| path.exists()) {
        Some(path) => Err(PipelineError::Damaged { path }),
        None => check_lineage(run, stage),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::Config;
    use crate::pipeline::{GraphSource, Pipeline};
    use crate::run_dir::stamp_path;

    /// A run whose stages up to embedding hold a file each.
    fn stamped(run: &RunDir) {
        for stage in StageName::ALL.into_iter().take(4) {
            write(run, stage, stage.name());
            note(run, stage);
        }
    }

    fn write(run: &RunDir, stage: StageName, content: &str) {
        fs::create_dir_all(stage.folder(run)).unwrap();
        fs::write(stage.folder(run).join("a.npy"), content).unwrap();
    }

    fn note(run: &RunDir, stage: StageName) {
        let pipeline = Pipeline::new(run, Config::default(), GraphSource::Settings(&[]));
        Stamp::make(&stage.folder(run), pipeline.inputs(stage).unwrap(), 0.0).unwrap();
    }

    #[test]
    fn stages_that_were_left_behind_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        check_lineage(&run, StageName::Align).unwrap();
        stamped(&run);
        check_lineage(&run, StageName::Embed).unwrap();
        // The same graph once more is no other graph.
        note(&run, StageName::Graph);
        check_unchanged(&run, StageName::Embed).unwrap();
        write(&run, StageName::Graph, "another");
        note(&run, StageName::Graph);
        let error = check_lineage(&run, StageName::Embed).unwrap_err().to_string();
        assert!(error.contains("1-graph` has changed since"), "{error}");
        note(&run, StageName::Partition);
        let error = check_lineage(&run, StageName::Patch).unwrap_err().to_string();
        assert!(error.starts_with("`") && error.contains("3-patches` was made"), "{error}");
    }

    #[test]
    fn files_of_somebody_else_are_trusted_but_not_taken_for_ours() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        stamped(&run);
        write(&run, StageName::Patch, "other patches");
        note(&run, StageName::Patch);
        check_lineage(&run, StageName::Embed).unwrap_err();
        write(&run, StageName::Embed, "coordinates of another program");
        check_lineage(&run, StageName::Embed).unwrap();
        let error = check_unchanged(&run, StageName::Embed).unwrap_err().to_string();
        assert!(error.contains("a.npy` is not what"), "{error}");
    }

    #[test]
    fn a_graph_that_is_being_replaced_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        stamped(&run);
        fs::remove_file(stamp_path(&run.graph())).unwrap();
        check_lineage(&run, StageName::Embed).unwrap_err();
    }
}
