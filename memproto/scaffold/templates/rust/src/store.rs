//! The entries of a memory, in one file of JSON lines.
//!
//! Each entry is appended by one write, which begins with a line feed: a line that a full disk or a
//! kill cut short spoils no later one, and is ignored. An entry that is removed is overwritten with
//! spaces where it stands, so lines never move. So any number of processes may have the file open,
//! without a lock. Each write is on disk before the call returns.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::json::Json;

const MOST: usize = 20;

pub struct Store {
    path: PathBuf,
}

struct Held {
    owner: Json,
    kind: String,
    text: String,
    begin: usize,
    end: usize,
}

impl Store {
    /// Makes the file, if it is not there.
    pub fn new(path: &Path) -> io::Result<Store> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let store = Store {
            path: path.to_path_buf(),
        };
        store.appended()?;
        Ok(store)
    }

    pub fn add(&self, owner: &Json, kind: &str, text: &str) -> io::Result<()> {
        self.append(owner, kind, text, None)
    }

    /// Removes the entry that is `old`, or else the one that holds it; false if it fits none or several.
    pub fn remove(&self, owner: &Json, kind: &str, old: &str) -> io::Result<bool> {
        let found = self.find(owner, kind, old)?;
        self.blank(&found)?;
        Ok(!found.is_empty())
    }

    /// As `remove`, with a text in its place. The new line is what counts: it names the old one.
    pub fn replace(&self, owner: &Json, kind: &str, old: &str, text: &str) -> io::Result<bool> {
        let found = self.find(owner, kind, old)?;
        let Some(first) = found.first() else {
            return Ok(false);
        };
        self.append(owner, kind, text, Some(first.begin))?;
        self.blank(&found)?;
        Ok(true)
    }

    /// The texts that share the most words with the query, as many as `room` characters hold.
    pub fn search(
        &self,
        owner: &Json,
        query: &str,
        room: Option<usize>,
    ) -> io::Result<Vec<String>> {
        let wanted = words(query);
        let mut ranked: Vec<(usize, String)> = self
            .held()?
            .into_iter()
            .rev()
            .filter(|entry| entry.owner == *owner)
            .map(|entry| (words(&entry.text).intersection(&wanted).count(), entry.text))
            .filter(|(score, _)| *score > 0)
            .collect();
        ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        Ok(fitting(
            ranked
                .into_iter()
                .take(MOST)
                .map(|(_, text)| text)
                .collect(),
            room,
        ))
    }

    fn appended(&self) -> io::Result<File> {
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.path)
    }

    fn append(
        &self,
        owner: &Json,
        kind: &str,
        text: &str,
        instead: Option<usize>,
    ) -> io::Result<()> {
        let mut pairs = vec![
            ("owner".to_string(), owner.clone()),
            ("kind".to_string(), Json::text(kind)),
            ("text".to_string(), Json::text(text)),
        ];
        if let Some(begin) = instead {
            pairs.push(("instead".to_string(), Json::number(begin)));
        }
        let line = format!("\n{}", Json::Object(pairs).write());
        let mut file = self.appended()?;
        // One system call: two processes that append at a time do not mix their lines.
        if file.write(line.as_bytes())? < line.len() {
            return Err(io::Error::other("the disk is full"));
        }
        file.sync_data()
    }

    fn find(&self, owner: &Json, kind: &str, old: &str) -> io::Result<Vec<Held>> {
        let mut fits = self.held()?;
        fits.retain(|entry| {
            !old.is_empty()
                && entry.owner == *owner
                && entry.kind == kind
                && entry.text.contains(old)
        });
        if fits.iter().any(|entry| entry.text == old) {
            fits.retain(|entry| entry.text == old);
        }
        let texts: HashSet<&str> = fits.iter().map(|entry| entry.text.as_str()).collect();
        if texts.len() != 1 {
            fits.clear();
        }
        Ok(fits)
    }

    fn blank(&self, entries: &[Held]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        for entry in entries {
            file.seek(SeekFrom::Start(entry.begin as u64))?;
            file.write_all(&vec![b' '; entry.end - entry.begin])?;
        }
        file.sync_data()
    }

    fn held(&self) -> io::Result<Vec<Held>> {
        let data = fs::read(&self.path)?;
        let mut entries = Vec::new();
        let mut replaced = HashSet::new();
        let mut begin = 0;
        for line in data.split(|byte| *byte == b'\n') {
            let end = begin + line.len();
            // A line that is cut short, damaged or blank is none.
            if let Ok(found) = Json::parse(line) {
                if let Some(old) = found.get("instead").as_i64() {
                    replaced.insert(old as usize);
                }
                if let (Some(kind), Some(text)) =
                    (found.get("kind").as_str(), found.get("text").as_str())
                {
                    let (kind, text) = (kind.to_string(), text.to_string());
                    let owner = found.get("owner").clone();
                    entries.push(Held {
                        owner,
                        kind,
                        text,
                        begin,
                        end,
                    });
                }
            }
            begin = end + 1;
        }
        entries.retain(|entry| !replaced.contains(&entry.begin));
        Ok(entries)
    }
}

fn words(text: &str) -> HashSet<String> {
    let lower = text.to_lowercase();
    let parts = lower.split(|char: char| !char.is_alphanumeric() && char != '_');
    parts
        .filter(|word| word.chars().count() >= 3)
        .map(str::to_string)
        .collect()
}

/// Whole texts as long as they fit; the best one shortened if not even it does.
fn fitting(texts: Vec<String>, room: Option<usize>) -> Vec<String> {
    let Some(room) = room else { return texts };
    let best = texts.first().cloned();
    let mut left = room + 1;
    let mut kept = Vec::new();
    for text in texts {
        let length = text.chars().count() + 1;
        if length <= left {
            left -= length;
            kept.push(text);
        }
    }
    match best {
        Some(best) if kept.is_empty() => vec![best.chars().take(room).collect()],
        _ => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of one test, which goes with its value.
    struct Home(PathBuf);

    impl Home {
        fn new(name: &str) -> Home {
            let folder =
                std::env::temp_dir().join(format!("example-memory-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Home(folder)
        }

        fn entries(&self) -> PathBuf {
            self.0.join("entries.jsonl")
        }
    }

    impl Drop for Home {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_text_that_fits_best_comes_first_as_far_as_there_is_room() {
        let home = Home::new("best");
        let store = Store::new(&home.entries()).unwrap();
        store.add(&Json::Null, "turn", "The boat is blue.").unwrap();
        store
            .add(&Json::Null, "turn", "The boat is in Velbellogren.")
            .unwrap();
        let found = store
            .search(&Json::Null, "Is the boat blue?", Some(20))
            .unwrap();
        assert_eq!(found, ["The boat is blue."]);
        let found = store
            .search(&Json::Null, "Is the boat blue?", Some(8))
            .unwrap();
        assert_eq!(found, ["The boat"]);
    }

    #[test]
    fn a_line_that_was_cut_short_costs_no_later_one() {
        let home = Home::new("short");
        let path = home.entries();
        fs::write(&path, "\n{\"owner\":null,\"kind\":\"turn\",\"te").unwrap();
        let store = Store::new(&path).unwrap();
        store
            .add(&Json::Null, "turn", "The key is under the mat.")
            .unwrap();
        let found = store.search(&Json::Null, "Which key?", None).unwrap();
        assert_eq!(found, ["The key is under the mat."]);
    }

    #[test]
    fn what_is_removed_is_on_the_disk_no_more() {
        let home = Home::new("removed");
        let path = home.entries();
        let store = Store::new(&path).unwrap();
        store
            .add(&Json::Null, "memory", "The code is 4711.")
            .unwrap();
        assert!(store
            .replace(&Json::Null, "memory", "4711", "The code is new.")
            .unwrap());
        assert!(!fs::read_to_string(&path).unwrap().contains("4711"));
        assert!(!store.remove(&Json::Null, "memory", "4711").unwrap());
        assert!(store.remove(&Json::Null, "memory", "new").unwrap());
        assert!(store
            .search(&Json::Null, "Which code?", None)
            .unwrap()
            .is_empty());
    }
}
