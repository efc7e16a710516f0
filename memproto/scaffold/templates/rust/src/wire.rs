//! A provider behind the wire: one JSON-RPC 2.0 object for each line of the standard streams.
//!
//! `serve` reads on the main thread all the time. One thread makes the writes, one after another;
//! every other request gets a thread of its own; one thread writes the answers, so that a host that
//! does not read them stops nothing else. The process ends within 15 s after its input.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::json::Json;

pub const VERSION: i64 = 1;

/// Bytes of the longest line, line feed included.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// The time that the process has to end when its input does.
const END: Duration = Duration::from_secs(14);

/// The time that the last answers may take to be read.
const FLUSH: Duration = Duration::from_secs(1);

/// The hooks, called from several threads at a time; the writes one after another.
pub trait Provider: Send + Sync + 'static {
    /// Small letters, digits, `-` and `_`.
    fn name(&self) -> &str;
    /// True if a session could start, from settings alone.
    fn available(&self) -> bool;
    fn open(&self, session_key: &str, config: &Json) -> Result<(), Report>;
    fn declare(&self) -> Json;
    fn recall(&self, user_message: &str, messages: &Json) -> Result<Option<String>, Report>;
    fn record(&self, user_message: &str, assistant_response: &str) -> Result<(), Report>;
    fn mirror(
        &self,
        action: &str,
        target: &str,
        content: Option<&str>,
        old: Option<&str>,
    ) -> Result<(), Report>;
    fn compress(&self, messages: &Json, compression_count: i64) -> Result<(), Report>;
    fn close(&self) -> Result<(), Report>;
    /// Methods of extensions, by the names of the wire: `tools`, `call_tool`, `prewarm` and others.
    fn extensions(&self) -> &[&str] {
        &[]
    }
    /// The result of a method that `extensions` names.
    fn extension(&self, _method: &str, _params: &Json) -> Result<Json, Report> {
        Ok(Json::Null)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    InternalError,
    Cancelled,
    UnsupportedVersion,
    NotOpen,
    // The errors by which a hook reports that it did not do what it was asked.
    Misconfigured,
    Unavailable,
    Rejected,
    TooLarge,
    WriteRefused,
}

impl Kind {
    fn code(self) -> i64 {
        match self {
            Kind::ParseError => -32700,
            Kind::InvalidRequest => -32600,
            Kind::MethodNotFound => -32601,
            Kind::InvalidParams => -32602,
            Kind::InternalError => -32603,
            Kind::Cancelled => -32800,
            Kind::UnsupportedVersion => -32001,
            Kind::NotOpen => -32002,
            Kind::Misconfigured => -32010,
            Kind::Unavailable => -32011,
            Kind::Rejected => -32012,
            Kind::TooLarge => -32013,
            Kind::WriteRefused => -32014,
        }
    }
}

/// An error of an answer.
#[derive(Debug)]
pub struct Report {
    kind: Kind,
    message: String,
    data: Vec<(String, Json)>,
}

impl Report {
    pub fn new(kind: Kind, message: impl Into<String>) -> Report {
        Report {
            kind,
            message: message.into(),
            data: Vec::new(),
        }
    }

    pub fn with(mut self, key: &str, value: Json) -> Report {
        self.data.push((key.to_string(), value));
        self
    }

    fn to_json(&self) -> Json {
        let mut data = vec![("type".to_string(), Json::text(format!("{:?}", self.kind)))];
        data.extend(self.data.iter().cloned());
        let message: String = self.message.chars().take(2000).collect();
        Json::object([
            ("code", Json::number(self.kind.code())),
            ("message", Json::text(message)),
            ("data", Json::Object(data)),
        ])
    }
}

/// A line for a reader, on the standard error; unlike `eprintln!` it survives a closed one.
pub fn log(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Serve a provider on the standard streams until the input ends; call it once, first of all.
pub fn serve(provider: impl Provider) {
    let (mut input, output) = match private_streams() {
        Ok(streams) => streams,
        Err(error) => {
            log(&format!("the standard streams cannot be used: {error}"));
            std::process::exit(1);
        }
    };
    let server = Arc::new(Server {
        provider: Box::new(provider),
        output: Output::new(output),
        state: Mutex::new(State::default()),
        changed: Condvar::new(),
        is_open: AtomicBool::new(false),
    });
    let lane = Arc::clone(&server);
    thread::spawn(move || lane.serve_writes());
    let mut lines = Lines::default();
    let mut part = vec![0; 1 << 16];
    loop {
        match input.read(&mut part) {
            Ok(0) => break,
            Ok(count) => lines.take(&part[..count], |line| server.take(line)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    server.end();
}

extern "C" {
    fn dup2(old: i32, new: i32) -> i32;
}

/// The standard input and output, moved where no print, no program that is started, and nothing but
/// `serve` meets them: 0 is empty from here on, and 1 is the standard error.
fn private_streams() -> io::Result<(File, File)> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let empty = File::open("/dev/null")?;
    // SAFETY: `dup2` changes two descriptors, which nothing in this process holds besides.
    if unsafe { dup2(empty.as_raw_fd(), 0) < 0 || dup2(2, 1) < 0 } {
        return Err(io::Error::last_os_error());
    }
    Ok((input, output))
}

/// Lines out of parts of a stream; one that is too long is told as None and not kept.
#[derive(Default)]
struct Lines {
    rest: Vec<u8>,
    is_skipping: bool,
}

impl Lines {
    fn take(&mut self, part: &[u8], mut heard: impl FnMut(Option<&[u8]>)) {
        let mut pieces = part.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if self.rest.len() + piece.len() + 1 > MAX_LINE {
                self.is_skipping = true;
                self.rest = Vec::new();
            }
            if !self.is_skipping {
                self.rest.extend_from_slice(piece);
            }
            if pieces.peek().is_some() {
                heard((!self.is_skipping).then_some(&self.rest));
                self.rest.clear();
                self.is_skipping = false;
            }
        }
    }
}

#[derive(Default)]
struct State {
    /// Open requests; true for a write that has begun, whose answer is the truth.
    pending: HashMap<i64, bool>,
    writes: VecDeque<Request>,
    running: usize,
    is_greeted: bool,
    is_closing: bool,
}

struct Request {
    id: i64,
    method: String,
    params: Json,
}

impl Request {
    /// True if a client sends the next such request when this one was answered.
    fn is_write(&self) -> bool {
        let writes = [
            "record",
            "mirror",
            "record_turn",
            "end",
            "switch",
            "delegation",
        ];
        writes.contains(&self.method.as_str())
    }
}

struct Server {
    provider: Box<dyn Provider>,
    output: Output,
    state: Mutex<State>,
    changed: Condvar,
    is_open: AtomicBool,
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|lock| lock.into_inner())
    }

    fn take(self: &Arc<Self>, line: Option<&[u8]>) {
        let Some(line) = line else {
            let text = format!("a line has more than {MAX_LINE} bytes");
            return self.refuse(Json::Null, Report::new(Kind::TooLarge, text));
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let message = match Json::parse(line) {
            Ok(message) => message,
            Err(fault) => {
                let text = format!("the line is no JSON: {fault}");
                return self.refuse(Json::Null, Report::new(Kind::ParseError, text));
            }
        };
        let id = message.get("id").as_i64();
        let shown = id.map_or(Json::Null, Json::number);
        let invalid = |text: &str| Report::new(Kind::InvalidRequest, text);
        let Some(method) = message.get("method").as_str().map(str::to_string) else {
            return self.refuse(shown, invalid("it is no request"));
        };
        let Some(id) = id else {
            match message.find("id") {
                Some(_) => self.refuse(Json::Null, invalid("the id is no whole number")),
                None => self.notified(&method, message.get("params")),
            }
            return;
        };
        let params = message
            .find("params")
            .cloned()
            .unwrap_or(Json::Object(Vec::new()));
        if !matches!(params, Json::Object(_)) {
            return self.refuse(
                shown,
                Report::new(Kind::InvalidParams, "params are no object"),
            );
        }
        if self.state().pending.contains_key(&id) {
            return self.refuse(shown, invalid("the id is that of an open request"));
        }
        self.requested(Request { id, method, params });
    }

    fn refuse(&self, id: Json, report: Report) {
        self.output.send(&Json::object([
            ("jsonrpc", Json::text("2.0")),
            ("id", id),
            ("error", report.to_json()),
        ]));
    }

    fn notified(&self, method: &str, params: &Json) {
        let Some(id) = params.get("id").as_i64().filter(|_| method == "$/cancel") else {
            return;
        };
        let mut state = self.state();
        // A write that has begun is answered by the truth, when it is known.
        if state.pending.get(&id) == Some(&false) {
            state.pending.remove(&id);
            drop(state);
            self.refuse(Json::number(id), Report::new(Kind::Cancelled, "cancelled"));
        }
    }

    fn requested(self: &Arc<Self>, request: Request) {
        let id = request.id;
        self.state().pending.insert(id, false);
        if request.method == "ping" {
            return self.answer(id, Ok(Json::Null));
        }
        if let Some(refusal) = self.refusal(&request) {
            return self.answer(id, Err(refusal));
        }
        let mut state = self.state();
        state.running += 1;
        state.is_closing |= request.method == "close";
        if request.is_write() {
            state.writes.push_back(request);
            self.changed.notify_all();
            return;
        }
        drop(state);
        if request.method == "initialize" {
            // On this thread: the next request comes behind it.
            return self.make(&request);
        }
        let server = Arc::clone(self);
        thread::spawn(move || server.make(&request));
    }

    /// The error of a request that is not allowed now.
    fn refusal(&self, request: &Request) -> Option<Report> {
        const CORE: [&str; 8] = [
            "available",
            "open",
            "declare",
            "recall",
            "record",
            "mirror",
            "compress",
            "close",
        ];
        const EARLY: [&str; 7] = [
            "available",
            "open",
            "config_schema",
            "save_config",
            "post_setup",
            "backup",
            "unavailable_reason",
        ];
        let method = request.method.as_str();
        let state = self.state();
        if method == "initialize" {
            if state.is_greeted {
                return Some(Report::new(
                    Kind::InvalidRequest,
                    "the server was greeted before",
                ));
            }
            let versions = request.params.get("wire").as_list().unwrap_or_default();
            if versions
                .iter()
                .any(|version| version.as_i64() == Some(VERSION))
            {
                return None;
            }
            let mine = Json::List(vec![Json::number(VERSION)]);
            let text = format!("this server speaks version {VERSION}");
            return Some(Report::new(Kind::UnsupportedVersion, text).with("wire", mine));
        }
        if !CORE.contains(&method) && !self.provider.extensions().contains(&method) {
            let shown: String = method.chars().take(100).collect();
            return Some(Report::new(
                Kind::MethodNotFound,
                format!("there is no method {shown}"),
            ));
        }
        let not_open = |text: &str| Some(Report::new(Kind::NotOpen, text));
        if !state.is_greeted {
            return not_open("the server was not greeted");
        }
        if method == "close" {
            return None;
        }
        if state.is_closing {
            return not_open("the instance is closed");
        }
        if !EARLY.contains(&method) && !self.is_open.load(Ordering::SeqCst) {
            return not_open("it needs a session, and none is open");
        }
        None
    }

    /// The writes one after another, in the order in which they came.
    fn serve_writes(&self) {
        let mut state = self.state();
        loop {
            let Some(request) = state.writes.pop_front() else {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(|lock| lock.into_inner());
                continue;
            };
            drop(state);
            self.make(&request);
            state = self.state();
        }
    }

    /// Make the call of a request, unless it was cancelled before its turn came, and answer it.
    fn make(&self, request: &Request) {
        let is_wanted = match self.state().pending.get_mut(&request.id) {
            Some(is_running_write) => {
                *is_running_write = request.is_write();
                true
            }
            None => false,
        };
        if is_wanted {
            let called = catch_unwind(AssertUnwindSafe(|| self.call(request)));
            let outcome = called
                .unwrap_or_else(|_| Err(Report::new(Kind::InternalError, "the provider panicked")));
            self.answer(request.id, outcome);
        }
        self.state().running -= 1;
        self.changed.notify_all();
    }

    fn call(&self, request: &Request) -> Result<Json, Report> {
        let (provider, params) = (&self.provider, &request.params);
        let done = |()| Json::Null;
        match request.method.as_str() {
            "initialize" => {
                self.state().is_greeted = true;
                Ok(Json::object([
                    ("wire", Json::number(VERSION)),
                    ("name", Json::text(provider.name())),
                    ("methods", Json::texts(provider.extensions())),
                ]))
            }
            "available" => Ok(Json::Bool(provider.available())),
            "open" => {
                provider.open(text(params, "session_key")?, object(params, "config")?)?;
                self.is_open.store(true, Ordering::SeqCst);
                Ok(Json::Null)
            }
            "declare" => Ok(provider.declare()),
            "recall" => provider
                .recall(text(params, "user_message")?, params.get("messages"))
                .map(|found| found.map_or(Json::Null, Json::Text)),
            "record" => provider
                .record(
                    text(params, "user_message")?,
                    text(params, "assistant_response")?,
                )
                .map(done),
            "mirror" => provider
                .mirror(
                    text(params, "action")?,
                    text(params, "target")?,
                    params.get("content").as_str(),
                    params.get("old_text").as_str(),
                )
                .map(done),
            "compress" => {
                let count = params.get("compression_count").as_i64().unwrap_or(0);
                provider.compress(params.get("messages"), count).map(done)
            }
            "close" => provider.close().map(done),
            method => provider.extension(method, params),
        }
    }

    /// Answer a request, unless that was done.
    fn answer(&self, id: i64, outcome: Result<Json, Report>) {
        if self.state().pending.remove(&id).is_none() {
            return;
        }
        match outcome {
            Ok(result) => {
                let head = [
                    ("jsonrpc", Json::text("2.0")),
                    ("id", Json::number(id)),
                    ("result", result),
                ];
                if !self.output.send(&Json::object(head)) {
                    let text = format!("the result takes more than {MAX_LINE} bytes");
                    self.refuse(Json::number(id), Report::new(Kind::TooLarge, text));
                }
            }
            Err(report) => self.refuse(Json::number(id), report),
        }
    }

    /// Close what nobody closed and end the process, whatever hangs in it.
    fn end(&self) {
        let until = Instant::now() + END;
        thread::spawn(move || {
            thread::sleep(until.saturating_duration_since(Instant::now()));
            std::process::exit(1);
        });
        let mut state = self.state();
        while state.running > 0 {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(|lock| lock.into_inner());
        }
        let is_closed = std::mem::replace(&mut state.is_closing, true);
        drop(state);
        if !is_closed {
            if let Err(report) = self.provider.close() {
                log(&report.message);
            }
        }
        self.output.flush(FLUSH);
        std::process::exit(0);
    }
}

fn text<'a>(params: &'a Json, name: &str) -> Result<&'a str, Report> {
    let unfit = || {
        Report::new(
            Kind::InvalidParams,
            format!("the argument {name} is no string"),
        )
    };
    params.get(name).as_str().ok_or_else(unfit)
}

fn object<'a>(params: &'a Json, name: &str) -> Result<&'a Json, Report> {
    match params.get(name) {
        found @ Json::Object(_) => Ok(found),
        _ => Err(Report::new(
            Kind::InvalidParams,
            format!("the argument {name} is no object"),
        )),
    }
}

/// Writes lines in order, by a thread of its own.
struct Output {
    lines: Mutex<Sender<Line>>,
}

enum Line {
    Bytes(Vec<u8>),
    /// Told when everything before it is written.
    Mark(Sender<()>),
}

impl Output {
    fn new(file: File) -> Output {
        let (lines, taken) = channel();
        thread::spawn(move || write_on(file, taken));
        Output {
            lines: Mutex::new(lines),
        }
    }

    /// False if the message is too long for a line.
    fn send(&self, message: &Json) -> bool {
        let mut line = message.write().into_bytes();
        line.push(b'\n');
        let fits = line.len() <= MAX_LINE;
        if fits {
            self.put(Line::Bytes(line));
        }
        fits
    }

    fn flush(&self, patience: Duration) {
        let (done, told) = channel();
        self.put(Line::Mark(done));
        let _ = told.recv_timeout(patience);
    }

    fn put(&self, line: Line) {
        let lines = self.lines.lock().unwrap_or_else(|lock| lock.into_inner());
        let _ = lines.send(line); // fails if the host is gone, and the end of the input follows
    }
}

fn write_on(mut file: File, lines: Receiver<Line>) {
    for line in lines {
        match line {
            Line::Bytes(bytes) => {
                if file.write_all(&bytes).is_err() {
                    return;
                }
            }
            Line::Mark(done) => {
                let _ = done.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_too_long_ones_do_not() {
        let mut heard = Vec::new();
        let mut lines = Lines::default();
        let long = vec![b'x'; MAX_LINE];
        for part in [&b"a\nb"[..], b"c\n\nd", &long, b"y\ne\n"] {
            lines.take(part, |line| heard.push(line.map(<[u8]>::to_vec)));
        }
        let told: Vec<_> = heard.iter().map(|line| line.as_deref()).collect();
        assert_eq!(
            told,
            [Some(&b"a"[..]), Some(b"bc"), Some(b""), None, Some(b"e")]
        );
    }
}
