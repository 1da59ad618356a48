//! Deliberately wrong programs, to show that the judge detects them.

use super::judge::{self, Fault, State};
use super::stack::Stack;
use super::verbs::{self, Kit};
use super::{Bench, target};
use anyhow::{Result, ensure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use testkit::Capability;

/// Program name, what it does instead of the load, with the target in `$2`, and the faults that must be found
/// on a mounted device and on a free file.
const PROGRAMS: [(&str, &str, &[Fault], &[Fault]); 5] = [
    ("refuses all", "exit 3", &[], &[Fault::Useless]),
    (
        "writes and says nothing",
        "dd if=/dev/urandom of=$2 bs=4k count=1 seek=9 conv=notrunc",
        &[Fault::Hole],
        &[],
    ),
    (
        "writes and says that it refused",
        "dd if=/dev/urandom of=$2 bs=4k count=1 seek=9 conv=notrunc; exit 3",
        &[Fault::Hole],
        &[Fault::Useless],
    ),
    ("does nothing", "exit 0", &[Fault::NotRefused], &[]),
    ("fails", "exit 4", &[Fault::ExitCode], &[Fault::ExitCode]),
];

impl Bench {
    /// Fails if the judge accepts one of the programs.
    pub(super) fn try_the_judge(&self) -> Result<()> {
        let _lock = testkit::enter("write_safety::judge", &[Capability::Loop]);
        let folder = tempfile::tempdir_in(&self.stacks)?;
        for (name, line, mounted, free) in PROGRAMS {
            let binary = folder.path().join("program");
            fs::write(&binary, format!("#!/bin/sh\n{line}\n"))?;
            fs::set_permissions(&binary, fs::Permissions::from_mode(0o755))?;
            let kit = Kit { binary, ..self.kit.clone() };
            // A loop device over a mounted one, and an unused file.
            let mut stack = Stack::new(&self.stacks)?;
            let file = stack.path("disk");
            let below = stack.file(&file, 4 << 20, false, &[])?;
            let device = stack.loop_over(below, &file, 0, 0)?;
            let path = stack.nodes[device].user_names[0].clone();
            stack.shell(&format!(
                "mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=0 {}",
                path.display()
            ))?;
            stack.mount(&format!("-t ext4 -o noatime {}", path.display()), "mounted")?;
            stack.used(device, super::model::Use::Mounted);
            let over = stack.loop_over(device, &path, 1 << 20, 0)?;
            let unused = stack.path("free");
            let unused = stack.file(&unused, 1 << 20, false, &[])?;
            for (node, expected) in [(over, mounted), (unused, free)] {
                let mut state = State::read(&stack, &kit)?;
                let path = stack.nodes[node].names[0].path.clone();
                let plain = verbs::plain(&kit, &target(&stack, node, &path)?)?;
                let found = judge::attempt(&kit, &stack, &mut state, node, &plain)?;
                let faults: Vec<Fault> =
                    found.findings.iter().map(|finding| finding.fault).collect();
                let label = &stack.nodes[node].label;
                ensure!(
                    faults == expected,
                    "the judge finds {faults:?} in a program that {name} on {label}"
                );
            }
        }
        println!("the judge caught {} programs that are wrong on purpose", PROGRAMS.len());
        Ok(())
    }
}
