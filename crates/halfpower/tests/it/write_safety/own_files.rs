//! The program's own files: its database, the inputs of a command, and results in place of other files.
//!
//! Each case is one command line in a fresh copy of a folder. `{name}` stands for a file in it, under a
//! random other name (a link, a hard link, a path with dots). If it occurs twice, both names are of one file.

use super::draw::pick;
use super::output;
use super::verbs::{Kit, words};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use workload::Rng;

/// Required result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    /// Exit code 2 or 3, and nothing changes.
    Refused,
    /// Nothing changes, whatever the exit code.
    Unharmed,
    /// Exit code 0 or 1, and only the named file changes.
    Works(&'static str),
}
use Expect::{Refused, Unharmed, Works};

const W: &str = "--rw randwrite --bs 512 --size 4k --io-size 4k --runtime 300ms --overwrite";
const R: &str = "--rw randread --bs 512 --size 4k --io-size 4k --runtime 300ms --no-save";
const SIM: &str = "run sim:mm1 --io-size 64k --no-save";

/// What is at risk, the command line (`{W}`, `{R}` and `{SIM}` are defined above), and the required result.
const CASES: &[(&str, &str, Expect)] = &[
    ("the database as target", "run {data/halfpower/halfpower.db} {W}", Refused),
    ("the database as target", "run {data/halfpower/halfpower.db} {W} --no-save", Refused),
    (
        "the database as target of fio's words",
        "run --name=a --filename={data/halfpower/halfpower.db} --rw=write --bs=4k --size=4k --overwrite",
        Refused,
    ),
    ("the database of --db as target", "run {other.db} {W} --db {other.db}", Refused),
    (
        "the database of --db as target of a sweep",
        "sweep riedel {other.db} --set rw=write --set bs=512 --size 4k --runtime 20ms --blocks 1 --overwrite --db {other.db}",
        Refused,
    ),
    (
        "the database's log as target",
        "run {data/halfpower/halfpower.db-wal} {W} --no-save",
        Refused,
    ),
    (
        "the database's index as target",
        "run {data/halfpower/halfpower.db-shm} {W} --no-save",
        Refused,
    ),
    ("the database as a leg", "run {victim} {data/halfpower/halfpower.db} --raid 1 {W}", Refused),
    (
        "the database beside",
        "run {victim} {R} --overwrite --beside \"{data/halfpower/halfpower.db} --rw randwrite --bs 512 --io-size 4k\"",
        Refused,
    ),
    ("a job file as target", "run {job.job} {W}", Refused),
    ("a job file as target", "run {conf} {W}", Refused),
    ("a job file as target", "run {job.fio} {W}", Refused),
    ("a job file that names itself", "run own.fio --overwrite", Refused),
    ("a job file as second target", "run {victim} {conf} {W}", Refused),
    (
        "a trace as target",
        "run {trace.io} --replay {trace.io} --replay-speed max --cache all --overwrite",
        Refused,
    ),
    (
        "a trace as target beside",
        "run {victim} {R} --overwrite --beside \"{trace.io} --replay {trace.io} --replay-speed max\"",
        Refused,
    ),
    (
        "a trace as target of fio's words",
        "run --name=a --filename={trace.io} --read_iolog={trace.io} --rw=write --overwrite",
        Refused,
    ),
    (
        "a design as target",
        "sweep {design.toml} {design.toml} --set rw=write --set bs=512 --size 4k --runtime 20ms --blocks 1 --overwrite",
        Refused,
    ),
    (
        "a list of hosts as target",
        "run {hosts.txt} --hosts @{hosts.txt} --launch \"{BIN} agent\" {W}",
        Refused,
    ),
    ("the target as result", "run {victim} {R} --output {victim}", Refused),
    ("the target as result", "run {victim} {W} --output {victim}", Refused),
    ("the target as intervals", "run {victim} {R} --interval 100ms --csv {victim}", Refused),
    ("the target as a line", "run {victim} {R} --sqlio-csv {victim}", Refused),
    ("the target as database", "run {victim} {W} --db {victim}", Refused),
    ("an older trial as target and result", "run {older.json} {W} --output {older.json}", Refused),
    ("the database as result", "{SIM} --output {data/halfpower/halfpower.db}", Refused),
    (
        "the database as result",
        "run sim:mm1 --io-size 64k --db {other.db} --output {other.db}",
        Refused,
    ),
    ("the database as page", "report {trial.json} -o {data/halfpower/halfpower.db}", Refused),
    ("the database's log as result", "{SIM} --output {data/halfpower/halfpower.db-wal}", Refused),
    (
        "a trace as result",
        "run {victim} --replay {trace.io} --replay-speed max --cache all --overwrite --output {trace.io}",
        Refused,
    ),
    ("a job file as result", "run {job.fio} --overwrite --output {job.fio}", Refused),
    (
        "a job file as fio's result",
        "run {job.fio} --overwrite --output-format=json --output={job.fio}",
        Refused,
    ),
    (
        "a machine as result",
        "run sim:{machine.toml} --io-size 64k --no-save --output {machine.toml}",
        Refused,
    ),
    (
        "a machine as intervals",
        "run sim:{machine.toml} --runtime 1s --interval 500ms --no-save --csv {machine.toml}",
        Refused,
    ),
    ("the document as its page", "report {trial.json} -o {trial.json}", Refused),
    ("the document as its values", "report {trial.json} --csv {trial.json}", Refused),
    ("the document as its lines", "report {trial.json} --sqlio-csv {trial.json}", Refused),
    ("the document as its table", "export {trial.json} --csv linked", Refused),
    (
        "a list of hosts as result",
        "run {victim} --hosts @{hosts.txt} --launch \"{BIN} agent\" {R} --output {hosts.txt}",
        Refused,
    ),
    ("a foreign file as result", "{SIM} --output {notes.json}", Refused),
    ("a foreign file as result", "{SIM} --output {notes.csv}", Refused),
    ("a page as result", "{SIM} --output {page.html}", Refused),
    ("lines as result", "{SIM} --output {lines.csv}", Refused),
    ("a trial as lines", "{SIM} --sqlio-csv {older.json}", Refused),
    ("a foreign table as lines", "{SIM} --sqlio-csv {notes.csv}", Refused),
    (
        "a foreign table as intervals",
        "run sim:mm1 --runtime 1s --interval 500ms --no-save --csv {notes.csv}",
        Refused,
    ),
    (
        "lines as intervals",
        "run sim:mm1 --runtime 1s --interval 500ms --no-save --csv {lines.csv}",
        Refused,
    ),
    ("a trial as page", "report {trial.json} -o {older.json}", Refused),
    ("a foreign file as page", "report {trial.json} -o {notes.json}", Refused),
    ("a foreign page as page", "report {trial.json} -o {foreign.html}", Refused),
    (
        "a trial as recording",
        "record --for 100ms --interval 50ms --trace=no --no-processes --no-save -o {older.json}",
        Refused,
    ),
    ("a foreign file as trace", "record loop7 --for 100ms --trace-io {notes.csv}", Refused),
    ("a job file as trace", "record loop7 --for 100ms --trace-io {job.fio}", Refused),
    ("a foreign database", "run sim:mm1 --io-size 64k --db {foreign.db}", Refused),
    ("a foreign text as database", "run sim:mm1 --io-size 64k --db {notes.csv}", Refused),
    ("a trial as database", "run sim:mm1 --io-size 64k --db {older.json}", Refused),
    (
        "the database of the environment as target",
        "HALFPOWER_DB=other.db run {other.db} {W}",
        Refused,
    ),
    ("a user's folder as control group", "run {victim} {W} --no-save --cgroup group", Refused),
    ("a foreign page by its usual name", "report {trial.json}", Refused),
    ("a foreign page for papers", "papers --html {foreign.html}", Refused),
    ("foreign files as tables", "export {trial.json} --csv taken", Refused),
    ("a dangling link as result", "{SIM} --output gone", Unharmed),
    (
        "a dangling link as intervals",
        "run sim:mm1 --runtime 1s --interval 500ms --no-save --csv gone",
        Unharmed,
    ),
    ("a dangling link as lines", "{SIM} --sqlio-csv gone", Unharmed),
    ("a dangling link as page", "report {trial.json} -o gone", Unharmed),
    ("a dangling link as values", "report {trial.json} --csv gone", Unharmed),
    ("a dangling link as database", "run sim:mm1 --io-size 64k --db gone", Unharmed),
    (
        "a dangling link as recording",
        "record --for 100ms --interval 50ms --trace=no --no-processes --no-save -o gone",
        Unharmed,
    ),
    ("a dangling link as trace", "record loop7 --for 100ms --trace-io gone", Unharmed),
    ("a dangling link as target", "run gone {W} --no-save", Unharmed),
    ("a dangling link as table", "export {trial.json} --csv dangling", Unharmed),
    ("a link to nowhere as folder", "export {trial.json} --csv gone", Unharmed),
    ("an older trial replaced", "{SIM} --output {older.json}", Works("older.json")),
    ("an older page replaced", "report {trial.json} -o {page.html}", Works("page.html")),
    ("a line added", "{SIM} --sqlio-csv {lines.csv}", Works("lines.csv")),
    (
        "older intervals replaced",
        "run sim:mm1 --runtime 1s --interval 500ms --no-save --csv {intervals.csv}",
        Works("intervals.csv"),
    ),
    ("a result saved", "run sim:mm1 --io-size 64k --db {other.db}", Works("other.db")),
    ("a free file written", "run {victim} {W} --no-save", Works("victim")),
    ("a free trial as target", "run {older.json} {W} --no-save", Works("older.json")),
    ("a free trace as target", "run {trace.io} {W} --no-save", Works("trace.io")),
];

/// Python script that prints the number of rows of each table, or the fault of a database, whose name is its
/// argument.
const COUNT: &str = "\
import sqlite3, sys
base = sqlite3.connect(sys.argv[1])
names = [row[0] for row in base.execute('select name from sqlite_schema where type = \"table\"')]
print(base.execute('pragma integrity_check').fetchone()[0])
for name in sorted(names):
    print(name, base.execute(f'select count(*) from \"{name}\"').fetchone()[0])
";

/// The rows of a database by table; an error if the database is damaged.
pub(super) fn rows(python: &Path, database: &Path) -> Result<BTreeMap<String, u64>> {
    let output = output(Command::new(python).args(["-c", COUNT]).arg(database), &[0])?;
    let text = String::from_utf8_lossy(&output);
    ensure!(text.starts_with("ok\n"), "{}: {}", database.display(), text.trim());
    let row = |line: &str| {
        let (name, count) = line.rsplit_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    Ok(text.lines().filter_map(row).collect())
}

/// A case in a fresh folder.
pub(super) struct OwnFileCase {
    pub(super) what: &'static str,
    pub(super) expect: Expect,
    pub(super) words: Vec<String>,
    /// Shell commands that gave files their other names.
    pub(super) lines: Vec<String>,
    pub(super) folder: PathBuf,
}

/// Makes the initial folder of all cases.
pub(super) fn template(kit: &Kit, parent: &Path, python: &Path) -> Result<PathBuf> {
    let folder = parent.join("own-files");
    fs::create_dir_all(folder.join("data"))?;
    let run = |text: &str| {
        let text = text.replace("{SIM}", SIM);
        let mut command = command(kit, &folder, &folder, &words(&text));
        output(&mut command, &[0, 1]).map(|output| output.len())
    };
    run("run sim:mm1 --io-size 64k")?;
    run("run sim:mm1 --io-size 64k --db other.db")?;
    run("{SIM} --output trial.json")?;
    run("{SIM} --seed 7 --output older.json --sqlio-csv lines.csv")?;
    run("run sim:mm1 --runtime 1s --interval 500ms --no-save --csv intervals.csv")?;
    run("report trial.json -o page.html")?;
    let printed = |text: &str| output(&mut command(kit, &folder, &folder, &words(text)), &[0]);
    let machine = printed("run --show-sim mm1")?;
    fs::write(folder.join("machine.toml"), machine)?;
    let design = printed("sweep --show riedel")?;
    let padding = "# nobody needs this line, but the file is to be long enough\n".repeat(1200);
    fs::write(folder.join("design.toml"), [&design, padding.as_bytes()].concat())?;
    let job =
        |name: &str| format!("[a]\nfilename={name}\nrw=randwrite\nbs=512\nsize=4k\n{padding}");
    let texts = [
        ("job.fio", job("victim")),
        ("job.job", job("victim")),
        ("conf", job("victim")),
        ("own.fio", job("own.fio")),
        ("hosts.txt", format!("x\n{padding}")),
        ("victim", "what the user needs no more\n".repeat(4000)),
        ("notes.json", format!("{{\"notes\": \"{}\"}}\n", "mine ".repeat(2000))),
        ("notes.csv", "when,what\nnow,this\n".repeat(600)),
        ("foreign.html", format!("<!doctype html><p>{}\n", "mine ".repeat(2000))),
    ];
    for (name, text) in texts {
        fs::write(folder.join(name), text)?;
    }
    let trace = "x write 0 512\nx write 4096 512\n".repeat(300);
    fs::write(
        folder.join("trace.io"),
        format!("fio version 2 iolog\nx add\nx open\n{trace}x close\n"),
    )?;
    // A database of another program, and the log with the last changes of a killed program.
    let script = "import os, sqlite3\n\
        sqlite3.connect('foreign.db').executescript('create table mine (a); insert into mine values (1)')\n\
        left = sqlite3.connect('data/halfpower/halfpower.db')\n\
        left.execute('create table left_over (a)')\n\
        left.execute('insert into left_over values (zeroblob(20000))')\n\
        left.commit()\n\
        os._exit(0)";
    output(Command::new(python).args(["-c", script]).current_dir(&folder), &[0])?;
    let links = "mkdir group taken && for name in tasks cgroup.threads cgroup.procs; do echo mine > group/$name; done \
                 && echo mine > report.html && for name in trials intervals histograms clients; do \
                 echo mine > taken/$name.csv; done && ln -s nothing-yet gone && mkdir linked dangling sub && ln -s ../trial.json linked/trials.csv \
                 && ln -s ../nothing-yet dangling/trials.csv";
    output(Command::new("sh").args(["-c", links]).current_dir(&folder), &[0])?;
    Ok(folder)
}

/// The program in a folder, with its database below `home`.
pub(super) fn command(kit: &Kit, folder: &Path, home: &Path, words: &[String]) -> Command {
    in_front(kit, folder, home, &[], words)
}

/// The same with other words in front, such as those that start it in a namespace.
pub(super) fn in_front(
    kit: &Kit,
    folder: &Path,
    home: &Path,
    front: &[&str],
    words: &[String],
) -> Command {
    let mut command = Command::new("timeout");
    // Like a shell: `NAME=value` in front sets a variable.
    let is_variable = |word: &&String| word.starts_with(|c: char| c.is_uppercase());
    let variables = words.iter().take_while(is_variable).filter_map(|word| word.split_once('='));
    let words = words.iter().skip_while(is_variable);
    command
        .args(["--kill-after=2", "40"])
        .args(front)
        .arg(&kit.binary)
        .args(words)
        .current_dir(folder);
    command.env_remove("HALFPOWER_DB").envs(variables).env("XDG_DATA_HOME", home.join("data"));
    command
}

/// Draws a case.
pub(super) fn draw(
    kit: &Kit,
    template: &Path,
    folder: &Path,
    rng: &mut Rng,
) -> Result<OwnFileCase> {
    let copy = format!("rm -rf {1} && cp -a {0} {1}", template.display(), folder.display());
    output(Command::new("sh").args(["-c", &copy]), &[0])?;
    let (what, text, expect) = pick(rng, CASES);
    let mut text = text.replace("{W}", W).replace("{R}", R).replace("{SIM}", SIM);
    text = text.replace("{BIN}", &kit.binary.display().to_string());
    let mut lines = Vec::new();
    while let Some((before, rest)) = text.split_once('{') {
        let (name, after) = rest.split_once('}').context("a brace is closed")?;
        let (other, line) = other_name(rng, folder, name, lines.len());
        if let Some(line) = line {
            let line = format!("cd {} && {line}", folder.display());
            output(Command::new("sh").args(["-c", &line]), &[0])?;
            lines.push(line);
        }
        text = format!("{before}{other}{after}");
    }
    Ok(OwnFileCase { what, expect, words: words(&text), lines, folder: folder.to_owned() })
}

/// Another name of a file in the folder, and the command that makes it.
fn other_name(rng: &mut Rng, folder: &Path, name: &str, number: usize) -> (String, Option<String>) {
    let last = name.rsplit('/').next().unwrap_or(name);
    match rng.below(6) {
        0 => (format!("sub/../{name}"), None),
        1 => (folder.join(name).display().to_string(), None),
        2 => {
            let link = format!("link{number}-{last}");
            (link.clone(), Some(format!("ln -s {name} {link}")))
        }
        3 => {
            // A second name of a database in another folder would lose its log, so the name stays in the same
            // folder.
            let link =
                format!("{}hard{number}-{last}", name.strip_suffix(last).unwrap_or_default());
            (link.clone(), Some(format!("ln {name} {link}")))
        }
        _ => (name.to_owned(), None),
    }
}
