//! Types of studies that reports may use.

pub use crate::load::Load;
pub use crate::study::layout::Layout;
pub use crate::study::model::{
    Absence, Along, Column, Condition, Contender, Export, ExportRows, Extent, Grid, Holds, LeftOut, NullDriver,
    OwnMetric, Readback, Study, Tells, Tier, Variant,
};
