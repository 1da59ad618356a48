//! Wraps queries of Windows performance counters (pdh.h), live or in a log, so that callers are safe.
//!
//! Handles are stored as numbers, so that a query can move to another thread. An error contains the name of
//! the call and its status, because programs cannot rely on finding the system's message for these codes.

use super::wide;
use std::ffi::OsStr;
use std::fmt;
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use windows_sys::Win32::System::Performance::{
    PDH_CSTATUS_NEW_DATA, PDH_CSTATUS_NO_COUNTER, PDH_CSTATUS_NO_OBJECT, PDH_CSTATUS_VALID_DATA,
    PDH_ENTRY_NOT_IN_LOG_FILE, PDH_FILE_NOT_FOUND, PDH_FMT_COUNTERVALUE, PDH_FMT_DOUBLE,
    PDH_INVALID_DATA, PDH_LOG_FILE_OPEN_ERROR, PDH_MORE_DATA, PDH_NO_DATA, PDH_NO_MORE_DATA,
    PDH_NOT_IMPLEMENTED, PDH_RAW_COUNTER, PDH_RAW_COUNTER_ITEM_W, PDH_UNABLE_READ_LOG_HEADER,
    PDH_UNKNOWN_LOG_FORMAT, PdhAddCounterW, PdhAddEnglishCounterW, PdhCloseQuery,
    PdhCollectQueryDataWithTime, PdhExpandWildCardPathW, PdhGetCounterTimeBase,
    PdhGetFormattedCounterValue, PdhGetRawCounterArrayW, PdhOpenQueryW,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PdhError {
    call: &'static str,
    status: u32,
}

/// Meanings of the pdhmsg.h codes that a user may see.
const MEANINGS: [(u32, &str); 10] = [
    (PDH_NO_DATA, "no data is available yet"),
    (PDH_CSTATUS_NO_OBJECT, "the object does not exist"),
    (PDH_CSTATUS_NO_COUNTER, "the counter does not exist"),
    (PDH_INVALID_DATA, "the data is not valid"),
    (PDH_ENTRY_NOT_IN_LOG_FILE, "the log has no such counter"),
    (PDH_LOG_FILE_OPEN_ERROR, "the log cannot be opened"),
    (PDH_FILE_NOT_FOUND, "the log does not exist"),
    (PDH_UNABLE_READ_LOG_HEADER, "the log has no readable header"),
    (PDH_UNKNOWN_LOG_FORMAT, "the file is not a counter log"),
    (PDH_NOT_IMPLEMENTED, "this system does not support it"),
];

impl fmt::Display for PdhError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = MEANINGS.iter().find(|(code, _)| *code == self.status);
        let meaning = meaning.map_or(String::new(), |(_, words)| format!(": {words}"));
        write!(f, "{} returned {:#010X}{meaning}", self.call, self.status)
    }
}

/// The result of a call that returns zero on success.
fn checked(call: &'static str, status: u32) -> Result<(), PdhError> {
    if status == 0 { Ok(()) } else { Err(PdhError { call, status }) }
}

/// The value of a counter before conversion to a rate or a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Raw {
    /// The count, sum or time.
    pub(crate) first: i64,
    /// The base of the first value: a time stamp or a number.
    pub(crate) second: i64,
}

/// A counter of a [`Query`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter(usize);

/// Counters that are read together.
#[derive(Debug)]
pub(crate) struct Query(usize);

impl Query {
    /// Opens a query of this machine now, or of a log.
    pub(crate) fn open(log: Option<&OsStr>) -> Result<Self, PdhError> {
        let (log, mut query) = (log.map(wide), null_mut());
        let source = log.as_ref().map_or(null(), Vec::as_ptr);
        // SAFETY: the name ends with a zero and lives during the call, and the handle is live.
        checked("PdhOpenQueryW", unsafe { PdhOpenQueryW(source, 0, &raw mut query) })?;
        Ok(Self(query as usize))
    }

    /// Adds a counter by its path: in English on every system, or in the language of a log.
    pub(crate) fn add(&self, path: &str, english: bool) -> Result<Counter, PdhError> {
        let (path, mut counter) = (wide(OsStr::new(path)), null_mut());
        let query = self.0 as *mut _;
        // SAFETY: the query is open, the path ends with a zero, and the handle is live.
        let (call, status) = unsafe {
            match english {
                true => (
                    "PdhAddEnglishCounterW",
                    PdhAddEnglishCounterW(query, path.as_ptr(), 0, &raw mut counter),
                ),
                false => {
                    ("PdhAddCounterW", PdhAddCounterW(query, path.as_ptr(), 0, &raw mut counter))
                }
            }
        };
        checked(call, status)?;
        Ok(Counter(counter as usize))
    }

    /// Reads all counters at once; returns the time, in 100 ns since 1601 of the local time, or `None`
    /// after the end of a log.
    pub(crate) fn collect(&self) -> Result<Option<u64>, PdhError> {
        let mut at = 0_i64;
        // SAFETY: the query is open, and the number is live.
        let status = unsafe { PdhCollectQueryDataWithTime(self.0 as *mut _, &raw mut at) };
        match status {
            PDH_NO_MORE_DATA => Ok(None),
            status => {
                checked("PdhCollectQueryDataWithTime", status)?;
                Ok(Some(u64::try_from(at).unwrap_or(0)))
            }
        }
    }

    /// The values of a counter with a wildcard, by instance.
    pub(crate) fn instances(&self, counter: Counter) -> Result<Vec<(String, Raw)>, PdhError> {
        let call = "PdhGetRawCounterArrayW";
        let (counter, mut bytes, mut count) = (counter.0 as *mut _, 0, 0);
        // SAFETY: the counter belongs to an open query; without a buffer the call returns the required
        // length.
        let status =
            unsafe { PdhGetRawCounterArrayW(counter, &raw mut bytes, &raw mut count, null_mut()) };
        if status != PDH_MORE_DATA {
            return checked(call, status).map(|()| Vec::new());
        }
        // Items followed by their texts, in memory that is aligned for the items.
        let room = (bytes as usize).div_ceil(size_of::<PDH_RAW_COUNTER_ITEM_W>());
        let mut items = vec![PDH_RAW_COUNTER_ITEM_W::default(); room];
        // SAFETY: the buffer has the length that the call requested.
        let status = unsafe {
            PdhGetRawCounterArrayW(counter, &raw mut bytes, &raw mut count, items.as_mut_ptr())
        };
        checked(call, status)?;
        let valid = |item: &&PDH_RAW_COUNTER_ITEM_W| is_valid(&item.RawValue);
        let told = items.iter().take(count as usize).filter(valid).map(|item| {
            // SAFETY: the call wrote the texts of these items into the same memory, each with a terminating
            // zero.
            let name = unsafe { text_at(item.szName) };
            let PDH_RAW_COUNTER { FirstValue: first, SecondValue: second, .. } = item.RawValue;
            (name, Raw { first, second })
        });
        Ok(told.collect())
    }

    /// The value of a counter over the time since the previous row; `None` if there is none.
    pub(crate) fn value(&self, counter: Counter) -> Option<f64> {
        // SAFETY: the counter belongs to an open query; the structure is live and contains only numbers; a
        // double was requested, and that member is read.
        unsafe {
            let mut value: PDH_FMT_COUNTERVALUE = zeroed();
            let counter = counter.0 as *mut _;
            let status =
                PdhGetFormattedCounterValue(counter, PDH_FMT_DOUBLE, null_mut(), &raw mut value);
            let good = matches!(value.CStatus, PDH_CSTATUS_VALID_DATA | PDH_CSTATUS_NEW_DATA);
            (status == 0 && good).then_some(value.Anonymous.doubleValue)
        }
    }

    /// Units per second of a counter's times.
    pub(crate) fn time_base(&self, counter: Counter) -> Result<u64, PdhError> {
        let mut base = 0_i64;
        // SAFETY: the counter belongs to an open query, and the number is live.
        let status = unsafe { PdhGetCounterTimeBase(counter.0 as *mut _, &raw mut base) };
        checked("PdhGetCounterTimeBase", status)?;
        Ok(u64::try_from(base).unwrap_or(0).max(1))
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        // SAFETY: the query is open and is closed only once; its counters are closed with it.
        unsafe { PdhCloseQuery(self.0 as *mut _) };
    }
}

fn is_valid(value: &PDH_RAW_COUNTER) -> bool {
    matches!(value.CStatus, PDH_CSTATUS_VALID_DATA | PDH_CSTATUS_NEW_DATA)
}

/// A text that ends with a zero.
///
/// # Safety
/// The text must end with a zero, and live during the call.
unsafe fn text_at(letters: *const u16) -> String {
    let mut length = 0;
    // SAFETY: the caller guarantees that all letters up to the zero exist.
    let letters = unsafe {
        while *letters.add(length) != 0 {
            length += 1;
        }
        std::slice::from_raw_parts(letters, length)
    };
    String::from_utf16_lossy(letters)
}

/// The counters of a log that match a path with wildcards.
pub(crate) fn expand(log: &OsStr, wildcards: &str) -> Result<Vec<String>, PdhError> {
    let call = "PdhExpandWildCardPathW";
    let (log, path, mut length) = (wide(log), wide(OsStr::new(wildcards)), 0);
    // SAFETY: both texts end with a zero; without a buffer the call returns the required length.
    let status = unsafe {
        PdhExpandWildCardPathW(log.as_ptr(), path.as_ptr(), null_mut(), &raw mut length, 0)
    };
    if status != PDH_MORE_DATA {
        return checked(call, status).map(|()| Vec::new());
    }
    let mut letters = vec![0; length as usize];
    let (source, room) = (log.as_ptr(), letters.as_mut_ptr());
    // SAFETY: the buffer has the length that the call requested.
    let status = unsafe { PdhExpandWildCardPathW(source, path.as_ptr(), room, &raw mut length, 0) };
    checked(call, status)?;
    let paths = letters.split(|letter| *letter == 0).filter(|path| !path.is_empty());
    Ok(paths.map(String::from_utf16_lossy).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_every_system_has_is_read_and_one_that_none_has_is_refused_by_its_code() {
        let query = Query::open(None).unwrap();
        let up_time = query.add(r"\System\System Up Time", true).unwrap();
        assert!(query.collect().unwrap().is_some());
        assert!(query.value(up_time).is_some_and(|seconds| seconds > 0.0));
        let refusal = query.add(r"\System\No Such Counter", true).unwrap_err();
        let text = refusal.to_string();
        assert!(text.starts_with("PdhAddEnglishCounterW returned 0xC0000B"), "{text}");
    }

    #[test]
    fn a_log_that_is_not_there_is_refused_by_the_call() {
        let refused = Query::open(Some(OsStr::new(r"C:\no\such.blg"))).and_then(|query| {
            let counter = query.add(r"\PhysicalDisk(0 C:)\Disk Reads/sec", false)?;
            query.time_base(counter)
        });
        assert!(refused.is_err());
    }
}
