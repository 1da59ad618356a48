//! Finds the link to a file server: which file systems are remote, and the peak of the way to them.
//!
//! The mount options name the server's address, the kernel's routes name the interface, and the interface
//! reports its speed. Only IPv4 routes are read, because kernels have no common place for the others.

use host::kernel::Roots;
use host::kernel::read::text;
use record::{Advertised, FilesystemFacts, Measured};
use std::net::Ipv4Addr;

/// Remote file systems.
const REMOTE: [&str; 14] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "9p",
    "ceph",
    "fuse.sshfs",
    "fuse.glusterfs",
    "glusterfs",
    "lustre",
    "beegfs",
    "afs",
    "virtiofs",
    "ocfs2",
];

/// Whether a file system is reached through a network.
#[must_use]
pub fn is_network(filesystem: &FilesystemFacts) -> bool {
    REMOTE.contains(&filesystem.kind.as_str())
}

/// The advertised peak of the link to a remote file system.
#[must_use]
pub fn network_peak(roots: &Roots, filesystem: &FilesystemFacts) -> Measured<Advertised> {
    let Some(server) = server(filesystem) else {
        return Measured::not("the mount does not give an IPv4 address for its server");
    };
    let routes = text(&roots.proc.join("net/route")).unwrap_or_default();
    let Some(interface) = interface(&routes, server) else {
        return Measured::not(format!("the system lists no route to {server}"));
    };
    let speed = text(&roots.sys.join("class/net").join(&interface).join("speed"));
    let megabits = speed.and_then(|speed| speed.parse::<f64>().ok()).filter(|speed| *speed > 0.0);
    let peak = megabits.map(|megabits| Advertised {
        bytes_per_s: megabits * 1e6 / 8.0,
        source: format!("sysfs: {interface}, {megabits:.0} Mb/s"),
    });
    peak.ok_or_else(|| format!("the interface {interface} reports no speed")).into()
}

/// The server's address: the mount option `addr`, otherwise the source if it is an address.
fn server(filesystem: &FilesystemFacts) -> Option<Ipv4Addr> {
    let option = filesystem.options.split(',').find_map(|option| option.strip_prefix("addr="));
    let source = filesystem.source.trim_start_matches('/');
    let source = source.split([':', '/']).next();
    option.or(source)?.parse().ok()
}

/// The interface of the most specific route to an address, from `/proc/net/route`. Its numbers are the
/// bytes in network order, printed as this machine's integers.
fn interface(routes: &str, server: Ipv4Addr) -> Option<String> {
    let address = u32::from_le_bytes(server.octets());
    let matching = routes.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
        let (destination, mask) = (number(1)?, number(7)?);
        (address & mask == destination).then(|| (mask.count_ones(), (*fields[0]).to_owned()))
    });
    matching.max_by_key(|(bits, _)| *bits).map(|(_, name)| name)
}
