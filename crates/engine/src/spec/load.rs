//! How load is made over time, and what is kept of each connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How load is made over time, and what is kept of each connection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadSpec {
    /// Connections of the measurement whose instants are kept, for a trace; the first so many of
    /// each worker's share.
    pub trace: u32,
}
