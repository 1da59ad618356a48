//! The link to a file server: which file systems are remote, and what the way to them carries.
//!
//! The mount options of NFS and CIFS name the server's address; the kernel's routes say through
//! which interface it is reached, and the interface tells its speed. Where one of these is missing
//! the peak is not known. Only IPv4 routes are read: the table of the other protocol lists no
//! gateway interfaces by prefix in one place that all kernels have.

use crate::memory::text;
use kernel::Roots;
use record::{Advertised, FilesystemFacts, Measured};
use std::net::Ipv4Addr;

/// File systems that are elsewhere.
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

/// The peak of the way to a remote file system.
#[must_use]
pub fn network_peak(roots: &Roots, filesystem: &FilesystemFacts) -> Measured<Advertised> {
    let Some(server) = server(filesystem) else {
        return Measured::not("the mount does not name its server by an IPv4 address");
    };
    let routes = text(&roots.proc.join("net/route")).unwrap_or_default();
    let Some(interface) = interface(&routes, server) else {
        return Measured::not(format!("no route to {server} is listed"));
    };
    let speed = text(&roots.sys.join("class/net").join(&interface).join("speed"));
    let megabits = speed.and_then(|speed| speed.parse::<f64>().ok()).filter(|speed| *speed > 0.0);
    megabits.map_or_else(
        || Measured::not(format!("the interface {interface} tells no speed")),
        |megabits| {
            Measured::Value(Advertised {
                bytes_per_s: megabits * 1e6 / 8.0,
                source: format!("sysfs: {interface}, {megabits:.0} Mb/s"),
            })
        },
    )
}

/// The server's address: the mount option `addr`, else the source if it is one.
fn server(filesystem: &FilesystemFacts) -> Option<Ipv4Addr> {
    let option = filesystem.options.split(',').find_map(|option| option.strip_prefix("addr="));
    let source = filesystem.source.trim_start_matches('/');
    let source = source.split([':', '/']).next();
    option.or(source)?.parse().ok()
}

/// The interface of the narrowest route to an address, from `/proc/net/route`, whose numbers are
/// the network's bytes as this machine would read them.
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

#[cfg(test)]
mod tests {
    use super::*;
    use record::Bytes;

    const ROUTES: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
";

    fn mount(kind: &str, source: &str, options: &str) -> FilesystemFacts {
        FilesystemFacts {
            kind: kind.to_owned(),
            mount_point: "/mnt".to_owned(),
            options: options.to_owned(),
            source: source.to_owned(),
            size_bytes: Bytes(0),
            free_bytes: Bytes(0),
            block_bytes: Bytes(0),
            in_memory: false,
            compresses: false,
            direct_alignment_bytes: None,
        }
    }

    #[test]
    fn the_narrowest_route_leads_to_the_server() {
        let at = |text: &str| interface(ROUTES, text.parse().unwrap());
        assert_eq!(at("192.168.7.9").as_deref(), Some("eth1"));
        assert_eq!(at("8.8.8.8").as_deref(), Some("eth0"));
        assert_eq!(interface("", Ipv4Addr::LOCALHOST), None);
    }

    #[test]
    fn the_interface_tells_the_peak_and_its_silence_is_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: folder.path().join("proc"),
            sys: folder.path().join("sys"),
            ..Roots::default()
        };
        std::fs::create_dir_all(roots.proc.join("net")).unwrap();
        std::fs::write(roots.proc.join("net/route"), ROUTES).unwrap();
        let nfs = mount("nfs4", "srv:/data", "rw,addr=192.168.7.9,vers=4.2");
        assert!(network_peak(&roots, &nfs).reason().unwrap().contains("eth1"));
        std::fs::create_dir_all(roots.sys.join("class/net/eth1")).unwrap();
        std::fs::write(roots.sys.join("class/net/eth1/speed"), "1000\n").unwrap();
        assert_eq!(network_peak(&roots, &nfs).value().unwrap().bytes_per_s, 125e6);
        let unnamed = mount("nfs", "srv:/data", "rw");
        assert!(network_peak(&roots, &unnamed).reason().unwrap().contains("server"));
    }

    #[test]
    fn remote_file_systems_are_told_from_local_ones() {
        assert!(is_network(&mount("nfs4", "a:/b", "")) && is_network(&mount("cifs", "//a/b", "")));
        assert!(!is_network(&mount("ext4", "/dev/sda1", "")));
    }
}
