//! The language of DiskSim's parameter files: blocks of keys and values, lists, files that are put in.
//!
//! `type name { key = value, ... }`, `[ value, ... ]`, `source FILE`, and `#` to the end of a line. Keys have
//! blanks in them. What instantiates components and connects them is passed over: one disk is read, not
//! a system. Facts: the manual of DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger, 2008).

use std::collections::VecDeque;
use std::fmt;

/// Where a word stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)
    }
}

/// What stands behind a key.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    List(Vec<(Place, Value)>),
    Block(Block),
}

/// Keys with their values, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) kind: String,
    pub(crate) place: Place,
    entries: Vec<(String, Place, Value)>,
}

impl Block {
    /// The first value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<(&Place, &Value)> {
        let found = self.entries.iter().find(|(name, ..)| name == key);
        found.map(|(_, place, value)| (place, value))
    }

    /// All blocks of a kind that stand in it.
    pub(crate) fn all<'b>(&'b self, kind: &'b str) -> impl Iterator<Item = &'b Self> {
        self.entries.iter().filter_map(move |(.., value)| match value {
            Value::Block(block) if block.kind == kind => Some(block),
            _ => None,
        })
    }

    /// The first block of a kind within it, at any depth.
    pub(crate) fn find(&self, kind: &str) -> Option<&Self> {
        let values = self.entries.iter().map(|(.., value)| value);
        let mut blocks = values.filter_map(|value| match value {
            Value::Block(block) => Some(block),
            _ => None,
        });
        blocks.find_map(|block| if block.kind == kind { Some(block) } else { block.find(kind) })
    }
}

/// Gives the text of a file that another names.
pub(crate) type Files<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// Files within files beyond which something is wrong.
const DEPTH_MAX: u32 = 8;

/// Blocks and lists within each other beyond which something is wrong: they are read by recursion, and the stack has
/// an end. Those of DiskSim's own files are below ten.
const NESTING_MAX: u32 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Mark(char),
}

struct Reader<'a> {
    tokens: VecDeque<(Place, Token)>,
    files: Files<'a>,
    depth: u32,
    nesting: u32,
    last: Place,
}

/// All blocks of a file, as entries of one.
pub(crate) fn read(name: &str, text: &str, files: Files<'_>) -> Result<Block, String> {
    let place = Place { file: name.to_owned(), line: 1 };
    let tokens = tokens(name, text);
    let mut reader = Reader { tokens, files, depth: 0, nesting: 0, last: place.clone() };
    let entries = reader.entries(false)?;
    Ok(Block { kind: String::new(), place, entries })
}

fn tokens(file: &str, text: &str) -> VecDeque<(Place, Token)> {
    let mut found = VecDeque::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.split('#').next().unwrap_or_default();
        let place = Place { file: file.to_owned(), line: number };
        let mut word = String::new();
        for letter in line.chars().chain([' ']) {
            let mark = "{}[]=,".contains(letter);
            if (mark || letter.is_whitespace()) && !word.is_empty() {
                found.push_back((place.clone(), Token::Word(std::mem::take(&mut word))));
            }
            if mark {
                found.push_back((place.clone(), Token::Mark(letter)));
            } else if !letter.is_whitespace() {
                word.push(letter);
            }
        }
    }
    found
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Token> {
        let (place, token) = self.tokens.pop_front()?;
        self.last = place;
        Some(token)
    }

    fn wrong(&self, what: &str) -> String {
        format!("{}: {what}", self.last)
    }

    /// Puts the words of a file in front of what is left.
    fn put_in(&mut self) -> Result<(), String> {
        let Some(Token::Word(name)) = self.next() else {
            return Err(self.wrong("the name of a file is missing after source"));
        };
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong("the files include each other endlessly"));
        }
        let text = (self.files)(&name).map_err(|why| self.wrong(&format!("{name}: {why}")))?;
        for token in tokens(&name, &text).into_iter().rev() {
            self.tokens.push_front(token);
        }
        Ok(())
    }

    /// Entries up to the end of a block, or of the file.
    fn entries(&mut self, within: bool) -> Result<Vec<(String, Place, Value)>, String> {
        let mut entries = Vec::new();
        let mut words: Vec<String> = Vec::new();
        loop {
            match self.next() {
                None if within => return Err(self.wrong("a block is not closed: a } is missing")),
                None => return Ok(entries),
                Some(Token::Word(word)) if words.is_empty() && word == "source" => self.put_in()?,
                Some(Token::Word(word)) => words.push(word),
                Some(Token::Mark('=')) => {
                    let (key, place) = (words.join(" "), self.last.clone());
                    words.clear();
                    entries.push((key, place, self.value()?));
                }
                Some(Token::Mark('{')) => {
                    let block = self.block(&words)?;
                    words.clear();
                    entries.push((String::new(), block.place.clone(), Value::Block(block)));
                }
                Some(Token::Mark('[')) => {
                    self.list()?;
                    words.clear();
                }
                Some(Token::Mark('}')) if within => return Ok(entries),
                Some(Token::Mark(',')) => words.clear(),
                Some(Token::Mark(mark)) => return Err(self.wrong(&format!("an unexpected {mark}"))),
            }
        }
    }

    fn block(&mut self, words: &[String]) -> Result<Block, String> {
        let (kind, place) = (words.first().cloned().unwrap_or_default(), self.last.clone());
        self.nested(|reader| Ok(Block { kind, place, entries: reader.entries(true)? }))
    }

    fn value(&mut self) -> Result<Value, String> {
        let mut words: Vec<String> = Vec::new();
        loop {
            match self.tokens.front().map(|(_, token)| token.clone()) {
                Some(Token::Word(word)) => {
                    self.next();
                    match word == "source" && words.is_empty() {
                        true => self.put_in()?,
                        false => words.push(word),
                    }
                }
                Some(Token::Mark('[')) if words.is_empty() => {
                    self.next();
                    return Ok(Value::List(self.list()?));
                }
                Some(Token::Mark('{')) => {
                    self.next();
                    return Ok(Value::Block(self.block(&words)?));
                }
                Some(Token::Mark(',' | '}' | ']')) | None if !words.is_empty() => {
                    return Ok(Value::Text(words.join(" ")));
                }
                _ => return Err(self.wrong("a value is missing")),
            }
        }
    }

    /// Reads what stands within something else.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if self.nesting == NESTING_MAX {
            return Err(
                self.wrong(&format!("blocks and lists are nested more than {NESTING_MAX} deep"))
            );
        }
        self.nesting += 1;
        let read = read(self);
        self.nesting -= 1;
        read
    }

    fn list(&mut self) -> Result<Vec<(Place, Value)>, String> {
        self.nested(Self::list_values)
    }

    fn list_values(&mut self) -> Result<Vec<(Place, Value)>, String> {
        let mut values = Vec::new();
        loop {
            match self.tokens.front().map(|(_, token)| token.clone()) {
                Some(Token::Mark(']')) => {
                    self.next();
                    return Ok(values);
                }
                Some(Token::Mark(',')) => {
                    self.next();
                }
                Some(Token::Mark('[')) => {
                    self.next();
                    let inner = self.list()?;
                    values.push((self.last.clone(), Value::List(inner)));
                }
                Some(Token::Word(_)) => {
                    let place = self.tokens.front().map(|(place, _)| place.clone());
                    let value = self.list_value()?;
                    values.push((place.unwrap_or_else(|| self.last.clone()), value));
                }
                _ => return Err(self.wrong("a list is not closed: a ] is missing")),
            }
        }
    }

    /// A value of a list, behind which a list of its own may stand (a topology).
    fn list_value(&mut self) -> Result<Value, String> {
        let mut words: Vec<String> = Vec::new();
        loop {
            match self.tokens.front().map(|(_, token)| token.clone()) {
                Some(Token::Word(word)) => {
                    self.next();
                    words.push(word);
                }
                Some(Token::Mark('{')) => {
                    self.next();
                    return Ok(Value::Block(self.block(&words)?));
                }
                _ => return Ok(Value::Text(words.join(" "))),
            }
        }
    }
}
