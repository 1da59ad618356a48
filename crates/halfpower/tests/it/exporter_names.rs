//! The host names that the exporter accepts, and its warnings at the start.

use crate::exporter::{Disks, started, value};
use crate::imports::fetched;
use crate::program::program;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Status and text of the response to a request with these lines.
fn answered(address: &str, lines: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{lines}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    (text.split(' ').nth(1).unwrap().to_owned(), text)
}

#[test]
fn a_web_page_that_points_its_own_name_at_the_exporter_reads_nothing() {
    let disks = Disks::new();
    let (exporter, address) =
        disks.exported("--interval 20ms --db /proc/none/x --allow-host disks.example");
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let asked = |name: &str| answered(&address, &format!("GET /metrics HTTP/1.1\r\nHost: {name}"));
    for own in [&*address, "localhost:1", "192.0.2.1", "[::1]:9750", &host, "DISKS.example:80"] {
        let (status, text) = asked(own);
        assert_eq!(status, "200", "{own}: {text}");
    }
    for name in ["evil.example", "localhost.evil.example:9750", "127.0.0.1.evil.example", ""] {
        let (status, text) = asked(name);
        assert_eq!(status, "421", "{name}: {text}");
        assert!(text.contains("--allow-host") && !text.contains("halfpower_"), "{name}: {text}");
    }
    for lines in [
        "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost",
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example",
        "GET / HTTP/1.1\r\nHost: evil.example",
        "GET /-/healthy HTTP/1.1\r\nHost: evil.example",
    ] {
        assert_eq!(answered(&address, lines).0, "421", "{lines}");
    }
    let text = fetched(&address, "/metrics", "");
    assert_eq!(value(&text, "halfpower_requests_refused_total"), Some(8.0), "{text}");
    exporter.signal("TERM");
    exporter.end().expect(0);
}

/// The exporter's warnings if it listens at an address with the passwords of this folder.
fn warned(folder: &Path, listen: &str) -> Vec<String> {
    let disks = Disks::new();
    let config = folder.join("web.yml").display().to_string();
    let words = format!("watch --listen {listen} --db /proc/none/x --web-config {config}");
    let (exporter, _) = started(program(), &format!("{words} {}", disks.roots()));
    exporter.signal("TERM");
    let ended = exporter.end().expect(0);
    ended.stderr.lines().filter(|it| it.contains("warning: ")).map(str::to_owned).collect()
}

#[test]
fn secrets_that_others_can_read_are_warned_of_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.yml");
    // A published test vector of bcrypt.
    let users =
        "basic_auth_users:\n  u: $2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW\n";
    std::fs::write(&file, users).unwrap();
    let mode = |mode| std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    mode(0o640);
    assert_eq!(warned(folder.path(), "127.0.0.1:0"), [""; 0]);
    let beyond = warned(folder.path(), "0.0.0.0:0 --listen-beyond-loopback");
    assert_eq!(beyond.len(), 1, "{beyond:?}");
    assert!(beyond[0].contains("unencrypted: add tls_server_config"), "{beyond:?}");
    mode(0o644);
    let readable = warned(folder.path(), "127.0.0.1:0");
    assert_eq!(readable.len(), 1, "{readable:?}");
    assert!(readable[0].contains("password hashes") && readable[0].contains("chmod o-r"));
    assert!(!readable[0].contains("$2a$"), "{readable:?}");
}
