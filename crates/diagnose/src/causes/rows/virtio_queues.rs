//! Detects a virtual disk with a single queue, which all CPUs of the machine share.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::read::{count_list, names, text};
use record::LayerKind;

pub(super) const ROW: Check = Check {
    name: "virtio_queues",
    causes: &[9],
    layer: LayerKind::Queue,
    reads: "queues in the mq directory, devices/system/cpu/online",
    source: "https://docs.oasis-open.org/virtio/virtio/v1.2/virtio-v1.2.html",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const QUEUES: &str = "queues";
const PROCESSORS: &str = "processors";
/// Share of the queue's entries in use from which requests wait for one.
const FULL: f64 = 0.5;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let online = text(&host.roots.sys.join("devices/system/cpu/online"));
    let processors = online.map(|list| f64::from(count_list(&list)));
    for disk in host.disks().filter(|disk| disk.facts.driver.as_deref() == Some("virtio_blk")) {
        let queues = names(&disk.directory.join("mq")).len();
        let fact = Fact::of(disk).number(QUEUES, (queues > 0).then_some(queues as f64), "");
        reader.add(fact.number(PROCESSORS, processors, ""));
    }
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let processors = fact.number(PROCESSORS).filter(|count| *count > 1.0)?;
    if fact.number(QUEUES)? > 1.0 {
        return None;
    }
    let entries = view.disk()?.nr_requests? as f64;
    let deep = view.load.depth.is_some_and(|depth| depth >= FULL * entries);
    let says =
        format!("The virtual disk has one queue of {entries} requests for {processors} CPUs.");
    let action = "Give it one queue per CPU (libvirt: <driver queues='N'/>, qemu: num-queues=N) \
                  and an I/O thread.";
    let explains = [Effect::WaitsBefore, Effect::SlowReads, Effect::SlowWrites, Effect::CappedRate];
    Some(Claim::usual(says, &explains, action).only_if(deep))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    fn machine(queues: usize) -> Fake {
        let fake = Fake::new();
        let path = "pci0000:00/0000:00:04.0/virtio2/block/vda";
        fake.block(path, "254:0", 1 << 20);
        fake.sys_link(
            "devices/pci0000:00/0000:00:04.0/virtio2/driver",
            "bus/virtio/drivers/virtio_blk",
        );
        fake.sys_link(&format!("devices/{path}/device"), "devices/pci0000:00/0000:00:04.0/virtio2");
        for queue in 0..queues {
            fake.sys(&format!("devices/{path}/mq/{queue}/nr_tags"), "128\n");
        }
        fake.sys("devices/system/cpu/online", "0-7\n");
        fake
    }

    #[test]
    fn one_queue_matters_where_it_is_nearly_full() {
        let vda = disk("vda", |facts| facts.nr_requests = Some(128));
        let one = facts("virtio_queues", &machine(1), &vda);
        let now = Machine { facts: &one, disk: Some(&vda), ..Machine::default() };
        let deep = Load { depth: Some(100.0), ..Load::default() };
        let says = cause_only_with_effect("virtio_queues", now, Effect::SlowReads, deep);
        assert!(says.contains("one queue of 128 requests for 8 CPUs"), "{says}");
        nothing("virtio_queues", now, Load { depth: Some(2.0), ..Load::default() });
        let many = facts("virtio_queues", &machine(8), &vda);
        nothing("virtio_queues", Machine { facts: &many, ..now }, deep);
    }
}
