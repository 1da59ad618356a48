//! The host names that the exporter accepts.

use crate::exporter::{Disks, value};
use crate::imports::fetched;
use std::io::{Read, Write};
use std::net::TcpStream;

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
