//! The hooks: when a host calls them, and what they do, is in the specification's chapters.

use std::path::Path;
use std::sync::RwLock;

use crate::json::Json;
use crate::store::Store;
use crate::wire::{Kind, Provider, Report};

const ACTIONS: [&str; 3] = ["add", "replace", "remove"];

/// The block in which a host shows what was recalled begins so; it is not the user's.
const BLOCK: &str = "<memory-context";
const NOTE: &str = ">\n[System note: ";
const BLOCK_END: &str = "\n</memory-context";

/// Keeps turns and memory writes, and recalls them by their words.
#[derive(Default)]
pub struct ExampleMemory {
    session: RwLock<Option<Session>>,
}

struct Session {
    store: Store,
    user: Json,
    room: Option<usize>,
    is_kept: bool,
}

impl ExampleMemory {
    /// Work with the session that is open.
    fn with<T>(&self, work: impl FnOnce(&Session) -> Result<T, Report>) -> Result<T, Report> {
        match self
            .session
            .read()
            .unwrap_or_else(|lock| lock.into_inner())
            .as_ref()
        {
            Some(session) => work(session),
            None => Err(Report::new(Kind::Unavailable, "no session is open")),
        }
    }
}

impl Provider for ExampleMemory {
    fn name(&self) -> &str {
        "example-memory"
    }

    fn available(&self) -> bool {
        true
    }

    /// Start a session; the home, the user and the limits come from `config`.
    fn open(&self, _session_key: &str, config: &Json) -> Result<(), Report> {
        let home = config.get("home").as_str().unwrap_or_default();
        let store = Store::new(&Path::new(home).join("example-memory.jsonl")).map_err(|error| {
            Report::new(
                Kind::Misconfigured,
                format!("the home cannot be used: {error}"),
            )
        })?;
        let context = config.get("agent_context").as_str().unwrap_or("primary");
        let kept = config.get("protocol").get("contexts");
        let session = Session {
            store,
            user: config.get("user_id").clone(),
            room: config
                .get("limits")
                .get("recall_chars")
                .as_i64()
                .map(|room| room.max(0) as usize),
            // A job or a subagent: what it says is not the user's.
            is_kept: match kept.as_list() {
                Some(names) => names.iter().any(|name| name.as_str() == Some(context)),
                None => context == "primary",
            },
        };
        *self
            .session
            .write()
            .unwrap_or_else(|lock| lock.into_inner()) = Some(session);
        Ok(())
    }

    /// The provider's promises. They are judged, and what is left out is not.
    fn declare(&self) -> Json {
        Json::object([
            ("stores", Json::texts(&["turns", "writes"])),
            ("recall_basis", Json::text("query")),
            ("isolates", Json::texts(&["profile", "user"])),
            (
                "mirrors",
                Json::object([
                    ("memory", Json::texts(&ACTIONS)),
                    ("user", Json::texts(&ACTIONS)),
                ]),
            ),
            ("spec_version", Json::text("1.0")),
        ])
    }

    /// Finds what is known about the message, or None; at most 5 s.
    fn recall(&self, user_message: &str, _messages: &Json) -> Result<Option<String>, Report> {
        self.with(|session| {
            let found = session
                .store
                .search(&session.user, user_message, session.room);
            Ok(Some(found.unwrap_or_default().join("\n")).filter(|text| !text.is_empty()))
        })
    }

    fn record(&self, user_message: &str, assistant_response: &str) -> Result<(), Report> {
        self.with(|session| {
            if !session.is_kept {
                return Ok(());
            }
            let text = format!("{}\n{assistant_response}", own_words(user_message));
            session
                .store
                .add(&session.user, "turn", &text)
                .map_err(unavailable)
        })
    }

    /// Do what the built-in memory tool did, or fail; never neither.
    fn mirror(
        &self,
        action: &str,
        target: &str,
        content: Option<&str>,
        old: Option<&str>,
    ) -> Result<(), Report> {
        self.with(|session| {
            if !session.is_kept {
                return Ok(());
            }
            let (store, user) = (&session.store, &session.user);
            let (text, old) = (content.unwrap_or_default(), old.unwrap_or_default());
            let is_done = match action {
                "add" => store.add(user, target, text).map(|()| true),
                "replace" => store.replace(user, target, old, text),
                "remove" => store.remove(user, target, old),
                _ => {
                    return Err(Report::new(
                        Kind::Rejected,
                        format!("the actions are {ACTIONS:?}"),
                    ))
                }
            };
            match is_done.map_err(unavailable)? {
                true => Ok(()),
                false => Err(Report::new(
                    Kind::WriteRefused,
                    "the old text fits no entry, or several",
                )),
            }
        })
    }

    /// Every turn is stored already.
    fn compress(&self, _messages: &Json, _compression_count: i64) -> Result<(), Report> {
        Ok(())
    }

    /// Every hook wrote before it returned, and nothing is open.
    fn close(&self) -> Result<(), Report> {
        Ok(())
    }
}

fn unavailable(error: std::io::Error) -> Report {
    Report::new(
        Kind::Unavailable,
        format!("example-memory.jsonl cannot be used: {error}"),
    )
}

/// The message without a context block that a host left in it.
fn own_words(message: &str) -> String {
    let mut rest = message;
    let mut kept = String::new();
    while let Some(begin) = rest.find(BLOCK) {
        let head = &rest[begin + BLOCK.len()..];
        let Some(attributes) = head.find('>').map(|end| &head[..end]) else {
            break;
        };
        let closing = format!("{BLOCK_END}{attributes}>");
        let body = &head[attributes.len()..];
        match body.find(&closing).filter(|_| body.starts_with(NOTE)) {
            Some(end) => {
                kept.push_str(&rest[..begin]);
                rest = body[end + closing.len()..].trim_start();
            }
            None => {
                kept.push_str(&rest[..begin + BLOCK.len()]);
                rest = head;
            }
        }
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::own_words;

    #[test]
    fn a_block_of_the_host_is_not_the_users() {
        let block = "<memory-context>\n[System note: x.]\n### a memory\nOld.\n</memory-context>";
        assert_eq!(
            own_words(&format!("One {block}\n\nTwo <memory-context> 3")),
            "One Two <memory-context> 3"
        );
        assert_eq!(
            own_words("</memory-context><memory-context"),
            "</memory-context><memory-context"
        );
    }
}
