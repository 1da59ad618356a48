//! The link to a remote file system.

use host::kernel::Roots;
use plan::limits::pap::{is_network, network_peak};
use record::{Bytes, FilesystemFacts};
use testkit::Fake;

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
fn the_interface_of_the_narrowest_route_tells_the_peak_and_its_silence_is_a_reason() {
    let fake = Fake::new();
    let peak = |addr: &str| {
        let options = format!("rw,addr={addr},vers=4.2");
        network_peak(&Roots::below(fake.root()), &mount("nfs4", "srv:/data", &options))
    };
    assert!(peak("127.0.0.1").reason().unwrap().contains("no route to 127.0.0.1"));
    fake.proc("net/route", ROUTES);
    assert!(peak("8.8.8.8").reason().unwrap().contains("eth0"));
    assert!(peak("192.168.7.9").reason().unwrap().contains("eth1"));
    fake.sys("class/net/eth1/speed", "1000\n");
    assert_eq!(peak("192.168.7.9").value().unwrap().bytes_per_s, 125e6);
    let unnamed = mount("nfs", "srv:/data", "rw");
    let peak = network_peak(&Roots::below(fake.root()), &unnamed);
    assert!(peak.reason().unwrap().contains("server"));
}

#[test]
fn remote_file_systems_are_told_from_local_ones() {
    assert!(is_network(&mount("nfs4", "a:/b", "")) && is_network(&mount("cifs", "//a/b", "")));
    assert!(!is_network(&mount("ext4", "/dev/sda1", "")));
}
