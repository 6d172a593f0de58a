//! An exchange with a service: a connection, a request, an answer.

use super::Events;
use super::client::{Phase, Work};
use super::connection::{Connection, Heard, open};
use super::failures::{LOST, NONSENSE, os, os_error};
use crate::attempt::Failed;
use crate::clock::monotonic_ns;
use crate::connection::RECONNECT_PAUSE;
use crate::failure::Failure;
use crate::http::answer::{Asked, is_in};
use crate::http::json::look_into;
use crate::http::responses::Counted;
use crate::http::tls::{Progress, in_words};
use contend_wire::plan::http::HttpStep;
use contend_wire::sample::CodeSpace;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::sockopt;
use std::io::ErrorKind;

/// Any status, for answers that are shown to people.
const ANY_STATUS: &[(u16, u16)] = &[(100, 999)];

/// Whether an attempt is due in the window.
fn is_in_window(work: Work, (begin_ns, end_ns): (u64, u64)) -> bool {
    matches!(work, Work::Turn(turn) if (begin_ns..end_ns).contains(&turn.due_ns))
}

impl<'p> Events<'p> {
    pub(super) fn send(&mut self, i: usize, step: &'p HttpStep, now_ns: u64) {
        let client = &mut self.clients[i];
        (client.sent, client.refused, client.reopened) = (0, false, false);
        if client.rendered.is_none() {
            client.write_request(step, self.plan, &mut self.scratch);
        }
        if let Some(Err(failure)) = client.rendered {
            let step = client.step as u16;
            return self.done(i, Err(Failed { step, failure }), now_ns);
        }
        client.deadline_ns = now_ns.saturating_add(self.options.timeout_ns);
        self.deadline_ns = self.deadline_ns.min(client.deadline_ns);
        client.reader.reset();
        if client.connection.as_ref().is_some_and(|connection| connection.is_stale(now_ns)) {
            self.listen(i);
        }
        let client = &mut self.clients[i];
        // A service that answers before it is asked would be faster than one that does the work in time.
        if std::mem::take(&mut client.unrequested) {
            return self.fail(i, NONSENSE);
        }
        match client.connection {
            Some(_) => self.write(i),
            None => self.connect(i, now_ns),
        }
    }

    pub(super) fn connect(&mut self, i: usize, now_ns: u64) {
        let client = &mut self.clients[i];
        if !matches!(client.phase, Phase::Held) {
            client.connecting_ns = now_ns;
        }
        if now_ns < client.not_connect_before_ns {
            let until_ns = client.not_connect_before_ns;
            return self.set_timer(i, Phase::Held, until_ns);
        }
        client.generation = client.generation.wrapping_add(1) & 0x7fff_ffff;
        let data = epoll::EventData::new_u64(u64::from(client.generation) << 32 | i as u64);
        match open(client.service.address, &self.epoll, data) {
            Ok(stream) => {
                let (wants_out, used, quiet_since_ns) = (true, false, now_ns);
                client.connection =
                    Some(Connection { stream, tls: None, encrypted: false, wants_out, used, quiet_since_ns });
                client.phase = Phase::Connecting;
            }
            Err(errno) => self.refused(i, os(errno)),
        }
    }

    pub(super) fn connected(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let Some(connection) = &client.connection else { return };
        match sockopt::socket_error(&connection.stream) {
            Ok(Ok(())) if client.service.tls.is_some() => self.secure(i),
            Ok(Ok(())) => self.ready(i),
            Ok(Err(errno)) | Err(errno) => self.refused(i, os(errno)),
        }
    }

    /// Continues the handshake of TLS as far as possible without waiting.
    fn secure(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let (Some(connection), Some(tls)) = (&mut client.connection, &client.service.tls) else { return };
        client.phase = Phase::Securing;
        let Connection { stream, tls: session, .. } = connection;
        let begun = match session {
            Some(_) => Ok(()),
            None => tls.session().map(|made| *session = Some(made)),
        };
        let progress = begun.and_then(|()| session.as_mut().map_or(Ok(Progress::Done), |made| made.handshake(stream)));
        match progress {
            Ok(Progress::Done) => {
                client.insecure = None;
                self.ready(i);
            }
            Ok(waits) => self.want_out(i, waits == Progress::WantsOut),
            Err(e) => {
                client.insecure = Some(in_words(&e));
                let failure = if e.raw_os_error().is_some() { os_error(&e) } else { os(Errno::PROTO) };
                self.refused(i, failure);
            }
        }
    }

    /// The connection can be used.
    fn ready(&mut self, i: usize) {
        let client = &mut self.clients[i];
        client.waits.acquire_ns += monotonic_ns().saturating_sub(client.connecting_ns);
        match client.work {
            Work::Once(None) => {
                self.want_out(i, false);
                self.done(i, Ok(()), 0);
            }
            _ => self.write(i),
        }
    }

    pub(super) fn refused(&mut self, i: usize, failure: Failure) {
        let client = &mut self.clients[i];
        let now_ns = monotonic_ns();
        client.waits.acquire_ns += now_ns.saturating_sub(client.connecting_ns);
        client.not_connect_before_ns = now_ns.saturating_add(RECONNECT_PAUSE.as_nanos() as u64);
        self.fail(i, failure);
    }

    pub(super) fn write(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let Some(connection) = &mut client.connection else { return };
        match connection.write(&client.out, client.sent) {
            Ok(n) => {
                client.sent += n;
                let all = client.sent == client.out.len();
                client.phase = if all { Phase::Reading } else { Phase::Sending };
                self.want_out(i, !all);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                client.phase = Phase::Sending;
                self.want_out(i, true);
            }
            // The service closed it after the last answer; nothing of the request was sent.
            Err(_) if connection.used && client.sent == 0 && !client.reopened => {
                client.reopened = true;
                client.connection = None;
                self.connect(i, monotonic_ns());
            }
            Err(e) => self.fail(i, os_error(&e)),
        }
    }

    /// Whether the loop gets an event when the connection can be written to.
    #[inline]
    pub(super) fn want_out(&mut self, i: usize, wanted: bool) {
        let client = &mut self.clients[i];
        let Some(connection) = &mut client.connection else { return };
        if connection.wants_out == wanted {
            return;
        }
        connection.wants_out = wanted;
        let flags = if wanted { epoll::EventFlags::IN | epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
        let data = epoll::EventData::new_u64(u64::from(client.generation) << 32 | i as u64);
        if let Err(errno) = epoll::modify(&self.epoll, &connection.stream, data, flags) {
            self.fail(i, os(errno));
        }
    }

    #[inline]
    pub(super) fn happened(&mut self, i: usize, generation: u32, flags: epoll::EventFlags) {
        let client = &self.clients[i];
        if client.generation != generation || client.connection.is_none() {
            return;
        }
        let other_than_out = flags.intersects(!epoll::EventFlags::OUT);
        match client.phase {
            Phase::Reading => self.read(i),
            Phase::Connecting => self.connected(i),
            Phase::Securing => self.secure(i),
            Phase::Sending if other_than_out => self.read(i),
            Phase::Sending => self.write(i),
            _ => self.listen(i),
        }
    }

    /// Closes a connection without a request if the service has closed it, or has sent bytes that no request asked for.
    fn listen(&mut self, i: usize) {
        let client = &mut self.clients[i];
        let heard = client.connection.as_mut().map_or(Heard::Nothing, Connection::heard);
        if heard != Heard::Nothing {
            client.connection = None;
        }
        client.unrequested |= heard == Heard::Unrequested;
    }

    pub(super) fn read(&mut self, i: usize) {
        // Bytes that TLS has already decrypted cause no further event.
        while self.read_once(i) {}
    }

    /// Reads one part of an answer; returns whether more may be available without an event.
    fn read_once(&mut self, i: usize) -> bool {
        let client = &mut self.clients[i];
        let Some(connection) = &mut client.connection else { return false };
        let is_secure = connection.tls.is_some();
        let read = connection.read(client.reader.room());
        let now_ns = monotonic_ns();
        match read {
            Ok(0) if client.reader.end() => self.answered(i, now_ns),
            Ok(0) => self.cut_short(i),
            Ok(n) => {
                let Some(step) = client.http_step(self.plan) else { return false };
                let is_head = client.service.templates[step.request as usize].is_head;
                let wanted = match client.work {
                    Work::Once(_) => ANY_STATUS,
                    _ if step.count.is_none() && step.keep.is_empty() => &[],
                    _ => &step.status,
                };
                let jar = self.options.cookies.then_some(&mut client.jar);
                match client.reader.take(n, Asked { is_head, wanted, expected: &step.status }, jar) {
                    Ok(true) => self.answered(i, now_ns),
                    Ok(false) => return is_secure,
                    Err(_) => self.fail(i, NONSENSE),
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // Of TLS. A body without a length may lack its end.
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => self.cut_short(i),
            Err(e) => self.fail(i, os_error(&e)),
        }
        false
    }

    /// The connection ended before the answer did.
    #[cold]
    fn cut_short(&mut self, i: usize) {
        let failure = if self.clients[i].reader.is_untouched() { LOST } else { NONSENSE };
        self.fail(i, failure);
    }

    /// Handles an answer that was complete at `now_ns`.
    pub(super) fn answered(&mut self, i: usize, now_ns: u64) {
        let client = &mut self.clients[i];
        let (answer, more, whole) = (client.reader.answer(), client.reader.has_more(), client.phase == Phase::Reading);
        match &mut client.connection {
            Some(connection) if !answer.closes && self.options.keep_alive && whole && !more => {
                (connection.used, connection.quiet_since_ns) = (true, now_ns);
            }
            _ => client.connection = None,
        }
        let Some(step) = client.http_step(self.plan) else { return };
        let outcome = if more {
            Err(NONSENSE)
        } else if !is_in(answer.status, &step.status) {
            client.refused = answer.code.is_some() || is_in(answer.status, &step.refused);
            Err(answer.code.unwrap_or(Failure { space: CodeSpace::Http, code: u32::from(answer.status) }))
        } else if step.count.is_none() && step.keep.is_empty() {
            Ok(0)
        } else {
            look_into(client.reader.body(), step, &mut client.kept)
        };
        match outcome {
            Ok(rows) => {
                if is_in_window(client.work, self.window_ns) {
                    let (bytes, content) = client.reader.content();
                    let content = content.as_asked(client.service.templates[step.request as usize].accepts_encodings);
                    let place = (client.transaction, client.step as u16);
                    self.responses.add(Counted { place, status: answer.status, content, bytes });
                }
                client.rows = client.rows.saturating_add(rows);
                client.step += 1;
                client.rendered = None;
                self.render(i);
                self.step(i, now_ns);
            }
            Err(failure) => {
                let step = client.step as u16;
                if is_in_window(client.work, self.window_ns) {
                    self.said.heard(failure, client.reader.body());
                }
                self.done(i, Err(Failed { step, failure }), now_ns);
            }
        }
    }
}
