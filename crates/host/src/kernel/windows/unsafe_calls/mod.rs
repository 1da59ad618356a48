//! Wraps every Win32 call of `kernel` and `target`, so that callers are safe.
//!
//! A failed call returns the error of GetLastError. Texts are passed as UTF-16 with a terminating zero.

pub(crate) mod pdh;

use std::ffi::{OsStr, OsString};
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{ERROR_MORE_DATA, FILETIME, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FindFirstVolumeW,
    FindNextVolumeW, FindVolumeClose, GetDiskFreeSpaceExW, GetDiskFreeSpaceW, GetLogicalDrives,
    GetVolumeInformationW, GetVolumeNameForVolumeMountPointW, GetVolumePathNameW,
    GetVolumePathNamesForVolumeNameW, OPEN_EXISTING, QueryDosDeviceW,
};
use windows_sys::Win32::System::Console::{CONSOLE_SCREEN_BUFFER_INFO, GetConsoleScreenBufferInfo};
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Registry::{
    HKEY_LOCAL_MACHINE, RRF_RT_REG_DWORD, RRF_RT_REG_SZ, RegGetValueW,
};
use windows_sys::Win32::System::SystemInformation::{
    GetSystemWindowsDirectoryW, GlobalMemoryStatusEx, MEMORYSTATUSEX,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetCurrentThreadId, GetProcessAffinityMask,
    GetProcessTimes, GetSystemTimes, GetThreadTimes, OpenThread, SetProcessAffinityMask,
    SetThreadAffinityMask, SetThreadPriority, THREAD_PRIORITY_IDLE,
    THREAD_QUERY_LIMITED_INFORMATION,
};

const PATH_LETTERS: usize = 1_024;
const TEXT_LETTERS: usize = 512;

/// A text in the form that calls take.
pub fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

/// The text that a call wrote, up to its zero.
fn text_of(letters: &[u16]) -> OsString {
    let end = letters.iter().position(|&letter| letter == 0).unwrap_or(letters.len());
    OsString::from_wide(&letters[..end])
}

/// The result of a call that returns zero on failure.
fn checked(outcome: i32) -> Result<()> {
    if outcome == 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Opens an existing device or volume, shared with all other users of it. `access` 0 allows only queries,
/// which needs no privilege.
///
/// # Errors
/// The system's error.
pub fn open_device(name: &OsStr, access: u32, flags: u32) -> Result<OwnedHandle> {
    let name = wide(name);
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: the name ends with a zero and lives during the call; no other pointer is given. The returned
    // handle is new and owned by no other code.
    unsafe {
        let file =
            CreateFileW(name.as_ptr(), access, share, null(), OPEN_EXISTING, flags, null_mut());
        if file == INVALID_HANDLE_VALUE {
            return Err(Error::last_os_error());
        }
        Ok(OwnedHandle::from_raw_handle(file))
    }
}

/// Sends a request to a device; returns the bytes of its response, truncated if they do not fit.
///
/// # Errors
/// The system's error.
pub fn device_control(
    file: impl AsHandle,
    code: u32,
    question: &[u8],
    answer: &mut [u8],
) -> Result<usize> {
    let (mut length, handle) = (0_u32, file.as_handle().as_raw_handle());
    let (asked, room) = (question.len() as u32, answer.len() as u32);
    // SAFETY: both buffers live during the call, which is not overlapped, and have the given lengths.
    let done = unsafe {
        DeviceIoControl(
            handle,
            code,
            question.as_ptr().cast(),
            asked,
            answer.as_mut_ptr().cast(),
            room,
            &raw mut length,
            null_mut(),
        )
    };
    match checked(done) {
        Err(error) if error.raw_os_error() != Some(ERROR_MORE_DATA as i32) => Err(error),
        _ => Ok(length as usize),
    }
}

fn ticks(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

/// User and system time of this process, in ns; resolution: one timer tick.
#[must_use]
pub fn process_times_ns() -> Option<(u64, u64)> {
    // SAFETY: the four structures are live and contain only integers, for which zeros are valid.
    unsafe {
        let [mut created, mut ended, mut system, mut user]: [FILETIME; 4] = zeroed();
        let process = GetCurrentProcess();
        checked(GetProcessTimes(
            process,
            &raw mut created,
            &raw mut ended,
            &raw mut system,
            &raw mut user,
        ))
        .ok()?;
        Some((ticks(user) * 100, ticks(system) * 100))
    }
}

/// User and system time of a thread, in ns.
pub(crate) fn thread_times_ns(thread: impl AsHandle) -> Option<(u64, u64)> {
    let thread = thread.as_handle().as_raw_handle();
    // SAFETY: as for the process; the handle lives during the call.
    unsafe {
        let [mut created, mut ended, mut system, mut user]: [FILETIME; 4] = zeroed();
        checked(GetThreadTimes(
            thread,
            &raw mut created,
            &raw mut ended,
            &raw mut system,
            &raw mut user,
        ))
        .ok()?;
        Some((ticks(user) * 100, ticks(system) * 100))
    }
}

/// A handle of the calling thread, for reading its times.
pub(crate) fn this_thread() -> Result<OwnedHandle> {
    // SAFETY: no pointer is given. The returned handle is new and owned by no other code.
    unsafe {
        let thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, GetCurrentThreadId());
        if thread.is_null() {
            return Err(Error::last_os_error());
        }
        Ok(OwnedHandle::from_raw_handle(thread))
    }
}

/// Binds the calling thread to these processors of its group.
///
/// # Errors
/// The system's error.
pub fn affinity_of_this_thread(processors: usize) -> Result<()> {
    // SAFETY: no pointer is given; the handle refers to the calling thread.
    let before = unsafe { SetThreadAffinityMask(GetCurrentThread(), processors) };
    if before == 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Binds all threads of this process to these processors of its group.
pub(crate) fn affinity_of_this_process(processors: usize) -> Result<()> {
    // SAFETY: no pointer is given; the handle refers to this process.
    checked(unsafe { SetProcessAffinityMask(GetCurrentProcess(), processors) })
}

/// Columns of a console; `None` for other files.
pub(crate) fn console_columns(file: impl AsHandle) -> Option<u16> {
    let file = file.as_handle().as_raw_handle();
    // SAFETY: the structure is live and contains only integers, for which zeros are valid.
    let (done, window) = unsafe {
        let mut facts: CONSOLE_SCREEN_BUFFER_INFO = zeroed();
        (GetConsoleScreenBufferInfo(file, &raw mut facts), facts.srWindow)
    };
    let columns = window.Right.checked_sub(window.Left)?.checked_add(1)?;
    u16::try_from(columns).ok().filter(|columns| done != 0 && *columns > 0)
}

pub(crate) fn idle_priority_of_this_thread() -> Result<()> {
    // SAFETY: no pointer is given; the handle refers to the calling thread.
    checked(unsafe { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_IDLE) })
}

/// Processors of its group that this process may use, and all processors of the group.
#[must_use]
pub fn process_affinity() -> Option<(usize, usize)> {
    let (mut ours, mut all) = (0, 0);
    // SAFETY: both numbers are live.
    let done = unsafe { GetProcessAffinityMask(GetCurrentProcess(), &raw mut ours, &raw mut all) };
    checked(done).ok().map(|()| (ours, all))
}

/// Idle, kernel (including idle) and user time of all processors, in 100 ns since boot.
pub(crate) fn system_times_100ns() -> Option<(u64, u64, u64)> {
    // SAFETY: the three structures are live and contain only integers, for which zeros are valid.
    unsafe {
        let [mut idle, mut kernel, mut user]: [FILETIME; 3] = zeroed();
        checked(GetSystemTimes(&raw mut idle, &raw mut kernel, &raw mut user)).ok()?;
        Some((ticks(idle), ticks(kernel), ticks(user)))
    }
}

/// The memory of the machine, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Total memory.
    pub total: u64,
    /// Memory available to programs at once.
    pub available: u64,
}

/// Total and available memory.
#[must_use]
pub fn memory() -> Option<Memory> {
    // SAFETY: the structure is live, contains only integers, and gives its own length.
    unsafe {
        let mut status: MEMORYSTATUSEX = zeroed();
        status.dwLength = size_of::<MEMORYSTATUSEX>() as u32;
        checked(GlobalMemoryStatusEx(&raw mut status)).ok()?;
        Some(Memory { total: status.ullTotalPhys, available: status.ullAvailPhys })
    }
}

/// A number below HKEY_LOCAL_MACHINE; `None` if it does not exist.
pub(crate) fn local_machine_number(key: &str, name: &str) -> Option<u32> {
    let (key, name) = (wide(OsStr::new(key)), wide(OsStr::new(name)));
    let (mut number, mut length) = (0_u32, 4_u32);
    // SAFETY: the texts end with a zero; the number is live and has the given length.
    let failed = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            name.as_ptr(),
            RRF_RT_REG_DWORD,
            null_mut(),
            (&raw mut number).cast(),
            &raw mut length,
        )
    };
    (failed == 0).then_some(number)
}

/// A text below HKEY_LOCAL_MACHINE; `None` if it does not exist.
pub(crate) fn local_machine_text(key: &str, name: &str) -> Option<String> {
    let (key, name) = (wide(OsStr::new(key)), wide(OsStr::new(name)));
    let mut letters = [0_u16; TEXT_LETTERS];
    let mut length = (TEXT_LETTERS * 2) as u32;
    // SAFETY: the texts end with a zero; the buffer is live and has the given length.
    let failed = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            name.as_ptr(),
            RRF_RT_REG_SZ,
            null_mut(),
            letters.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (failed == 0).then(|| text_of(&letters).to_string_lossy().trim().to_owned())
}

/// The mount point of the volume that contains a path (`C:\`).
pub(crate) fn volume_path(path: &Path) -> Result<PathBuf> {
    let path = wide(path.as_os_str());
    let mut letters = [0_u16; PATH_LETTERS];
    // SAFETY: the path ends with a zero; the buffer is live and has the given length.
    checked(unsafe {
        GetVolumePathNameW(path.as_ptr(), letters.as_mut_ptr(), PATH_LETTERS as u32)
    })?;
    Ok(text_of(&letters).into())
}

/// The name of the volume mounted at a folder or a letter (`C:\`, with a trailing backslash), as
/// `\\?\Volume{GUID}\`.
pub(crate) fn volume_at(mount: &Path) -> Result<String> {
    let mount = wide(mount.as_os_str());
    let mut letters = [0_u16; PATH_LETTERS];
    // SAFETY: the path ends with a zero; the buffer is live and has the given length.
    checked(unsafe {
        let room = PATH_LETTERS as u32;
        GetVolumeNameForVolumeMountPointW(mount.as_ptr(), letters.as_mut_ptr(), room)
    })?;
    Ok(text_of(&letters).to_string_lossy().into_owned())
}

/// A search for volumes, closed when dropped.
struct Search(HANDLE);

impl Drop for Search {
    fn drop(&mut self) {
        // SAFETY: the search is open and is closed only once.
        let _ = unsafe { FindVolumeClose(self.0) };
    }
}

/// The names of all volumes, as `\\?\Volume{GUID}\`; empty if the system lists none.
#[must_use]
pub fn volume_names() -> Vec<String> {
    let (mut names, mut letters) = (Vec::new(), [0_u16; PATH_LETTERS]);
    // SAFETY: the buffer is live and has the given length.
    let search = unsafe { FindFirstVolumeW(letters.as_mut_ptr(), PATH_LETTERS as u32) };
    if search == INVALID_HANDLE_VALUE {
        return names;
    }
    let search = Search(search);
    loop {
        names.push(text_of(&letters).to_string_lossy().into_owned());
        // SAFETY: the search is open; the buffer is live and has the given length.
        let more = unsafe { FindNextVolumeW(search.0, letters.as_mut_ptr(), PATH_LETTERS as u32) };
        if more == 0 {
            return names;
        }
    }
}

/// Where a volume is mounted, by its name: letters and folders, each with a trailing backslash.
#[must_use]
pub fn mounts_of(volume: &str) -> Vec<PathBuf> {
    let name = wide(OsStr::new(volume));
    let (mut letters, mut length) = (vec![0_u16; PATH_LETTERS], 0);
    // At most twice: the first call returns the required length.
    for _ in 0..2 {
        // SAFETY: the name ends with a zero; the buffer is live and has the given length.
        let told = checked(unsafe {
            let room = letters.len() as u32;
            GetVolumePathNamesForVolumeNameW(
                name.as_ptr(),
                letters.as_mut_ptr(),
                room,
                &raw mut length,
            )
        });
        match told {
            Ok(()) => break,
            Err(cause) if cause.raw_os_error() == Some(ERROR_MORE_DATA as i32) => {
                letters = vec![0; length as usize];
            }
            Err(_) => return Vec::new(),
        }
    }
    let paths = letters.split(|letter| *letter == 0).take_while(|path| !path.is_empty());
    paths.map(|path| OsString::from_wide(path).into()).collect()
}

/// What a file system reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VolumeInformation {
    /// Type, such as `NTFS`.
    pub(crate) kind: String,
    pub(crate) serial: u32,
    /// The flags of GetVolumeInformationW.
    pub(crate) flags: u32,
}

/// What the file system mounted at `mount` (with a trailing backslash) reports about itself.
pub(crate) fn volume_information(mount: &Path) -> Result<VolumeInformation> {
    let mount = wide(mount.as_os_str());
    let mut kind = [0_u16; PATH_LETTERS];
    let (mut serial, mut longest, mut flags) = (0, 0, 0);
    // SAFETY: the path ends with a zero, the numbers are live, the buffer has the given length, and the
    // label is not requested.
    checked(unsafe {
        GetVolumeInformationW(
            mount.as_ptr(),
            null_mut(),
            0,
            &raw mut serial,
            &raw mut longest,
            &raw mut flags,
            kind.as_mut_ptr(),
            PATH_LETTERS as u32,
        )
    })?;
    Ok(VolumeInformation { kind: text_of(&kind).to_string_lossy().into_owned(), serial, flags })
}

/// Space of a volume, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Free bytes for this user.
    pub free: u64,
    /// Total bytes for this user.
    pub total: u64,
    /// Bytes of an allocation unit.
    pub cluster: u64,
    /// Bytes of a sector, as the file system was told.
    pub sector: u64,
}

/// Space of the volume that contains a directory.
///
/// # Errors
/// The system's error.
pub fn space(directory: &Path) -> Result<Space> {
    let path = wide(directory.as_os_str());
    let (mut free, mut total) = (0, 0);
    let (mut sectors, mut sector, mut free_clusters, mut clusters) = (0, 0, 0, 0);
    // SAFETY: the path ends with a zero, and all numbers are live.
    unsafe {
        checked(GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, &raw mut total, null_mut()))?;
        checked(GetDiskFreeSpaceW(
            path.as_ptr(),
            &raw mut sectors,
            &raw mut sector,
            &raw mut free_clusters,
            &raw mut clusters,
        ))?;
    }
    let sector = u64::from(sector);
    Ok(Space { free, total, cluster: u64::from(sectors) * sector, sector })
}

/// The Windows folder, whose volume is the system volume.
#[must_use]
pub fn windows_folder() -> Option<PathBuf> {
    let mut letters = [0_u16; PATH_LETTERS];
    // SAFETY: the buffer is live and has the given length.
    let length = unsafe { GetSystemWindowsDirectoryW(letters.as_mut_ptr(), PATH_LETTERS as u32) };
    (length > 0).then(|| text_of(&letters).into())
}

/// Drive letters in use, as `C:`.
#[must_use]
pub fn drive_letters() -> Vec<String> {
    // SAFETY: the call takes no arguments.
    let letters = unsafe { GetLogicalDrives() };
    let name = |number: u32| char::from_u32(u32::from('A') + number).map(|name| format!("{name}:"));
    (0..26).filter(|number| letters >> number & 1 == 1).filter_map(name).collect()
}

/// Whether a name refers to a device (`PhysicalDrive0`).
#[must_use]
pub fn is_device(name: &str) -> bool {
    let name = wide(OsStr::new(name));
    let mut letters = [0_u16; PATH_LETTERS];
    // SAFETY: the name ends with a zero; the buffer is live and has the given length.
    unsafe { QueryDosDeviceW(name.as_ptr(), letters.as_mut_ptr(), PATH_LETTERS as u32) > 0 }
}
