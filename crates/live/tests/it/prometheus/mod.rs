//! The Prometheus client with fake servers, and ranges as text.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use live::prometheus::{Client, ClientError, parse_range};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::{SystemTime, UNIX_EPOCH};

/// Fetches from a server with this response; also returns the lines of the request.
fn fetched(answer: &'static str) -> (Result<String, ClientError>, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/base/", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let request = lines.take_while(|line| !line.is_empty()).collect();
        stream.write_all(answer.as_bytes()).unwrap();
        request
    });
    let headers = ["X-Scope-OrgID: tenant 7".to_owned()];
    let client = Client::new(&address, Some("secret-token\n"), &headers).unwrap();
    let body = client.get("/x?query=1").map(|bytes| String::from_utf8(bytes).unwrap());
    (body, served.join().unwrap())
}

#[test]
fn a_body_ends_by_its_length_by_chunks_or_with_the_stream() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellothere",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nhello",
        "HTTP/1.1 422 No\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello",
    ] {
        let (body, request) = fetched(answer);
        assert_eq!(body.unwrap(), "hello", "{answer}");
        assert_eq!(request[0], "GET /base/x?query=1 HTTP/1.1");
        let sent = |line: &str| request.iter().any(|one| one.eq_ignore_ascii_case(line));
        assert!(sent("Authorization: Bearer secret-token"), "{request:?}");
        assert!(sent("X-Scope-OrgID: tenant 7"), "{request:?}");
    }
}

#[test]
fn an_answer_that_is_cut_or_refuses_is_an_error_that_says_so_and_tells_no_secret() {
    for (answer, word) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "the response ended early"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
            "the response ended early",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "the response ended early"),
        ("HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", "302 to /login"),
        ("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "--token-file"),
        ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "includes its path"),
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "check that it is an HTTP server"),
        ("", "cannot fetch /base/x from 127.0.0.1"),
    ] {
        let error = fetched(answer).0.unwrap_err().to_string();
        assert!(error.contains(word), "{answer:?}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn addresses_and_headers_are_checked_before_anything_is_sent() {
    for good in ["http://h:9090", "https://h/a/b/", "h/a/b/", "http://[::1]:9090/"] {
        assert!(Client::new(good, None, &[]).is_ok(), "{good}");
    }
    for bad in ["ftp://h", "http://", "http://a b", "http://u:p@h", "h/?x", "h/#x", ""] {
        assert!(matches!(Client::new(bad, None, &[]), Err(ClientError::Address(_))), "{bad}");
    }
    for bad in ["secret", "a b: secret", "a: sec\nret"] {
        let Err(error) = Client::new("http://h", None, &[bad.to_owned()]) else { panic!("{bad}") };
        assert!(!error.to_string().contains("sec"), "{error}");
    }
    assert!(Client::new("http://h", Some("a\nb"), &[]).is_err());
}

#[test]
fn ranges_are_points_in_time_or_distances_from_now() {
    let clock_s = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    // Begin and end in seconds before now, and the step.
    for (text, begin, end, step_s) in
        [("now-1h..now", 3_600, 0, 15), ("now-1h..now-1m@30s", 3_600, 60, 30)]
    {
        let before = clock_s();
        let range = parse_range(text).unwrap();
        let now_s = range.end_s + end;
        assert!((before..=clock_s()).contains(&now_s), "{text}: {range:?}");
        assert_eq!((range.begin_s, range.step_s), (now_s - begin, step_s), "{text}");
        assert_eq!(range.instance, None);
    }
    let range = parse_range("2020-06-01T12:00:01Z..1591012861@1s").unwrap();
    assert_eq!((range.begin_s, range.end_s, range.step_s), (1_591_012_801, 1_591_012_861, 1));
    let week = parse_range("now-168h..now").unwrap();
    assert!((week.end_s - week.begin_s) / week.step_s <= 11_000);
    for bad in ["", "now", "now..now", "now..now-1h", "a..b", "now-1h..now@0s", "now-1h..now@x"] {
        assert!(parse_range(bad).is_err(), "{bad}");
    }
}
