//! Controls a headless browser through its debugging pipe.
//!
//! Chromium reads commands from descriptor 3 and answers on descriptor 4, as JSON documents that end with a
//! zero byte (Chrome DevTools Protocol, `--remote-debugging-pipe`). One process serves all pages, widths and
//! colour schemes, because a start takes a second but a page a tenth. Rejected: `--dump-dom` and
//! `--screenshot` (one start per look, without print mode or a choice of scheme), and a crate for the
//! protocol (a hundred thousand generated lines for nine commands).

use anyhow::{Context, Result, bail, ensure};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// Maximum time for an answer. A page of a megabyte takes a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a page is displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) dark: bool,
    pub(super) print: bool,
}

impl Look {
    /// A window in light colours.
    pub(super) fn light(width: u32, height: u32) -> Self {
        Self { width, height, dark: false, print: false }
    }
}

pub(super) struct Browser {
    child: Child,
    commands: File,
    answers: Receiver<Value>,
    last_id: u64,
    /// Profile and pipes, deleted on drop.
    _folder: TempDir,
}

/// A tab.
#[derive(Clone, Debug)]
pub(super) struct Tab(String);

impl Browser {
    pub(super) fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let [commands, answers] = ["commands", "answers"].map(|name| folder.path().join(name));
        for pipe in [&commands, &answers] {
            mkfifo(pipe, Mode::S_IRUSR | Mode::S_IWUSR).context("cannot make a pipe")?;
        }
        let child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<\"$0/commands\" 4>\"$0/answers\""])
            .arg(folder.path())
            .args(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"])
            .args(["--disable-component-update", "--disable-sync", "--remote-debugging-pipe"])
            .args(["--force-device-scale-factor=1", "--font-render-hinting=none"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot run sh")?;
        // Each open blocks until the shell opens the other end, in this order.
        let commands = OpenOptions::new().write(true).open(&commands)?;
        let reader = BufReader::new(File::open(&answers)?);
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for document in reader.split(0).map_while(std::result::Result::ok) {
                let Ok(value) = serde_json::from_slice(&document) else { return };
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, commands, answers, last_id: 0, _folder: folder })
    }

    /// Sends a command, to a tab if one is given, and returns its result.
    fn ask(&mut self, tab: Option<&Tab>, method: &str, parameters: &Value) -> Result<Value> {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(Tab(session)) = tab {
            command["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).context("the browser ended")?;
        loop {
            let mut answer = self.next().with_context(|| format!("no answer to {method}"))?;
            if answer["id"] == json!(self.last_id) {
                ensure!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return Ok(answer["result"].take());
            }
        }
    }

    fn next(&mut self) -> Result<Value> {
        self.answers.recv_timeout(PATIENCE).context("the browser is silent")
    }

    pub(super) fn tab(&mut self) -> Result<Tab> {
        let made = self.ask(None, "Target.createTarget", &json!({ "url": "about:blank" }))?;
        let target = json!({ "targetId": made["targetId"], "flatten": true });
        let attached = self.ask(None, "Target.attachToTarget", &target)?;
        let session = attached["sessionId"].as_str().context("the browser made no tab")?;
        let tab = Tab(session.to_owned());
        self.ask(Some(&tab), "Page.enable", &json!({}))?;
        Ok(tab)
    }

    /// Opens a page and waits until it has loaded and its script has run.
    pub(super) fn open(&mut self, tab: &Tab, url: &str, look: Look) -> Result<()> {
        // A tab in the background is not drawn.
        self.ask(Some(tab), "Page.bringToFront", &json!({}))?;
        let Look { width, height, dark, print } = look;
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.ask(Some(tab), "Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({
            "media": if print { "print" } else { "screen" },
            "features": [{ "name": "prefers-color-scheme", "value": scheme }],
        });
        self.ask(Some(tab), "Emulation.setEmulatedMedia", &media)?;
        let went = self.ask(Some(tab), "Page.navigate", &json!({ "url": url }))?;
        ensure!(went["errorText"].is_null(), "{url}: {}", went["errorText"]);
        let idle = "new Promise(done => { \
                        const drawn = () => requestAnimationFrame(() => requestAnimationFrame(() => done(1))); \
                        document.readyState === 'complete' ? drawn() : addEventListener('load', drawn); })";
        self.evaluate(tab, idle)?;
        Ok(())
    }

    /// The value of an expression, or of its promise.
    pub(super) fn evaluate(&mut self, tab: &Tab, expression: &str) -> Result<Value> {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.ask(Some(tab), "Runtime.evaluate", &asked)?;
        if !answer["exceptionDetails"].is_null() {
            bail!("a script failed: {}", answer["exceptionDetails"]["exception"]["description"]);
        }
        Ok(answer["result"]["value"].take())
    }

    /// The window as PNG, in base 64.
    pub(super) fn picture(&mut self, tab: &Tab) -> Result<String> {
        let asked = json!({ "format": "png", "optimizeForSpeed": true });
        let answer = self.ask(Some(tab), "Page.captureScreenshot", &asked)?;
        Ok(answer["data"].as_str().context("the browser took no picture")?.to_owned())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends when asked; if that fails, it is killed.
        let asked = self.ask(None, "Browser.close", &json!({}));
        if asked.is_err() {
            self.child.kill().ok();
        }
        self.child.wait().ok();
    }
}
