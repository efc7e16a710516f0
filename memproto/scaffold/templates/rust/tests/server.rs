//! The program as a host meets it; the conformance kit does the rest.

use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn a_ping_is_answered_and_the_end_of_the_input_ends() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_example-memory"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    drop(input);
    let done = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(done.stdout).unwrap(),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\n"
    );
    assert!(done.status.success());
}
