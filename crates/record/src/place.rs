//! The document of `zones --file`: where a file lies on the surface of its disk, and what another place would
//! give.

use crate::{Bytes, Estimate, Measured, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` value of such a document.
pub const PLACE_SCHEMA: &str = "halfpower/place/1";

/// Where a file lies, by a map of its device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilePlace {
    /// [`PLACE_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote this.
    pub halfpower_version: String,
    /// The file, its file system and device.
    pub target: Target,
    /// The map; null where none is known that could be used.
    pub map: Option<MapOfPlace>,
    /// Where it lies on what was mapped.
    pub place: Measured<SurfacePlace>,
    /// What it can be read with there and elsewhere.
    pub rates: Measured<PlaceRates>,
    /// What stands against taking that at its word, one sentence each.
    pub cautions: Vec<String>,
}

/// Which map was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapOfPlace {
    /// Its id.
    pub id: String,
    /// When it was made; null for a simulated one.
    pub time: Option<String>,
    /// What was mapped.
    pub path: String,
    /// Size of that.
    pub size_bytes: Bytes,
    /// Zones that were told apart: one where there are none.
    pub bands: u32,
    /// Whether the user named it, although nothing says that it is of the file's device.
    pub chosen: bool,
}

/// A place on a surface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SurfacePlace {
    /// Pieces that lie on the device.
    pub pieces: u64,
    /// Bytes in them.
    pub bytes: Bytes,
    /// Lowest byte of the mapped device that is the file's.
    pub first_bytes: Bytes,
    /// Byte after the highest.
    pub last_bytes: Bytes,
    /// Mean place of its bytes, as a share of the mapped device: 0 is its beginning.
    pub mean_share: f64,
}

/// Sequential reads at a place, and at the fastest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceRates {
    /// Bytes per second where the file lies, over all of it.
    pub here_bytes_per_s: Estimate,
    /// In the fastest zone.
    pub fastest_bytes_per_s: Estimate,
    /// Where that begins.
    pub fastest_offset_bytes: Bytes,
    /// How much faster the file would be read there, as a share; zero where it lies there.
    pub gain: Estimate,
    /// How much sooner 4 KiB would be transferred there, in nanoseconds: all that zones give to a random
    /// read.
    pub random_read_saves_ns: f64,
}
