//! Ten thousand requests that mean harm, and valid ones beside them that are answered as ever.

use std::{
    io::{BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
};

use rand::{Rng as _, SeedableRng as _, seq::IndexedRandom as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::{
    client::{bytes, get, post, read},
    fixture::{Running, tensors},
};

const REQUESTS: usize = 10_000;
const SEED: u64 = 23;
/// What is documented; nothing else may come.
const DOCUMENTED: [u16; 14] = [200, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 503];

const PATHS: [&str; 24] = [
    "/v2",
    "/v2/models/kinds/infer",
    "/v2/models/kinds/versions/1/infer",
    "/v2/models/%00/infer",
    "/v2/models/..%2f..%2fetc/infer",
    "/api/v1/models/kinds/path",
    "/api/v1/models/kinds/sample",
    "/api/v1/models/kinds/features",
    "/api/v1/models/kinds/features/wall",
    "/api/v1/models/kinds/counterfactual",
    "/api/v1/models/kinds/label-next",
    "/api/v1/models/kinds/labels",
    "/api/v1/models/kinds/rows/18446744073709551616",
    "/api/v1/models/kinds/map/x%00",
    "/api/v1/models/kinds/map/column/%ff",
    "/api/v1/models/kinds/features/99999999999999999999/0/histogram",
    "/api/v1/playground",
    "/api/v1/playground/1/frames?from=-1",
    "/api/v1/playground/toys/moons?rows=99999999999",
    "/api/v1/jobs/fit-0",
    "/../../etc/passwd",
    "/?q=%zz",
    "/v2/models/kinds/infer?outputs=,,,",
    "/api/v1/models/kinds/rows/%2e%2e",
];

/// Values that programs trip over.
fn nasty(rng: &mut ChaCha8Rng, depth: usize) -> Value {
    match rng.random_range(0..14) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(u64::MAX),
        4 => json!(1e308),
        5 => json!(-1e-320),
        6 => json!(""),
        7 => json!("<script>\u{0}\u{202e}"),
        8 => json!("x".repeat(2000)),
        9 => json!([]),
        10 => json!({}),
        11 if depth < 4 => Value::Array((0..rng.random_range(0..5)).map(|_| nasty(rng, depth + 1)).collect()),
        12 => json!(rng.random_range(-1e6..1e6)),
        _ => json!(rng.random_range(0..200)),
    }
}

fn body(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let keys = [
        "inputs",
        "outputs",
        "id",
        "from",
        "to",
        "steps",
        "n",
        "temperature",
        "seed",
        "class",
        "row",
        "values",
        "layer",
        "channel",
        "place",
        "alphas",
        "rows",
        "alpha",
        "labels",
        "points",
        "settings",
        "toy",
        "bounds",
        "truth",
        "paused",
        "labels_alone",
    ];
    match rng.random_range(0..10) {
        // Deep nesting.
        0 => [vec![b'['; 5000], vec![b']'; 5000]].concat(),
        1 => b"{\"inputs\":".repeat(300),
        // Bytes of any kind.
        2 => (0..rng.random_range(0..300)).map(|_| rng.random()).collect(),
        // A valid request with something wrong in it.
        3 | 4 => {
            let mut request = json!({ "inputs": tensors(&[0, 1]) });
            let tensor = rng.random_range(0..4_usize);
            let key = *["name", "shape", "datatype", "data"].choose(rng).expect("there are some");
            request["inputs"][tensor][key] = nasty(rng, 0);
            request.to_string().into_bytes()
        }
        // Numbers that are none.
        5 => {
            let text = json!({ "inputs": tensors(&[3]) }).to_string();
            let wrong =
                ["NaN", "Infinity", "1e999", "-", "0x10", "1_000"].choose(rng).expect("there are some");
            text.replacen("[1]", wrong, 1).replacen("0.", wrong, 1).into_bytes()
        }
        // Cut off.
        6 => {
            let text = json!({ "inputs": tensors(&[5, 6, 7]) }).to_string();
            text.as_bytes()[..rng.random_range(0..text.len())].to_vec()
        }
        // Any keys with any values.
        _ => {
            let some = (0..rng.random_range(0..6)).map(|_| {
                let key = (*keys.choose(rng).expect("there are some")).to_string();
                let value = match key.as_str() {
                    // No fit of minutes is begun by accident.
                    "settings" => json!({ "steps": rng.random_range(0..3), "hidden": nasty(rng, 3) }),
                    _ => nasty(rng, 0),
                };
                (key, value)
            });
            Value::Object(some.collect()).to_string().into_bytes()
        }
    }
}

/// The bytes of a request that means harm.
fn request(address: SocketAddr, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let path = *PATHS.choose(rng).expect("there are some");
    let method = *["GET", "POST", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW"]
        .choose(rng)
        .expect("there are some");
    let mut headers: Vec<(&str, String)> = Vec::new();
    match rng.random_range(0..12) {
        0 => headers.push(("host", "evil.example".into())),
        1 => headers.push(("host", format!("{address}.evil.example"))),
        2 => headers.push(("origin", "https://evil.example".into())),
        3 => headers.push(("origin", "null".into())),
        4 => headers.push(("x-long", "y".repeat(rng.random_range(1000..20_000)))),
        5 => headers.push(("inference-header-content-length", "9999999".into())),
        6 => headers.push(("authorization", "Bearer \u{7f}".into())),
        _ => {}
    }
    let kind = *[
        "application/json",
        "application/json",
        "application/json",
        "text/plain",
        "application/vnd.apache.arrow.stream",
        "",
    ]
    .choose(rng)
    .expect("there are some");
    if !kind.is_empty() {
        headers.push(("content-type", kind.into()));
    }
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = if method == "GET" || method == "HEAD" { Vec::new() } else { body(rng) };
    let mut bytes = bytes(address, method, path, &headers, &body);
    match rng.random_range(0..25) {
        0 => bytes.truncate(rng.random_range(0..bytes.len())),
        1 => {
            let at = rng.random_range(0..bytes.len());
            bytes[at] = rng.random();
        }
        _ => {}
    }
    bytes
}

#[test]
fn ten_thousand_hostile_requests_change_nothing_for_others() {
    let running = Running::start(|options| {
        options.limits.body_time = std::time::Duration::from_millis(500);
        options.limits.body = 1 << 20;
    });
    let address = running.address;
    let valid = json!({ "inputs": tensors(&[0, 7, 20]) });
    let ask = || post(address, "/v2/models/kinds/infer", &valid);
    let expected = ask().of(200);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let mut asked = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(ask().of(200), expected, "a valid client is answered as ever");
                asked += 1;
            }
            asked
        });
        let threads: Vec<_> = (0..4_u64)
            .map(|thread| {
                scope.spawn(move || {
                    let mut rng = ChaCha8Rng::seed_from_u64(SEED + thread);
                    for at in 0..REQUESTS / 4 {
                        let request = request(address, &mut rng);
                        let mut stream = TcpStream::connect(address).unwrap();
                        let _ = stream.write_all(&request);
                        // Whoever cut its request off says no more.
                        let _ = stream.shutdown(std::net::Shutdown::Write);
                        if rng.random_range(0..20) == 0 {
                            continue; // and some do not even listen
                        }
                        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
                        if let Some(answer) = read(&mut BufReader::new(stream)) {
                            let shown = String::from_utf8_lossy(&request[..request.len().min(400)]);
                            assert!(
                                DOCUMENTED.contains(&answer.status),
                                "{thread}.{at}: {} to {shown}",
                                answer.status
                            );
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        done.store(true, Ordering::Relaxed);
        assert!(beside.join().unwrap() > 10);
    });
    let metrics = get(address, "/metrics").text();
    assert!(metrics.contains("flowgmm_panics_total 0"), "{metrics}");
}
