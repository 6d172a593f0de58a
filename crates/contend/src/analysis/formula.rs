//! A small arithmetic over named quantities: the value of a metric or of an exported column.
//!
//! ```text
//! sum      = product { ("+" | "-") product }
//! product  = factor { ("*" | "/") factor }
//! factor   = "-" factor | number | name | function "(" sum { "," sum } ")" | "(" sum ")"
//! ```
//!
//! A name may end in `@[LABEL]`: the value of that contender in the same round. A formula has no value if a quantity
//! was not measured, a divisor is 0, or a result is not finite.

use std::iter::Peekable;
use std::str::CharIndices;

/// Longest formula, in bytes; limits recursion.
const LENGTH_MAX: usize = 2_000;
/// Deepest nesting of parentheses and signs.
const DEPTH_MAX: usize = 50;
const FUNCTIONS: [(&str, Function); 3] = [("floor", Function::Floor), ("min", Function::Min), ("max", Function::Max)];

#[derive(Debug, Clone, PartialEq)]
pub struct Formula(Node);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Negative(Box<Node>),
    Two(Operator, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Function {
    Floor,
    Min,
    Max,
}

impl Formula {
    /// # Errors
    /// What is wrong, and at which character, counted from 1.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LENGTH_MAX {
            return Err(format!("is longer than {LENGTH_MAX} characters"));
        }
        let mut reader = Reader { tokens: tokens(text)?, next: 0, length: text.chars().count() };
        let root = reader.sum(0)?;
        match reader.peek() {
            None => Ok(Self(root)),
            Some(token) => Err(reader.at(&format!("{} does not belong here", token.shown()))),
        }
    }

    /// The value with these quantities; `None` if one was not measured.
    pub fn value(&self, quantity: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        evaluate(&self.0, quantity)
    }

    /// Whether every value is a whole number: it is made of rounded values and whole numbers.
    pub fn is_whole(&self) -> bool {
        is_whole(&self.0)
    }

    /// All names, in the order of the text.
    pub fn names(&self) -> Vec<&str> {
        let mut found = vec![];
        collect(&self.0, &mut found);
        found
    }
}

fn evaluate(node: &Node, quantity: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    let value = match node {
        Node::Number(number) => *number,
        Node::Name(name) => quantity(name)?,
        Node::Negative(inner) => -evaluate(inner, quantity)?,
        Node::Two(operator, left, right) => {
            let (left, right) = (evaluate(left, quantity)?, evaluate(right, quantity)?);
            match operator {
                Operator::Plus => left + right,
                Operator::Minus => left - right,
                Operator::Times => left * right,
                Operator::Over => (right != 0.0).then(|| left / right)?,
            }
        }
        Node::Call(function, arguments) => {
            let values: Option<Vec<f64>> = arguments.iter().map(|node| evaluate(node, quantity)).collect();
            let values = values?.into_iter();
            match function {
                Function::Floor => values.map(floor).next()?,
                Function::Min => values.reduce(f64::min)?,
                Function::Max => values.reduce(f64::max)?,
            }
        }
    };
    value.is_finite().then_some(value)
}

/// The whole number below. A value that misses a whole number only by rounding counts as that number: 0.3 / 0.1 is 3.
fn floor(value: f64) -> f64 {
    let near = value.round();
    if (value - near).abs() <= 1e-9 * near.abs().max(1.0) { near } else { value.floor() }
}

fn is_whole(node: &Node) -> bool {
    match node {
        Node::Number(number) => number.fract() == 0.0,
        Node::Name(_) | Node::Two(Operator::Over, ..) => false,
        Node::Negative(inner) => is_whole(inner),
        Node::Two(_, left, right) => is_whole(left) && is_whole(right),
        Node::Call(Function::Floor, _) => true,
        Node::Call(_, arguments) => arguments.iter().all(is_whole),
    }
}

fn collect<'n>(node: &'n Node, found: &mut Vec<&'n str>) {
    match node {
        Node::Number(_) => {}
        Node::Name(name) => found.push(name),
        Node::Negative(inner) => collect(inner, found),
        Node::Two(_, left, right) => [left, right].into_iter().for_each(|node| collect(node, found)),
        Node::Call(_, arguments) => arguments.iter().for_each(|node| collect(node, found)),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Sign(char),
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Token::Number(number) => format!("`{number}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Sign(sign) => format!("`{sign}`"),
        }
    }
}

/// Tokens with the position of their first character, from 0.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut chars = text.char_indices().peekable();
    let mut found = vec![];
    while let Some(&(byte, c)) = chars.peek() {
        let at = text[..byte].chars().count();
        let token = if c.is_ascii_digit() {
            number(text, &mut chars).map_err(|word| format!("at character {}: `{word}` is not a number", at + 1))?
        } else if c.is_ascii_alphabetic() || c == '_' {
            let belongs = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            let name = take(text, &mut chars, |_, c| belongs(c));
            Token::Name(format!("{name}{}", elsewhere(text, &mut chars, at)?))
        } else if "+-*/(),".contains(c) {
            chars.next();
            Token::Sign(c)
        } else if c.is_whitespace() {
            chars.next();
            continue;
        } else {
            return Err(format!(
                "at character {}: `{c}` is not understood; there are numbers, names, + - * / ( ), floor, min and max",
                at + 1
            ));
        };
        found.push((at, token));
    }
    Ok(found)
}

/// Reads `@[LABEL]` after a name; empty if there is none.
fn elsewhere<'t>(text: &'t str, chars: &mut Peekable<CharIndices>, at: usize) -> Result<&'t str, String> {
    let Some((start, _)) = chars.next_if(|(_, c)| *c == '@') else { return Ok("") };
    let wrong = || format!("at character {}: after @ comes the label of a contender, in brackets", at + 1);
    chars.next_if(|(_, c)| *c == '[').ok_or_else(wrong)?;
    let end = chars.find(|(_, c)| *c == ']').map(|(end, _)| end);
    end.map(|end| &text[start..=end]).ok_or_else(wrong)
}

/// Reads `1`, `0.5`, `1e-6` or `10_000`; the error is a text that only begins like a number.
fn number<'t>(text: &'t str, chars: &mut Peekable<CharIndices>) -> Result<Token, &'t str> {
    let belongs = |before: char, c: char| {
        c.is_ascii_alphanumeric() || c == '.' || c == '_' || ("+-".contains(c) && "eE".contains(before))
    };
    let word = take(text, chars, belongs);
    let number = word.replace('_', "").parse::<f64>().map_err(|_| word)?;
    if number.is_finite() { Ok(Token::Number(number)) } else { Err(word) }
}

/// Takes characters while `belongs(previous, next)`.
fn take<'t>(text: &'t str, chars: &mut Peekable<CharIndices>, belongs: impl Fn(char, char) -> bool) -> &'t str {
    let (start, mut before) = chars.next().unwrap_or_default();
    let mut end = start + before.len_utf8();
    while let Some((at, c)) = chars.next_if(|(_, c)| belongs(before, *c)) {
        end = at + c.len_utf8();
        before = c;
    }
    &text[start..end]
}

struct Reader {
    tokens: Vec<(usize, Token)>,
    next: usize,
    /// Of the text, in characters.
    length: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn take(&mut self, sign: char) -> bool {
        let there = self.peek() == Some(&Token::Sign(sign));
        self.next += usize::from(there);
        there
    }

    fn at(&self, message: &str) -> String {
        let at = self.tokens.get(self.next).map_or(self.length, |(at, _)| *at);
        format!("at character {}: {message}", at + 1)
    }

    fn close(&mut self) -> Result<(), String> {
        if self.take(')') { Ok(()) } else { Err(self.at("a `)` is missing")) }
    }

    fn sum(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.product(depth)?;
        loop {
            let operator = if self.take('+') {
                Operator::Plus
            } else if self.take('-') {
                Operator::Minus
            } else {
                return Ok(left);
            };
            left = Node::Two(operator, Box::new(left), Box::new(self.product(depth)?));
        }
    }

    fn product(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.factor(depth)?;
        loop {
            let operator = if self.take('*') {
                Operator::Times
            } else if self.take('/') {
                Operator::Over
            } else {
                return Ok(left);
            };
            left = Node::Two(operator, Box::new(left), Box::new(self.factor(depth)?));
        }
    }

    fn factor(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEPTH_MAX {
            return Err(self.at("nested too deeply"));
        }
        if self.take('-') {
            return Ok(Node::Negative(Box::new(self.factor(depth + 1)?)));
        }
        if self.take('(') {
            let inside = self.sum(depth + 1)?;
            return self.close().map(|()| inside);
        }
        match self.peek().cloned() {
            Some(Token::Number(number)) => {
                self.next += 1;
                Ok(Node::Number(number))
            }
            Some(Token::Name(name)) => {
                self.next += 1;
                if self.peek() == Some(&Token::Sign('(')) { self.call(&name, depth) } else { Ok(Node::Name(name)) }
            }
            Some(other) => Err(self.at(&format!("a number, a name or `(` is expected here, not {}", other.shown()))),
            None => Err(self.at("the formula ends where a number, a name or `(` is expected")),
        }
    }

    fn call(&mut self, name: &str, depth: usize) -> Result<Node, String> {
        let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            return Err(self.at(&format!("`{name}` is not a function; functions are floor, min and max")));
        };
        self.next += 1;
        let mut arguments = vec![self.sum(depth + 1)?];
        while self.take(',') {
            arguments.push(self.sum(depth + 1)?);
        }
        self.close()?;
        match (function, arguments.len()) {
            (Function::Floor, 1) => {}
            (Function::Floor, _) => return Err(self.at("floor takes one value")),
            (_, 1) => return Err(self.at(&format!("{name} takes two values or more"))),
            _ => {}
        }
        Ok(Node::Call(*function, arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantities(name: &str) -> Option<f64> {
        match name {
            "committed.write" => Some(27.0),
            "databases" => Some(10.0),
            "window_s" => Some(10.5),
            "write_delay_ms" => Some(1000.0),
            "code.sqlite.517" | "none" => Some(0.0),
            "code.sqlstate.40P01" => Some(4.0),
            "huge" => Some(f64::MAX),
            "window_s@[WAL, 8 ms]" => Some(21.0),
            _ => None,
        }
    }

    #[test]
    fn values_are_what_arithmetic_says() {
        for (text, expected) in [
            ("1", Some(1.0)),
            ("1 + 2 * 3", Some(7.0)),
            ("(1 + 2) * 3", Some(9.0)),
            ("10 - 2 - 3", Some(5.0)),
            ("100 / 10 / 5", Some(2.0)),
            ("-2 * -3", Some(6.0)),
            ("2--3", Some(5.0)),
            ("1e3 + 2.5e-1 + 1_000", Some(2000.25)),
            ("floor(7 / 2) + floor(-0.5)", Some(2.0)),
            ("floor(0.3 / 0.1) + floor(2.999)", Some(5.0)),
            ("min(3, 1, 2) + max(databases, 4)", Some(11.0)),
            ("100 * committed.write / (databases * floor(window_s / (write_delay_ms / 1000)))", Some(27.0)),
            ("code.sqlite.517 + code.sqlstate.40P01*2", Some(8.0)),
            ("2 * window_s@[WAL, 8 ms] + 1", Some(43.0)),
            // No value: never 0, never infinite.
            ("1 / none", None),
            ("0 / none", None),
            ("1 / (databases - 10)", None),
            ("not_measured + 1", None),
            ("0 * not_measured", None),
            ("max(1, not_measured)", None),
            ("huge * 2", None),
            ("huge * 2 / huge", None),
        ] {
            assert_eq!(Formula::parse(text).unwrap().value(&quantities), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_name_the_character() {
        for (text, message) in [
            ("", "at character 1: the formula ends"),
            ("1 +", "at character 4: the formula ends"),
            ("1 2", "at character 3: `2` does not belong here"),
            ("a b", "at character 3: `b` does not belong here"),
            ("(1", "at character 3: a `)` is missing"),
            ("1)", "at character 2: `)` does not belong here"),
            ("* 2", "at character 1: a number, a name or `(` is expected here, not `*`"),
            ("floor()", "at character 7: a number"),
            ("floor(1, 2)", "floor takes one value"),
            ("max(1)", "max takes two values or more"),
            ("round(1)", "`round` is not a function; functions are floor, min and max"),
            ("window_s@WAL", "after @ comes the label of a contender"),
            ("window_s@[WAL", "after @ comes the label of a contender"),
            ("2 ^ 3", "at character 3: `^` is not understood"),
            ("é + 1", "at character 1: `é` is not understood"),
            ("1.2.3", "at character 1: `1.2.3` is not a number"),
            ("3ms", "`3ms` is not a number"),
            ("1e999", "`1e999` is not a number"),
            ("a, b", "at character 2: `,` does not belong here"),
        ] {
            let error = Formula::parse(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert!(Formula::parse(&"(".repeat(1_000)).unwrap_err().contains("nested too deeply"));
        assert!(Formula::parse(&"-".repeat(1_000)).unwrap_err().contains("nested too deeply"));
        assert!(Formula::parse(&"1+".repeat(1_001)).unwrap_err().contains("longer than"));
        let long = format!("{}1", "1+".repeat(990));
        assert_eq!(Formula::parse(&long).unwrap().value(&quantities), Some(991.0));
    }

    #[test]
    fn names_are_listed() {
        let formula = Formula::parse("a.b + min(c, -d) / (2 * a.b)").unwrap();
        assert_eq!(formula.names(), ["a.b", "c", "d", "a.b"]);
    }
}
