//! Judges what a command line did: compares bytes, names and exit code with the model.

use super::bytes::{self, Content, Entry};
use super::model::{Verdict, may_write, may_write_contained};
use super::own_files::{self, Expect, OwnFileCase};
use super::quoted;
use super::stack::Stack;
use super::verbs::{Attempt, Class, Kit};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// Exit codes for a refusal: usage, and safety.
const REFUSALS: [i32; 2] = [2, 3];
const DONE: [i32; 2] = [0, 1];
/// Exit code for a file that cannot be used as a database, which is not a safety problem.
const NO_RESULT: i32 = 4;
/// Starts a program in its own process namespace.
const CONTAINER: [&str; 4] = ["unshare", "--pid", "--fork", "--mount-proc"];
/// The databases in the folder of the program's own files.
pub(super) const DATABASES: [&str; 2] = ["data/halfpower/halfpower.db", "other.db"];

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// Bytes or names changed without permission.
    Hole,
    /// The command was not refused, but changed nothing this time.
    NotRefused,
    /// The command failed, but not with the exit code of a refusal.
    ExitCode,
    /// An operation that the user must be able to do was refused.
    Useless,
    /// An operation that need not work was refused. Not a failure.
    OverRefusal,
}

impl Fault {
    pub(super) fn fails(self) -> bool {
        self != Self::OverRefusal
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Hole => "HOLE",
            Self::NotRefused => "NOT REFUSED",
            Self::ExitCode => "EXIT CODE",
            Self::Useless => "USELESS",
            Self::OverRefusal => "over-refusal",
        }
    }
}

/// A fault, with the information to reproduce it.
pub(super) struct Finding {
    pub(super) fault: Fault,
    /// Findings with the same key are of one kind.
    pub(super) key: String,
    pub(super) text: String,
}

/// Outcome of a command line.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) findings: Vec<Finding>,
    /// Whether it wrote where it was allowed to.
    pub(super) wrote: bool,
    pub(super) refused: bool,
}

/// Everything that is compared.
pub(super) struct State {
    contents: Vec<Option<Content>>,
    names: BTreeMap<PathBuf, Entry>,
}

impl State {
    /// Reads the stack and the folder that the commands use.
    pub(super) fn read(stack: &Stack, kit: &Kit) -> Result<Self> {
        let mut names = bytes::names(stack.folder.path())?;
        names.extend(bytes::names(&kit.folder)?);
        Ok(Self { contents: stack.contents()?, names })
    }
}

/// Runs the program and compares. `state` is the state before, and becomes the state after.
pub(super) fn attempt(
    kit: &Kit,
    stack: &Stack,
    state: &mut State,
    node: usize,
    attempt: &Attempt,
) -> Result<Outcome> {
    let verdict = match attempt.class {
        Class::Write if attempt.contained => may_write_contained(&stack.nodes, node),
        Class::Write => may_write(&stack.nodes, node),
        Class::WriteWithoutLeave => Verdict::Forbidden("no flag names it".to_owned()),
        Class::Read => Verdict::Allowed,
        Class::Result => Verdict::Forbidden("it is no older result".to_owned()),
    };
    let writes = attempt.class == Class::Write && !matches!(verdict, Verdict::Forbidden(_));
    // Files that were prepared for the command belong to the state before it.
    state.names.extend(bytes::names(&kit.folder)?);
    let front: &[&str] = if attempt.contained { &CONTAINER } else { &[] };
    let mut program = own_files::in_front(kit, &kit.folder, &kit.home, front, &attempt.words);
    let run = program.stdin(Stdio::null()).output()?;
    let after = State::read(stack, kit)?;
    let (mut damage, mut wrote) = (Vec::new(), false);
    let span = stack.nodes[node].span;
    for (base, (one, other)) in state.contents.iter().zip(&after.contents).enumerate() {
        let (Some(one), Some(other)) = (one, other) else { continue };
        let may = if writes && base == span.base {
            (span.start, span.end)
        } else if writes && stack.with_hosts(span.base).contains(&base) {
            (0, u64::MAX)
        } else {
            (0, 0)
        };
        wrote |= writes && base == span.base && one != other;
        if let Some((first, last)) = bytes::changed(one, other, may) {
            damage.push(format!("{}: bytes {first} to {last}", stack.bases[base].label));
        }
    }
    damage.extend(renamed(&state.names, &after.names, |_| false));
    *state = after;
    let reproduce = format!(
        "stack:\n{}made by:\n{}\n{}",
        stack.drawing(),
        stack.lines.join("\n"),
        attempt.prepared.join("\n")
    );
    let target = &stack.nodes[node];
    let allowed = match &verdict {
        Verdict::Forbidden(reason) => Leave::Refuse(reason),
        Verdict::Open(_) => Leave::Either,
        Verdict::Allowed if attempt.must => Leave::Must,
        Verdict::Allowed => Leave::May,
    };
    let kind = target.label.trim_end_matches(char::is_numeric);
    let what = format!("{} on {kind}{}", attempt.verb, stack.note);
    let command = format!("{} {}", front.join(" "), shown(kit, &attempt.words));
    let findings = findings(&what, &allowed, &damage, &run, &command, &reproduce);
    Ok(Outcome { findings, wrote, refused: was_refused(&run, &command) })
}

/// The same for one of the program's own files.
pub(super) fn own_file(
    kit: &Kit,
    case: &OwnFileCase,
    python: &Path,
    rows: &[BTreeMap<String, u64>],
) -> Result<Outcome> {
    let before = bytes::names(&case.folder)?;
    let mut program = own_files::command(kit, &case.folder, &case.folder, &case.words);
    let run = program.stdin(Stdio::null()).output()?;
    let after = bytes::names(&case.folder)?;
    let may = |path: &Path| {
        let text = path.strip_prefix(&case.folder).unwrap_or(path).to_string_lossy().into_owned();
        // Databases are judged by their rows, because the program may open one before it refuses.
        let database = DATABASES.iter().any(|name| text.starts_with(name));
        let changes = matches!(case.expect, Expect::Works(name) if text.ends_with(name));
        // Hard links of the file change with it; a link remains a link.
        database && before[path].same_file(after.get(path)) || changes && before[path].is_file()
    };
    let mut damage: Vec<String> = renamed(&before, &after, may);
    if case.words.iter().any(|word| word.contains(".db")) {
        for (name, rows) in DATABASES.iter().zip(rows) {
            match own_files::rows(python, &case.folder.join(name)) {
                Ok(now) => damage.extend(rows.iter().filter_map(|(table, rows)| {
                    let left = now.get(table).unwrap_or(&0);
                    (left < rows).then(|| format!("{name}: {left} of {rows} rows of {table}"))
                })),
                Err(error) => damage.push(format!("{error:#}")),
            }
        }
    }
    let reproduce = format!("in a folder with the program's files:\n{}", case.lines.join("\n"));
    let allowed = match case.expect {
        Expect::Refused => Leave::Refuse("its content would be lost"),
        Expect::Unharmed => Leave::Either,
        Expect::Works(_) => Leave::Must,
    };
    let command = shown(kit, &case.words);
    let findings = findings(case.what, &allowed, &damage, &run, &command, &reproduce);
    Ok(Outcome { findings, wrote: false, refused: was_refused(&run, &command) })
}

fn shown(kit: &Kit, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("{} {}", kit.binary.display(), words.join(" "))
}

fn was_refused(run: &Output, command: &str) -> bool {
    let code = run.status.code();
    let as_database = code == Some(NO_RESULT) && command.contains(" --db ");
    as_database || code.is_some_and(|code| REFUSALS.contains(&code))
}

/// Names that existed before and are now different files.
fn renamed(
    before: &BTreeMap<PathBuf, Entry>,
    after: &BTreeMap<PathBuf, Entry>,
    may: impl Fn(&Path) -> bool,
) -> Vec<String> {
    let lost = before.iter().filter(|(path, _)| !may(path));
    lost.filter_map(|(path, entry)| {
        let how = entry.difference(after.get(path))?;
        Some(format!("{} {how}", path.display()))
    })
    .collect()
}

/// What the model allows.
enum Leave<'a> {
    Refuse(&'a str),
    Either,
    May,
    Must,
}

fn findings(
    what: &str,
    leave: &Leave<'_>,
    damage: &[String],
    run: &Output,
    command: &str,
    reproduce: &str,
) -> Vec<Finding> {
    let code = run.status.code().unwrap_or(-1);
    let (refused, done) = (was_refused(run, command), DONE.contains(&code));
    let mut faults = Vec::new();
    if !damage.is_empty() {
        faults.push(Fault::Hole);
    }
    match leave {
        Leave::Refuse(_) if done && damage.is_empty() => faults.push(Fault::NotRefused),
        Leave::Refuse(_) if !done && !refused => faults.push(Fault::ExitCode),
        Leave::Must if refused => faults.push(Fault::Useless),
        Leave::Must if !done => faults.push(Fault::ExitCode),
        Leave::May | Leave::Either if refused => faults.push(Fault::OverRefusal),
        _ => {}
    }
    let reason = match leave {
        Leave::Refuse(reason) => format!("forbidden, because {reason}"),
        Leave::Either => "left open by the promise".to_owned(),
        Leave::May | Leave::Must => "allowed".to_owned(),
    };
    let said = String::from_utf8_lossy(&run.stderr);
    let finding = |fault: Fault| Finding {
        fault,
        key: format!("{}: {what}: {reason}", fault.word()),
        text: format!(
            "{reproduce}\ncommand (exit code {code}):\n{command}\nchanged: {}\nit said: {}",
            if damage.is_empty() { "nothing".to_owned() } else { damage.join("; ") },
            said.trim().lines().last().unwrap_or("nothing")
        ),
    };
    faults.into_iter().map(finding).collect()
}
