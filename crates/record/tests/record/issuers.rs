//! Groups of processes: owners from control groups, and names in print.

use halfpower_record::{IoGroup, Owner, OwnerKind, ProcessIo, io_groups};

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn control_groups_of_both_versions_are_told_by_who_made_them() {
    use OwnerKind::{Container, Group, Shared, Unit};
    for (path, kind, name) in [
        ("/system.slice/postgresql@16-main.service", Unit, "postgresql@16-main.service"),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope",
            Unit,
            "run-1.scope",
        ),
        ("/system.slice/docker-ID.scope", Container, "docker 0123456789ab"),
        ("/docker/ID", Container, "docker 0123456789ab"),
        ("/docker/ID/system.slice/nginx.service", Container, "docker 0123456789ab"),
        (
            "/kubepods.slice/kubepods-burstable.slice/\
             kubepods-burstable-pod6f1c2d3e_9a4b_4c5d_8e6f_0a1b2c3d4e5f.slice/cri-containerd-ID.scope",
            Container,
            "pod 6f1c2d3e (containerd 0123456789ab)",
        ),
        (
            "/kubepods/burstable/pod6f1c2d3e-9a4b-4c5d-8e6f-0a1b2c3d4e5f/ID",
            Container,
            "pod 6f1c2d3e (container 0123456789ab)",
        ),
        // A pod from a manifest on the node has a hash instead of a UUID.
        (
            "/kubepods.slice/kubepods-pod0f2a9d4c7b8e1a3c5d6f7e8091a2b3c4.slice/crio-ID.scope",
            Container,
            "pod 0f2a9d4c7b8e (cri-o 0123456789ab)",
        ),
        ("/kubepods/burstable/pod6b1f/ID", Container, "kubernetes 0123456789ab"),
        (
            "/machine.slice/machine-libpod_pod_ID.slice/libpod-ID.scope",
            Container,
            "pod 0123456789ab (podman 0123456789ab)",
        ),
        ("/machine.slice/libpod-ID.scope/container", Container, "podman 0123456789ab"),
        ("/machine.slice/libpod-conmon-ID.scope", Unit, "libpod-conmon-ID.scope"),
        ("/lxc.payload.web/system.slice/cron.service", Container, "lxc web"),
        ("/lxc/web", Container, "lxc web"),
        ("/slow", Group, "/slow"),
        ("/", Shared, "/"),
        ("/user.slice", Shared, "/user.slice"),
        ("/user.slice/user-0.slice/session-3.scope", Shared, "SAME"),
        ("/user.slice/user-0.slice/user@0.service/init.scope", Shared, "SAME"),
        ("/..", Shared, "/.."),
    ] {
        let path = path.replace("ID", ID);
        let name = if name == "SAME" { path.clone() } else { name.replace("ID", ID) };
        assert_eq!(Owner::of(&path), Owner { kind, name }, "{path}");
    }
}

fn process(id: u32, name: &str, group: &str, writes: u64) -> ProcessIo {
    ProcessIo {
        process: Some(id),
        processes: 1,
        name: name.to_owned(),
        group: Some(group.to_owned()),
        writes,
        ..ProcessIo::default()
    }
}

#[test]
fn many_small_processes_are_one_group_by_unit_and_by_program_where_the_group_says_nothing() {
    let service = "/system.slice/db.service";
    let mut rows: Vec<ProcessIo> = (0..40).map(|id| process(id, "postgres", service, 10)).collect();
    rows.push(process(40, "pg_dump", service, 1));
    rows.extend((50..58).map(|id| process(id, "fio", "/user.slice", 20)));
    rows.push(process(60, "bash", "/user.slice", 5));
    rows.extend(
        [("jbd2/sda-8", 7), ("jbd2/sdb-8", 8)]
            .map(|(name, id)| ProcessIo { kernel_thread: true, ..process(id, name, "/", 3) }),
    );
    // A sum over processes, as for those beyond the busiest. The second interval has the same ones.
    let rest = ProcessIo { process: None, processes: 3, ..process(0, "bash", "/user.slice", 1) };
    rows.extend([rest.clone(), rest]);
    let groups = io_groups(&rows, 2.0);
    let told: Vec<(String, f64)> =
        groups.iter().map(|group| (group.label(), group.writes_per_s)).collect();
    assert_eq!(
        told,
        [
            ("postgres and 1 other program (41 processes) in db.service".to_owned(), 200.5),
            ("fio (8 processes) in /user.slice".to_owned(), 80.0),
            ("bash (4 processes) in /user.slice".to_owned(), 3.5),
            ("jbd2 (kernel)".to_owned(), 3.0),
        ]
    );
    assert!(groups[1].figures(&groups).contains("28 % of the writes"));
    assert_eq!(io_groups(&rows[40..41], 1.0)[0].label(), "pg_dump (40) in db.service");
}

#[test]
fn a_worker_of_the_kernel_is_named_by_its_work_and_its_group_if_known() {
    let worker = |id: u32, name: &str| ProcessIo {
        kernel_thread: true,
        ..process(id, name, "/", u64::from(id))
    };
    // The worker of the limit has other work when the second interval ends.
    let rows = [
        worker(5, "kworker/u8:0-flush-254:0"),
        worker(3, "kworker/0:1-kthrotld"),
        worker(3, "kworker/0:1-events"),
        worker(2, "kworker/u8:0-loop0"),
    ];
    let mut groups = io_groups(&rows, 1.0);
    let labels: Vec<String> = groups.iter().map(IoGroup::label).collect();
    assert_eq!(labels, ["kworker (throttled)", "kworker (write-back)", "kworker (kernel)"]);
    assert!(groups[0].releases_delayed() && !groups[1].releases_delayed());
    groups[0].owner = Some(Owner::of("/batch"));
    assert_eq!(groups[0].label(), "kworker for /batch");
}
