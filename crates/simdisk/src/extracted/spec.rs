//! A drive as DiskSim's parameter files describe it.
//!
//! Times are milliseconds in the files and nanoseconds here. A kind of seek, layout or access that has no
//! mechanism here is refused by its name: a drive that is not what its file says would be a wrong number that
//! looks right. What only several requests at once or others on the bus would show has no effect: requests are
//! served one at a time.

use super::text::{self, Block, Files, Place, Value};
use std::collections::BTreeMap;

/// What is known of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractedSpec {
    pub(crate) blocks: u64,
    pub(crate) surfaces: u64,
    pub(crate) cylinders: u64,
    pub(crate) zones: Vec<ZoneSpec>,
    /// How tracks follow each other.
    pub(crate) order: TrackOrder,
    pub(crate) seek: SeekSpec,
    pub(crate) head_switch_ns: f64,
    pub(crate) write_settle_ns: f64,
    pub(crate) revolution_ns: f64,
    pub(crate) buffer: BufferSpec,
    pub(crate) overheads: Overheads,
    /// Values outside what the manual allows, with file, line and field, and what is taken for them.
    pub notes: Vec<String>,
}

/// Where the next track of a cylinder lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrackOrder {
    /// From the first surface to the last in each cylinder.
    Conventional,
    /// Up and down in turn, anew in each zone.
    SerpentineByZone,
    /// The same, up in even cylinders of the disk.
    Serpentine,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ZoneSpec {
    pub(crate) first_cylinder: u64,
    pub(crate) last_cylinder: u64,
    pub(crate) sectors: u64,
    /// Angle of its first block, in sectors.
    pub(crate) offset: f64,
    /// Sectors before its first block.
    pub(crate) reserved: u64,
    pub(crate) track_skew: f64,
    pub(crate) cylinder_skew: f64,
    /// Where it has room that holds no blocks.
    pub(crate) spares: Spares,
    /// Sectors that are passed over, counted from the begin of the zone.
    pub(crate) slips: Vec<u64>,
    /// Sectors that stand in for others, as (these, those).
    pub(crate) moved: Vec<(u64, u64)>,
}

/// Room for sectors that stand in for bad ones: in each stretch of a zone so many of its sectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spares {
    /// Sectors of a stretch.
    pub(crate) stretch: u64,
    pub(crate) sectors: u64,
    /// At its begin instead of its end.
    pub(crate) in_front: bool,
    /// Whether what is passed over takes of them; else of the room for blocks.
    pub(crate) take_slips: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SeekSpec {
    /// Distances and times, by rising distance; in between a line.
    Curve(Vec<(u64, f64)>),
    /// The time of one cylinder, and factors of the root and of the rest of a distance beyond it (Lee and
    /// Katz 1993).
    Lee { one: f64, root: f64, line: f64 },
    /// Times of the first distances, then the square root of a distance up to a limit, then a line.
    Parts { first: Vec<f64>, limit: f64, root: [f64; 2], line: [f64; 2] },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BufferSpec {
    pub(crate) segments: usize,
    pub(crate) segment_blocks: u64,
    /// Segments that may hold writes; a segment of their own where it says so.
    pub(crate) own_write_segment: bool,
    pub(crate) caching: bool,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) ahead_most: u64,
    pub(crate) ahead_least: u64,
    pub(crate) ahead_on_hit: bool,
    /// Blocks that are read ahead take the room of those that were asked for.
    pub(crate) over_requested: bool,
    /// Blocks before the ones that are asked for are kept, too.
    pub(crate) free_blocks: bool,
    pub(crate) write_back: bool,
    /// Blocks are read and written as they come by.
    pub(crate) read_on_arrival: bool,
    pub(crate) write_on_arrival: bool,
    pub(crate) almost_hits: bool,
    pub(crate) hits_on_writes: bool,
    /// Share of a request that is there before it is sent.
    pub(crate) read_mark: f64,
    pub(crate) marks_by_request: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadAhead {
    None,
    Track,
    Cylinder,
    Segment,
    /// To the end of the next track, for reads that follow one on the track before.
    NextTrack,
}

/// Times of the electronics, in nanoseconds; pairs are after a read and after a write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overheads {
    pub(crate) request: f64,
    /// What a block takes on the bus, of reads and of writes.
    pub(crate) sector: [f64; 2],
    pub(crate) read_hit: [f64; 2],
    pub(crate) read_miss: [f64; 2],
    pub(crate) write_hit: [f64; 2],
    pub(crate) write_miss: [f64; 2],
    pub(crate) read_end: f64,
    pub(crate) write_end: f64,
    pub(crate) prepare: f64,
    pub(crate) reselect: f64,
    pub(crate) read_disconnect: [f64; 2],
    pub(crate) write_disconnect: f64,
    /// Of a drive that disconnects before it takes the data of a write.
    pub(crate) extra: Option<ExtraDisconnect>,
    pub(crate) least_seek: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ExtraDisconnect {
    pub(crate) command: f64,
    pub(crate) disconnect: f64,
    pub(crate) between: f64,
    pub(crate) second: f64,
    pub(crate) seek_delta: f64,
}

const MS: f64 = 1e6;

/// Values of a block by their keys.
struct Keys<'a>(&'a Block);

impl Keys<'_> {
    fn wrong(&self, place: &Place, key: &str, why: &str) -> String {
        format!("{place}: {key:?} {why}")
    }

    fn text(&self, key: &str) -> Result<(Place, String), String> {
        match self.0.get(key) {
            Some((place, Value::Text(text))) => Ok((place.clone(), text.clone())),
            Some((place, _)) => Err(self.wrong(place, key, "must have one value")),
            None => Err(format!("{}: {} has no {key:?}", self.0.place, self.0.kind)),
        }
    }

    fn number_or(&self, key: &str, usual: f64) -> Result<f64, String> {
        if self.0.get(key).is_some() { self.number(key) } else { Ok(usual) }
    }

    fn number(&self, key: &str) -> Result<f64, String> {
        let (place, text) = self.text(key)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number
            .ok_or_else(|| self.wrong(&place, key, &format!("is {text:?}, which is not a number")))
    }

    fn positive(&self, key: &str) -> Result<f64, String> {
        let (place, number) = (self.text(key)?.0, self.number(key)?);
        if number < 0.0 {
            return Err(self.wrong(&place, key, &format!("is {number}, which is below 0")));
        }
        Ok(number)
    }

    /// A time that published files have below 0 and DiskSim takes: no time then, with a note.
    fn ms_or_none(&self, key: &str, notes: &mut Vec<String>) -> Result<f64, String> {
        let (place, number) = (self.text(key)?.0, self.number(key)?);
        if number < 0.0 {
            notes.push(self.wrong(
                &place,
                key,
                &format!("is {number}, which is below 0; 0 is used instead"),
            ));
        }
        Ok(number.max(0.0) * MS)
    }

    /// A count that published files have above the most that there is, and DiskSim takes: the most then, with a
    /// note.
    fn count_or_most(
        &self,
        key: &str,
        least: u64,
        most: u64,
        notes: &mut Vec<String>,
    ) -> Result<u64, String> {
        let (place, number) = (self.text(key)?.0, self.number(key)?);
        if number.fract() == 0.0 && number > most as f64 {
            let why = format!("is {number}, which is above {most}; {most} is used instead");
            notes.push(self.wrong(&place, key, &why));
            return Ok(most.max(least));
        }
        self.count(key, least, most)
    }

    fn ms(&self, key: &str) -> Result<f64, String> {
        Ok(self.positive(key)? * MS)
    }

    fn count(&self, key: &str, least: u64, most: u64) -> Result<u64, String> {
        let (place, number) = (self.text(key)?.0, self.number(key)?);
        let whole = number.fract() == 0.0 && number >= least as f64 && number <= most as f64;
        if whole {
            return Ok(number as u64);
        }
        Err(self.wrong(&place, key, &format!("is {number}; use {least} to {most}")))
    }

    fn on(&self, key: &str) -> Result<bool, String> {
        Ok(self.count(key, 0, 2)? > 0)
    }

    fn numbers(&self, key: &str) -> Result<Vec<f64>, String> {
        let list = match self.0.get(key) {
            Some((_, Value::List(list))) => list,
            Some((place, _)) => return Err(self.wrong(place, key, "must be a list")),
            None => return Err(format!("{}: {} has no {key:?}", self.0.place, self.0.kind)),
        };
        let number = |(place, value): &(Place, Value)| match value {
            Value::Text(text) => text.parse().map_err(|_| {
                self.wrong(place, key, &format!("contains {text:?}, which is not a number"))
            }),
            _ => Err(self.wrong(place, key, "must contain only numbers")),
        };
        list.iter().map(number).collect()
    }

    fn refuse(&self, key: &str, wrong: bool, why: &str) -> Result<(), String> {
        let Some((place, _)) = self.0.get(key).filter(|_| wrong) else { return Ok(()) };
        Err(self.wrong(place, key, why))
    }
}

impl ExtractedSpec {
    /// Reads a parameter file; `files` gives those that it names.
    ///
    /// # Errors
    /// With file, line and key of what is wrong or has no mechanism here.
    pub fn read(name: &str, text: &str, files: Files<'_>) -> Result<Self, String> {
        let all = text::read(name, text, &mut *files)?;
        let disk = all.find("disksim_disk").ok_or_else(|| {
            format!("{name} describes no drive: it has no block of the kind disksim_disk")
        })?;
        let model = match disk.get("Model") {
            Some((_, Value::Block(model))) if model.kind == "dm_disk" => model,
            Some((place, _)) => return Err(format!("{place}: \"Model\" must be a block dm_disk")),
            None => return Err(format!("{}: the drive has no \"Model\"", disk.place)),
        };
        let part = |key: &str, kind: &str| match model.get(key) {
            Some((_, Value::Block(block))) if block.kind == kind => Ok(block),
            Some((place, _)) => Err(format!("{place}: {key:?} must be a block {kind}")),
            None => Err(format!("{}: {} has no {key:?}", model.place, model.kind)),
        };
        let layout = part("Layout Model", "dm_layout_g1")?;
        let mechanism = part("Mechanical Model", "dm_mech_g1")?;
        let (keys, disk) = (Keys(model), Keys(disk));
        let surfaces = keys.count("Number of data surfaces", 1, 64)?;
        let cylinders = keys.count("Number of cylinders", 1, 1 << 24)?;
        let mut notes = Vec::new();
        let (order, zones) = zones(layout, surfaces, cylinders, &mut notes)?;
        let moving = Keys(mechanism);
        let access = moving.text("Access time type")?;
        moving.refuse(
            "Access time type",
            access.1 != "trackSwitchPlusRotation",
            "must be trackSwitchPlusRotation: only rotating drives are simulated",
        )?;
        let rpm = moving.count("Rotation speed (in rpms)", 1, 100_000)?;
        let mut spec = Self {
            blocks: keys.count("Block count", 1, 1 << 40)?,
            surfaces,
            cylinders,
            zones,
            order,
            seek: seek(&moving, cylinders, &mut *files)?,
            head_switch_ns: moving.ms("Head switch time")?,
            write_settle_ns: moving.ms_or_none("Add. write settling delay", &mut notes)?,
            revolution_ns: 60e9 / rpm as f64,
            buffer: buffer(&disk)?,
            overheads: overheads(&disk)?,
            notes,
        };
        slowest_bus(&all, &mut spec.overheads.sector)?;
        let room =
            |spec: &Self| -> u64 { spec.zones.iter().map(|zone| zone.blocks(surfaces)).sum() };
        if room(&spec) < spec.blocks {
            // Spares of which the count of blocks knows nothing.
            for zone in &mut spec.zones {
                zone.spares.sectors = 0;
            }
        }
        let room = room(&spec);
        if room < spec.blocks {
            let (place, _) = keys.text("Block count")?;
            let what = format!("is {}, but the zones hold {room}", spec.blocks);
            return Err(keys.wrong(&place, "Block count", &what));
        }
        Ok(spec)
    }

    /// Its capacity.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blocks * super::SECTOR_BYTES
    }
}

/// A block takes as long on the way as the slowest of the drive, its buses and its controller needs.
fn slowest_bus(all: &Block, sector: &mut [f64; 2]) -> Result<(), String> {
    for bus in all.all("disksim_bus").map(Keys) {
        for (time, key) in
            sector.iter_mut().zip(["Read block transfer time", "Write block transfer time"])
        {
            *time = time.max(bus.number_or(key, 0.0)? * MS);
        }
    }
    for controller in all.all("disksim_ctlr").map(Keys) {
        let bulk = controller.number_or("Bulk sector transfer time", 0.0)? * MS;
        sector.iter_mut().for_each(|time| *time = time.max(bulk));
    }
    Ok(())
}

impl ZoneSpec {
    /// Blocks that it holds.
    pub(crate) fn blocks(&self, surfaces: u64) -> u64 {
        let cylinders = self.last_cylinder - self.first_cylinder + 1;
        let all = (cylinders * surfaces * self.sectors).saturating_sub(self.reserved);
        let Spares { stretch, sectors, take_slips, .. } = self.spares;
        let slips = if take_slips { 0 } else { self.slips.len() as u64 };
        let whole = all / stretch * (stretch - sectors);
        let rest = (all % stretch).saturating_sub(sectors);
        (whole + rest).saturating_sub(slips)
    }
}

/// What a scheme of spares is for a zone of so many sectors.
fn spares(scheme: u64, count: u64, zone: &SpareZone) -> Spares {
    let SpareZone { all, track, surfaces, range } = *zone;
    let cylinder = track * surfaces;
    // Stretch, spare sectors in it, in front, whether slips take of them.
    let (stretch, sectors, in_front, take_slips) = match scheme {
        1 => (all, count * track, false, true),
        2 => (cylinder, count, false, true),
        3 => (track, count, false, true),
        4 => (cylinder, count, false, false),
        5 => (cylinder, count, true, true),
        6 => (cylinder, count, true, false),
        8 => (cylinder * range, count, false, true),
        9 => (all, count, false, true),
        10 => (all, count, false, false),
        // None, or at the end of the disk.
        _ => (all, 0, false, false),
    };
    let stretch = stretch.clamp(1, all.max(1));
    Spares { stretch, sectors: sectors.min(stretch - 1), in_front, take_slips }
}

/// Sizes that schemes of spares are about, in sectors; of a range in cylinders.
struct SpareZone {
    all: u64,
    track: u64,
    surfaces: u64,
    range: u64,
}

fn zones(
    layout: &Block,
    surfaces: u64,
    cylinders: u64,
    notes: &mut Vec<String>,
) -> Result<(TrackOrder, Vec<ZoneSpec>), String> {
    let keys = Keys(layout);
    let order = match keys.count("LBN-to-PBN mapping scheme", 0, 2)? {
        0 => TrackOrder::Conventional,
        1 => TrackOrder::SerpentineByZone,
        _ => TrackOrder::Serpentine,
    };
    let scheme = keys.count("Sparing scheme used", 0, 10)?;
    let range = keys.count("Rangesize for sparing", 1, 1 << 24)?;
    let units = keys.text("Skew units").map_or("sectors".to_owned(), |(_, units)| units);
    let Some((_, Value::List(list))) = layout.get("Zones") else {
        return Err(format!("{}: {} has no \"Zones\"", layout.place, layout.kind));
    };
    let mut zones = Vec::new();
    for (place, zone) in list {
        let Value::Block(block) = zone else {
            return Err(format!("{place}: a zone must be a block"));
        };
        let keys = Keys(block);
        let sectors = keys.count("Blocks per track", 1, 1 << 20)?;
        let first = keys.count("First cylinder number", 0, cylinders - 1)?;
        let in_revolutions =
            keys.text("Skew units").map_or_else(|_| units.clone(), |(_, own)| own) == "revolutions";
        let skew = |key: &str| -> Result<f64, String> {
            let value = keys.number_or(key, 0.0)?;
            Ok(if in_revolutions { value * sectors as f64 } else { value })
        };
        let last = keys.count_or_most("Last cylinder number", first, cylinders - 1, notes)?;
        // With spare tracks the lists name tracks: each of their sectors is meant.
        let unit = if scheme == 1 { sectors } else { 1 };
        let each = |number: f64| {
            let begin = number.max(0.0) as u64 * unit;
            begin..begin + unit
        };
        let mut slips: Vec<u64> = keys.numbers("slips")?.into_iter().flat_map(each).collect();
        slips.sort_unstable();
        let defects = keys.numbers("defects").unwrap_or_default();
        let pairs = defects.chunks_exact(2).flat_map(|pair| each(pair[0]).zip(each(pair[1])));
        let mut moved: Vec<(u64, u64)> = pairs.collect();
        moved.sort_unstable();
        let reserved = keys.count("Empty space at zone front", 0, 1 << 32)?;
        let all = ((last - first + 1) * surfaces * sectors).saturating_sub(reserved);
        let zone = SpareZone { all, track: sectors, surfaces, range };
        zones.push(ZoneSpec {
            first_cylinder: first,
            last_cylinder: last,
            sectors,
            offset: skew("Offset of first block")?,
            reserved,
            track_skew: skew("Skew for track switch")?,
            cylinder_skew: skew("Skew for cylinder switch")?,
            spares: spares(scheme, keys.count("Number of spares", 0, 1 << 32)?, &zone),
            slips,
            moved,
        });
    }
    if zones.is_empty() {
        return Err(format!("{}: {} has no zones", layout.place, layout.kind));
    }
    Ok((order, zones))
}

fn seek(keys: &Keys<'_>, cylinders: u64, files: Files<'_>) -> Result<SeekSpec, String> {
    let (place, kind) = keys.text("Seek type")?;
    match kind.as_str() {
        "extracted" => {
            let (place, name) = keys.text("Full seek curve")?;
            let text = files(&name).map_err(|why| format!("{place}: {name}: {why}"))?;
            curve(&name, &text)
        }
        "hpl" | "hplplus10" => {
            let values = keys.numbers("HPL seek equation values")?;
            let [limit, root, factor, base, slope, one] = values[..] else {
                return Err(format!("{place}: \"HPL seek equation values\" must be six numbers"));
            };
            let mut first: Vec<f64> = match kind == "hplplus10" {
                true => keys.numbers("First ten seek times")?.iter().map(|ms| ms * MS).collect(),
                false => Vec::new(),
            };
            if first.is_empty() && one > 0.0 {
                first.push(one * MS);
            }
            Ok(SeekSpec::Parts {
                first,
                limit,
                root: [root * MS, factor * MS],
                line: [base * MS, slope * MS],
            })
        }
        "constant" => {
            let time = keys.ms("Constant seek time")?;
            Ok(SeekSpec::Curve(vec![(1, time), (2, time)]))
        }
        // By three times: of one cylinder, of a third of them, and of all.
        "linear" => {
            let [one, third, all] = three_times(keys)?;
            let far = cylinders.saturating_sub(1).max(3);
            Ok(SeekSpec::Curve(vec![(1, one), ((far / 3).max(2), third), (far, all)]))
        }
        "curve" => {
            let [one, third, all] = three_times(keys)?;
            let far = cylinders as f64;
            let root = (15.0 * third - 10.0 * one - 5.0 * all) / (3.0 * far.sqrt());
            let line = (7.0 * one - 15.0 * third + 8.0 * all) / (3.0 * far);
            Ok(SeekSpec::Lee { one, root, line })
        }
        other => Err(format!(
            "{place}: unknown \"Seek type\" {other:?}; use extracted, hpl, hplplus10, curve, \
             linear or constant"
        )),
    }
}

/// The times of a seek over one cylinder, over a third of them, and over all.
fn three_times(keys: &Keys<'_>) -> Result<[f64; 3], String> {
    let times = ["Single cylinder seek time", "Average seek time", "Full strobe seek time"]
        .map(|key| keys.ms(key));
    let [one, third, all] = times;
    Ok([one?, third?, all?])
}

/// A measured curve: a line that counts the distances, then `distance, time` each.
fn curve(name: &str, text: &str) -> Result<SeekSpec, String> {
    let mut points: BTreeMap<u64, f64> = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let Some((distance, time)) = line.split_once(',') else { continue };
        let known = distance.trim().parse::<u64>().ok().zip(time.trim().parse::<f64>().ok());
        let (distance, time) = known
            .ok_or_else(|| format!("{name}:{number}: {line:?} is not a distance and a time"))?;
        points.insert(distance, time * MS);
    }
    if points.len() < 2 {
        return Err(format!("{name}: a seek curve must have at least two distances"));
    }
    Ok(SeekSpec::Curve(points.into_iter().collect()))
}

fn buffer(keys: &Keys<'_>) -> Result<BufferSpec, String> {
    let ahead = match keys.count("Buffer continuous read", 0, 4)? {
        0 => ReadAhead::None,
        1 => ReadAhead::Track,
        2 => ReadAhead::Cylinder,
        3 => ReadAhead::Segment,
        _ => ReadAhead::NextTrack,
    };
    // They have to be right, though of one request at a time with the bus to itself nothing depends on them.
    keys.on("Write hit stop prefetch")?;
    keys.on("Hold bus entire read xfer")?;
    keys.positive("Low (write) water mark")?;
    Ok(BufferSpec {
        segments: keys.count("Number of buffer segments", 1, 4_096)? as usize,
        segment_blocks: keys.count("Segment size (in blks)", 1, 1 << 24)?,
        own_write_segment: keys.on("Use separate write segment")?,
        caching: keys.on("Enable caching in buffer")?,
        read_ahead: ahead,
        ahead_most: keys.count("Maximum read-ahead (blks)", 0, 1 << 24)?,
        ahead_least: keys.count("Minimum read-ahead (blks)", 0, 1 << 24)?,
        ahead_on_hit: keys.on("Read-ahead on idle hit")?,
        over_requested: keys.number("Read-ahead over requested")? > 0.0,
        free_blocks: keys.on("Read any free blocks")?,
        write_back: keys.on("Fast write level")?,
        read_on_arrival: keys.on("Immediate buffer read")?,
        write_on_arrival: keys.on("Immediate buffer write")?,
        almost_hits: keys.on("Allow almost read hits")?,
        hits_on_writes: keys.on("Allow read hits on write data")?,
        read_mark: keys.positive("High (read) water mark")?,
        marks_by_request: keys.on("Set watermark by reqsize")?,
    })
}

fn overheads(keys: &Keys<'_>) -> Result<Overheads, String> {
    let scale = keys.positive("Time scale for overheads")?;
    let ms = |key: &str| Ok::<f64, String>(keys.ms(key)? * scale);
    let pair = |read: &str, write: &str| Ok::<[f64; 2], String>([ms(read)?, ms(write)?]);
    let extra = match keys.on("Extra write disconnect")? {
        false => None,
        true => Some(ExtraDisconnect {
            command: ms("Extradisc command overhead")?,
            disconnect: ms("Extradisc disconnect overhead")?,
            between: ms("Extradisc inter-disconnect delay")?,
            second: ms("Extradisc 2nd disconnect overhead")?,
            seek_delta: ms("Extradisc seek delta")?,
        }),
    };
    Ok(Overheads {
        request: ms("Per-request overhead time")?,
        sector: [keys.ms("Bulk sector transfer time")?; 2],
        read_hit: pair("Read hit over. after read", "Read hit over. after write")?,
        read_miss: pair("Read miss over. after read", "Read miss over. after write")?,
        write_hit: pair("Write hit over. after read", "Write hit over. after write")?,
        write_miss: pair("Write miss over. after read", "Write miss over. after write")?,
        read_end: ms("Read completion overhead")?,
        write_end: ms("Write completion overhead")?,
        prepare: ms("Data preparation overhead")?,
        reselect: ms("First reselect overhead")?,
        read_disconnect: pair("Read disconnect afterread", "Read disconnect afterwrite")?,
        write_disconnect: ms("Write disconnect overhead")?,
        extra,
        least_seek: ms("Minimum seek delay")?,
    })
}
