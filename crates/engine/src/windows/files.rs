//! File operations by plain calls, ReadFile and WriteFile at an offset, and separate handles for each engine.

use super::overlapped::{carry_out_other, outcome, overlapped};
use super::{NOT_SUPPORTED, last_error};
use crate::{Act, EngineError, Setup, SystemError, Transfer};
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, OwnedHandle};
use windows_sys::Wdk::Storage::FileSystem::{
    FILE_ACCESS_INFORMATION, FILE_INFORMATION_CLASS, FILE_MODE_INFORMATION,
    FILE_NO_INTERMEDIATE_BUFFERING, FILE_WRITE_THROUGH, FileAccessInformation, FileModeInformation,
    NtQueryInformationFile,
};
use windows_sys::Win32::Foundation::{
    ERROR_IO_PENDING, GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE,
    RtlNtStatusToDosError,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_NO_BUFFERING, FILE_FLAG_OVERLAPPED, FILE_FLAG_WRITE_THROUGH, FILE_READ_DATA,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_DATA, ReOpenFile, ReadFile,
    WriteFile,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, IO_STATUS_BLOCK};
use windows_sys::Win32::System::Threading::CreateEventW;

/// An open file, closed when it is dropped.
pub type OwnedFile = OwnedHandle;

/// An open file whose owner keeps it open: its handle as a number, so that threads can share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFile(isize);

impl RawFile {
    fn handle(self) -> HANDLE {
        self.0 as HANDLE
    }
}

/// Types that can be used in [`Setup::files`].
pub trait AsRawFile {
    /// The same file, valid while this value lives.
    fn as_raw_file(&self) -> RawFile;
}

impl<T: AsHandle> AsRawFile for T {
    fn as_raw_file(&self) -> RawFile {
        RawFile(self.as_handle().as_raw_handle() as isize)
    }
}

/// Name of plain calls in documents.
pub(crate) const PLAIN_CALLS: &str = "ReadFile/WriteFile";

/// How calls on an engine's own handle return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// When the transfer has finished. The system allows only one at a time.
    Blocking,
    /// Immediately.
    Overlapped,
}

/// Queries one number about an open file: its access rights, or its mode.
fn ask(file: RawFile, class: FILE_INFORMATION_CLASS) -> Result<u32, SystemError> {
    const { assert!(size_of::<FILE_ACCESS_INFORMATION>() == size_of::<u32>()) };
    const { assert!(size_of::<FILE_MODE_INFORMATION>() == size_of::<u32>()) };
    let (mut status, mut number) = (IO_STATUS_BLOCK::default(), 0u32);
    let bytes = size_of::<u32>() as u32;
    // SAFETY: both structures are local and have the lengths of these two classes.
    let answer = unsafe {
        let number = (&raw mut number).cast();
        NtQueryInformationFile(file.handle(), &raw mut status, number, bytes, class)
    };
    if answer >= 0 {
        return Ok(number);
    }
    // SAFETY: the call converts a number to a number.
    Err(SystemError::new(unsafe { RtlNtStatusToDosError(answer) } as i32))
}

/// Opens the same file again, with the rights and the cache mode of the given handle.
fn reopen(file: RawFile, engine: &'static str, calls: Calls) -> Result<OwnedHandle, EngineError> {
    let refused = |errno| EngineError::Unavailable {
        engine,
        cause: "the target cannot be opened again for another job".to_owned(),
        errno,
        remedy: "close the program that has opened it exclusively, or use another --ioengine",
    };
    let rights = ask(file, FileAccessInformation).map_err(refused)?;
    let mode = ask(file, FileModeInformation).map_err(refused)?;
    let chosen = |pairs: &[(u32, u32)], given: u32| {
        pairs.iter().filter(|(is, _)| given & is != 0).fold(0, |sum, (_, flag)| sum | flag)
    };
    let access =
        chosen(&[(FILE_READ_DATA, GENERIC_READ), (FILE_WRITE_DATA, GENERIC_WRITE)], rights);
    let mut flags = chosen(
        &[
            (FILE_NO_INTERMEDIATE_BUFFERING, FILE_FLAG_NO_BUFFERING),
            (FILE_WRITE_THROUGH, FILE_FLAG_WRITE_THROUGH),
        ],
        mode,
    );
    if calls == Calls::Overlapped {
        flags |= FILE_FLAG_OVERLAPPED;
    }
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: the owner of the file keeps its handle open.
    let handle = unsafe { ReOpenFile(file.handle(), access, share, flags) };
    if handle == INVALID_HANDLE_VALUE || handle.is_null() {
        return Err(refused(last_error()));
    }
    // SAFETY: a new handle with no other owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// The files of a setup, opened again for one engine.
#[derive(Debug)]
pub(super) struct OwnFiles {
    pub(super) handles: Vec<OwnedHandle>,
}

impl OwnFiles {
    pub(super) fn open(
        setup: &Setup,
        engine: &'static str,
        calls: Calls,
    ) -> Result<Self, EngineError> {
        let own = setup.files.iter().map(|&file| reopen(file, engine, calls));
        Ok(Self { handles: own.collect::<Result<_, _>>()? })
    }

    /// Cancels everything that is in flight on them.
    pub(super) fn call_off(&self) {
        for file in &self.handles {
            // SAFETY: the handle belongs to this engine. Without a structure, the call cancels all of its
            // requests.
            let _ = unsafe { CancelIoEx(file.as_raw_handle(), std::ptr::null()) };
        }
    }
}

/// Creates a manual-reset event. The system also resets it when it starts a transfer with it.
pub(super) fn event() -> Result<OwnedHandle, SystemError> {
    // SAFETY: the call gets no pointers here.
    let event = unsafe { CreateEventW(std::ptr::null(), 1, 0, std::ptr::null()) };
    if event.is_null() {
        return Err(last_error());
    }
    // SAFETY: a new handle with no other owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(event) })
}

#[derive(Debug)]
pub(crate) struct Files(OwnFiles);

impl Files {
    /// Opens them for calls of one thread.
    pub(crate) fn of_a_thread(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self(OwnFiles::open(setup, "sync", Calls::Blocking)?))
    }

    /// Opens them for concurrent calls of several threads, which a handle for blocking calls would serialize.
    pub(crate) fn of_threads(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self(OwnFiles::open(setup, "threads", Calls::Overlapped)?))
    }

    /// Carries out a transfer. Returns the bytes, or a negated error number.
    #[inline]
    pub(crate) fn carry_out(&self, transfer: &Transfer) -> i32 {
        let file = self.0.handles[transfer.file as usize].as_raw_handle();
        let Transfer { address, bytes, offset, act, .. } = *transfer;
        if !matches!(act, Act::Read | Act::Write) {
            return carry_out_other(file, act);
        }
        // SAFETY: the address is valid for this length until the transfer completes (the contract of
        // `Transfer`), and nothing else refers to the memory during the call.
        match unsafe { carry_out_now(file, act, (address, bytes), offset) } {
            Ok(bytes) => bytes as i32,
            Err(error) => outcome(act, error),
        }
    }
}

thread_local! {
    /// The event that a thread waits for in a call on an overlapped handle.
    static EVENT: Result<OwnedHandle, SystemError> = event();
}

/// Reads or writes at an offset, and waits for the end even on an overlapped handle.
///
/// # Safety
/// The memory must be valid for `bytes` bytes, and nothing else may refer to it during the call.
unsafe fn carry_out_now(
    file: HANDLE,
    act: Act,
    (address, bytes): (*mut u8, u32),
    offset: u64,
) -> Result<usize, SystemError> {
    let event =
        EVENT.with(|event| event.as_ref().map(AsRawHandle::as_raw_handle).map_err(|it| *it))?;
    let mut record = overlapped(offset, event);
    let (nowhere, record) = (std::ptr::null_mut(), &raw mut record);
    // SAFETY: the caller guarantees the memory. The structure lives until the transfer has finished, below.
    let begun = unsafe {
        match act {
            Act::Write => WriteFile(file, address, bytes, nowhere, record),
            _ => ReadFile(file, address, bytes, nowhere, record),
        }
    };
    if begun == 0 {
        let error = last_error();
        if error.code() != ERROR_IO_PENDING as i32 {
            return Err(error);
        }
    }
    let mut moved = 0;
    // SAFETY: the structure and the count are local. The call waits for the event of the structure.
    if unsafe { GetOverlappedResult(file, record, &raw mut moved, 1) } == 0 {
        return Err(last_error());
    }
    Ok(moved as usize)
}

/// Reads at an offset. Returns the number of bytes, 0 at the end of the file.
pub(crate) fn read_at(file: RawFile, memory: &mut [u8], offset: u64) -> Result<usize, SystemError> {
    let (address, bytes) = (memory.as_mut_ptr(), memory.len().min(i32::MAX as usize) as u32);
    // SAFETY: the memory is borrowed for the call.
    match unsafe { carry_out_now(file.handle(), Act::Read, (address, bytes), offset) } {
        Err(error) if outcome(Act::Read, error) == 0 => Ok(0),
        other => other,
    }
}

/// Writes at an offset. Returns the number of bytes.
pub(crate) fn write_at(file: RawFile, memory: &[u8], offset: u64) -> Result<usize, SystemError> {
    let (address, bytes) = (memory.as_ptr().cast_mut(), memory.len().min(i32::MAX as usize) as u32);
    // SAFETY: the memory is borrowed for the call, which only reads it.
    unsafe { carry_out_now(file.handle(), Act::Write, (address, bytes), offset) }
}

/// Refuses to trim: Windows has other calls for it, which halfpower does not use.
pub(crate) fn trim_act(_setup: &Setup) -> Result<Act, EngineError> {
    Err(EngineError::Unavailable {
        engine: "a trim",
        cause: "halfpower trims only on Linux".to_owned(),
        errno: NOT_SUPPORTED,
        remedy: "use --rw with reads and writes",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::windows::fs::OpenOptionsExt;

    /// A file that was opened with these flags.
    fn opened(flags: u32, writes: bool) -> (tempfile::TempDir, OwnedFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, [7; 4_096]).unwrap();
        let file =
            OpenOptions::new().read(true).write(writes).custom_flags(flags).open(&path).unwrap();
        (folder, OwnedFile::from(file))
    }

    /// The mode, and the rights to read and write.
    fn told_of(file: &OwnedFile) -> (u32, u32) {
        let file = file.as_raw_file();
        let rights = ask(file, FileAccessInformation).unwrap();
        (ask(file, FileModeInformation).unwrap(), rights & (FILE_READ_DATA | FILE_WRITE_DATA))
    }

    #[test]
    fn an_engines_own_handle_has_the_cache_mode_and_the_rights_of_the_one_that_it_was_given() {
        let past = FILE_FLAG_NO_BUFFERING | FILE_FLAG_WRITE_THROUGH;
        for flags in [0, FILE_FLAG_NO_BUFFERING, past] {
            for writes in [false, true] {
                let (_folder, file) = opened(flags, writes);
                let own = reopen(file.as_raw_file(), "x", Calls::Blocking).unwrap();
                let (given, own) = (told_of(&file), told_of(&own));
                assert_eq!(given, own, "{flags:x}");
                assert_eq!(given.0 & FILE_NO_INTERMEDIATE_BUFFERING != 0, flags != 0);
                assert_eq!(given.1 & FILE_WRITE_DATA != 0, writes);
            }
        }
    }
}
