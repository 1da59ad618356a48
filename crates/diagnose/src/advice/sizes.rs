//! Formats choices that depend on the request size as one sentence.

use record::format_bytes;

/// A request size in bytes, and what to choose for it.
pub(super) type Choice = (u64, String);

/// `A for 4 KiB requests, B from 64 KiB`; only `A` if one choice fits all sizes. `choices` are in
/// order of size, and neighbours with the same text are merged. The range between two measured
/// sizes is left open, because the crossover was not measured.
pub(super) fn by_size(choices: &[Choice]) -> String {
    let runs: Vec<&[Choice]> = choices.chunk_by(|a, b| a.1 == b.1).collect();
    if let [run] = runs.as_slice() {
        return run[0].1.clone();
    }
    let last = runs.len().saturating_sub(1);
    let part = |(position, run): (usize, &&[Choice])| {
        let (low, high) = (format_bytes(run[0].0), format_bytes(run[run.len() - 1].0));
        let text = &run[0].1;
        match position {
            0 if run.len() == 1 => format!("{text} for {low} requests"),
            0 => format!("{text} up to {high}"),
            _ if position == last => format!("{text} from {low}"),
            _ if run.len() == 1 => format!("{text} for {low}"),
            _ => format!("{text} for {low} to {high}"),
        }
    };
    runs.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(choices: &[(u64, &str)]) -> String {
        let choice = |&(kib, text): &(u64, &str)| (kib << 10, text.to_owned());
        by_size(&choices.iter().map(choice).collect::<Vec<_>>())
    }

    #[test]
    fn a_choice_for_all_sizes_names_none_and_a_change_names_both_sides() {
        assert_eq!(said(&[(4, "A"), (64, "A")]), "A");
        assert_eq!(said(&[(4, "A"), (64, "B")]), "A for 4 KiB requests, B from 64 KiB");
        let many = [(4, "A"), (8, "A"), (16, "B"), (32, "A"), (64, "A")];
        assert_eq!(said(&many), "A up to 8 KiB, B for 16 KiB, A from 32 KiB");
        assert_eq!(said(&[]), "");
    }
}
