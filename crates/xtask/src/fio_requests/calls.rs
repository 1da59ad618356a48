//! Requests out of a strace, and how two lists of them differ.

use super::{SAME, SAME_TIME};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// The calls that are looked at.
pub(super) const SEEN: &str = "pread64,pwrite64,preadv,pwritev,preadv2,pwritev2,io_submit,io_getevents,io_pgetevents,fsync,fdatasync,sync_file_range";

/// A request.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Call {
    time_s: f64,
    thread: u32,
    write: bool,
    bytes: u64,
    offset: u64,
}

/// The requests of one program, by file.
#[derive(Default)]
pub(super) struct Calls {
    by_file: BTreeMap<String, Vec<Call>>,
    flushes: u64,
    /// Asynchronous requests in flight of each thread now, and the most that any had.
    in_flight: BTreeMap<u32, i64>,
    depth: i64,
    /// Marks of asynchronous requests, of programs that mark each slot: such a program may take completions
    /// without a call.
    marks: BTreeSet<(u32, u64)>,
}

impl Calls {
    /// Reads the output of `strace -f -ttt -y`; only what goes to files of this folder counts.
    pub(super) fn read(trace: &str, folder: &Path) -> Self {
        let mut calls = Self::default();
        // A call during which another thread was shown has two lines.
        let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
        for line in trace.lines() {
            let thread = line.split(' ').next().unwrap_or_default();
            if let Some(first) = line.strip_suffix(" <unfinished ...>") {
                begun.insert(thread, first);
            } else if let Some((_, rest)) = line.split_once(" resumed>") {
                let first = begun.remove(thread).unwrap_or_default();
                calls.line(&format!("{first}{rest}"), folder);
            } else {
                calls.line(line, folder);
            }
        }
        calls
    }

    fn line(&mut self, line: &str, folder: &Path) -> Option<()> {
        let mut words = line.splitn(3, ' ').map(str::trim);
        let (thread, time, rest) = (words.next()?, words.next()?, words.next()?);
        let (thread, time_s) = (thread.parse().ok()?, time.parse().ok()?);
        let (name, arguments) = rest.trim_start().split_once('(')?;
        let at = (time_s, thread);
        match name {
            "io_getevents" | "io_pgetevents" => {
                let (_, taken) = arguments.rsplit_once(" = ")?;
                *self.in_flight.entry(thread).or_default() -= leading(taken)? as i64;
            }
            "io_submit" => {
                for request in arguments.split("{aio_data").skip(1) {
                    self.submitted(at, request, folder);
                }
            }
            "fsync" | "fdatasync" | "sync_file_range" => {
                file_in(arguments, folder)?;
                self.flushes += 1;
            }
            _ => {
                let file = file_in(arguments, folder)?;
                let (arguments, _) = arguments.rsplit_once(" = ")?;
                let numbers: Vec<u64> = arguments
                    .split([',', ')'])
                    .filter_map(|word| word.trim().parse().ok())
                    .collect();
                // Vectored calls show their lengths, plain ones their length and offset.
                let lengths = arguments.split("iov_len=").skip(1).filter_map(leading);
                let vectored: u64 = lengths.sum();
                let (bytes, offset) = match (vectored, numbers.as_slice()) {
                    (0, [.., bytes, offset]) => (*bytes, *offset),
                    (0, _) => return None,
                    (bytes, numbers) => (bytes, *numbers.get(1).or(numbers.first())?),
                };
                self.push(file, at, (name.starts_with("pwrite"), bytes, offset));
            }
        }
        Some(())
    }

    fn submitted(&mut self, at: (f64, u32), request: &str, folder: &Path) -> Option<()> {
        let field = |name: &str| request.split_once(name).map(|(_, rest)| rest);
        let file = file_in(field("aio_fildes=")?, folder)?;
        if request.contains("FSYNC") || request.contains("FDSYNC") {
            self.flushes += 1;
            return Some(());
        }
        // The text before is that of the mark: `=0x2, `.
        let mark = request.strip_prefix('=').map(|mark| mark.strip_prefix("0x").unwrap_or(mark));
        let mark = mark.and_then(|mark| u64::from_str_radix(mark.split(',').next()?, 16).ok());
        self.marks.extend(mark.map(|mark| (at.1, mark)));
        let in_flight = self.in_flight.entry(at.1).or_default();
        *in_flight += 1;
        self.depth = self.depth.max(*in_flight);
        let (bytes, offset) = (leading(field("aio_nbytes=")?)?, leading(field("aio_offset=")?)?);
        self.push(file, at, (request.contains("PWRITE"), bytes, offset));
        Some(())
    }

    fn push(&mut self, file: String, (time_s, thread): (f64, u32), what: (bool, u64, u64)) {
        let (write, bytes, offset) = what;
        let call = Call { time_s, thread, write, bytes, offset };
        self.by_file.entry(file).or_default().push(call);
    }

    fn all(&self) -> impl Iterator<Item = &Call> {
        self.by_file.values().flatten()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_file.is_empty()
    }

    fn count(&self) -> f64 {
        self.all().count() as f64
    }

    /// The most requests in flight of a thread.
    fn depth(&self) -> f64 {
        let mut of_thread: BTreeMap<u32, u32> = BTreeMap::new();
        self.marks.iter().for_each(|(thread, _)| *of_thread.entry(*thread).or_default() += 1);
        let marked = of_thread.into_values().max().unwrap_or(0);
        if marked > 1 { f64::from(marked) } else { self.depth.max(1) as f64 }
    }

    fn seconds(&self) -> f64 {
        let times = || self.all().map(|call| call.time_s);
        times().fold(0.0, f64::max) - times().fold(f64::INFINITY, f64::min)
    }

    /// Requests that begin where the one before of their thread, file and direction ended.
    fn contiguous(&self) -> f64 {
        let mut ends: BTreeMap<(&str, u32, bool), u64> = BTreeMap::new();
        let mut contiguous = 0;
        for (file, calls) in &self.by_file {
            for call in calls {
                let key = (file.as_str(), call.thread, call.write);
                let end = ends.insert(key, call.offset + call.bytes);
                contiguous += u32::from(end == Some(call.offset));
            }
        }
        f64::from(contiguous) / self.count().max(1.0)
    }

    /// Standard deviation of the sizes, as a share of their mean.
    fn size_spread(&self) -> f64 {
        let mean = self.all().map(|call| call.bytes as f64).sum::<f64>() / self.count().max(1.0);
        let square = |call: &Call| (call.bytes as f64 - mean).powi(2);
        let variance = self.all().map(square).sum::<f64>() / self.count().max(1.0);
        variance.sqrt() / mean.max(1.0)
    }

    fn share(&self, of: impl Fn(&Call) -> bool) -> f64 {
        self.all().filter(|call| of(call)).count() as f64 / self.count().max(1.0)
    }

    /// How the requests of another program differ from these.
    pub(super) fn differences(&self, other: &Self, paced: bool) -> Vec<String> {
        let mut found = Vec::new();
        let mut same = |what: &str, (fio, ours): (f64, f64), bound: f64| {
            if (fio - ours).abs() > bound {
                found.push(format!(
                    "{what}: fio {fio:.4}, halfpower {ours:.4}, at most {bound:.4} apart"
                ));
            }
        };
        let of_both = |of: &dyn Fn(&Self) -> f64| (of(self), of(other));
        let counts = of_both(&Self::count);
        // As many requests as fit into the bytes: where sizes are drawn, that varies with them.
        let spread = self.size_spread() / counts.0.max(1.0).sqrt();
        same("requests", counts, (counts.0 * (SAME + 4.0 * 2.0_f64.sqrt() * spread)).max(1.0));
        let bytes = of_both(&|calls| calls.all().map(|call| call.bytes as f64).sum());
        same("bytes", bytes, (bytes.0 * SAME).max(65_536.0));
        // Of shares that are drawn, the difference of two has twice the variance of one.
        let drawn =
            |share: f64| 4.0 * (2.0 * share * (1.0 - share) / counts.0.max(1.0)).sqrt() + SAME;
        let writes = of_both(&|calls| calls.share(|call| call.write));
        same("share of writes", writes, drawn(writes.0));
        let sizes: BTreeSet<u64> = self.all().chain(other.all()).map(|call| call.bytes).collect();
        for size in sizes {
            let shares = of_both(&|calls| calls.share(|call| call.bytes == size));
            same(&format!("share of {size} bytes"), shares, drawn(shares.0));
        }
        let contiguous = of_both(&Self::contiguous);
        same("contiguous share", contiguous, drawn(contiguous.0).max(0.05));
        let first = of_both(&|calls| {
            calls.all().map(|call| call.offset as f64).fold(f64::INFINITY, f64::min)
        });
        let last = of_both(&|calls| {
            calls.all().map(|call| (call.offset + call.bytes) as f64).fold(0.0, f64::max)
        });
        let largest = self.all().map(|call| call.bytes as f64).fold(0.0, f64::max);
        same("first byte", first, 8.0 * largest);
        same("last byte", last, 8.0 * largest);
        let files = of_both(&|calls| calls.by_file.len() as f64);
        same("files", files, 0.0);
        let depth = of_both(&Self::depth);
        if !paced {
            same("requests in flight at most", depth, 0.0);
        }
        let flushes = of_both(&|calls| calls.flushes as f64);
        same("flushes", flushes, (flushes.0 * SAME).max(1.0));
        if paced {
            let seconds = of_both(&Self::seconds);
            same("seconds", seconds, seconds.0 * SAME_TIME + 0.1);
        }
        found
    }
}

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: u64 = self.all().map(|call| call.bytes).sum();
        let (count, writes) = (self.count(), 100.0 * self.share(|call| call.write));
        write!(f, "{count} requests, {bytes} bytes, {writes:.0} % writes, ")?;
        write!(f, "{:.0} % contiguous, ", 100.0 * self.contiguous())?;
        write!(f, "depth {}, {} flushes", self.depth(), self.flushes)
    }
}

/// The number at the beginning of a text.
fn leading(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The name of the file of a call (`5</folder/name>`) that lies in the folder and holds data.
fn file_in(arguments: &str, folder: &Path) -> Option<String> {
    let (_, rest) = arguments.split_once('<')?;
    let (path, _) = rest.split_once('>')?;
    let name = path.strip_prefix(folder.to_str()?)?.trim_start_matches('/');
    let other = name == "small.fio" || name == "trace" || name.ends_with(".log");
    (!name.is_empty() && !other).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_both_kinds_are_read_with_file_size_and_place() {
        let trace = "7 1.5 pread64(3</t/f>, \"\"..., 4096, 8192) = 4096\n\
            7 1.6 pwrite64(3</t/f>, \"\"..., 4096, 0) = 4096\n\
            8 1.7 io_submit(0x1, 1, [{aio_data=0, aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3</t/g>, aio_buf=0x2, aio_nbytes=512, aio_offset=1024}]) = 1\n\
            7 1.8 preadv2(3</t/f>, [{iov_base=\"\"..., iov_len=4096}], 1, 12288, 0) = 4096\n\
            7 1.9 fdatasync(3</t/f> <unfinished ...>\n7 2.0 <... fdatasync resumed>) = 0\n7 1.9 fsync(3</elsewhere/f>) = 0\n\
            7 2.0 pread64(4</etc/passwd>, \"\"..., 4096, 0) = 10\n";
        let calls = Calls::read(trace, Path::new("/t"));
        let of = |file: &str| -> Vec<(bool, u64, u64)> {
            calls.by_file[file].iter().map(|call| (call.write, call.bytes, call.offset)).collect()
        };
        assert_eq!(of("f"), [(false, 4096, 8192), (true, 4096, 0), (false, 4096, 12288)]);
        assert_eq!(of("g"), [(false, 512, 1024)]);
        assert_eq!((calls.flushes, calls.depth(), calls.by_file.len()), (1, 1.0, 2));
        assert!(calls.differences(&calls, true).is_empty());
        assert!(!calls.differences(&Calls::default(), false).is_empty());
    }
}
