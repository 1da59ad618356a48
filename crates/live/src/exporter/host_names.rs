//! Decides which host names a request may use for this machine.
//!
//! A web page can point its own host name to this machine's address and then read this server's responses,
//! even on loopback (DNS rebinding). The browser still sends the page's name in `Host`. Requests to an
//! address are therefore accepted, because they contain no name. A name is accepted only if it is this
//! machine's own or was given by the user. Rejected: names that begin with the machine's name (a page's name
//! can do so), and DNS look-ups (which the page controls).

use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The names of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNames(BTreeSet<String>);

impl HostNames {
    /// The names of a machine whose host name is `host`: that name with and without its domain, its aliases
    /// in the hosts file (hosts(5)), and the name in each search domain of the resolver (resolv.conf(5));
    /// also `more`, and localhost.
    #[must_use]
    pub fn new(host: &str, hosts: &str, resolver: &str, more: &[String]) -> Self {
        let host = folded(host);
        let short = host.split('.').next().unwrap_or_default().to_owned();
        let is_own = |name: &str| *name == host || *name == short;
        let mut names = BTreeSet::from(["localhost".to_owned(), host.clone(), short.clone()]);
        for line in words_of(hosts) {
            let line: Vec<String> = line.skip(1).map(folded).collect();
            if line.iter().any(|name| is_own(name)) {
                names.extend(line);
            }
        }
        for mut line in words_of(resolver) {
            if matches!(line.next(), Some("search" | "domain")) {
                names.extend(line.map(|domain| format!("{short}.{}", folded(domain))));
            }
        }
        names.extend(more.iter().map(|name| folded(name)));
        names.remove("");
        Self(names)
    }

    /// Whether every host name in a request, in the header and in the target, is one of this machine. A
    /// request without a name does not come from a browser.
    pub(crate) fn admit(&self, target: &Uri, headers: &HeaderMap) -> bool {
        let named = headers.get_all(HOST).iter().map(|name| name.to_str().unwrap_or_default());
        named.chain(target.authority().map(Authority::as_str)).all(|name| self.has(name))
    }

    /// Whether this is an address or one of the names, with or without a port.
    fn has(&self, named: &str) -> bool {
        let Ok(authority) = named.parse::<Authority>() else { return false };
        // The parser accepts text after a bracketed address as a part of it.
        let behind = authority.as_str().rsplit_once(']').map_or("", |(_, behind)| behind);
        let is_port = |text: &str| text.is_empty() || text.starts_with(':');
        if authority.as_str().contains('@') || !is_port(behind) {
            return false;
        }
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        bare.parse::<IpAddr>().is_ok() || self.0.contains(&folded(host))
    }
}

/// The words of each line, without its comment.
fn words_of(text: &str) -> impl Iterator<Item = impl Iterator<Item = &str>> {
    text.lines().map(|line| line.split('#').next().unwrap_or_default().split_ascii_whitespace())
}

/// Normalises a name for comparison: lower case, without the final dot.
fn folded(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn db7() -> HostNames {
        let hosts =
            "127.0.0.1 localhost\n10.1.2.3 db7.rack.example DB7 # mine\n10.1.2.4 db8 other\n";
        let resolver = "nameserver 10.0.0.1\nsearch prod.example dev.example.\n";
        HostNames::new("db7", hosts, resolver, &["Disks.example".to_owned()])
    }

    #[test]
    fn addresses_and_own_names_are_answered_and_other_names_are_not() {
        let names = db7();
        for good in [
            "localhost",
            "LOCALHOST:9750",
            "localhost.:9750",
            "127.0.0.1:9750",
            "10.9.9.9",
            "[::1]:9750",
            "[fe80::1]",
            "db7:9750",
            "DB7.rack.example",
            "db7.prod.example:9750",
            "db7.dev.example",
            "disks.example:9750",
        ] {
            assert!(names.has(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "db7.evil.example:9750",
            "db8",
            "other",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost@evil.example",
            "evil.example@localhost",
            "[::1].evil.example",
            "prod.example",
        ] {
            assert!(!names.has(bad), "{bad}");
        }
    }

    #[test]
    fn a_name_with_its_domain_is_known_without_it_too() {
        let names = HostNames::new("db7.rack.example", "10.1.2.3 db7 store\n", "", &[]);
        for good in ["db7.rack.example", "db7", "store"] {
            assert!(names.has(good), "{good}");
        }
        assert!(!HostNames::new("", "", "", &[]).has(""));
    }

    #[test]
    fn each_name_in_a_request_counts() {
        let names = db7();
        let target = |text: &str| text.parse::<Uri>().unwrap();
        let headers = |hosts: &[&str]| {
            hosts.iter().map(|host| (HOST, host.parse().unwrap())).collect::<HeaderMap>()
        };
        assert!(names.admit(&target("/metrics"), &headers(&[])));
        assert!(names.admit(&target("/metrics"), &headers(&["db7"])));
        assert!(!names.admit(&target("http://evil.example/"), &headers(&["db7"])));
        assert!(!names.admit(&target("http://db7/"), &headers(&["evil.example"])));
        let mut two = headers(&["db7"]);
        two.append(HOST, "evil.example".parse().unwrap());
        assert!(!names.admit(&target("/"), &two));
    }
}
