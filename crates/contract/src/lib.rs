//! The JSON contract of a load: [`spec::RunSpec`] goes in, [`record::RunRecord`] comes out. This
//! crate holds the types and their checks; it does no I/O.

pub mod accounting;
pub mod histogram;
pub mod record;
pub mod spec;
