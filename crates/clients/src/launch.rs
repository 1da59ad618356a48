//! Starts agents by a command template.
//!
//! The template is split into words once, by shell rules, and never passed to a shell here: a host name is
//! part of one word whatever it contains. The remote side may well use a shell, as ssh does, and a name
//! could look like an option. So names may contain only the characters of host names.

use crate::link::{Event, Link, no_result};
use engine::input;
use plan::session::SessionError;
use record::shell_word;
use std::sync::mpsc;

/// Logs in without prompts, and gives up on a machine that does not respond.
pub const DEFAULT_LAUNCH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 \
                                  -o ServerAliveCountMax=3 {host} halfpower agent";

/// Hosts and the command that starts an agent on each.
pub struct Launch {
    hosts: Vec<String>,
    template: Vec<String>,
}

impl Launch {
    /// Hosts and a template. The hosts are separated by commas, or one per line in a file (`@FILE`). The
    /// template contains `{host}` or `{rank}`.
    ///
    /// # Errors
    /// If the file cannot be read, a name has invalid characters or occurs twice, or the template has
    /// unbalanced quotes.
    pub fn new(hosts: &str, template: &str) -> Result<Self, SessionError> {
        let text = match hosts.strip_prefix('@') {
            None => hosts.to_owned(),
            Some(file) => input::text(file.as_ref(), input::HOST_LIST)
                .map_err(|error| SessionError::Usage(format!("--hosts: {error}")))?,
        };
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let names = lines.flat_map(|line| line.split([',', ' ', '\t']));
        let hosts: Vec<String> =
            names.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        if hosts.is_empty() {
            return Err(SessionError::usage("--hosts contains no host"));
        }
        if let Some(bad) = hosts.iter().find(|name| !is_name(name)) {
            return Err(SessionError::Usage(format!(
                "--hosts: {bad:?} is not a valid host name: use letters, digits and . _ : @ [ ] -, \
                 without a leading -"
            )));
        }
        let template = shlex::split(template).filter(|words| !words.is_empty());
        let unsplit =
            "--launch cannot be split into words: it is empty, or a quote is missing at the end";
        let template = template.ok_or_else(|| SessionError::usage(unsplit))?;
        let told_apart =
            template.iter().any(|word| word.contains("{host}") || word.contains("{rank}"));
        if !told_apart && hosts.len() > 1 && !template.iter().any(|word| word == "agent") {
            let neither = "--launch contains neither {host} nor {rank}";
            let text = format!("{neither}, so all agents would start on one machine");
            return Err(SessionError::Usage(text));
        }
        Ok(Self { hosts, template })
    }

    /// The template, quoted so that it splits into the same words.
    pub(crate) fn words(&self) -> String {
        let quoted = |word: &String| match shlex::split(word) {
            // Braces have no special meaning in a template, so such a word needs no quotes.
            Some(cut) if cut == [word.as_str()] => word.clone(),
            _ => shell_word(word),
        };
        self.template.iter().map(quoted).collect::<Vec<_>>().join(" ")
    }

    /// Starts all agents.
    pub(crate) fn links(
        &self,
        events: &mpsc::SyncSender<Event>,
    ) -> Result<Vec<Link>, SessionError> {
        let start = |(rank, host): (usize, &String)| {
            let words: Vec<String> =
                self.template.iter().map(|word| fill(word, rank, host)).collect();
            Link::start(rank, host, &words, events).map_err(|message| no_result(host, message))
        };
        self.hosts.iter().enumerate().map(start).collect()
    }
}

pub(crate) fn fill(word: &str, rank: usize, host: &str) -> String {
    word.replace("{host}", host).replace("{rank}", &rank.to_string())
}

fn is_name(name: &str) -> bool {
    let of_name = |it: char| it.is_ascii_alphanumeric() || "._:@[]-".contains(it);
    !name.starts_with('-') && name.chars().all(of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_shell_or_a_program_could_take_for_more_is_refused() {
        for bad in ["-oProxyCommand=x", "a;b", "$(x)", "a`b`", "a/b", "a'b", "a\"b"] {
            assert!(Launch::new(bad, DEFAULT_LAUNCH).is_err(), "{bad}");
        }
        for good in ["a", "root@10.0.0.1", "[fe80::1]", "pod-1.ns"] {
            assert!(Launch::new(good, DEFAULT_LAUNCH).is_ok(), "{good}");
        }
    }

    #[test]
    fn the_template_is_words_and_a_host_stays_within_its_word() {
        let launch = Launch::new("a,b", "ip netns exec {host} 'half power' agent {rank}");
        let launch = launch.expect("it is a template");
        let words: Vec<String> = launch.template.iter().map(|word| fill(word, 1, "b")).collect();
        assert_eq!(words, ["ip", "netns", "exec", "b", "half power", "agent", "1"]);
        assert_eq!(launch.words(), "ip netns exec {host} 'half power' agent {rank}");
        assert!(Launch::new("a", "ssh 'x").is_err());
        assert!(Launch::new("a,b", "ssh host halfpower").is_err());
        assert!(Launch::new(" , ", "x {host}").is_err());
    }
}
