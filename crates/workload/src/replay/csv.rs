//! Parses published block traces in CSV. Each format is a row of [`FORMS`]: its columns, as its publisher
//! describes them.
//!
//! MSR Cambridge (SNIA IOTTA 388): `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, times in
//! 100 ns. SYSTOR '17 (SNIA IOTTA 4928): `Timestamp,Response,IOType,LUN,Offset,Size`, times in s. SPC-1, in
//! the UMass repository: `ASU,LBA,Size,Opcode,Timestamp`, offsets in blocks of 512 bytes, times in s.
//! Alibaba: `device_id,opcode,offset,length,timestamp`, times in µs.

use crate::replay::ReplayError;
use crate::replay::lines::{Line, Lines};
use crate::replay::requests::Requests;
use record::{Nanos, OpKind, Replay};

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Time,
    Device,
    Op,
    /// In units of this many bytes.
    Offset(u64),
    /// In bytes.
    Size,
    /// A number that is not needed.
    Number,
    /// A word that is not needed.
    Word,
}

#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    /// Unit of its times.
    pub(crate) unit_ns: u64,
    columns: &'static [Column],
}

const FORMS: [Form; 4] = {
    use Column::{Device, Number, Offset, Op, Size, Time, Word};
    [
        Form {
            name: "MSR Cambridge",
            unit_ns: 100,
            columns: &[Time, Word, Device, Op, Offset(1), Size, Number],
        },
        Form {
            name: "SYSTOR '17",
            unit_ns: SECOND_NS,
            columns: &[Time, Number, Op, Device, Offset(1), Size],
        },
        Form { name: "SPC", unit_ns: SECOND_NS, columns: &[Device, Offset(512), Size, Op, Time] },
        Form { name: "Alibaba", unit_ns: 1_000, columns: &[Device, Op, Offset(1), Size, Time] },
    ]
};

/// The format of a text, from its first line, or from the second if the first is a header.
pub(crate) fn form_of(text: &str) -> Option<&'static Form> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next()?;
    let line = if is_head(first) { lines.next()? } else { first };
    FORMS.iter().find(|form| fits(form, line))
}

/// Whether a line is a header: none of its fields is a number.
fn is_head(line: &str) -> bool {
    line.contains(',') && line.split(',').all(|field| field.trim().parse::<f64>().is_err())
}

fn fits(form: &Form, line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let fits = |(column, field): (&Column, &&str)| match column {
        Column::Op => op_of(field).is_some(),
        Column::Word => !field.is_empty(),
        Column::Time | Column::Number => field.parse::<f64>().is_ok(),
        Column::Device | Column::Offset(_) | Column::Size => field.parse::<u64>().is_ok(),
    };
    fields.len() == form.columns.len() && form.columns.iter().zip(&fields).all(fits)
}

fn op_of(word: &str) -> Option<OpKind> {
    match word.to_ascii_lowercase().as_str() {
        "r" | "read" => Some(OpKind::Read),
        "w" | "write" => Some(OpKind::Write),
        _ => None,
    }
}

pub(crate) fn read(lines: Lines<'_>, form: &Form, unit_ns: u64) -> Result<Replay, ReplayError> {
    let mut found = Requests::default();
    for line in lines.enumerate().filter(|(at, line)| *at > 0 || !is_head(line.text)) {
        request(&mut found, line.1, form, unit_ns)?;
    }
    found.replay("")
}

fn request<'a>(
    found: &mut Requests<'a>,
    line: Line<'a>,
    form: &Form,
    unit_ns: u64,
) -> Result<(), ReplayError> {
    let mut fields = line.fields();
    let (mut at, mut device, mut op, mut offset, mut bytes) = (0, 0, OpKind::Read, 0, 0);
    for column in form.columns {
        let place = fields;
        match column {
            Column::Time => at = fields.time("the time", unit_ns)?,
            Column::Device => {
                let number = found.device(fields.word("the device")?);
                device = number
                    .ok_or_else(|| place.wrong("the recording has more than 65,536 devices"))?;
            }
            Column::Op => {
                let word = fields.word("the kind of request")?;
                let wrong = || place.wrong(&format!("{word:?} is neither a read nor a write"));
                op = op_of(word).ok_or_else(wrong)?;
            }
            Column::Offset(unit) => {
                let number = fields.number("the offset")?.checked_mul(*unit);
                offset =
                    number.ok_or_else(|| place.wrong("the offset is larger than any device"))?;
            }
            Column::Size => {
                let number = fields.number("the size")?;
                let fits = (1..=i32::MAX as u64).contains(&number);
                let wrong = || place.wrong(&format!("a request cannot have {number} bytes"));
                bytes = u32::try_from(number).ok().filter(|_| fits).ok_or_else(wrong)?;
            }
            Column::Number | Column::Word => {
                fields.word("a field")?;
            }
        }
    }
    let behind = fields;
    if fields.maybe().is_some() {
        return Err(behind.wrong("the line has more fields than the first line"));
    }
    let end = offset.checked_add(u64::from(bytes));
    end.ok_or_else(|| behind.wrong("the request ends beyond any possible device"))?;
    found.push(device, Nanos(at), op, offset, bytes);
    Ok(())
}
