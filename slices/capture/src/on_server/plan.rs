//! What a replay on a server does for each call: the translations, and what has none.

use crate::alike::pattern;
use crate::attach::unquoted;
use crate::on_server::keys::{Counter, counter};
use crate::on_server::pieces::{Piece, Role, pieces};
use crate::on_server::values::{Place, type_of};
use crate::order::{Unit, had_no_effect};
use crate::outcome::{OF_THE_MOMENT, Refused};
use crate::program::Shapes;
use crate::sql::{Does, Token, is_of_the_moment, tokens};
use crate::trace::{Call, How, Trace, Value};
use contend_sql::{Catalogue, Certainty, Options, ParamType, SessionValue, Statement, Target, translate};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

const DEFINED: &str =
    "CREATE, ALTER and DROP were left out: what the program makes is there from the beginning, without rows.";
const SETTINGS: &str = "PRAGMA, ATTACH, DETACH, VACUUM, ANALYZE and REINDEX were left out.";
const UNPREPARED: &str = "Statements that SQLite could not prepare were left out.";

/// What is done for a statement of a text.
pub enum Step {
    Runs(Run),
    /// Nothing, for this reason.
    Nothing(&'static str),
    Refused(String),
}

/// A statement that is carried out.
pub struct Run {
    pub statements: Vec<Statement>,
    pub does: Does,
    /// For SAVEPOINT, RELEASE and ROLLBACK TO: the first word, and the name.
    pub savepoint: Option<(String, String)>,
    pub counter: Option<Counter>,
    /// Differences of a lossy translation, as sentences.
    pub lossy: Vec<String>,
    /// Whether the server counts changed rows in another way.
    pub counts_otherwise: bool,
    wants_words: bool,
    version: u32,
}

/// The state of a captured connection that statements can ask for.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    /// `None` if it is unknown.
    pub rowid: Option<i64>,
    pub changes: i64,
    pub total: i64,
}

impl Run {
    /// The values of a statement's placeholders.
    ///
    /// # Errors
    /// Why one has none, as words without the value.
    pub fn bound(&self, statement: &Statement, call: &Call, session: Session) -> Result<Vec<Value>, String> {
        let places = statement.params.iter().zip(&statement.types).zip(&statement.converted);
        let bound = places.map(|((number, ty), is_converted)| match SessionValue::of(*number) {
            Some(SessionValue::LastInsertRowid) => {
                session.rowid.map(Value::Integer).ok_or_else(|| "last_insert_rowid() is not known".to_string())
            }
            Some(SessionValue::Changes) => Ok(Value::Integer(session.changes)),
            Some(SessionValue::TotalChanges) => Ok(Value::Integer(session.total)),
            None => {
                let given =
                    call.values.iter().find(|(place, _)| place == number).map_or(&Value::Null, |(_, value)| value);
                let place = Place {
                    ty: *ty,
                    is_converted: *is_converted,
                    wants_words: self.wants_words,
                    version: self.version,
                };
                let word = type_of(given).word();
                place.bound(given).ok_or_else(|| {
                    format!(
                        "parameter {number}: the translation is for values of type {}, not for this {word}",
                        ty.word()
                    )
                })
            }
        });
        bound.collect()
    }
}

/// A text, with the types of its values.
type Known = (Rc<str>, Vec<ParamType>);

/// Translates the texts of a capture.
pub struct Translator<'c> {
    pub catalogue: &'c Catalogue,
    pub target: Target,
    /// The oldest version of SQLite in the capture.
    pub version: u32,
    known: HashMap<Known, Rc<[Step]>>,
}

impl<'c> Translator<'c> {
    pub fn new(catalogue: &'c Catalogue, target: Target, version: u32) -> Self {
        Translator { catalogue, target, version, known: HashMap::new() }
    }

    fn steps(&mut self, call: &Call) -> Rc<[Step]> {
        let most = call.values.iter().map(|(place, _)| *place).max().unwrap_or(0);
        let mut types = vec![ParamType::Unknown; usize::from(most)];
        for (place, value) in call.values.iter().filter(|(place, _)| *place > 0) {
            types[usize::from(*place) - 1] = type_of(value);
        }
        if let Some(known) = self.known.get(&(Rc::clone(&call.sql), types.clone())) {
            return Rc::clone(known);
        }
        let steps: Rc<[Step]> = pieces(&call.sql).into_iter().map(|piece| self.step(&piece, &types)).collect();
        self.known.insert((Rc::clone(&call.sql), types), Rc::clone(&steps));
        steps
    }

    fn step(&self, piece: &Piece, types: &[ParamType]) -> Step {
        let does = match piece.role {
            Role::Runs(does) => does,
            Role::Defines => return Step::Nothing(DEFINED),
            Role::Setting => return Step::Nothing(SETTINGS),
            Role::Refused(why) => return Step::Refused(why.to_string()),
        };
        let options = Options {
            pack: self.target == Target::Postgres,
            session: true,
            bound: types.to_vec(),
            sqlite: self.version,
            ..Options::to(self.target)
        };
        let translation = match translate(piece.text, self.catalogue, &options) {
            Ok(translation) => translation,
            Err(refusal) => return Step::Refused(refusal.to_string()),
        };
        let fires = |rule: &str| translation.rules.iter().any(|fired| fired.rule == rule);
        let lossy = translation.rules.iter().filter_map(|fired| match fired.certainty {
            Certainty::Lossy(what) => {
                Some((fired.rule, format!("Not the same on the server: {what} ({}).", fired.rule)))
            }
            Certainty::Exact | Certainty::Equivalent(_) => None,
        });
        let (rules, lossy): (Vec<&str>, Vec<String>) = lossy.unzip();
        Step::Runs(Run {
            lossy,
            counts_otherwise: rules.contains(&"upsert-count"),
            wants_words: fires("texts-in-numeric-columns"),
            statements: translation.statements,
            does,
            savepoint: (does == Does::Savepoint).then(|| savepoint(piece.text)).flatten(),
            counter: counter(piece.text, self.catalogue),
            version: self.version,
        })
    }
}

/// The first word and the last one, the name.
fn savepoint(sql: &str) -> Option<(String, String)> {
    match tokens(sql).as_slice() {
        [Token::Word(word), .., Token::Word(name) | Token::Literal(name)] => {
            Some((word.to_ascii_lowercase(), unquoted(name).to_ascii_lowercase()))
        }
        _ => None,
    }
}

/// The plan of a replay.
#[derive(Default)]
pub struct Plan {
    /// Steps by call, of those that are carried out.
    pub steps: BTreeMap<usize, Rc<[Step]>>,
    pub refused: Vec<Refused>,
    /// Calls without a translation.
    pub refused_calls: u64,
    /// How many transactions lose statements, as a sentence.
    pub losing: Option<String>,
    /// What is left out, as sentences.
    pub left_out: BTreeSet<String>,
    pub needs_pack: bool,
}

/// Shape of a call without a translation, reason, and time.
type Refusal = (usize, String, u64);

/// Plans all units.
pub fn plan(translator: &mut Translator<'_>, (trace, shapes): (&Trace, &Shapes), units: &[Unit]) -> Plan {
    let mut plan = Plan::default();
    let mut refused: BTreeMap<(String, String), Vec<Refusal>> = BTreeMap::new();
    let (mut calls, mut inside_ns, mut losing) = (0u64, 0u64, 0u64);
    for unit in units {
        let before = plan.refused_calls;
        for &at in &unit.calls {
            let call = &trace.calls[at];
            if had_no_effect(call, shapes) {
                continue;
            }
            (calls, inside_ns) = (calls + 1, inside_ns + call.inside_ns);
            if let Some(why) = plan.add(translator, at, call) {
                plan.refused_calls += 1;
                let key = (pattern(&shapes.get(call).text), pattern(&why));
                refused.entry(key).or_default().push((shapes.number(call), why, call.inside_ns));
            }
        }
        losing += u64::from(unit.calls.len() > 1 && plan.refused_calls > before);
    }
    let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    plan.refused = refused
        .into_iter()
        .map(|((statement, why), of)| {
            let is_one = of.iter().all(|(number, ..)| *number == of[0].0);
            let own = || (shapes.all[of[0].0].text.clone(), of[0].1.clone());
            let (statement, why) = if is_one { own() } else { (statement, why) };
            Refused {
                statement,
                why,
                calls: of.len() as u64,
                calls_percent: percent(of.len() as u64, calls),
                time_percent: percent(of.iter().map(|(.., ns)| ns).sum(), inside_ns),
            }
        })
        .collect();
    plan.refused.sort_by_key(|refused| std::cmp::Reverse(refused.calls));
    if losing > 0 {
        let all = units.iter().filter(|unit| unit.calls.len() > 1).count();
        plan.losing = Some(format!("{losing} of {all} transactions of several statements lose statements."));
    }
    plan
}

impl Plan {
    /// Adds a call; returns why it has no translation.
    fn add(&mut self, translator: &mut Translator<'_>, at: usize, call: &Call) -> Option<String> {
        if call.how == How::Prepare {
            self.left_out.insert(UNPREPARED.to_string());
            return None;
        }
        let steps = translator.steps(call);
        // A key of the session is known only in the replay.
        let session = Session { rowid: Some(0), changes: 0, total: 0 };
        for step in steps.iter() {
            match step {
                Step::Refused(why) => return Some(why.clone()),
                Step::Nothing(why) => drop(self.left_out.insert((*why).to_string())),
                Step::Runs(run) => {
                    self.left_out.extend(run.lossy.iter().cloned());
                    for statement in &run.statements {
                        if let Err(why) = run.bound(statement, call, session) {
                            return Some(why);
                        }
                        self.needs_pack |= statement.sql.contains("contend_sql.");
                    }
                }
            }
        }
        if is_of_the_moment(&call.sql) {
            self.left_out.insert(OF_THE_MOMENT.to_string());
        }
        self.steps.insert(at, steps);
        None
    }
}
