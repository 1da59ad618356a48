//! Writes the recipe of a container image, and its only file.

use super::{Dist, NAME, VERSION, put};
use anyhow::Result;
use std::os::unix::fs::PermissionsExt;

const RECIPE: &str = include_str!("../../../../packaging/Containerfile");

/// Writes the recipe, and the program under the name that the recipe copies.
pub(super) fn write(dist: &Dist) -> Result<()> {
    let program = dist.out.join(NAME);
    put(&program, std::fs::read(dist.out.join("tree/usr/bin").join(NAME))?)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let recipe = RECIPE.replace("@VERSION@", VERSION).replace("@FILE@", NAME);
    put(&dist.out.join("Containerfile"), recipe)
}
