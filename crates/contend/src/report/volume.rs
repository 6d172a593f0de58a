//! The report of a study with parts: the answers of all parts first, then a chapter for each. A chapter is the same
//! document as in the part's own directory, so the two cannot disagree.

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
    /// Warnings, shown before the answers.
    pub warnings: Vec<String>,
    /// Metrics of parts with the same question, as published and corrected, side by side.
    pub beside: Option<Section>,
    pub chapters: Vec<Chapter>,
}

/// A part.
#[derive(Debug, Clone)]
pub struct Chapter {
    /// Also the name of its directory.
    pub name: String,
    pub about: String,
    /// Whether it measures as the original did, flaws included.
    pub as_published: bool,
    /// Its other files.
    pub files: Vec<String>,
    pub document: Document,
}

/// Sections of a chapter that are shown at once; the others are details.
const FIRST: [Id; 5] = [Id::Answer, Id::Throughput, Id::Latency, Id::Effects, Id::Published];

/// Mark of a chapter that measures as the original did.
pub const AS_PUBLISHED: &str = "as published, flaws included";

impl Chapter {
    /// The answers in words, or the metrics if there are none.
    pub fn answers(&self) -> impl Iterator<Item = &Block> {
        let blocks = || self.document.blocks(Id::Answer);
        let has_words = blocks().any(|block| matches!(block, Block::Answer { .. }));
        let metrics = |block: &Block| matches!(block, Block::Table(_)) || self.document.is_condition(block);
        blocks().filter(move |block| match block {
            Block::Answer { .. } | Block::Notes(_) => true,
            block => !has_words && metrics(block),
        })
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
