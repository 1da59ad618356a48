//! Lists the recommendations that depend on one effect each. Riedel is Riedel, van Ingen and Gray
//! 1997; Chung is Chung, Gray, Worthington and Horst 2000; the number after the name is the
//! section. Levels are those of the designs of `halfpower sweep`.

use super::effects::{Action, BUFFERED, Contrast, Rule, Sign};

/// Cost of a crash if a write completes before it is on the medium.
const LOST: &str = "a crash loses writes that were not flushed (not for logs and metadata); the \
                    rate excludes the flush";
/// Cost of reading through the page cache.
const COPIED: &str = "an extra copy of each byte, and page-cache memory taken from other files";
/// Cost of allocating a file's blocks in advance.
const TAKEN: &str = "the space is allocated up front";

const fn action(recommendation: &'static str) -> Action {
    Action { recommendation, price: "" }
}

const fn at_a_price(recommendation: &'static str, price: &'static str) -> Action {
    Action { recommendation, price }
}

pub(super) const RULES: &[Rule] = &[
    Rule {
        subject: "small buffered reads",
        effect: BUFFERED,
        within: &[("rw", &["read"]), ("bs", &["2k", "4k"])],
        less: action("bypass the page cache (--cache device) even for small sequential reads"),
        same: action("small sequential reads: with or without the page cache"),
        more: at_a_price("read small sequential requests through the page cache", COPIED),
        thumb: "the file-system cache for reads below 8 KiB (Riedel 1)",
        predicts: Sign::More,
    },
    Rule {
        subject: "large buffered reads",
        effect: BUFFERED,
        within: &[("rw", &["read"]), ("bs", &["128k", "256k"])],
        less: action("bypass the page cache (--cache device) for sequential reads above 64 KiB"),
        same: action(
            "large sequential reads: bypass the page cache, which then keeps the data of other \
             programs",
        ),
        more: at_a_price("read even large sequential requests through the page cache", COPIED),
        thumb: "no file-system cache above 64 KiB (Riedel 2)",
        predicts: Sign::Less,
    },
    Rule {
        subject: "small buffered writes",
        effect: BUFFERED,
        within: &[("rw", &["write"]), ("bs", &["2k", "4k", "8k", "16k", "32k"])],
        less: action("bypass the page cache (--cache device) even for small sequential writes"),
        same: action("small sequential writes: bypass the page cache, so that a crash loses less"),
        more: at_a_price("write sequential requests below 64 KiB through the page cache", LOST),
        thumb: "the file-system cache for writes below 64 KiB (Riedel 1)",
        predicts: Sign::More,
    },
    Rule {
        subject: "large buffered writes",
        effect: BUFFERED,
        within: &[("rw", &["write"]), ("bs", &["128k", "256k"])],
        less: action("bypass the page cache (--cache device) for sequential writes above 64 KiB"),
        same: action("large sequential writes: bypass the page cache, so that a crash loses less"),
        more: at_a_price("write even large sequential requests through the page cache", LOST),
        thumb: "no file-system cache above 64 KiB (Riedel 2)",
        predicts: Sign::Less,
    },
    Rule {
        subject: "depth of sequential writes",
        effect: Contrast("iodepth", "3", "1"),
        within: &[("rw", &["write"]), ("cache", &["direct"])],
        less: action("one sequential write at a time"),
        same: action("one sequential write at a time: a higher queue depth gains nothing"),
        more: at_a_price(
            "sequential writes at QD 3 instead of a write cache",
            "after a crash, a later write may be on disk while an earlier one is missing",
        ),
        thumb: "queue depth 3 replaces a write cache (Riedel 3)",
        predicts: Sign::More,
    },
    Rule {
        subject: "depth of sequential reads",
        effect: Contrast("iodepth", "2", "1"),
        within: &[("rw", &["read"]), ("cache", &["direct"])],
        less: action("one sequential read at a time"),
        same: action("one sequential read at a time: a second one gains nothing"),
        more: action("sequential reads at QD 2 or more"),
        thumb: "reads at QD 2 (Chung 7)",
        predicts: Sign::More,
    },
    Rule {
        subject: "durable writes",
        effect: Contrast("cache", "none", "device"),
        within: &[],
        less: at_a_price(
            "--cache device, and a flush wherever data has to be durable",
            "until the flush, a power failure loses the contents of the drive's cache: not for \
             logs and metadata, unless that cache is protected",
        ),
        same: action("--cache none: durable at no measurable cost"),
        more: action("--cache none: durable, and faster"),
        thumb: "the drive's write cache doubles small writes (Riedel 2)",
        predicts: Sign::Less,
    },
    Rule {
        subject: "growing files",
        effect: Contrast("file", "append", "written"),
        within: &[],
        less: at_a_price(
            "write to a file whose blocks are already allocated, not to a growing one",
            TAKEN,
        ),
        same: action("let files grow: it costs nothing here"),
        more: action("let files grow: faster here than overwriting"),
        thumb: "preallocate; a growing file takes one request at a time (Riedel 5.4)",
        predicts: Sign::Less,
    },
    Rule {
        subject: "preallocated files",
        effect: Contrast("file", "preallocated", "written"),
        within: &[],
        less: at_a_price(
            "write the whole file once before speed matters: reserved blocks are slower",
            "every block is written twice",
        ),
        same: at_a_price("preallocate: reserved blocks are as fast as written ones", TAKEN),
        more: at_a_price("preallocate: reserved blocks are faster than written ones", TAKEN),
        thumb: "a preallocated file is as fast as a written one (Chung 4.4)",
        predicts: Sign::Same,
    },
    Rule {
        subject: "order of growth",
        effect: Contrast("file", "last-first", "written"),
        within: &[],
        less: action("write growing files front to back"),
        same: action("files may be written back to front: it costs nothing here"),
        more: action("files may be written back to front"),
        thumb: "writing a file last block first writes each block twice (Chung 4.4)",
        predicts: Sign::Less,
    },
    Rule {
        subject: "rewriting parts of a page",
        effect: Contrast("file", "overwrite", "truncated"),
        within: &[("bs", &["512", "1k", "2k"])],
        less: at_a_price(
            "truncate a file before rewriting it in parts of a page, or write whole pages",
            "during the write, the old content is gone and the new content is incomplete",
        ),
        same: action("rewrite in place: parts of a page cost nothing extra"),
        more: action("rewrite in place: faster than after truncating"),
        thumb: "truncate before rewriting in less than 4 KiB (Riedel 2)",
        predicts: Sign::Less,
    },
    Rule {
        subject: "alignment to a chunk",
        effect: Contrast("shift", "12k", "none"),
        within: &[("bs", &["64k"])],
        less: action("start large requests at multiples of their size"),
        same: action("large requests may start anywhere: the chunk size has no effect"),
        more: action("large requests may start anywhere"),
        thumb: "a request that crosses a chunk boundary costs 15 to 20 % (Riedel 5.5)",
        predicts: Sign::Less,
    },
    Rule {
        subject: "alignment to a block",
        effect: Contrast("shift", "512", "none"),
        within: &[("bs", &["4k"])],
        less: action("start requests at multiples of 4 KiB"),
        same: action("requests may start at any sector: alignment to larger blocks has no effect"),
        more: action("requests may start at any sector"),
        thumb: "align to the block (Riedel 5.5)",
        predicts: Sign::Less,
    },
    Rule {
        subject: "reads from a mirror",
        effect: Contrast("array", "raid1", "single"),
        within: &[("rw", &["randread"])],
        less: action("do not mirror for speed: the mirror reads slower than one disk"),
        same: action("do not mirror for speed: the mirror reads no faster than one disk"),
        more: at_a_price(
            "mirror when reads dominate: both copies serve them",
            "twice the disks; writes go to both",
        ),
        thumb: "a mirror reads nearly twice as fast (Chung 8.4)",
        predicts: Sign::More,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_says_fits_two_lines_and_each_has_a_source() {
        for rule in RULES {
            for action in [rule.less, rule.same, rule.more] {
                assert!(action.recommendation.chars().count() <= 90, "{}", action.recommendation);
                assert!(action.price.chars().count() <= 140, "{}", action.price);
            }
            assert!(
                rule.thumb.contains("(Riedel ") || rule.thumb.contains("(Chung "),
                "{}",
                rule.thumb
            );
        }
    }

    #[test]
    fn only_what_follows_a_rule_or_gains_has_a_price_and_durability_has_none() {
        let durable = RULES.iter().find(|rule| rule.subject == "durable writes").unwrap();
        assert!(durable.less.price.contains("power failure"));
        assert!(durable.same.price.is_empty());
    }
}
