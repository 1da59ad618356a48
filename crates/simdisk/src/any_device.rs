//! One enum for all devices, so that each call is direct and can be inlined.
//!
//! Rejected: `Box<dyn Device>` (an indirect call per event, twice a request on the fastest device), and
//! generics up to the driver of a trial (compiled once per device for the same loop).

use crate::array::Array;
use crate::device::{Arrival, Conditions, Device, Ended, Rebuilding};
use crate::flash::FlashDevice;
use crate::machine::Machine;
use crate::queue::QueueDevice;
use engine::ComponentSample;
use record::Nanos;

/// Any device. A new device needs one variant here and one line in `each` below.
#[derive(Debug)]
pub enum AnyDevice {
    /// Servers with one queue.
    Queue(Box<QueueDevice>),
    /// A flash drive.
    Flash(Box<FlashDevice>),
    /// A machine with disk drives.
    Machine(Box<Machine>),
    /// Devices combined by a volume.
    Array(Box<Array<Self>>),
}

macro_rules! each {
    ($any:expr, $device:ident => $call:expr) => {
        match $any {
            AnyDevice::Queue($device) => $call,
            AnyDevice::Flash($device) => $call,
            AnyDevice::Machine($device) => $call,
            AnyDevice::Array($device) => $call,
        }
    };
}

impl Device for AnyDevice {
    fn begin(&mut self, conditions: &Conditions) {
        each!(self, device => device.begin(conditions));
    }

    #[inline]
    fn arrive(&mut self, now: Nanos, arrival: &Arrival) {
        each!(self, device => device.arrive(now, arrival));
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        each!(self, device => device.next_event())
    }

    #[inline]
    fn step(&mut self, until: Nanos, ended: &mut Vec<Ended>) -> Option<Nanos> {
        each!(self, device => device.step(until, ended))
    }

    #[inline]
    fn advance(&mut self, until: Nanos, ended: &mut Vec<Ended>) {
        each!(self, device => device.advance(until, ended));
    }

    #[inline]
    fn advance_to_end(&mut self, from: Nanos, until: Nanos, ended: &mut Vec<Ended>) -> Nanos {
        each!(self, device => device.advance_to_end(from, until, ended))
    }

    fn size(&self) -> u64 {
        each!(self, device => device.size())
    }

    fn rebuild(&self) -> Option<Rebuilding> {
        each!(self, device => device.rebuild())
    }

    fn uses(&self) -> Vec<ComponentSample> {
        each!(self, device => device.uses())
    }
}
