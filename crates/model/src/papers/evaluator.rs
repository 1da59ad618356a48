//! Evaluates expressions: formulae over published inputs, and simulated runs.
//!
//! A name refers to a case (a simulated run) if one exists, otherwise to a published series or claim. A row
//! of class *simulated* or *fitted* must not use any published value. This is checked here, so that a
//! simulation cannot be tuned to the value that it is compared with.

use crate::papers::expression::{CurveUse, Expression};
use crate::papers::library::{Case, Library};
use crate::papers::run_line::{RunLine, Switch};
use libm::{ceil, fabs, floor, round, sqrt};
use std::fmt::Write;

/// Returns a metric of a run.
pub(crate) type Runs<'a> = dyn FnMut(&RunLine, &str) -> Result<f64, String> + 'a;

/// Evaluates the expressions of one row.
pub(crate) struct Evaluator<'a> {
    pub(crate) library: &'a Library,
    pub(crate) runs: &'a mut Runs<'a>,
    pub(crate) without: &'a [Switch],
    /// Whether published values may be used.
    pub(crate) inputs: bool,
}

impl Evaluator<'_> {
    pub(crate) fn value(&mut self, of: &Expression, x: Option<f64>) -> Result<f64, String> {
        match of {
            Expression::Number(number) => Ok(*number),
            Expression::X => x.ok_or_else(|| "x has no value here".to_owned()),
            Expression::Negate(inner) => Ok(-self.value(inner, x)?),
            Expression::Binary(sign, left, right) => {
                let (left, right) = (self.value(left, x), self.value(right, x));
                let (left, right) = (left?, right?);
                Ok(match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                })
            }
            Expression::Curve(curve) => {
                let at = curve.at.as_ref().map(|at| self.value(at, x)).transpose()?;
                self.read(curve, at)
            }
            Expression::Call(name, arguments) => self.call(name, arguments, x),
        }
    }

    /// The value of a curve at a point. Without a point: the only run of a case, or the first number of a
    /// claim.
    fn read(&mut self, curve: &CurveUse, at: Option<f64>) -> Result<f64, String> {
        if let Some(case) = self.library.cases.get(&curve.name) {
            let line = run_line(self.library, case, at, self.without)?;
            let metric = curve.metric.as_deref().unwrap_or(&case.metric);
            return (self.runs)(&line, metric).map_err(|error| format!("{line}: {error}"));
        }
        let points = self.input(&curve.name)?;
        let found = match at {
            Some(at) => points.iter().find(|(x, _)| fabs(x - at) <= 1e-9 * fabs(at)),
            None => points.first(),
        };
        let nothing = || format!("{} has no point at {}", curve.name, at.unwrap_or(1.0));
        found.map(|(_, value)| *value).ok_or_else(nothing)
    }

    fn input(&self, name: &str) -> Result<&[(f64, f64)], String> {
        let input = self.library.inputs.get(name);
        let input = input.ok_or_else(|| format!("there is no case, series or claim {name:?}"))?;
        if self.inputs {
            Ok(input)
        } else {
            Err(format!("{name} is published: a simulated row may not use it"))
        }
    }

    fn points_of(&self, curve: &CurveUse) -> Result<Vec<f64>, String> {
        match self.library.cases.get(&curve.name) {
            Some(case) => Ok(case.points.clone()),
            None => Ok(self.input(&curve.name)?.iter().map(|(x, _)| *x).collect()),
        }
    }

    /// A curve's points with their values.
    fn curve(&mut self, of: &Expression) -> Result<Vec<(f64, f64)>, String> {
        let curve = curve_of(of)?;
        let points = self.points_of(curve)?;
        points.into_iter().map(|x| Ok((x, self.read(curve, Some(x))?))).collect()
    }

    fn call(&mut self, name: &str, of: &[Expression], x: Option<f64>) -> Result<f64, String> {
        if let ("if_at", [at, here, elsewhere]) = (name, of) {
            let here_now = Some(self.value(at, x)?) == x;
            return self.value(if here_now { here } else { elsewhere }, x);
        }
        if let Some(over) = name.strip_suffix("_over") {
            return self.aggregate(over, of, x);
        }
        match (name, of) {
            ("min" | "max" | "mean", [curve @ Expression::Curve(used)]) if used.at.is_none() => {
                let values: Vec<f64> = self.curve(curve)?.iter().map(|(_, value)| *value).collect();
                aggregate(name, &values).ok_or_else(|| format!("{used} has no points"))
            }
            ("half_power", [curve, peak]) => {
                let half = self.value(peak, x)? / 2.0;
                let curve = self.curve(curve)?;
                let found = curve.iter().find(|(_, value)| *value >= half).map(|(x, _)| *x);
                found.ok_or_else(|| format!("no point reaches {half}"))
            }
            ("slope" | "intercept", [curve, low, high]) => {
                let (low, high) = (self.value(low, x)?, self.value(high, x)?);
                let points = self.curve(curve)?;
                let points: Vec<(f64, f64)> =
                    points.into_iter().filter(|(x, _)| (low..=high).contains(x)).collect();
                let line = line(&points).ok_or("a line needs two points")?;
                Ok(if name == "slope" { line.0 } else { line.1 })
            }
            _ => {
                let values = of.iter().map(|argument| self.value(argument, x));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                function(name, &values)
                    .ok_or_else(|| format!("{name} does not take {} values", values.len()))
            }
        }
    }

    /// `mean_over(curve, low, high, expression of x)` and similar: evaluates the expression at each point
    /// of the curve from low to high.
    fn aggregate(&mut self, name: &str, of: &[Expression], x: Option<f64>) -> Result<f64, String> {
        let [curve, low, high, value] = of else {
            return Err(format!("{name}_over takes a curve, two bounds and an expression"));
        };
        let (low, high) = (self.value(low, x)?, self.value(high, x)?);
        let points = self.points_of(curve_of(curve)?)?;
        let found = points.into_iter().filter(|x| (low..=high).contains(x));
        let found = found.map(|x| Ok((x, self.value(value, Some(x))?)));
        let found = found.collect::<Result<Vec<_>, String>>()?;
        let nothing = || format!("{name}_over does not find a point");
        // The first or last point at which the expression is not negative.
        let holds = |(_, value): &&(f64, f64)| *value >= 0.0;
        match name {
            "first" => found.iter().find(holds).map(|(x, _)| *x).ok_or_else(nothing),
            "last" => found.iter().rev().find(holds).map(|(x, _)| *x).ok_or_else(nothing),
            _ => {
                let values: Vec<f64> = found.into_iter().map(|(_, value)| value).collect();
                aggregate(name, &values).ok_or_else(nothing)
            }
        }
    }
}

/// The curve that an argument names.
fn curve_of(argument: &Expression) -> Result<&CurveUse, String> {
    match argument {
        Expression::Curve(curve) => Ok(curve),
        _ => Err("the name of a curve is missing".to_owned()),
    }
}

/// Combines several numbers into one.
fn aggregate(name: &str, values: &[f64]) -> Option<f64> {
    let all = || values.iter().copied();
    let (first, last) = (all().min_by(f64::total_cmp)?, all().max_by(f64::total_cmp)?);
    match name {
        "min" => Some(first),
        "max" => Some(last),
        "sum" => Some(values.iter().sum()),
        "mean" => Some(values.iter().sum::<f64>() / values.len() as f64),
        "median" => Some(stats::median(values.to_vec())),
        _ => None,
    }
}

fn function(name: &str, values: &[f64]) -> Option<f64> {
    match (name, values) {
        ("min" | "max" | "mean", _) => aggregate(name, values),
        ("abs", [value]) => Some(fabs(*value)),
        ("round", [value]) => Some(round(*value)),
        ("floor", [value]) => Some(floor(*value)),
        ("ceil", [value]) => Some(ceil(*value)),
        ("sqrt", [value]) => Some(sqrt(*value)),
        ("mm1_wait", [service, used]) => {
            crate::queueing::mm1_response(*service, *used).map(|latency| latency - service)
        }
        _ => None,
    }
}

/// Slope and intercept of the least-squares line.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    let shared: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| (shared / spread, mean_y - shared / spread * mean_x))
}

/// The run of a case at `x`.
fn run_line(
    library: &Library,
    case: &Case,
    x: Option<f64>,
    without: &[Switch],
) -> Result<RunLine, String> {
    let mut target = filled(library, &case.target, x)?;
    for switch in without.iter().filter(|_| case.drive) {
        let _ = write!(target, ",{}=off", switch.name());
    }
    let flags = filled(library, &case.flags, x)?.split_whitespace().map(str::to_owned).collect();
    Ok(RunLine { target, flags })
}

/// Fills the holes, `{expression of x}`, of a template. An expression there cannot name a curve.
fn filled(library: &Library, template: &str, x: Option<f64>) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('{') {
        let (hole, after) = behind.split_once('}').ok_or("a placeholder is not closed")?;
        let expression = Expression::parse(hole).map_err(|error| error.to_string())?;
        let mut curves = Vec::new();
        expression.curves(&mut |curve| curves.push(curve.to_string()));
        if let Some(curve) = curves.first() {
            return Err(format!("{curve} is a series, which a placeholder cannot contain"));
        }
        let runs = &mut |_: &RunLine, _: &str| Ok(1.0);
        let mut evaluator = Evaluator { library, runs, without: &[], inputs: false };
        text.push_str(before);
        let _ = write!(text, "{}", evaluator.value(&expression, x)?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}
