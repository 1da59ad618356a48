//! The parameters of a drive. The catalogue holds the values of known drives, each with its source; nothing
//! here has a default.

/// The order in which a drive serves waiting requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Arrival,
    /// Upwards over the surface, then back to the lowest: by position alone.
    Elevator,
    /// The request that the head reaches soonest, by arm and rotation.
    Soonest,
}

/// Effects that can be switched off, to show what they contribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    pub seek: bool,
    pub rotation: bool,
    pub read_ahead: bool,
    pub coalesce: bool,
    pub zones: bool,
}

impl Default for Effects {
    fn default() -> Self {
        Self { seek: true, rotation: true, read_ahead: true, coalesce: true, zones: true }
    }
}

/// A drive. Times in nanoseconds, rates in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveSpec {
    pub capacity_bytes: u64,
    pub rpm: u32,
    /// How much faster the spindle of this drive turns than specified, in millionths.
    pub spindle_ppm: u32,
    /// Angle under the head of this drive at time zero, in nanoseconds of a revolution.
    pub start_angle_ns: u64,
    pub heads: u32,
    pub zones: u32,
    /// Rate at which data pass under the head on the outermost track, without gaps and codes.
    pub outer_bytes_per_s: u64,
    pub inner_bytes_per_s: u64,
    /// From one surface to the next in the same cylinder; also the skew of the format.
    pub head_switch_ns: u64,
    /// From the last surface of a cylinder to the first of the next; also the skew of the format.
    pub cylinder_switch_ns: u64,
    pub track_seek_ns: u64,
    pub average_seek_ns: u64,
    /// Seek over all cylinders; 0 if not given.
    pub full_seek_ns: u64,
    /// Time of a seek beyond its specification: setup and settling.
    pub settle_ns: u64,
    pub segments: u32,
    pub segment_bytes: u64,
    pub write_buffer_bytes: u64,
    pub write_runs: u32,
    /// Most bytes that it sends in one connection while it reads ahead, or fetches in one connection; a
    /// write to the medium begins with the first of them.
    pub burst_bytes: u64,
    /// Whether it finds data in its cache that it has already sent.
    pub rereads: bool,
    /// Additional time to find them, compared with data read ahead.
    pub reread_ns: u64,
    /// Whether a write begins where the head arrives in it, instead of at its first sector.
    pub write_on_arrival: bool,
    /// Whether settling for a write takes longer than the skew between cylinders, so that sequential
    /// writing loses a revolution at each cylinder.
    pub write_misses_skew: bool,
    /// Whether, with the write cache off, it accepts the data of a write before the previous one has ended.
    pub overlaps_writes: bool,
    pub order: Order,
    /// Number of waiting requests from which it chooses.
    pub window: u32,
    pub tags: u32,
    /// Firmware time from the command until it is ready for data.
    pub command_ns: u64,
    pub write_command_ns: u64,
    /// Additional time to decode while other commands are in the drive.
    pub queued_ns: u64,
    /// Additional time of the first command that the buffer answers, if the drive was without commands for
    /// a while and another drive on the bus had one meanwhile. This was observed; the cause is unknown.
    /// Writes that wait for the medium do not show it, and neither does a rest alone.
    pub wake_ns: u64,
    /// Firmware time at the end of a command, from its last data until it accepts the next.
    pub after_ns: u64,
    pub write_through_ns: u64,
    /// Write cache enabled: a write completes when its data are in the buffer.
    pub write_cache: bool,
    pub effects: Effects,
}

/// Minimum and maximum of (average - shortest) / (longest - shortest) of the seek times. At the minimum the
/// curve has no root term; at the maximum it ends level (`seek`: mean and slope of the curve).
const AVERAGE_SEEKS: (f64, f64) = (1.0 / 3.0, 11.0 / 15.0);
const SECTOR_BYTES: u64 = 512;
/// Longest time to read a drive once: a hundred years, beyond which the clock does not count.
const LONGEST_READ_NS: f64 = 100.0 * 365.0 * 86_400.0 * 1e9;

impl DriveSpec {
    /// Whether the values are consistent; otherwise the conflict, and values that work.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (outer, inner) = (self.outer_bytes_per_s, self.inner_bytes_per_s);
        if inner > outer {
            return Err(
                "the innermost track is faster than the outermost one, but the media rate must \
                 fall toward the inside"
                    .to_owned(),
            );
        }
        let track_bytes = |rate: u64| (rate as f64 * self.revolution_ns() as f64 / 1e9) as u64;
        if track_bytes(inner) < SECTOR_BYTES {
            let least = (SECTOR_BYTES as f64 * 1e9 / self.revolution_ns() as f64).ceil();
            return Err(format!(
                "a track would hold less than a sector of {SECTOR_BYTES} bytes; at this rotation \
                 speed, use a media rate of at least {}/s",
                record::format_bytes(least as u64)
            ));
        }
        let cylinder_bytes = track_bytes(outer).saturating_mul(u64::from(self.heads));
        if cylinder_bytes.saturating_mul(u64::from(self.zones)) > self.capacity_bytes {
            return Err(format!(
                "the drive has fewer cylinders than zones, because a cylinder holds {} at this \
                 speed, rate and number of heads; use fewer heads or zones, or more capacity",
                record::format_bytes(cylinder_bytes)
            ));
        }
        let tracks = self.capacity_bytes as f64 / track_bytes(inner) as f64;
        let switch_ns = self.head_switch_ns.max(self.cylinder_switch_ns);
        if tracks * (self.revolution_ns() + switch_ns) as f64 > LONGEST_READ_NS {
            return Err(
                "reading the drive once would take more than a hundred years; use a higher media \
                 rate or less capacity"
                    .to_owned(),
            );
        }
        self.check_seeks()?;
        // Overtaken data keeps half a segment, and data that may be read again a quarter. A burst that does
        // not fit in the rest would wait forever.
        let parts = if self.rereads { 4 } else { 2 };
        if self.burst_bytes > self.segment_bytes / parts {
            let part = if self.rereads {
                "a quarter of a read segment if the drive can send the same data again"
            } else {
                "half a read segment"
            };
            return Err(format!(
                "a burst can be at most {part}: {}",
                record::format_bytes(self.segment_bytes / parts)
            ));
        }
        let sizes = [self.segment_bytes, self.write_buffer_bytes, self.burst_bytes];
        if sizes.iter().any(|size| !size.is_multiple_of(SECTOR_BYTES)) {
            return Err(format!(
                "read segment, write buffer and burst must be multiples of the sector size, \
                 {SECTOR_BYTES} bytes"
            ));
        }
        Ok(())
    }

    /// Whether a curve through the seek times exists on which a longer distance never takes less time.
    fn check_seeks(&self) -> Result<(), String> {
        let (track, average) = (self.track_seek_ns, self.average_seek_ns);
        if average < track {
            return Err("the average seek time is shorter than the seek time to the next cylinder"
                .to_owned());
        }
        if self.full_seek_ns == 0 {
            return Ok(());
        }
        let range = self.full_seek_ns.saturating_sub(track) as f64;
        let (least, most) = AVERAGE_SEEKS;
        if self.full_seek_ns < average
            || !(least * range..=most * range).contains(&((average - track) as f64))
        {
            let at = |share: f64| record::format_nanos(track as f64 + share * range);
            return Err(format!(
                "no seek curve fits these times: for this time to the next cylinder and this \
                 full-stroke time, use an average from {} to {}, or set the full-stroke time to \
                 none",
                at(least),
                at(most)
            ));
        }
        Ok(())
    }

    pub fn revolution_ns(&self) -> u64 {
        let nominal_ns = 60_000_000_000 / u64::from(self.rpm.max(1));
        nominal_ns - nominal_ns * u64::from(self.spindle_ppm) / 1_000_000
    }
}
