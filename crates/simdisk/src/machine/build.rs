//! Builds a machine from its specification.
//!
//! Drives of one model differ a little, as real ones do. Otherwise an array would show one pattern of angles
//! instead of the mean over all.

use super::path::Port;
use super::remote::Remote;
use super::{Machine, MachineSpec};
use crate::bus::Bus;
use crate::drive::{Drive, DriveSpec};
use crate::event_queue::EventQueue;
use crate::files::FileLayer;
use crate::server::{Lane, Processors, Server};
use crate::slab::Slab;
use workload::Rng;
use workload::volume::{DiskLoad, Volume, VolumeSpec};

/// Maximum difference in spindle speed between drives of a model, in millionths: manufacturers specify half
/// a percent or less.
const SPREAD_PPM: u32 = 2_000;

/// How much faster a spindle turns than that of the first disk. Platters of equal speed would keep their
/// angles to each other, and an array would show one pattern instead of the mean over all.
fn spindle_ppm(disk: u32) -> u32 {
    // Multiples of the golden section, modulo one, are evenly spread for any count.
    ((u64::from(disk.wrapping_mul(2_654_435_769)) * u64::from(SPREAD_PPM)) >> 32) as u32
}

/// Angle of a platter at time zero: random, except for the first disk. (Multiples of the golden section do
/// not work here: the angle from each disk to the next would be constant.)
fn start_angle_ns(disk: u32, revolution_ns: u64) -> u64 {
    if disk == 0 { 0 } else { Rng::new(u64::from(disk)).below(revolution_ns) }
}

/// The bus of a disk. The first disks of a volume fill the first bus, because NT binds disks in the order
/// in which it finds them (Riedel 1997, section 4).
fn bus_of(disk: u32, disks: u32, buses: u32) -> u32 {
    (u64::from(disk) * u64::from(buses) / u64::from(disks)) as u32
}

impl Machine {
    /// A machine at rest. The specification must have passed its check.
    pub(crate) fn new(spec: &MachineSpec) -> Self {
        let (bus_count, disks) = (spec.bus_count(), spec.disks);
        let ports: Vec<Port> = (0..disks)
            .map(|disk| {
                let spindle_ppm = spindle_ppm(disk);
                let start_angle_ns = start_angle_ns(disk, spec.drive.revolution_ns());
                let spec = DriveSpec { spindle_ppm, start_angle_ns, ..spec.drive };
                let drive = Drive::new(&spec);
                Port::new(drive, bus_of(disk, disks, bus_count))
            })
            .collect();
        let disk_bytes = ports.first().map_or(0, |port| port.drive.geometry.bytes);
        // Writers and the rebuild must not touch the same stripe at once.
        let volume_spec = VolumeSpec { ordered: spec.rebuild.is_some(), ..spec.volume };
        let volume = Volume::new(&volume_spec, spec.disks, disk_bytes);
        let adapter_count = bus_count.div_ceil(spec.adapter.channels);
        let (adapter, host, contended) = (&spec.adapter, &spec.host, spec.contention);
        Self {
            files: FileLayer::new(&spec.file, volume.size()),
            rebuild: None,
            rebuild_at_ns: u64::MAX,
            processors: Processors::new(host.processors),
            unclaimed_ns: 0,
            engine: Server::default(),
            buses: (0..bus_count).map(|_| Bus::new(&spec.bus, contended)).collect(),
            adapters: (0..adapter_count)
                .map(|_| Lane::new(adapter.in_bytes_per_s, adapter.out_bytes_per_s, contended))
                .collect(),
            firmware: vec![Server::default(); adapter_count as usize],
            pcis: (0..spec.pcis)
                .map(|_| Lane::new(host.pci_in_bytes_per_s, host.pci_out_bytes_per_s, contended))
                .collect(),
            memory: Lane::new(host.memory_in_bytes_per_s, host.memory_out_bytes_per_s, contended),
            trunk: Lane::new(spec.bus.in_bytes_per_s, spec.bus.out_bytes_per_s, contended),
            loads: vec![DiskLoad::default(); spec.disks as usize],
            ios: Slab::default(),
            blocks: Slab::default(),
            later: Slab::default(),
            remote: spec.network.as_ref().map(Remote::new),
            ended: Vec::new(),
            wants: Vec::new(),
            asks: Vec::new(),
            now_ns: 0,
            agenda: EventQueue::default(),
            ports,
            volume,
            spec: spec.clone(),
        }
    }
}
