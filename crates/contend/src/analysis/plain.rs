//! Plain types of studies that findings carry.

pub use crate::load::Load;
pub use crate::study::layout::Layout;
pub use crate::study::model::{
    Absence, Along, Column, Condition, Contender, Export, ExportRows, Extent, Grid, Holds, LeftOut, Overhead,
    OwnMetric, Readback, Study, Tells, Tier, Variant,
};
