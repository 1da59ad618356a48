//! Holds the tables of a story: their columns and cells, and how a page fills them.
//!
//! A table is built column by column, so that the title, the help and the values of a column are next to
//! each other in the code.

use crate::number;
use crate::page::Tone;
use record::{Estimate, WIDE, quantity};

/// Alignment of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Left-aligned text.
    #[default]
    Left,
    /// Right-aligned numbers.
    Right,
    /// A bar in the remaining width.
    Bar,
}

/// Which part of a text a narrow terminal omits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Its end.
    End,
    /// Its middle: names that differ often differ at the end.
    Middle,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Title; may be empty.
    pub title: String,
    /// Explanation of the title; empty if it is self-explanatory.
    pub help: &'static str,
    /// Alignment.
    pub side: Side,
    /// Title above this column and its neighbours in the same group; may be empty.
    pub group: String,
    /// Spaces before the column on a terminal.
    pub gap: usize,
    /// How its texts may be truncated on a narrow terminal.
    pub flexible: Option<Cut>,
    /// Order of removal on a narrow terminal: the highest rank goes first; a column of rank 0 stays. A column
    /// from rank [`BEFORE_CUTS`] on goes before any text is truncated.
    pub expendable: u8,
}

/// The rank from which an expendable column goes before any name is cut.
pub const BEFORE_CUTS: u8 = 10;

impl Column {
    pub(crate) fn gap(&mut self, gap: usize) -> &mut Self {
        self.gap = gap;
        self
    }

    /// Allows truncation on a narrow terminal.
    pub(crate) fn flexible(&mut self) -> &mut Self {
        self.flexible = Some(Cut::End);
        self
    }

    /// Allows removal on a narrow terminal; higher ranks go first.
    pub(crate) fn expendable(&mut self, rank: u8) -> &mut Self {
        self.expendable = rank;
        self
    }
}

/// A table under construction. Each column is filled for all rows when it is added.
pub(crate) struct Columns<'r, R> {
    rows: &'r [R],
    group: String,
    columns: Vec<(Column, Vec<Cell>)>,
}

impl<R> Columns<'_, R> {
    fn add<C: Into<Cell>>(&mut self, column: Column, cell: impl Fn(&R) -> C) -> &mut Column {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        let place = self.columns.len();
        self.columns.push((Column { gap: 2, group: self.group.clone(), ..column }, cells));
        &mut self.columns[place].0
    }

    /// Sets the group of the following columns.
    pub(crate) fn group(&mut self, group: &str) {
        group.clone_into(&mut self.group);
    }

    pub(crate) fn left<C: Into<Cell>>(
        &mut self,
        title: impl Into<String>,
        cell: impl Fn(&R) -> C,
    ) -> &mut Column {
        self.add(Column { title: title.into(), ..Column::default() }, cell)
    }

    /// Device names, which a narrow terminal truncates in the middle.
    pub(crate) fn devices(&mut self, name: impl Fn(&R) -> &str) {
        let device = self.left("device", |row| Cell::toned(name(row), Tone::Strong));
        device.flexible = Some(Cut::Middle);
    }

    pub(crate) fn right<C: Into<Cell>>(
        &mut self,
        title: impl Into<String>,
        cell: impl Fn(&R) -> C,
    ) -> &mut Column {
        self.add(Column { title: title.into(), side: Side::Right, ..Column::default() }, cell)
    }

    /// A column with the title and the help of a reported quantity.
    pub(crate) fn titled<C: Into<Cell>>(
        &mut self,
        id: &str,
        cell: impl Fn(&R) -> C,
    ) -> &mut Column {
        let column = self.right(quantity(id).title, cell);
        column.help = quantity(id).help;
        column
    }

    /// Values of a reported quantity in its unit, or a dash.
    pub(crate) fn of<V: Into<Option<f64>>>(
        &mut self,
        id: &str,
        value: impl Fn(&R) -> V,
    ) -> &mut Column {
        let format = |value| quantity(id).unit.format_titled(value);
        self.titled(id, |row| Cell::or_none(value(row).into(), format))
    }

    /// The intervals of the values in the previous column, or nothing.
    pub(crate) fn interval<V: Into<Option<Estimate>>>(
        &mut self,
        value: impl Fn(&R) -> V,
    ) -> &mut Column {
        // A very wide interval is not symmetric, so each end is printed.
        let interval = |it: Estimate| match it.relative_half_width() {
            wide if wide > WIDE && wide.is_finite() => {
                let [low, high] = [it.low, it.high].map(|end| end / it.value);
                let low = 100.0 * (low - 1.0).max(-1.0);
                match number::change(high) {
                    factor if factor.starts_with('x') => format!("{low:+.0} % to {factor}"),
                    _ => format!("{low:+.0} to {:+.0} %", 100.0 * (high - 1.0)),
                }
            }
            relative => number::interval(relative),
        };
        self.left("", |row| Cell::or_empty(value(row).into(), interval)).gap(1)
    }

    pub(crate) fn bar(&mut self, cell: impl Fn(&R) -> Cell) -> &mut Column {
        self.add(Column { side: Side::Bar, ..Column::default() }, cell)
    }
}

/// A table cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Text; for a bar, the mark after it.
    pub text: String,
    /// Tone of the text.
    pub tone: Tone,
    /// For a bar: the share of the column that it fills, 0 to 1.
    pub bar: Option<f64>,
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone, bar: None }
    }

    /// A bar followed by a mark.
    pub(crate) fn bar(share: f64, mark: &str) -> Self {
        Self { text: mark.to_owned(), tone: Tone::Strong, bar: Some(share) }
    }

    /// A value, or a dash if there is none.
    pub(crate) fn or_none<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> Self {
        number::or_none(value, format).into()
    }

    /// A value, or nothing.
    pub(crate) fn or_empty<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> Self {
        value.map(format).unwrap_or_default().into()
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

/// A table with aligned columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Builds a table with a row per item. Empty columns are left out.
    pub(crate) fn of<R>(
        rows: impl IntoIterator<Item = R>,
        columns: impl FnOnce(&mut Columns<'_, R>),
    ) -> Self {
        let rows: Vec<R> = rows.into_iter().collect();
        let mut made = Columns { rows: &rows, group: String::new(), columns: Vec::new() };
        columns(&mut made);
        let mut table = Self { columns: Vec::new(), rows: vec![Vec::new(); rows.len()] };
        for (column, cells) in made.columns {
            if cells.iter().any(|cell| !cell.text.is_empty() || cell.bar.is_some()) {
                table.columns.push(column);
                table.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
            }
        }
        table
    }
}
