//! Lists the counter names of PhysicalDisk and LogicalDisk in the languages in which they are known for
//! certain.
//!
//! Windows writes counter names in its own language. The English names are documented, the German ones come
//! from its own table of names (Perflib), the French ones from the output of its tools. Spanish and other
//! languages are recognised by the name of the object, so that the message can state the problem. Guessing
//! a mapping was rejected, because two counters with similar names would be exchanged silently. Names are
//! compared without accents, blanks and case, because files use any code page.

use crate::lacks::{Lack, Names};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counter {
    /// Share of time without requests, per cent.
    Idle,
    SecondsPerTransfer,
    SecondsPerRead,
    SecondsPerWrite,
    Transfers,
    Reads,
    Writes,
    Bytes,
    ReadBytes,
    WrittenBytes,
    BytesPerTransfer,
    BytesPerRead,
    BytesPerWrite,
    /// Requests in flight at the time of the sample.
    InFlight,
    Concurrency,
    /// Requests split in two or more, per second.
    Splits,
}

/// What an object counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// Requests to disks.
    Physical,
    /// Requests to volumes.
    Logical,
}

/// A language whose names are known.
pub(crate) struct Language {
    name: &'static str,
    /// Names of the objects of disks and of volumes.
    objects: [&'static str; 2],
    /// Names of the counters for the figures that conclusions need.
    pub(crate) figures: &'static Names,
}

const LANGUAGES: [Language; 3] = [
    Language {
        name: "English",
        objects: ["PhysicalDisk", "LogicalDisk"],
        figures: &[
            (Lack::Rate, "`Disk Reads/sec` and `Disk Writes/sec`"),
            (Lack::Latencies, "`Avg. Disk sec/Read` and `Avg. Disk sec/Write`"),
            (Lack::Directions, "`Disk Reads/sec` and `Disk Writes/sec`"),
            (Lack::LatencyOfEach, "`Avg. Disk sec/Read` and `Avg. Disk sec/Write`"),
            (Lack::Bytes, "`Disk Read Bytes/sec` and `Disk Write Bytes/sec`"),
            (Lack::BusyShare, "`% Idle Time`"),
            (Lack::InFlight, "`Current Disk Queue Length`"),
        ],
    },
    Language {
        name: "German",
        objects: ["Physikalischer Datenträger", "Logischer Datenträger"],
        figures: &[
            (Lack::Rate, "`Lesevorgänge/s` and `Schreibvorgänge/s`"),
            (Lack::Latencies, "`Mittlere Sek./Lesevorgänge` and `Mittlere Sek./Schreibvorgänge`"),
            (Lack::Directions, "`Lesevorgänge/s` and `Schreibvorgänge/s`"),
            (
                Lack::LatencyOfEach,
                "`Mittlere Sek./Lesevorgänge` and `Mittlere Sek./Schreibvorgänge`",
            ),
            (Lack::Bytes, "`Bytes gelesen/s` and `Bytes geschrieben/s`"),
            (Lack::BusyShare, "`Leerlaufzeit (%)`"),
            (Lack::InFlight, "`Aktuelle Warteschlangenlänge`"),
        ],
    },
    Language {
        name: "French",
        objects: ["Disque physique", "Disque logique"],
        figures: &[
            (Lack::Rate, "`Lectures disque/s` and `Écritures disque/s`"),
            (Lack::Latencies, "`Moyenne disque s/lecture` and `Moyenne disque s/écriture`"),
            (Lack::Directions, "`Lectures disque/s` and `Écritures disque/s`"),
            (Lack::LatencyOfEach, "`Moyenne disque s/lecture` and `Moyenne disque s/écriture`"),
            (Lack::Bytes, "`Lectures disque, octets/s` and `Écritures disque, octets/s`"),
            (Lack::BusyShare, "`% d'inactivité`"),
            (Lack::InFlight, "`Taille de file d'attente du disque actuelle`"),
        ],
    },
];

/// Names of the object in languages with unknown counter names, folded, and the language.
const FOREIGN_OBJECTS: [(&str, &str); 4] = [
    ("discofsico", "Spanish or Portuguese"),
    ("discofisico", "Italian"),
    ("fysiekeschijf", "Dutch"),
    ("dyskfizyczny", "Polish"),
];

/// Names of the counters, folded.
const COUNTERS: [(&str, Counter); 46] = [
    ("%idletime", Counter::Idle),
    ("avgdisksectransfer", Counter::SecondsPerTransfer),
    ("avgdisksecread", Counter::SecondsPerRead),
    ("avgdisksecwrite", Counter::SecondsPerWrite),
    ("disktransferssec", Counter::Transfers),
    ("diskreadssec", Counter::Reads),
    ("diskwritessec", Counter::Writes),
    ("diskbytessec", Counter::Bytes),
    ("diskreadbytessec", Counter::ReadBytes),
    ("diskwritebytessec", Counter::WrittenBytes),
    ("avgdiskbytestransfer", Counter::BytesPerTransfer),
    ("avgdiskbytesread", Counter::BytesPerRead),
    ("avgdiskbyteswrite", Counter::BytesPerWrite),
    ("currentdiskqueuelength", Counter::InFlight),
    ("avgdiskqueuelength", Counter::Concurrency),
    ("splitiosec", Counter::Splits),
    ("leerlaufzeit%", Counter::Idle),
    ("mittleresekbertragung", Counter::SecondsPerTransfer),
    ("mittlereseklesevorgnge", Counter::SecondsPerRead),
    ("mittleresekschreibvorgnge", Counter::SecondsPerWrite),
    ("bertragungens", Counter::Transfers),
    ("lesevorgnges", Counter::Reads),
    ("schreibvorgnges", Counter::Writes),
    ("bytess", Counter::Bytes),
    ("bytesgelesens", Counter::ReadBytes),
    ("bytesgeschriebens", Counter::WrittenBytes),
    ("mittlerebytesbertragung", Counter::BytesPerTransfer),
    ("mittlerebyteslesevorgang", Counter::BytesPerRead),
    ("mittlerebytesschreibvorgang", Counter::BytesPerWrite),
    ("aktuellewarteschlangenlnge", Counter::InFlight),
    ("teileas", Counter::Splits),
    ("%dinactivit", Counter::Idle),
    ("moyennedisquestransfert", Counter::SecondsPerTransfer),
    ("moyennedisqueslecture", Counter::SecondsPerRead),
    ("moyennedisquescriture", Counter::SecondsPerWrite),
    ("transfertsdisques", Counter::Transfers),
    ("lecturesdisques", Counter::Reads),
    ("crituresdisques", Counter::Writes),
    ("octetsdisques", Counter::Bytes),
    ("lecturesdisqueoctetss", Counter::ReadBytes),
    ("crituresdisqueoctetss", Counter::WrittenBytes),
    ("moyennedisqueoctetstransfert", Counter::BytesPerTransfer),
    ("moyennedisqueoctetslecture", Counter::BytesPerRead),
    ("moyennedisqueoctetscriture", Counter::BytesPerWrite),
    ("tailledefiledattentedudisqueactuelle", Counter::InFlight),
    ("espartagess", Counter::Splits),
];

/// The layer of an object, with the language of its name; `None` if it is another object.
pub(crate) fn layer(object: &str) -> Option<(Layer, &'static Language)> {
    let object = folded(object);
    let is_it = |name: &str| folded(name) == object;
    LANGUAGES.iter().find_map(|language| {
        let at = language.objects.iter().position(|name| is_it(name))?;
        Some(([Layer::Physical, Layer::Logical][at], language))
    })
}

impl Language {
    /// The command that records all counters. typeperf knows only the names in the language of its Windows.
    pub(crate) fn command(&self) -> String {
        let [disks, volumes] = self.objects;
        format!("typeperf \"\\{disks}(*)\\*\" \"\\{volumes}(*)\\*\" -si 1 -f CSV -o FILE")
    }

    pub(crate) fn remedy(&self) -> String {
        format!("record with: {}", self.command())
    }
}

/// The advice for a file whose language is unknown: the command of each known language.
pub(crate) fn remedies() -> String {
    let commands: Vec<String> =
        LANGUAGES.iter().map(|it| format!("on {} Windows: {}", it.name, it.command())).collect();
    format!("record {}", commands.join("; "))
}

/// The language of this object name, if its counter names are unknown.
pub(crate) fn foreign(object: &str) -> Option<&'static str> {
    let object = folded(object);
    let known = FOREIGN_OBJECTS.iter().find(|(name, _)| *name == object);
    known.map(|(_, language)| *language)
}

pub(crate) fn counter(name: &str) -> Option<Counter> {
    let name = folded(name);
    COUNTERS.iter().find(|(known, _)| *known == name).map(|(_, counter)| *counter)
}

/// Only ASCII letters, digits and per cent signs, in lower case.
fn folded(name: &str) -> String {
    let kept = name.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '%');
    kept.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_known_in_three_languages_and_any_code_page() {
        for (name, counter) in [
            ("Avg. Disk sec/Read", Counter::SecondsPerRead),
            ("Mittlere Sek./Lesevorgänge", Counter::SecondsPerRead),
            ("Mittlere Sek./Lesevorg\u{84}nge", Counter::SecondsPerRead),
            ("Moyenne disque s/lecture", Counter::SecondsPerRead),
            ("Moyenne disque s/écriture", Counter::SecondsPerWrite),
            ("% d'inactivité", Counter::Idle),
            ("% d’inactivité", Counter::Idle),
            ("Leerlaufzeit (%)", Counter::Idle),
            ("Teil-E/A/s", Counter::Splits),
            ("E/S partagées/s", Counter::Splits),
            ("Écritures disque, octets/s", Counter::WrittenBytes),
        ] {
            assert_eq!(super::counter(name), Some(counter), "{name}");
        }
        assert_eq!(counter("% Disk Time"), None);
        for name in ["PhysicalDisk", "Physikalischer Datenträger", "Disque physique"] {
            assert_eq!(layer(name).unwrap().0, Layer::Physical, "{name}");
        }
        for name in ["LogicalDisk", "Logischer Datenträger", "Disque logique"] {
            assert_eq!(layer(name).unwrap().0, Layer::Logical, "{name}");
        }
        assert!(layer("Processor").is_none());
        assert_eq!(foreign("Disco físico"), Some("Spanish or Portuguese"));
    }

    #[test]
    fn no_name_stands_for_two_counters() {
        let names: BTreeSet<&str> = COUNTERS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), COUNTERS.len());
        assert!(COUNTERS.iter().all(|(name, _)| folded(name) == **name));
    }
    #[test]
    fn names_in_advice_are_names_that_are_read() {
        for language in &LANGUAGES {
            let names = language.figures.iter().flat_map(|(_, names)| names.split('`'));
            let mut read = 0;
            for name in names.filter(|name| !name.trim().is_empty() && name.trim() != "and") {
                assert!(counter(name).is_some(), "{}: {name}", language.name);
                read += 1;
            }
            assert_eq!(read, 12, "{}", language.name);
        }
    }
}
