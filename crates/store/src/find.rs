//! Finds and lists documents of every kind.
//!
//! Row ids are unique over all tables. They are the order in which documents of all kinds were saved, so
//! that "last" is the newest. Rejected: times, which simulated documents do not have.

use crate::document::place;
use crate::{Document, Store, StoreError};
use record::{
    DocumentKind, Experiment, KeptDocument, Observation, ObservedDevice, Profile, SHORT_ID,
    SavedDocument, Trial,
};

/// Number of recordings that are searched for a device.
const LOOKED_THROUGH: u32 = 200;
/// Minimum number of letters that are also compared with the end of an id, and with the beginning of the short
/// id that lists print. The beginning of the id is tried first.
const END_LEAST: usize = 4;
/// Number of ids listed when a prefix is ambiguous.
const CANDIDATES: usize = 5;

/// Selects only trials that belong to no other document, finished or not.
const OF_NO_OTHER: &str = " AND part = 0";

/// Selects only profiles whose check did not end early, as [`Profile::partial`].
pub(crate) const COMPLETE: &str = " AND NOT EXISTS (SELECT 1 FROM json_each(document, '$.findings') \
    WHERE json_extract(value, '$.code') = 'interrupted')";

/// The word for the newest document; `last~1` is the one before it.
pub const LAST: &str = "last";

impl Store {
    /// Finds a document by full id, else by an unambiguous beginning or end of an id or beginning of a short id, or
    /// the newest. A partial
    /// profile is found only by its id.
    ///
    /// # Errors
    /// If none or several match, or the file cannot be read.
    pub fn document<D: Document>(&self, id: &str) -> Result<D, StoreError> {
        let (_, id) = self.only(id, &[D::KIND])?;
        let text = self.kept_text::<D>(&id)?.ok_or_else(|| self.not_found(&id, &[D::KIND]))?;
        let mut document: D = self.parse(&id, &text)?;
        document.read_beside(self)?;
        Ok(document)
    }

    /// The document of any of these kinds that [`Store::document`] would find, with its trials. If other
    /// kinds are requested too, the newest may be a partial profile, but never a trial of another document.
    ///
    /// # Errors
    /// If none or several match, or the file cannot be read.
    pub fn find(&self, id: &str, kinds: &[DocumentKind]) -> Result<SavedDocument, StoreError> {
        let (kind, id) = self.only(id, kinds)?;
        Ok(match kind {
            DocumentKind::Experiment => {
                SavedDocument::Experiment(self.boxed(&id)?, self.trials_of::<Experiment>(&id)?)
            }
            DocumentKind::Profile => {
                SavedDocument::Profile(self.boxed(&id)?, self.trials_of::<Profile>(&id)?)
            }
            DocumentKind::Limits => SavedDocument::Limits(self.boxed(&id)?),
            DocumentKind::Zones => SavedDocument::Zones(self.boxed(&id)?),
            DocumentKind::Observation => SavedDocument::Observation(self.boxed(&id)?),
            DocumentKind::Diagnosis => SavedDocument::Diagnosis(self.boxed(&id)?),
            DocumentKind::Validation => SavedDocument::Validation(self.boxed(&id)?),
            DocumentKind::CostFit => SavedDocument::CostFit(self.boxed(&id)?),
            DocumentKind::Trial => SavedDocument::Trial(self.boxed(&id)?),
        })
    }

    fn boxed<D: Document>(&self, id: &str) -> Result<Box<D>, StoreError> {
        self.document(id).map(Box::new)
    }

    /// All documents of a kind, in the order in which they were saved.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn list<D: Document>(&self) -> Result<Vec<KeptDocument>, StoreError> {
        self.kept(&[D::KIND])
    }

    /// The saved documents of these kinds, in the order in which they were saved. Trials that belong to
    /// another document are omitted if other kinds are requested too.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn kept(&self, kinds: &[DocumentKind]) -> Result<Vec<KeptDocument>, StoreError> {
        let mut found: Vec<(i64, KeptDocument)> = Vec::new();
        for kind in kinds {
            let is_part = *kind == DocumentKind::Trial && kinds.len() > 1;
            let is_own = if is_part { OF_NO_OTHER } else { "" };
            let place = place(*kind);
            let sql = format!("SELECT rowid, id, time, target, simulated FROM {place}{is_own}");
            found.extend(self.rows(&sql, &[], |row| {
                let kept = KeptDocument {
                    kind: kind.name().to_owned(),
                    id: row.get(1)?,
                    time: row.get(2)?,
                    target: row.get(3)?,
                    simulated: row.get(4)?,
                };
                Ok((row.get(0)?, kept))
            })?);
        }
        found.sort_by_key(|(row, _)| *row);
        Ok(found.into_iter().map(|(_, kept)| kept).collect())
    }

    /// The latest recordings that contain a `wanted` device and began before a time (RFC 3339 in UTC), latest
    /// first. A recording without a time is left out: it may be of any time. Returns at most `most` recordings with at most `bytes_max` bytes in the file. In memory they take
    /// about twenty times as much.
    ///
    /// # Errors
    /// If the file or one of the recordings cannot be read.
    pub fn recordings_of(
        &self,
        wanted: impl Fn(&ObservedDevice) -> bool,
        before: &str,
        (most, bytes_max): (usize, i64),
    ) -> Result<Vec<Observation>, StoreError> {
        let sql = format!(
            "SELECT id, length(coalesce(columns, document)) FROM {} AND simulated = 0 \
             AND time < ?1 ORDER BY time DESC, rowid DESC LIMIT {LOOKED_THROUGH}",
            place(Observation::KIND)
        );
        let rows: Vec<(String, i64)> =
            self.rows(&sql, &[&before], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (mut found, mut left) = (Vec::new(), bytes_max);
        for (id, bytes) in rows {
            if found.len() < most
                && bytes <= left
                && let Some(head) = self.kept_text::<Observation>(&id)?
                && self.parse::<Observation>(&id, &head)?.devices.iter().any(&wanted)
            {
                left -= bytes;
                found.push(self.document(&id)?);
            }
        }
        Ok(found)
    }

    /// Kind and id of the only document of these kinds that matches a word: the beginning or end of an id,
    /// `last`, or the name of a target (its newest document). All our ids are lower-case hexadecimal.
    pub(crate) fn only(
        &self,
        word: &str,
        kinds: &[DocumentKind],
    ) -> Result<(DocumentKind, String), StoreError> {
        let newest = |back: usize, target: Option<&str>| {
            if let Some(found) = self.newest(back, kinds, target, COMPLETE)? {
                return Ok(found);
            }
            let only_partial = self.newest(0, kinds, target, "")?.filter(|_| back == 0);
            Err(only_partial.map_or_else(
                || self.not_found(word, kinds),
                |(_, id)| StoreError::Partial { id, path: self.path.clone() },
            ))
        };
        if let Some(back) = back(word) {
            return newest(back, None);
        }
        let part = word.to_lowercase();
        let ids = |condition: &str| -> Result<Vec<(DocumentKind, String)>, StoreError> {
            let mut found = Vec::new();
            for &kind in kinds.iter().filter(|_| !part.is_empty()) {
                let sql = format!(
                    "SELECT id FROM {} AND {condition} ORDER BY id LIMIT {CANDIDATES}",
                    place(kind)
                );
                found.extend(self.rows(&sql, &[&part], |row| Ok((kind, row.get(0)?)))?);
            }
            Ok(found)
        };
        // A range, so that SQLite uses the index: `g` sorts after every character of an id.
        let mut found = ids("id >= ?1 AND id < ?1 || 'g'")?;
        // A full id takes precedence over longer ids that begin with it.
        if found.iter().any(|(_, id)| *id == part) {
            found.retain(|(_, id)| *id == part);
        } else if found.is_empty() && part.len() >= END_LEAST {
            found = ids(&format!(
                "?1 IN (substr(id, -length(?1)), substr(id, -{SHORT_ID}, length(?1)))"
            ))?;
        }
        // A profile begins in the same moment as its trials, and the user more likely means the profile.
        let others = || found.iter().filter(|(kind, _)| *kind != Trial::KIND);
        if found.len() > 1 && others().count() == 1 {
            let one = others().next().cloned();
            found = one.into_iter().collect();
        }
        match found.len() {
            0 => newest(0, Some(word)),
            1 => Ok(found.swap_remove(0)),
            _ => Err(StoreError::Ambiguous {
                id: part,
                candidates: found.iter().map(|(it, id)| format!("{} {id}", it.name())).collect(),
                path: self.path.clone(),
            }),
        }
    }

    /// The newest document of these kinds after skipping `back` newer ones; only those of `target` if
    /// given. `profiles` selects profiles, if no other kind is requested.
    fn newest(
        &self,
        back: usize,
        kinds: &[DocumentKind],
        target: Option<&str>,
        profiles: &str,
    ) -> Result<Option<(DocumentKind, String)>, StoreError> {
        let mut found: Vec<(i64, DocumentKind, String)> = Vec::new();
        for &kind in kinds {
            let wanted = match kind {
                DocumentKind::Trial if kinds.len() > 1 => OF_NO_OTHER,
                DocumentKind::Profile if kinds.len() == 1 => profiles,
                _ => "",
            };
            let sql = format!(
                "SELECT rowid, id FROM {}{wanted} AND (?1 IS NULL OR target = ?1)
                 ORDER BY rowid DESC LIMIT {}",
                place(kind),
                back.saturating_add(1)
            );
            found.extend(self.rows(&sql, &[&target], |row| Ok((row.get(0)?, kind, row.get(1)?)))?);
        }
        found.sort_by_key(|(row, ..)| std::cmp::Reverse(*row));
        Ok(found.into_iter().nth(back).map(|(_, kind, id)| (kind, id)))
    }
}

/// How many documents `last` and `last~N` go back; `None` for any other word.
fn back(word: &str) -> Option<usize> {
    match word.strip_prefix(LAST)? {
        "" => Some(0),
        number => number.strip_prefix('~')?.parse().ok(),
    }
}
