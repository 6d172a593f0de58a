//! The report of a study with parts: the answers of all parts first, then a chapter for each. A chapter is the document
//! that the part's own directory holds as well, so the two cannot disagree.

pub mod beside;
pub mod markdown;
pub mod text;

use crate::report::document::{Block, Document, Id, Section};

/// A report in chapters.
#[derive(Debug, Clone, Default)]
pub struct Volume {
    pub title: String,
    pub question: String,
    /// Short facts about the run, shown in one line.
    pub facts: Vec<String>,
    /// What a reader has to know before believing anything.
    pub warnings: Vec<String>,
    /// Figures of parts that ask the same, once as the original did and once fairly.
    pub beside: Option<Section>,
    pub chapters: Vec<Chapter>,
}

/// A part.
#[derive(Debug, Clone)]
pub struct Chapter {
    /// Also the name of its directory.
    pub name: String,
    pub about: String,
    /// Whether it counts as the original did, flaws included.
    pub as_published: bool,
    /// Its files that are not part of this report.
    pub files: Vec<String>,
    pub document: Document,
}

/// Sections of a chapter that are shown at once; the others are details.
const FIRST: [Id; 5] = [Id::Answer, Id::Throughput, Id::Latency, Id::Effects, Id::Published];

/// Marks what counts as the original did.
pub const AS_PUBLISHED: &str = "as published, flaws included";

impl Chapter {
    /// What was found, in words; where there are none, the metrics.
    pub fn answers(&self) -> impl Iterator<Item = &Block> {
        let blocks = || self.document.blocks(Id::Answer);
        let words = |block: &&Block| matches!(block, Block::Answer { .. });
        let has_words = blocks().any(|block| words(&block));
        let metrics = |block: &Block| matches!(block, Block::Table(_)) || self.document.is_condition(block);
        blocks().filter(move |block| if has_words { words(block) } else { metrics(block) })
    }

    pub fn first_sections(&self) -> impl Iterator<Item = &Section> {
        self.document.sections.iter().filter(|section| FIRST.contains(&section.id))
    }

    pub fn details(&self) -> impl Iterator<Item = &Section> {
        self.document.sections.iter().filter(|section| !FIRST.contains(&section.id))
    }

    /// Name and mark.
    pub fn title(&self) -> String {
        if self.as_published { format!("{} ({AS_PUBLISHED})", self.name) } else { self.name.clone() }
    }
}
