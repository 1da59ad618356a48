//! A server that answers as Prometheus does when a fleet is read, from few templates: a week of ten
//! thousand devices is billions of samples, which no server could take in within a test.

use anyhow::{Context, Result};
use scenarios::{FleetPlan, FleetReadings};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

/// Different windows that there are: devices repeat them.
const TEMPLATES: usize = 64;
/// Samples of a chunk, as Prometheus cuts them.
const CHUNK: usize = 120;
/// Frames are sent when they are longer than this.
const FRAME: usize = 1 << 20;

/// It listens until the program ends.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    _thread: JoinHandle<()>,
}

/// The counters of one device and window, each as chunks whose times begin at 0.
type Template = Vec<Vec<Chunk>>;

/// Samples as they are stored: the first time is a number of its own before the rest.
struct Chunk {
    count: u16,
    first_s: u64,
    rest: Vec<u8>,
}

impl Server {
    pub(super) fn start(plan: FleetPlan, begin_s: u64) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let templates = templates(&plan);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if let Err(error) = answer(&stream, &plan, begin_s, &templates) {
                    eprintln!("the server that stands for Prometheus: {error:#}");
                }
            }
        });
        Ok(Self { address, _thread: thread })
    }
}

fn templates(plan: &FleetPlan) -> Vec<Template> {
    let one_window = FleetPlan { devices: TEMPLATES, windows: 1, ..*plan };
    let mut all = FleetReadings::of(&one_window);
    (0..TEMPLATES)
        .map(|device| {
            let scrapes: Vec<[f64; 7]> =
                all.window(device, 0).into_iter().map(|(_, scrape)| scrape).collect();
            let counter = |counter: usize| {
                let values: Vec<f64> = scrapes.iter().map(|scrape| scrape[counter]).collect();
                let chunks = values.chunks(CHUNK).enumerate();
                chunks
                    .map(|(place, values)| {
                        let first_s = (place * CHUNK) as u64 * plan.interval_s;
                        chunk(first_s, plan.interval_s * 1000, values)
                    })
                    .collect()
            };
            (0..7).map(counter).collect()
        })
        .collect()
}

/// Encodes samples at equal distances, but for the time of the first.
fn chunk(first_s: u64, step_ms: u64, values: &[f64]) -> Chunk {
    let mut bits = Bits::default();
    let mut last = values[0].to_bits();
    bits.put(last, 64);
    let (mut leading, mut trailing) = (u32::MAX, 0);
    for (index, value) in values.iter().enumerate().skip(1) {
        match index {
            1 => {
                let mut delta = Vec::new();
                put_varint(&mut delta, step_ms);
                delta.iter().for_each(|byte| bits.put(u64::from(*byte), 8));
            }
            _ => bits.put(0, 1),
        }
        let difference = value.to_bits() ^ last;
        last = value.to_bits();
        if difference == 0 {
            bits.put(0, 1);
            continue;
        }
        let (zeros, ends) = (difference.leading_zeros().min(31), difference.trailing_zeros());
        if leading != u32::MAX && zeros >= leading && ends >= trailing {
            bits.put(0b10, 2);
        } else {
            (leading, trailing) = (zeros, ends);
            bits.put(0b11, 2);
            bits.put(u64::from(leading), 5);
            // 64 is written as 0.
            bits.put(u64::from(64 - leading - trailing) & 63, 6);
        }
        bits.put(difference >> trailing, 64 - leading - trailing);
    }
    Chunk { count: values.len() as u16, first_s, rest: bits.bytes }
}

/// Bits, the highest of each byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u64, count: u32) {
        for place in (0..count).rev() {
            if self.used == 0 {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> place & 1) as u8) << (7 - self.used);
            self.used = (self.used + 1) % 8;
        }
    }
}

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn put_bytes(to: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    to.push(field << 3 | 2);
    put_varint(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// Answers one request; each has a connection of its own.
fn answer(
    stream: &TcpStream,
    plan: &FleetPlan,
    begin_s: u64,
    templates: &[Template],
) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut to = BufWriter::with_capacity(1 << 16, stream);
    let mut head = |kind: &str| {
        write!(to, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n")
    };
    if first.starts_with("GET") {
        head("application/json")?;
        let all: Vec<String> = (0..plan.devices).map(|device| labels(device, plan).1).collect();
        write!(to, "{{\"status\":\"success\",\"data\":[{}]}}", all.join(","))?;
        return Ok(to.flush()?);
    }
    head("application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse")?;
    let window = window_asked(&body, plan, begin_s).context("it asks for no window")?;
    let from_s = begin_s + window as u64 * plan.window_s;
    let mut frame = Vec::new();
    let (mut series, mut one) = (Vec::new(), Vec::new());
    for device in 0..plan.devices {
        let (named, _) = labels(device, plan);
        let template = &templates[(device * 7 + window * 13) % TEMPLATES];
        for (name, chunks) in fleet::COUNTERS.iter().zip(template) {
            series.clear();
            series.extend_from_slice(&label("__name__", name));
            series.extend_from_slice(&named);
            for chunk in chunks {
                one.clear();
                one.extend_from_slice(&[3 << 3, 1]);
                let mut data = chunk.count.to_be_bytes().to_vec();
                put_varint(&mut data, (from_s + chunk.first_s) * 2000);
                data.extend_from_slice(&chunk.rest);
                put_bytes(&mut one, 4, &data);
                put_bytes(&mut series, 2, &one);
            }
            put_bytes(&mut frame, 1, &series);
        }
        if frame.len() > FRAME || device + 1 == plan.devices {
            let mut head = Vec::new();
            put_varint(&mut head, frame.len() as u64);
            head.extend_from_slice(&prometheus::crc32c(&frame).to_be_bytes());
            to.write_all(&head)?;
            to.write_all(&frame)?;
            frame.clear();
        }
    }
    Ok(to.flush()?)
}

/// The window that a request begins in. Its first number stands behind the length of the block, the
/// literal's head, and the heads of two messages.
fn window_asked(body: &[u8], plan: &FleetPlan, begin_s: u64) -> Option<usize> {
    let at = body.iter().enumerate().skip(5).find(|(_, byte)| **byte == 1 << 3)?.0;
    let (mut value, mut shift) = (0u64, 0);
    for byte in &body[at + 1..] {
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if *byte < 0x80 {
            break;
        }
    }
    Some(((value / 1000).checked_sub(begin_s)? / plan.window_s) as usize)
}

fn label(name: &str, value: &str) -> Vec<u8> {
    let (mut pair, mut field) = (Vec::new(), Vec::new());
    put_bytes(&mut pair, 1, name.as_bytes());
    put_bytes(&mut pair, 2, value.as_bytes());
    put_bytes(&mut field, 1, &pair);
    field
}

/// What names a device, as a message and as JSON.
fn labels(device: usize, plan: &FleetPlan) -> (Vec<u8>, String) {
    let host = device / plan.host_devices;
    let all = [
        ("instance", format!("h{host:05}:9100")),
        ("device", format!("sd{}", (b'a' + (device % plan.host_devices) as u8) as char)),
        ("rack", format!("r{:04}", host / plan.rack_hosts)),
    ];
    let message = all.iter().flat_map(|(name, value)| label(name, value)).collect();
    let pairs: Vec<String> =
        all.iter().map(|(name, value)| format!("\"{name}\":\"{value}\"")).collect();
    (message, format!("{{{}}}", pairs.join(",")))
}
