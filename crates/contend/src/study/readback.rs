//! The `[[readback]]` tables of a study file: what connections reported, by contender.

use super::edition::Problem;
use super::file::File;
use super::model::Readback;
use std::collections::BTreeSet;

pub(super) fn read(file: &File) -> Result<Vec<Readback>, Problem> {
    let check = |(index, written): (usize, &Readback)| {
        let index = index.to_string();
        let wrong = |message: String| Problem::at(&["readback", &index], &["names"], message);
        let mut seen = BTreeSet::new();
        if written.names.is_empty() {
            return Err(wrong("it is empty; write names of settings, or of facts in a worker's hello".to_string()));
        }
        if let Some(twice) = written.names.iter().find(|name| !seen.insert(*name)) {
            return Err(wrong(format!("`{twice}` is named twice")));
        }
        Ok(written.clone())
    };
    file.readback.iter().enumerate().map(check).collect()
}
