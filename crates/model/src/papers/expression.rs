//! Parses and stores expressions: the small language in which a row defines how its value is computed.
//!
//! A row of a paper is data: `100 * (ultra_read[64] / fast_read[64] - 1)` states which two simulated runs
//! give the claim and how. As code, three hundred claims would be three hundred functions whose arithmetic
//! is hard to review. With a fixed set of methods and arguments (ratio, gain, share, ...), every fifth
//! claim would need a method of its own. So the language has arithmetic, names of curves, and a few
//! functions.
//!
//! ```text
//! ultra_read[64]                     the curve of that name at 64, in its own metric
//! ultra_read[64]:cpu_ms_per_mib      the same in another metric
//! R096 / R010                        values of claims; R256[2] is the second one
//! first_over(fig03.ultra, 0, 999, fig03.ultra[x] - 5)   aggregates bind x to the curve's points
//! ```

use std::fmt;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// The x value of the point that is being evaluated.
    X,
    /// The negated expression.
    Negate(Box<Self>),
    /// An operator (`+`, `-`, `*`, `/`) and its two operands.
    Binary(char, Box<Self>, Box<Self>),
    /// A curve, at one point or as a whole.
    Curve(CurveUse),
    /// A function and its arguments.
    Call(String, Vec<Self>),
}

/// A curve in an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveUse {
    /// Name of a case, a series or a claim.
    pub name: String,
    /// The point at which it is read; `None` for the whole curve.
    pub at: Option<Box<Expression>>,
    /// The requested metric; `None` for the curve's own.
    pub metric: Option<String>,
}

/// An error in the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at character {at} of {text:?}")]
pub struct SyntaxError {
    /// Description of the error.
    pub what: String,
    /// Position in characters, from 1.
    pub at: usize,
    /// The whole text.
    pub text: String,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// The error and its position.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut reader = Reader { text, rest: text };
        let parsed = reader.sum()?;
        reader.skip();
        if reader.rest.is_empty() { Ok(parsed) } else { Err(reader.error("unexpected text")) }
    }

    /// Calls `visit` with every use of a curve.
    pub fn curves(&self, visit: &mut dyn FnMut(&CurveUse)) {
        match self {
            Self::Number(_) | Self::X => {}
            Self::Negate(inner) => inner.curves(visit),
            Self::Binary(_, left, right) => {
                left.curves(visit);
                right.curves(visit);
            }
            Self::Curve(curve) => {
                visit(curve);
                if let Some(at) = &curve.at {
                    at.curves(visit);
                }
            }
            Self::Call(_, arguments) => {
                arguments.iter().for_each(|argument| argument.curves(visit));
            }
        }
    }
}

impl fmt::Display for CurveUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        self.metric.as_ref().map_or(Ok(()), |metric| write!(f, ":{metric}"))
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn error(&self, what: impl Into<String>) -> SyntaxError {
        let at = self.text.len() - self.rest.len() + 1;
        SyntaxError { what: what.into(), at, text: self.text.to_owned() }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Consumes the sign if it is next.
    fn take(&mut self, sign: char) -> bool {
        self.skip();
        let found = self.rest.strip_prefix(sign);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn expect(&mut self, sign: char) -> Result<(), SyntaxError> {
        if self.take(sign) { Ok(()) } else { Err(self.error(format!("'{sign}' is missing"))) }
    }

    /// Consumes the longest run of matching characters.
    fn run(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|letter| !fits(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn sum(&mut self) -> Result<Expression, SyntaxError> {
        self.chain(['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Expression, SyntaxError> {
        self.chain(['*', '/'], Self::factor)
    }

    /// Operands joined by any of the signs, evaluated from left to right.
    fn chain(
        &mut self,
        signs: [char; 2],
        operand: fn(&mut Self) -> Result<Expression, SyntaxError>,
    ) -> Result<Expression, SyntaxError> {
        let mut left = operand(self)?;
        while let Some(sign) = signs.into_iter().find(|&sign| self.take(sign)) {
            left = Expression::Binary(sign, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, SyntaxError> {
        if self.take('-') {
            return Ok(Expression::Negate(Box::new(self.factor()?)));
        }
        if self.take('(') {
            let inner = self.sum()?;
            self.expect(')')?;
            return Ok(inner);
        }
        self.skip();
        if self.rest.starts_with(|letter: char| letter.is_ascii_digit()) {
            let digits = self.run(|letter| letter.is_ascii_digit() || letter == '.');
            return digits.parse().map(Expression::Number).map_err(|_| self.error("bad number"));
        }
        self.named()
    }

    /// An expression that begins with a name: x, a curve or a function.
    fn named(&mut self) -> Result<Expression, SyntaxError> {
        let name = self.run(|letter| letter.is_ascii_alphanumeric() || "_.".contains(letter));
        if name.is_empty() {
            return Err(self.error("a value is missing"));
        }
        if name == "x" {
            return Ok(Expression::X);
        }
        if self.take('(') {
            let mut arguments = vec![self.sum()?];
            while self.take(',') {
                arguments.push(self.sum()?);
            }
            self.expect(')')?;
            return Ok(Expression::Call(name.to_owned(), arguments));
        }
        let mut at = None;
        if self.take('[') {
            at = Some(Box::new(self.sum()?));
            self.expect(']')?;
        }
        let metric = self.metric()?;
        Ok(Expression::Curve(CurveUse { name: name.to_owned(), at, metric }))
    }

    /// The text from an opening bracket to its closing bracket, both included.
    fn in_brackets(&mut self) -> Result<&'a str, SyntaxError> {
        let mut open = 0;
        for (at, letter) in self.rest.char_indices() {
            open += i32::from(letter == '(') - i32::from(letter == ')');
            if open == 0 {
                let (text, rest) = self.rest.split_at(at + 1);
                self.rest = rest;
                return Ok(text);
            }
        }
        Err(self.error("')' is missing"))
    }

    /// `:name` or `:name(component)`.
    fn metric(&mut self) -> Result<Option<String>, SyntaxError> {
        let Some(rest) = self.rest.strip_prefix(':') else { return Ok(None) };
        self.rest = rest;
        let mut metric =
            self.run(|letter| letter.is_ascii_alphanumeric() || letter == '_').to_owned();
        if self.rest.starts_with('(') {
            metric.push_str(self.in_brackets()?);
        }
        Ok(Some(metric))
    }
}
