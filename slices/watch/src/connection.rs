//! Attributes events to connections. A call of SQLite names its connection; a lock call of the kernel names only the
//! thread. Connections move between threads (pools, event loops, goroutines), and a transaction belongs to one
//! connection. Pure: events go in ordered by time, and come out with their connections.

use crate::event::{Event, What, Who};
use std::collections::{HashMap, HashSet};

/// First number given to connections; threads have smaller numbers (the kernel ends at 2^22).
const NUMBERS_FROM: u32 = 1 << 31;
/// Most connections, and most threads, that are stored.
const KEPT_MAX: usize = 100_000;
/// Deepest nesting of calls that is tracked.
const DEPTH_MAX: usize = 16;

/// Whether a number is that of a thread, and not one given to a connection.
pub fn is_thread(tid: u32) -> bool {
    tid < NUMBERS_FROM
}

/// Name of a thread, or of a connection that has its own number.
pub fn name(tid: u32) -> String {
    if is_thread(tid) { format!("thread {tid}") } else { format!("connection {}", tid - NUMBERS_FROM + 1) }
}

/// Caller of a function of SQLite, as far as the probe reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caller {
    /// Address of the connection; 0 when a call ends.
    pub connection: u64,
    /// Address of the goroutine, which may move to another thread; 0 in functions that are not Go.
    pub goroutine: u64,
    /// Stack pointer when the call begins.
    pub stack: u64,
}

/// Owner of a stack. Calls on one stack return in reverse order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stack {
    Thread(Who),
    Goroutine(u32, u64),
}

impl Stack {
    fn of(thread: Who, caller: Caller) -> Stack {
        if caller.goroutine == 0 { Stack::Thread(thread) } else { Stack::Goroutine(thread.pid, caller.goroutine) }
    }

    fn pid(&self) -> u32 {
        match self {
            Stack::Thread(who) => who.pid,
            Stack::Goroutine(pid, _) => *pid,
        }
    }
}

/// A call that has not returned: number of its connection, and stack pointer at its beginning.
#[derive(Debug, Clone, Copy)]
struct Open {
    number: u32,
    stack: u64,
}

/// Connections, and the calls in progress on them.
#[derive(Debug, Default)]
pub struct Connections {
    /// Number of a connection by process and address.
    numbers: HashMap<(u32, u64), u32>,
    given: HashSet<Who>,
    next: u32,
    /// Calls that have not returned, outermost first.
    open: HashMap<Stack, Vec<Open>>,
    /// Stack and connection of a thread's last call.
    last: HashMap<Who, (Stack, u32)>,
}

impl Connections {
    /// Replaces the event's thread by its connection, if known. Calls whose end was not seen are ended first.
    pub fn attribute(&mut self, event: Event, caller: Caller) -> Vec<Event> {
        let thread = event.who;
        let is_begin = matches!(event.what, What::PrepareBegins { .. } | What::StepBegins { .. });
        let unseen = if is_begin { self.returned(Stack::of(thread, caller), caller.stack) } else { vec![] };
        let unseen = unseen.into_iter().map(|number| (number, What::EndUnseen));
        let mut events: Vec<Event> =
            unseen.map(|(tid, what)| Event { at_ns: event.at_ns, who: Who { tid, ..thread }, what }).collect();
        let tid = match &event.what {
            What::PrepareBegins { .. } | What::StepBegins { .. } => self.begins(thread, caller),
            What::PrepareEnds { .. } | What::StepEnds { .. } => self.ends(thread, caller),
            What::Lock { .. } | What::SyncBegins { .. } | What::SyncEnds { .. } => self.user_of(thread),
            What::Replaced => {
                self.forget(thread.pid);
                thread.tid
            }
            What::Opens { .. } | What::EndUnseen => thread.tid,
        };
        events.push(Event { who: Who { tid, ..thread }, ..event });
        events
    }

    /// Connections of calls that returned without an event: a nested call would begin at a lower stack pointer.
    fn returned(&mut self, stack: Stack, pointer: u64) -> Vec<u32> {
        let Some(open) = self.open.get_mut(&stack) else { return vec![] };
        let inner = open.iter().take_while(|open| open.stack > pointer || open.stack == 0).count();
        open.drain(inner..).rev().map(|open| open.number).collect()
    }

    /// Events were lost, so the set of open calls is unknown.
    pub fn events_were_lost(&mut self) {
        self.open.clear();
    }

    fn forget(&mut self, pid: u32) {
        self.numbers.retain(|(of, _), _| *of != pid);
        self.given.retain(|who| who.pid != pid);
        self.open.retain(|stack, _| stack.pid() != pid);
        self.last.retain(|who, _| who.pid != pid);
    }

    fn begins(&mut self, thread: Who, caller: Caller) -> u32 {
        let stack = Stack::of(thread, caller);
        let number = self.number(thread, stack, caller.connection);
        let open = self.open.entry(stack).or_default();
        if open.len() >= DEPTH_MAX {
            // The ends of these calls were lost.
            open.clear();
        }
        open.push(Open { number, stack: caller.stack });
        self.note(thread, stack, number);
        number
    }

    fn ends(&mut self, thread: Who, caller: Caller) -> u32 {
        let stack = Stack::of(thread, caller);
        let number = self.open.get_mut(&stack).and_then(Vec::pop).map(|open| open.number);
        let number = number.or_else(|| Some(self.last.get(&thread)?.1)).unwrap_or(thread.tid);
        if self.open.get(&stack).is_some_and(Vec::is_empty) {
            self.open.remove(&stack);
        }
        self.note(thread, stack, number);
        number
    }

    fn note(&mut self, thread: Who, stack: Stack, number: u32) {
        if self.last.len() >= KEPT_MAX {
            self.last.clear();
        }
        self.last.insert(thread, (stack, number));
    }

    /// The connection of a thread's system call: that of its current call; else that of the only goroutine of the
    /// process in a call, which has moved to this thread; else that of the thread's last call.
    fn user_of(&self, thread: Who) -> u32 {
        let last = self.last.get(&thread);
        if let Some(open) = last.and_then(|(stack, _)| self.open.get(stack)?.last()) {
            return open.number;
        }
        let is_other = |stack: &Stack| matches!(stack, Stack::Goroutine(pid, _) if *pid == thread.pid);
        let mut others = self.open.iter().filter(|(stack, _)| is_other(stack)).filter_map(|(_, open)| open.last());
        match (others.next(), others.next()) {
            (Some(open), None) => open.number,
            _ => last.map_or(thread.tid, |(_, number)| *number),
        }
    }

    /// Number of a connection: that of its first thread, unless the thread is a goroutine's or already has a
    /// connection.
    fn number(&mut self, thread: Who, stack: Stack, connection: u64) -> u32 {
        if let Some(&number) = self.numbers.get(&(thread.pid, connection)) {
            return number;
        }
        if self.numbers.len() >= KEPT_MAX {
            // Connections still in use get a number again.
            self.numbers.clear();
            self.given.clear();
        }
        let is_its = matches!(stack, Stack::Thread(_)) && self.given.insert(thread);
        let number = if is_its { thread.tid } else { NUMBERS_FROM + self.next };
        self.next += u32::from(!is_its);
        self.numbers.insert((thread.pid, connection), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::{Change, Lock, Mode};

    const BEGINS: fn() -> What = || What::StepBegins { statement: 1, sql: None };
    const ENDS: fn() -> What = || What::StepEnds { code: 101 };
    const LOCK: fn() -> What = || What::Lock { database: 0, lock: Lock::WalWrite, change: Change::Taken(Mode::Alone) };

    /// Thread, event, connection and goroutine.
    type Reported = (u32, fn() -> What, u64, u64);

    /// Connection numbers of the events, in order.
    fn numbers(events: &[Reported]) -> Vec<u32> {
        let mut connections = Connections::default();
        let mut depth = 100;
        let mut number = |&(tid, what, connection, goroutine): &Reported| {
            let event = Event { at_ns: 0, who: Who { pid: 7, tid }, what: what() };
            depth -= 1;
            let events = connections.attribute(event, Caller { connection, goroutine, stack: depth });
            events.last().expect("the event").who.tid
        };
        events.iter().map(&mut number).collect()
    }

    #[test]
    fn a_connection_keeps_its_number_in_another_thread() {
        let events = [(8, BEGINS, 100, 0), (8, LOCK, 0, 0), (8, ENDS, 0, 0), (9, BEGINS, 100, 0), (9, ENDS, 0, 0)];
        assert_eq!(numbers(&events), [8; 5]);
    }

    #[test]
    fn connections_of_one_thread_have_numbers_of_their_own() {
        let events = [(8, BEGINS, 100, 0), (8, ENDS, 0, 0), (8, BEGINS, 200, 0), (8, LOCK, 0, 0), (8, ENDS, 0, 0)];
        assert_eq!(numbers(&events), [8, 8, NUMBERS_FROM, NUMBERS_FROM, NUMBERS_FROM]);
        let nested = [(8, BEGINS, 100, 0), (8, BEGINS, 200, 0), (8, ENDS, 0, 0), (8, LOCK, 0, 0)];
        assert_eq!(numbers(&nested), [8, NUMBERS_FROM, NUMBERS_FROM, 8], "a callback uses another connection");
    }

    #[test]
    fn a_goroutine_that_goes_on_in_another_thread_keeps_its_connection() {
        let moves = [(8, BEGINS, 100, 5), (9, LOCK, 0, 0), (9, ENDS, 0, 5), (9, LOCK, 0, 0)];
        assert_eq!(numbers(&moves), [NUMBERS_FROM; 4]);
        let two = [(8, BEGINS, 100, 5), (9, BEGINS, 200, 6), (9, LOCK, 0, 0), (8, LOCK, 0, 0), (10, LOCK, 0, 0)];
        let [first, second] = [NUMBERS_FROM, NUMBERS_FROM + 1];
        assert_eq!(numbers(&two), [first, second, second, first, 10], "whose the last is cannot be known");
    }

    #[test]
    fn a_call_whose_end_was_not_seen_has_returned_when_the_next_one_begins_there() {
        let mut connections = Connections::default();
        let mut report = |what: What, stack| {
            let event = Event { at_ns: 0, who: Who { pid: 7, tid: 8 }, what };
            connections.attribute(event, Caller { connection: 100, goroutine: 0, stack }).len()
        };
        assert_eq!([report(BEGINS(), 90), report(BEGINS(), 80)], [1, 1], "one inside of the other");
        assert_eq!(report(BEGINS(), 90), 3, "both have returned");
        assert_eq!([report(ENDS(), 0), report(BEGINS(), 90)], [1, 1]);
    }

    #[test]
    fn a_lock_outside_of_calls_is_of_the_last_connection() {
        assert_eq!(numbers(&[(8, LOCK, 0, 0)]), [8]);
        assert_eq!(
            numbers(&[(8, BEGINS, 1, 0), (8, ENDS, 0, 0), (9, BEGINS, 1, 0), (9, ENDS, 0, 0), (9, LOCK, 0, 0)])[4],
            8
        );
    }
}
