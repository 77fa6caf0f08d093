//! The JSON contract of a load: [`spec::RunSpec`] goes in, [`record::RunRecord`] comes out. Types that
//! cannot hold nonsense, and their checks; nothing here does anything.

pub mod accounting;
pub mod histogram;
pub mod record;
pub mod spec;
