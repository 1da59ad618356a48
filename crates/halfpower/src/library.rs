//! Finds the documents that a command line names: saved ones by their id, and those in files, whose kind is
//! recognised from their text. Results of fio count as trials.

use crate::store_args::StoreArgs;
use crate::{fio_results, recognise};
use engine::input;
use record::{DocumentKind, SavedDocument};
use std::path::Path;
use store::{Library, StoreError};

impl StoreArgs {
    /// The saved documents and those in files, also results of fio.
    pub(crate) fn library(&self) -> Result<Library, StoreError> {
        Ok(Library::new(self.file()?).also_reading(fio_results::trials))
    }

    /// The documents of these kinds that the words name: ids, files, or - for standard input.
    pub(crate) fn documents(
        &self,
        words: &[String],
        kinds: &[DocumentKind],
    ) -> anyhow::Result<Vec<SavedDocument>> {
        let library = self.library()?;
        let mut found = Vec::new();
        for word in words {
            found.extend(match word.as_str() {
                input::STANDARD_INPUT => library.file(Path::new(word))?,
                word => {
                    recognise::expect(word, recognise::has_documents)?;
                    library.named(word, kinds)?
                }
            });
        }
        Ok(found)
    }
}
