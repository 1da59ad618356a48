//! When the memory of requests is unmapped.

use engine::{
    Completion, Direct, Engine, EngineError, Memory, OpenEngine, Setup, Transfer, Transport, Wait,
};

/// Transfers nothing, and reports whether its memory is unused.
struct Idle<const QUIET: bool>(usize);

impl<const QUIET: bool> Transport for Idle<QUIET> {
    fn open(_setup: &Setup, _most: u32, memory: Memory) -> Result<Self, EngineError> {
        Ok(Self(memory.base as usize))
    }
    fn push(&mut self, _transfer: Transfer) {}
    fn wait(&mut self, _: Wait, _: &mut Vec<Completion>) -> Result<(), EngineError> {
        Ok(())
    }
    fn quiesce(&mut self) -> bool {
        QUIET
    }
    fn features(&self) -> Vec<String> {
        vec![self.0.to_string()]
    }
}

/// Whether an address is mapped (proc(5), /proc/pid/maps).
fn mapped(address: usize) -> bool {
    let hexadecimal = |text| usize::from_str_radix(text, 16).unwrap();
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().any(|line| {
        let (begin, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        (hexadecimal(begin)..hexadecimal(end)).contains(&address)
    })
}

fn mapped_after_drop<const QUIET: bool>() -> bool {
    // A length that nothing else here uses, so that the address range is not reused at once.
    let setup = Setup::reading(Vec::new(), 1, 160 << 20);
    let engine = Direct::<Idle<QUIET>>::open(&setup).unwrap();
    let address = engine.features()[0].parse::<usize>().unwrap() + (80 << 20);
    assert!(mapped(address));
    drop(engine);
    mapped(address)
}

#[test]
fn memory_that_the_kernel_may_still_write_to_stays_mapped() {
    assert!(!mapped_after_drop::<true>(), "freed where nothing refers to it");
    assert!(mapped_after_drop::<false>(), "left where something may");
}
