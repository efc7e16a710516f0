//! JSON, as the wire has it: half a surrogate pair is read as U+FFFD, and never written.

use std::fmt::Write as _;

/// Nested arrays and objects of a message, which are read by recursion.
const DEEPEST: usize = 512;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// As it was written: a text that is a number of JSON.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn text(value: impl Into<String>) -> Json {
        Json::Text(value.into())
    }

    pub fn number(value: impl ToString) -> Json {
        Json::Number(value.to_string())
    }

    pub fn texts(values: &[&str]) -> Json {
        Json::List(values.iter().map(|value| Json::text(*value)).collect())
    }

    pub fn object<const N: usize>(pairs: [(&str, Json); N]) -> Json {
        let named = pairs
            .into_iter()
            .map(|(key, value)| (key.to_string(), value));
        Json::Object(named.collect())
    }

    /// The value of a key; Null if there is none, or no object.
    pub fn get(&self, key: &str) -> &Json {
        self.find(key).unwrap_or(&Json::Null)
    }

    /// The value of a key; the last one counts if it stands there twice.
    pub fn find(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(pairs) => pairs
                .iter()
                .rev()
                .find_map(|(name, value)| (name == key).then_some(value)),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Text(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Json]> {
        match self {
            Json::List(items) => Some(items),
            _ => None,
        }
    }

    /// A whole number.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::Number(value) => value.parse().ok(),
            _ => None,
        }
    }

    pub fn parse(bytes: &[u8]) -> Result<Json, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.blanks();
        if reader.at < text.len() {
            return Err(reader.fault("something follows the value"));
        }
        Ok(value)
    }

    pub fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    fn write_to(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(value) => out.push_str(value),
            Json::Text(value) => quote(value, out),
            Json::List(items) => {
                out.push('[');
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    item.write_to(out);
                }
                out.push(']');
            }
            Json::Object(pairs) => {
                out.push('{');
                for (place, (key, value)) in pairs.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    quote(key, out);
                    out.push(':');
                    value.write_to(out);
                }
                out.push('}');
            }
        }
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{0}'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", char as u32);
            }
            _ => out.push(char),
        }
    }
    out.push('"');
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, text: &str) -> String {
        format!("{text}, at byte {}", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEEPEST {
            return Err(self.fault("it is nested too deeply"));
        }
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.takes("null") => Ok(Json::Null),
            _ if self.takes("true") => Ok(Json::Bool(true)),
            _ if self.takes("false") => Ok(Json::Bool(false)),
            _ => Err(self.fault("a value is expected")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut pairs = Vec::new();
        self.blanks();
        if self.takes("}") {
            return Ok(Json::Object(pairs));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.fault("a key is expected"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.takes(":") {
                return Err(self.fault("a colon is expected"));
            }
            pairs.push((key, self.value(depth + 1)?));
            self.blanks();
            if self.takes("}") {
                return Ok(Json::Object(pairs));
            }
            if !self.takes(",") {
                return Err(self.fault("a comma or } is expected"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.takes("]") {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.takes("]") {
                return Ok(Json::List(items));
            }
            if !self.takes(",") {
                return Err(self.fault("a comma or ] is expected"));
            }
        }
    }

    fn number(&mut self) -> Result<Json, String> {
        let begin = self.at;
        self.takes("-");
        if !self.takes("0") && self.digits() == 0 {
            return Err(self.fault("a digit is expected"));
        }
        if self.takes(".") && self.digits() == 0 {
            return Err(self.fault("a digit is expected"));
        }
        if self.takes("e") || self.takes("E") {
            let _ = self.takes("+") || self.takes("-");
            if self.digits() == 0 {
                return Err(self.fault("a digit is expected"));
            }
        }
        Ok(Json::number(&self.text[begin..self.at]))
    }

    fn digits(&mut self) -> usize {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - begin
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut found = String::new();
        loop {
            let begin = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            found.push_str(&self.text[begin..self.at]);
            if self.takes("\"") {
                return Ok(found);
            }
            if !self.takes("\\") {
                return Err(self.fault("a string does not end"));
            }
            let Some(escape) = self.peek() else {
                return Err(self.fault("a string does not end"));
            };
            self.at += 1;
            found.push(match escape {
                b'"' | b'\\' | b'/' => escape as char,
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => self.escaped()?,
                _ => return Err(self.fault("there is no such escape")),
            });
        }
    }

    /// The character of an escape, or of two that are a surrogate pair.
    fn escaped(&mut self) -> Result<char, String> {
        let first = self.unit()?;
        if (0xd800..0xdc00).contains(&first) {
            let behind = self.at;
            if self.takes("\\u") {
                let second = self.unit()?;
                if (0xdc00..0xe000).contains(&second) {
                    let point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    return Ok(char::from_u32(point).unwrap_or('\u{fffd}'));
                }
            }
            self.at = behind;
        }
        Ok(char::from_u32(first).unwrap_or('\u{fffd}'))
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let fits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = fits else {
            return Err(self.fault("four hexadecimal digits are expected"));
        };
        let value = digits.iter().fold(0, |sum, digit| {
            sum * 16 + (*digit as char).to_digit(16).unwrap_or(0)
        });
        self.at += 4;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        Json::parse(text.as_bytes()).unwrap().write()
    }

    #[test]
    fn what_is_read_is_written() {
        for text in [
            r#"{"a":[1,-2.5e+3,true,false,null],"b":{"c":"\\ \" / é 🚲"}}"#,
            r#""\u0000\u001f""#,
            "[]",
            "{}",
            "12345678901234567890",
        ] {
            assert_eq!(again(text), text);
        }
        assert_eq!(again(r#" "\ud83d\udeb2\n" "#), "\"🚲\\u000a\"");
    }

    #[test]
    fn half_a_surrogate_pair_is_read_as_the_replacement() {
        assert_eq!(again(r#""a\ud83d""#), "\"a\u{fffd}\"");
        assert_eq!(again(r#""\ud83d\ud83d\udeb2""#), "\"\u{fffd}🚲\"");
        assert_eq!(again(r#""\udeb2x""#), "\"\u{fffd}x\"");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "nul",
            "01",
            "1.",
            "+1",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\n\"",
            "1 2",
            "NaN",
            "\u{feff}1",
            &deep,
        ] {
            assert!(Json::parse(text.as_bytes()).is_err(), "{text:.20}");
        }
        assert!(Json::parse(b"\"\xff\"").is_err());
    }
}
