//! `contend capture anonymise`: replaces the values of a capture with hashes.

use crate::content;
use crate::manifest::{Manifest, Total, Values, halves, make_private, random_key, write_private};
use crate::mysql_text::{self, Mode};
use crate::pack::pack;
use crate::postgres_text;
use crate::raw::Raw;
use crate::segment::{SEGMENTS, stored};
use crate::whole::Totals;
use anyhow::{Result, bail, ensure};
use contend_interpose::format::{header, kind, record, value};
use contend_interpose::hash;
use contend_interpose::text::{Sink, room, without_parameters, write};
use std::path::Path;

/// Copies the capture `dir` to `out` with hashes in place of values. The key of the hashes is drawn here and never stored.
///
/// # Errors
/// `dir` has no values or is damaged, or `out` cannot be written.
pub fn anonymise(dir: &Path, out: &Path) -> Result<()> {
    let mut manifest = Manifest::read(dir)?;
    if manifest.values == Values::Hash {
        bail!("{} already has hashes instead of values", dir.display());
    }
    ensure!(
        manifest.status.is_some(),
        "{} is incomplete: the command still runs, or contend was killed",
        dir.display()
    );
    let key = halves(random_key()?);
    make_private(out)?;
    make_private(&out.join(SEGMENTS))?;
    let (all, damage) = stored(&dir.join(SEGMENTS), manifest.segments.as_ref())?;
    // The seal of the copy must not hide that there was none.
    manifest.missing = damage.into_iter().chain(manifest.missing_in_all()).collect();
    let mut totals = Totals::new();
    for file in all {
        let Some(read) = file.segment else { continue };
        let server = manifest.server.as_ref().map(|server| server.engine.as_str());
        let records = read.records.iter().flat_map(|raw| anonymous(raw, key, server)).collect::<Vec<u8>>();
        let mut bytes = read.head;
        let end = (bytes.len() + records.len()) as u64;
        bytes[header::FULL..header::FULL + 4].fill(0);
        bytes[header::COMMITTED..header::COMMITTED + 8].copy_from_slice(&end.to_ne_bytes());
        bytes.extend(records);
        let (packed, records) = pack(&bytes)?;
        write_private(&out.join(SEGMENTS).join(&file.name), &packed)?;
        totals.insert(file.name, Total::of(&packed, records));
    }
    manifest.segments = Some(totals);
    manifest.values = Values::Hash;
    for database in &mut manifest.databases {
        for content in database.content.iter_mut().chain(&mut database.end) {
            if let Some(copy) = content.copied_in(dir)? {
                (content.copy, content.copy_hash) = (None, None);
                content::hash_values(content, &content::open_copy(&copy)?, key)?;
            }
        }
    }
    manifest.write(out)
}

/// A record without its values. Bytes behind a text, which may be left of an earlier record, become 0.
fn anonymous(raw: &Raw, key: [u64; 2], server: Option<&str>) -> Vec<u8> {
    let whole = || raw.bytes(0, u64::MAX).to_vec();
    let put = |bytes: &mut [u8], at: usize, number: u64| bytes[at..at + 8].copy_from_slice(&number.to_ne_bytes());
    match raw.kind() {
        kind::TEXT => {
            let sql = raw.bytes(record::HEAD, raw.t());
            let written = match server {
                None => of_sqlite(sql, key),
                Some("mysql") => mysql_text::written(sql, Mode::STORED, key, false),
                // Stored texts have backslashes only in E'...'.
                Some(_) => postgres_text::written(sql, false, key, false),
            };
            let mut bytes = raw.bytes(0, record::HEAD as u64).to_vec();
            put(&mut bytes, record::T, written.len() as u64);
            bytes.extend(written);
            padded(bytes)
        }
        kind::BIND => {
            let ((kind, hash), end) = match raw.a() {
                kind @ (value::INTEGER | value::REAL) => match server {
                    None => (hash::of_number(key, kind, raw.t()), record::HEAD),
                    Some(_) => ((kind, hash::number(key, kind, raw.t())), record::HEAD),
                },
                kind @ (value::TEXT | value::BLOB) => {
                    let bytes = raw.bytes(record::NUMBER_BYTES, raw.u64(record::NUMBER));
                    ((kind, hash::bytes(key, bytes)), record::NUMBER_BYTES)
                }
                _ => return whole(),
            };
            let mut bytes = raw.bytes(0, end as u64).to_vec();
            bytes[record::A] = kind;
            put(&mut bytes, record::T, hash);
            padded(bytes)
        }
        // A server's code of an error takes the place of a rowid.
        kind::STEP | kind::EXEC if server.is_none() => {
            let mut bytes = whole();
            put(&mut bytes, record::ROWID, 0);
            bytes
        }
        kind::RESET if raw.bytes.len() >= record::RESET_BYTES => {
            let mut bytes = whole();
            put(&mut bytes, record::RESET_ROWID, 0);
            bytes
        }
        kind::PROCESS => padded(raw.bytes(0, (record::NUMBER_BYTES as u64).saturating_add(raw.t())).to_vec()),
        kind::LIBRARY => padded(raw.bytes(0, (record::HEAD as u64).saturating_add(raw.t())).to_vec()),
        kind::OPEN => {
            let mut bytes = whole();
            let name = bytes[record::OPEN_BYTES..].split(|byte| *byte == 0).next().unwrap_or_default();
            // Older versions kept the parameters of a name.
            let length = if raw.i32(record::OPEN_RC) == 0 { name } else { without_parameters(name) }.len();
            bytes.truncate(record::OPEN_BYTES + length);
            bytes.push(0);
            padded(bytes)
        }
        _ => whole(),
    }
}

fn of_sqlite(sql: &[u8], key: [u64; 2]) -> Vec<u8> {
    let mut written = vec![0; room(sql.len())];
    let mut sink = Sink::new(&mut written);
    write(sql, key, true, &mut sink);
    let length = sink.length;
    written.truncate(length);
    written
}

/// A record with its own length at the beginning, a multiple of 8.
fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let length = u32::try_from(bytes.len()).expect("a record is shorter than its segment");
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes
}
