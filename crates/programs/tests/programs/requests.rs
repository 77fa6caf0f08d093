//! Requests and their outcomes on the command line: other statuses, several URLs, other formats,
//! and the programs' texts on themselves.

use std::fs;
use std::process::Command;

use crate::support::{Said, Temporary, record, refused, run, server};

fn good(said: &Said) {
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn the_root_of_the_reference_server_is_measured_with_either_http() {
    let (_server, url) = server("127.0.0.1:0");
    let host = url.trim_start_matches("https://");
    for target in [&*url, host] {
        for http in ["1.1", "2"] {
            let said = run(&["--json", "--insecure", "-n", "3", "--http", http, target]);
            good(&said);
            assert_eq!(record(&said)["preflight"]["status"], 200);
            let stolen = record(&said)["workers"][0]["stolen"].as_f64();
            assert!(stolen.is_some_and(|share| (0.0..1.0).contains(&share)), "{stolen:?}");
        }
    }
}

#[test]
fn an_address_of_ipv6_is_a_host() {
    let (_server, url) = server("[::1]:0");
    assert!(url.starts_with("https://[::1]:"), "{url}");
    let said = run(&["--json", "--insecure", "-n", "3", &url]);
    good(&said);
    assert!(record(&said)["address"].as_str().unwrap().starts_with("[::1]:"));
    let probed = run(&["--json", "--insecure", "--probe-only", "versions", "--probe", &url]);
    good(&probed);
}

#[test]
fn another_status_is_refused_with_the_flag_that_accepts_it() {
    let (_server, url) = server("127.0.0.1:0");
    let missing = format!("{url}/missing");
    let line = refused(&["--insecure", &missing], 3, "http_status");
    assert!(
        line.contains(
            "status 404; correct the path, or measure it as it is with --expect-status 404"
        ),
        "{line}"
    );
    good(&run(&["--insecure", "-n", "3", "--expect-status", "2xx,404", &missing]));
    let posted = format!("{url}/bytes/1");
    let line = refused(&["--insecure", "--http", "2", "--body", "a=1", &posted], 3, "http_status");
    assert!(line.contains("status 405; the page takes other methods"), "{line}");
}

#[test]
fn several_urls_share_the_requests_and_a_file_may_list_them() {
    let (_server, url) = server("127.0.0.1:0");
    let (large, small) = (format!("{url}/bytes/1000"), format!("{url}/bytes/10"));
    let list = Temporary::new(format!("# pages\n{large} 3\n\n{small}\n").as_bytes());
    let flags = ["--json", "--insecure", "-n", "8"];
    for asked in [&[&*large, &*small, "--weight", "3,1"][..], &["--urls", list.path()]] {
        let said = run(&[&flags[..], asked].concat());
        good(&said);
        let record = record(&said);
        assert_eq!(record["bytes"]["body"], 2 * (3 * 1000 + 10));
        assert_eq!(record["statuses"], serde_json::json!({ "200": 8 }));
        assert_eq!(
            (&record["urls"][0]["requests"], &record["urls"][1]["requests"]),
            (&6.into(), &2.into())
        );
    }
    refused(&[&*large, "https://localhost:1/"], 2, "usage");
}

#[test]
fn the_record_goes_to_a_file_and_figures_to_people() {
    let (_server, url) = server("127.0.0.1:0");
    let file = Temporary::new(b"");
    let said = run(&["--insecure", "-n", "4", "-o", file.path(), &url]);
    good(&said);
    let written: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(file.path()).unwrap()).unwrap();
    assert_eq!(written["outcomes"]["completed"], 4);
    for words in [
        "4 connections at once (default: as many as --count), 1 worker thread",
        "p99.9",
        "4 connections completed",
        " responses by status: 200 4\n",
        "µs/connection",
        "valid: ",
    ] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    refused(&["--insecure", "-o", "/no/such/folder/r", &url], 3, "output");
}

#[test]
fn each_format_is_what_it_says() {
    let (_server, url) = server("127.0.0.1:0");
    let of = |format: &str| {
        let said = run(&["--insecure", "-n", "4", "--format", format, &url]);
        good(&said);
        said
    };
    record(&of("json"));
    let csv = of("csv").stdout;
    assert!(csv.starts_with("figure,unit,value\n") && csv.contains("\nconnections,1,4\n"), "{csv}");
    assert!(csv.lines().all(|line| line.split(',').count() == 3), "{csv}");
    let markdown = of("markdown").stdout;
    let lines: Vec<_> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert!(lines.iter().any(|line| line.starts_with("| latency in ms | p50 |")), "{markdown}");
    assert!(lines.iter().any(|line| line.starts_with("| --- | ---: |")), "{markdown}");
}

#[test]
fn both_clients_connections_have_the_same_quantiles_in_text_and_csv() {
    let (_server, url) = server("127.0.0.1:0");
    let file = Temporary::new(b"");
    // By the minimal client, except one connection in 128.
    let load =
        ["--insecure", "--lean", "--tls", "1.3", "--group", "X25519", "-c", "4", "-n", "2000"];
    run(&[&load[..], &["-o", file.path(), &url]].concat());
    let of = |format: &str| run(&["merge", "--format", format, file.path()]).stdout;
    let (text, csv) = (of("text"), of("csv"));
    let value = |figure: &str| {
        let found = csv.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(','));
        found.unwrap_or_else(|| panic!("{figure}: {csv}")).rsplit(',').next().unwrap()
    };
    assert_eq!(value("latencies.client"), "minimal");
    assert!(value("clients.library.handshake.n").parse::<u64>().unwrap() > 0);
    for name in ["connect", "handshake", "service"] {
        let row = text.lines().find(|line| line.starts_with(&format!("  {name} "))).unwrap();
        let shown = row.split_whitespace().nth(3).unwrap().replace(',', "");
        let shown: f64 = shown.parse().unwrap();
        let p99: f64 = value(&format!("{name}.p99")).parse().unwrap();
        // To the three decimals of the text.
        assert!((shown - p99).abs() < 0.001, "{name}: {p99}: {text}");
    }
}

#[test]
fn a_quantile_of_too_few_values_is_a_dash_in_every_format() {
    let (_server, url) = server("127.0.0.1:0");
    let of = |format: &str| {
        run(&["--insecure", "--client", "library", "-n", "100", "--format", format, &url]).stdout
    };
    let line = |text: &str, start: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {text}")).to_owned()
    };
    let text = of("text");
    let service = line(&text, "service ");
    let cells: Vec<_> = service.split_whitespace().take(6).collect();
    assert!(cells[1] != "-" && cells[2] != "-" && cells[5] != "-", "{service}");
    assert_eq!(cells[3..5], ["-", "-"], "{service}");
    assert!(text.contains("note: a quantile is - with too few values"), "{text}");
    let markdown = of("markdown");
    assert!(line(&markdown, "| service |").contains(" | - | - | "), "{markdown}");
    let csv = of("csv");
    assert_eq!(line(&csv, "service.p99,"), "service.p99,ms,");
    assert_eq!(line(&csv, "service.p999,"), "service.p999,ms,");
    assert_ne!(line(&csv, "service.p90,"), "service.p90,ms,");
}

#[test]
fn what_was_not_measured_is_a_dash_and_kept_connections_lead_with_requests() {
    let (_server, url) = server("127.0.0.1:0");
    let flags = ["--insecure", "-c", "2", "-d", "300ms", "--open-within", "5s"];
    let more = ["--requests-per-connection", "unlimited", &url];
    let said = run(&[&flags[..], &more].concat());
    let text = &said.stdout;
    assert!(text.contains("requests/s") && text.contains("2 connections kept open"), "{text}");
    assert!(!text.contains("0 connections"), "{text}");
    let connect = text.lines().find(|line| line.trim_start().starts_with("connect ")).unwrap();
    let cells: Vec<_> = connect.split_whitespace().take(6).collect();
    assert_eq!(cells, ["connect", "-", "-", "-", "-", "-"], "{text}");
}

#[test]
fn both_programs_answer_alike() {
    for program in [env!("CARGO_BIN_EXE_tlslab-load"), env!("CARGO_BIN_EXE_tlslab-serve")] {
        let name = program.rsplit('/').next().unwrap();
        let says = |flags: &[&str]| {
            let output = Command::new(program).args(flags).output().unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (output.status.code(), text(output.stdout), text(output.stderr))
        };
        let (code, stdout, stderr) = says(&["--grup", "X25519"]);
        assert_eq!((code, &*stdout, stderr.lines().count()), (Some(2), "", 1), "{stderr}");
        assert!(stderr.starts_with(&format!("{name}: unexpected argument '--grup'")), "{stderr}");
        assert!(stderr.contains("'--group'") && stderr.contains("; see --help"), "{stderr}");
        for flag in ["-h", "--help", "-V", "--version"] {
            let (code, stdout, stderr) = says(&[flag]);
            assert_eq!((code, stdout.is_empty(), &*stderr), (Some(0), false, ""), "{name} {flag}");
        }
        for shell in ["bash", "zsh", "fish"] {
            let (code, script, _) = says(&["--completion", shell]);
            assert_eq!(code, Some(0));
            assert!(script.contains(name) && script.contains("group"), "{name} {shell}");
        }
        let (code, page, _) = says(&["--man"]);
        assert_eq!(code, Some(0));
        assert!(page.contains(".TH") && page.contains("\\-\\-group"), "{page}");
    }
}
