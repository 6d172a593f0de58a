//! Writes a record so that a trial is in it completely or not at all, and reads it back.
//!
//! ```text
//! results/2026-11-21-wordpress/
//!   run.toml
//!   trials/0001/trial.toml  samples.bin  series.csv  worker-0.log ...
//!   trials/.0002.partial/   while a trial runs; without meaning afterwards
//! ```

use crate::record::model::{Reason, Run, Slot, Trial};
use crate::record::seal::Unsealed;
use crate::record::toml_file::{TomlFile, read_toml, regular_text, to_text, write_toml};
use crate::record::{kind, seal, upgrade};
use anyhow::{Context, Result, anyhow, bail};
use contend_wire::sample::{SAMPLE_BYTES, Sample};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// First bytes of `samples.bin`, padded with zeros to the length of one sample.
const SAMPLES_MAGIC: &[u8] = b"contend-samples 1\n";

/// Names of the files in a trial's directory.
pub const TRIAL_FILE: &str = "trial.toml";
pub const SAMPLES_FILE: &str = "samples.bin";
pub const SERIES_FILE: &str = "series.csv";
/// File that the running process locks.
pub const LOCK_FILE: &str = ".lock";
const RUN_FILE: &str = "run.toml";
const RUN_PARTIAL: &str = ".run.toml.partial";
/// File of a study with parts, instead of `run.toml`.
pub const STUDY_FILE: &str = "study.toml";

/// A record being written.
pub struct RecordWriter {
    dir: PathBuf,
    /// What the trials are bound to.
    run: String,
}

impl RecordWriter {
    /// Whether a directory holds a record, finished or not, with or without parts.
    pub fn is_record(dir: &Path) -> bool {
        dir.join(RUN_FILE).exists() || dir.join(STUDY_FILE).exists()
    }

    /// The error for a directory that holds a record.
    pub fn taken(dir: &Path) -> anyhow::Error {
        anyhow!(
            "{} already holds a record; continue it with --resume, or choose another directory with --out",
            dir.display()
        )
    }

    /// Begins a record in a directory that must not hold one.
    pub fn create(dir: &Path, run: &Run) -> Result<Self> {
        if Self::is_record(dir) {
            return Err(Self::taken(dir));
        }
        let writer = Self { dir: dir.to_path_buf(), run: of_run(run).to_string() };
        let begun = fs::create_dir_all(dir.join("trials"))
            .with_context(|| format!("cannot create {}; choose another place with --out", dir.display()));
        match begun.and_then(|()| writer.write_run(run)) {
            Ok(()) => Ok(writer),
            Err(e) => {
                Self::undo(dir);
                Err(e)
            }
        }
    }

    /// Whether a directory holds a record in which no trial was begun.
    pub fn has_no_trial(dir: &Path) -> bool {
        let trials = fs::read_dir(dir.join("trials"));
        dir.join(RUN_FILE).exists() && trials.is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Removes a record without trials, so that the directory can be used again.
    pub fn undo(dir: &Path) {
        for file in [RUN_PARTIAL, RUN_FILE] {
            let _ = fs::remove_file(dir.join(file));
        }
        // Only if nothing else is in them.
        let _ = fs::remove_dir(dir.join("trials"));
        let _ = fs::remove_dir(dir);
    }

    /// Continues a record; what an interrupted trial left is removed.
    ///
    /// # Errors
    /// `run.toml` has no seal: it is written again, and its new seal would hide a change.
    pub fn resume(dir: &Path) -> Result<Self> {
        let path = dir.join(RUN_FILE);
        let run: TomlFile<Run> = read_toml(&path, upgrade::run)?;
        if run.unsealed(RUN_FILE).is_some() {
            bail!("{} {}", path.display(), seal::WOULD_BE_SEALED);
        }
        let writer = Self { dir: dir.to_path_buf(), run: of_run(&run.value).to_string() };
        for entry in fs::read_dir(dir.join("trials")).with_context(|| format!("cannot read {}", dir.display()))? {
            let path = entry?.path();
            if is_partial(&path) {
                fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(writer)
    }

    /// The record's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Replaces `run.toml` atomically.
    pub fn write_run(&self, run: &Run) -> Result<()> {
        let aside = self.dir.join(RUN_PARTIAL);
        write_toml(&aside, run)?;
        fs::rename(&aside, self.dir.join(RUN_FILE)).context("cannot replace run.toml")?;
        sync_dir(&self.dir)
    }

    /// Begins the directory of one trial.
    pub fn trial(&self, number: u32) -> Result<TrialWriter> {
        let partial = self.dir.join("trials").join(format!(".{number:04}.partial"));
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
        let path = partial.join(SAMPLES_FILE);
        let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let mut writer = TrialWriter {
            dir: self.dir.join("trials").join(format!("{number:04}")),
            run: self.run.clone(),
            partial,
            samples: BufWriter::with_capacity(1 << 20, file),
        };
        let mut header = [0; SAMPLE_BYTES];
        header[..SAMPLES_MAGIC.len()].copy_from_slice(SAMPLES_MAGIC);
        writer.samples(&header)?;
        Ok(writer)
    }
}

/// A trial being written; dropped without [`TrialWriter::commit`] it leaves only the partial directory.
pub struct TrialWriter {
    dir: PathBuf,
    run: String,
    partial: PathBuf,
    samples: BufWriter<File>,
}

impl TrialWriter {
    /// Directory of the trial while it runs.
    pub fn partial_dir(&self) -> &Path {
        &self.partial
    }

    /// Appends encoded samples.
    pub fn samples(&mut self, bytes: &[u8]) -> Result<()> {
        self.samples.write_all(bytes).map_err(|e| self.unwritten(e))
    }

    /// Makes the samples readable by [`read_samples`].
    pub fn flush(&mut self) -> Result<()> {
        self.samples.flush().map_err(|e| self.unwritten(e))
    }

    /// Completes the trial: everything synced, then the directory renamed into its place.
    pub fn commit(mut self, trial: &Trial, series: &str) -> Result<()> {
        self.flush()?;
        // The file is hashed now instead of during the window, where it would disturb the measurement.
        let mut sha256 = Sha256::new();
        let samples = self.partial.join(SAMPLES_FILE);
        File::open(&samples)
            .and_then(|mut file| std::io::copy(&mut file, &mut HashInto(&mut sha256)))
            .with_context(|| format!("cannot read {}", samples.display()))?;
        let (samples, course) = (in_digits(sha256), in_digits(Sha256::new_with_prefix(series)));
        let mut trial = Trial { samples_sha256: Some(samples), series_sha256: Some(course), ..trial.clone() };
        trial.bound_sha256 = Some(bound(&self.run, &to_text(&trial)?));
        fs::write(self.partial.join(SERIES_FILE), series).map_err(|e| self.unwritten(e))?;
        write_toml(&self.partial.join(TRIAL_FILE), &trial)?;
        for entry in fs::read_dir(&self.partial).with_context(|| format!("cannot read {}", self.partial.display()))? {
            File::open(entry?.path()).and_then(|f| f.sync_all()).map_err(|e| self.unwritten(e))?;
        }
        sync_dir(&self.partial)?;
        fs::rename(&self.partial, &self.dir).with_context(|| format!("cannot complete {}", self.dir.display()))?;
        sync_dir(self.dir.parent().expect("a trial lies in `trials`"))
    }

    fn unwritten(&self, error: std::io::Error) -> anyhow::Error {
        anyhow::Error::new(error).context(format!("cannot write {}", self.partial.display()))
    }
}

impl Drop for TrialWriter {
    fn drop(&mut self) {
        // After a commit the directory has moved; otherwise its content is unusable.
        let _ = fs::remove_dir_all(&self.partial);
    }
}

/// A record: the run, and its finished trials in order.
#[derive(Debug)]
pub struct Record {
    pub dir: PathBuf,
    pub run: Run,
    pub trials: Vec<Trial>,
    /// Trials that were disturbed and ran again, which do not count.
    pub again: Vec<Trial>,
    /// Names of trials that cannot be read, with the reason.
    pub damaged: Vec<(String, String)>,
    /// Files without a seal.
    pub unsealed: Vec<Unsealed>,
}

impl Record {
    /// Reads everything except samples.
    pub fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(RUN_FILE);
        if !path.exists() {
            bail!(
                "{} is not a record: it holds no {RUN_FILE}{}",
                dir.display(),
                // A run that was killed before it wrote anything leaves only the lock file.
                if dir.join(LOCK_FILE).exists() {
                    ". A run was ended there before its first trial; give the same command again"
                } else {
                    ". Name the directory that `--out` named, or one in results/"
                }
            );
        }
        let file: TomlFile<Run> = read_toml(&path, upgrade::run)?;
        let mut unsealed: Vec<Unsealed> = file.unsealed(RUN_FILE).into_iter().collect();
        let run = file.value;
        kind::check(&run.study.kinds, |reader| reader.keys)
            .with_context(|| format!("{} is damaged", path.display()))?;
        let mut names = vec![];
        let trials_dir = dir.join("trials");
        for entry in fs::read_dir(&trials_dir).with_context(|| format!("cannot read {}", trials_dir.display()))? {
            let path = entry?.path();
            if !is_partial(&path) {
                names.push(path);
            }
        }
        names.sort();
        let (mut trials, mut damaged) = (vec![], vec![]);
        for path in names {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match read_trial(&path).and_then(|file| in_its_place(&run, &name, file)) {
                Ok(file) => {
                    unsealed.extend(file.unsealed(&format!("trials/{name}/{TRIAL_FILE}")));
                    trials.push(file.value);
                }
                Err(e) => damaged.push((name, format!("{e:#}"))),
            }
        }
        let (again, mut trials): (Vec<Trial>, Vec<Trial>) =
            trials.into_iter().partition(|trial: &Trial| run.again.contains(&trial.slot));
        contradicted(&mut trials);
        Ok(Self { dir: dir.to_path_buf(), run, trials, again, damaged, unsealed })
    }

    /// One trial of the record in `dir`.
    ///
    /// # Errors
    /// It cannot be read, or does not belong to this run.
    pub fn trial(dir: &Path, run: &Run, number: u32) -> Result<Trial> {
        let name = format!("{number:04}");
        Ok(in_its_place(run, &name, read_trial(&dir.join("trials").join(&name))?)?.value)
    }

    /// The directory of a trial.
    pub fn trial_dir(&self, number: u32) -> PathBuf {
        self.dir.join("trials").join(format!("{number:04}"))
    }

    /// The course of a trial as text; see `docs/formats.md`.
    pub fn series(&self, number: u32) -> Result<String> {
        let path = self.trial_dir(number).join(SERIES_FILE);
        regular_text(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Passes all samples of a trial to `each`, in the order of the file.
    ///
    /// # Errors
    /// They cannot be read, or were changed after they were written; `each` may have seen some or all of them.
    pub fn samples(&self, number: u32, mut each: impl FnMut(Sample)) -> Result<()> {
        let path = self.trial_dir(number).join(SAMPLES_FILE);
        let trial = self.trials.iter().find(|trial| trial.slot.trial == number);
        let (mut sha256, mut count) = (Sha256::new(), 0);
        let counted = |sample| {
            count += 1;
            each(sample);
        };
        read_hashed(&path, |bytes| sha256.update(bytes), counted)?;
        let Some(trial) = trial else { return Ok(()) };
        if let Some(written) = trial.samples.filter(|written| *written != count) {
            bail!("{count} of {written} samples are left");
        }
        match &trial.samples_sha256 {
            Some(written) if *written != in_digits(sha256) => {
                bail!("{} was changed since it was written: its SHA-256 differs", path.display())
            }
            _ => Ok(()),
        }
    }
}

/// Makes both of two contradicting trials invalid if it is unknown which one is wrong.
fn contradicted(trials: &mut [Trial]) {
    let found = trials.iter().flat_map(|trial| trial.invalid.iter().map(|reason| (trial.slot.trial, reason)));
    let found: Vec<(u32, Reason)> = found
        .filter_map(|(by, reason)| {
            let other = reason.against?;
            let words = format!("trial {by:04} says the opposite: {}", reason.detail);
            Some((other, Reason { against: Some(by), ..reason.kind.because(words) }))
        })
        .collect();
    for (other, reason) in found {
        trials
            .iter_mut()
            .filter(|trial| trial.slot.trial == other)
            .for_each(|trial| trial.invalid.push(reason.clone()));
    }
}

/// What trials are bound to: the number of the run; in older records its start.
fn of_run(run: &Run) -> &str {
    run.id.as_ref().unwrap_or(&run.started)
}

/// Digest that binds a trial to its run: of what names the run, and of all other lines of the file.
fn bound(run: &str, text: &str) -> String {
    let mut sha256 = Sha256::new_with_prefix(format!("{run}\n"));
    text.lines().filter(|line| !line.starts_with("bound_sha256 = ")).for_each(|line| {
        sha256.update(line);
        sha256.update("\n");
    });
    in_digits(sha256)
}

/// The digest that older records have: of a trial's place, contender and files.
fn bound_before(trial: &Trial) -> String {
    let Slot { trial: number, round, condition, contender } = trial.slot;
    let samples = trial.samples_sha256.as_deref().unwrap_or_default();
    let (name, label, plan) = (&trial.contender, &trial.condition, &trial.plan_sha256);
    // Older records have none.
    let series = trial.series_sha256.as_ref().map_or(String::new(), |sha256| format!("{sha256}\n"));
    let all = format!("{number}\n{round}\n{condition}\n{contender}\n{name}\n{label}\n{plan}\n{samples}\n{series}");
    in_digits(Sha256::new_with_prefix(all))
}

/// Checks that a trial is in the directory of its number and has the slot, contender and condition of the schedule.
///
/// # Errors
/// The mismatch.
fn in_its_place(run: &Run, dir: &str, file: TomlFile<Trial>) -> Result<TomlFile<Trial>> {
    let trial = &file.value;
    let slot = trial.slot;
    if dir != format!("{:04}", slot.trial) {
        bail!("it is trial {:04}: the directory was copied or renamed", slot.trial);
    }
    match run.slot(slot.trial) {
        Some(planned) if planned == slot => {}
        Some(_) => {
            bail!("{TRIAL_FILE} was changed: the schedule has another round, condition or contender at this place")
        }
        None => bail!("the schedule of the run has no trial {}", slot.trial),
    }
    let contender = run.study.contenders.get(slot.contender).map(|contender| &contender.name);
    let condition = run.study.conditions.get(slot.condition).map(|condition| &condition.label);
    if contender != Some(&trial.contender) || condition != Some(&trial.condition) {
        let of = contender.map_or("nothing", String::as_str);
        bail!("{TRIAL_FILE} was changed: it is of {}, and this place in the schedule of {of}", trial.contender);
    }
    let is_older =
        |written: Option<&String>| run.id.is_none() && written.is_none_or(|written| *written == bound_before(trial));
    let written = trial.bound_sha256.as_ref();
    if written != Some(&bound(of_run(run), &file.text)) && !is_older(written) {
        bail!("{TRIAL_FILE} was changed since it was written, or is of another run: its `bound_sha256` differs");
    }
    Ok(file)
}

fn read_trial(path: &Path) -> Result<TomlFile<Trial>> {
    let file: TomlFile<Trial> = read_toml(&path.join(TRIAL_FILE), upgrade::trial)?;
    let trial = &file.value;
    kind::check(&trial.kinds, |reader| reader.results)
        .with_context(|| format!("{} is damaged", path.join(TRIAL_FILE).display()))?;
    let samples = path.join(SAMPLES_FILE);
    let length = fs::metadata(&samples).with_context(|| format!("cannot read {}", samples.display()))?.len();
    if length == 0 || !length.is_multiple_of(SAMPLE_BYTES as u64) {
        bail!("{} is cut off: {length} bytes are not whole samples", samples.display());
    }
    if let Some(written) = &trial.series_sha256 {
        let series = path.join(SERIES_FILE);
        let text = regular_text(&series).with_context(|| format!("cannot read {}", series.display()))?;
        if *written != in_digits(Sha256::new_with_prefix(text)) {
            bail!("{} was changed since it was written: its SHA-256 differs", series.display());
        }
    }
    if trial.invalid.is_empty() && trial.window_end_ns <= trial.window_start_ns {
        bail!("{} is damaged: its window ends before it begins", path.join(TRIAL_FILE).display());
    }
    Ok(file)
}

/// Passes all samples of a file to `each`, in order, reading it in pieces.
pub fn read_samples(path: &Path, each: impl FnMut(Sample)) -> Result<()> {
    read_hashed(path, |_| (), each)
}

/// As [`read_samples`]; `raw` gets all bytes.
fn read_hashed(path: &Path, mut raw: impl FnMut(&[u8]), mut each: impl FnMut(Sample)) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut bytes = [0; SAMPLE_BYTES];
    reader.read_exact(&mut bytes).with_context(|| format!("{} has no header", path.display()))?;
    if !bytes.starts_with(SAMPLES_MAGIC) {
        let found = String::from_utf8_lossy(&bytes[..SAMPLES_MAGIC.len()]).into_owned();
        bail!("{} begins with {found:?}, not with {:?}", path.display(), String::from_utf8_lossy(SAMPLES_MAGIC));
    }
    raw(&bytes);
    let mut number: u64 = 0;
    loop {
        match reader.read(&mut bytes)? {
            0 => return Ok(()),
            n => reader
                .read_exact(&mut bytes[n..])
                .with_context(|| format!("{} is cut off in sample {number}", path.display()))?,
        }
        raw(&bytes);
        let sample = Sample::decode(&bytes)
            .map_err(|m| anyhow::anyhow!("{} is damaged in sample {number}: {m}", path.display()))?;
        each(sample);
        number += 1;
    }
}

/// The hash as in `trial.toml`.
fn in_digits(sha256: Sha256) -> String {
    sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash that bytes can be copied into.
struct HashInto<'a>(&'a mut Sha256);

impl Write for HashInto<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn is_partial(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

pub(super) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|d| d.sync_all()).with_context(|| format!("cannot sync {}", dir.display()))
}
