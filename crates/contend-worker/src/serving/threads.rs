//! An OS thread for each HTTP connection, with its own database connection, opened for the first request. The thread
//! calls the driver directly.

use super::desk::{Answered, Desk};
use super::serve_connection;
use super::served::{Served, Server};
use super::sessions::{Caller, Nothing, OnServer, Sqlite};
use crate::answer::JsonRows;
use crate::control::Cancel;
use crate::driver::Driver;
use crate::kept::Kept;
use crate::mysql;
use crate::options::Options;
use crate::postgres::{Connected, crate_postgres, direct};
use crate::setup::Setup;
use anyhow::{Context, Result, bail};
use contend_wire::handshake::Facts;
use hyper::Request;
use hyper::service::service_fn;
use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

struct Threads {
    /// Runtime that only accepts connections.
    runtime: Runtime,
    shared: Arc<Shared>,
}

/// State shared by all HTTP connections.
struct Shared {
    desk: Arc<Desk>,
    options: Options,
    /// Settings that every database connection must read back.
    settings: Facts,
    threads: Mutex<Vec<JoinHandle<()>>>,
    cancels: Mutex<Vec<Weak<Cancel>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens one connection before the first request to check the plan and read back the settings, and closes it again.
///
/// # Errors
/// What went wrong while it was opened.
pub fn open(desk: Arc<Desk>, options: Options) -> Result<Served> {
    let settings = with_caller(&desk, &options, &Cancel::default(), &vec![], |caller| caller.try_out())?;
    let made = Builder::new_multi_thread().worker_threads(1).thread_name("accept").enable_all().build();
    let runtime = made.context("cannot make a Tokio runtime")?;
    let sessions = vec![settings.clone()];
    let (threads, cancels) = (Mutex::default(), Mutex::default());
    let shared = Arc::new(Shared { desk: Arc::clone(&desk), options, settings, threads, cancels });
    Ok(Served { sessions, server: Box::new(Threads { runtime, shared }), desk })
}

/// Calls `then` with the driver that the plan asks for.
///
/// # Errors
/// The driver cannot serve; the error of `then`.
fn with_caller<R>(
    desk: &Desk,
    options: &Options,
    cancel: &Cancel,
    settings: &Facts,
    then: impl FnOnce(&mut dyn Caller) -> Result<R>,
) -> Result<R> {
    let (head, control) = (&desk.plan.head, &desk.control);
    let setup = Setup { head, client: 0, database: 0, options, control, cancel };
    match Driver::of(&head.driver)? {
        Driver::Sqlite => then(&mut Sqlite::new(setup, desk, settings)),
        Driver::Postgres => then(&mut OnServer::<Connected<crate_postgres::Blocking>>::new(setup, desk, settings)),
        Driver::TokioPostgres => then(&mut OnServer::<Connected<direct::Direct>>::new(setup, desk, settings)),
        Driver::Mysql => then(&mut OnServer::<mysql::Connected>::new(setup, desk, settings)),
        Driver::Translator => bail!("driver {}: it executes nothing and cannot serve", head.driver),
        Driver::Null => then(&mut Nothing::new(head, control)),
    }
}

impl Server for Threads {
    fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    fn welcome(&self, ending: watch::Receiver<bool>) -> Box<dyn FnMut(TcpStream) + Send> {
        let shared = Arc::clone(&self.shared);
        Box::new(move |stream| {
            let (ending, its) = (ending.clone(), Arc::clone(&shared));
            let mut threads = lock(&shared.threads);
            threads.retain(|thread| !thread.is_finished());
            let body = move || {
                if let Err(e) = serve_alone(&its, stream, ending) {
                    eprintln!("contend worker: cannot serve a connection: {e:#}");
                }
            };
            match thread::Builder::new().name("connection".into()).spawn(body) {
                Ok(thread) => threads.push(thread),
                Err(e) => eprintln!("contend worker: cannot start a thread for a connection: {e}"),
            }
        })
    }

    fn interrupt(&self) {
        lock(&self.shared.cancels).iter().filter_map(Weak::upgrade).for_each(|cancel| cancel.call());
    }

    fn close(self: Box<Self>) -> Result<()> {
        let threads = std::mem::take(&mut *lock(&self.shared.threads));
        // A panic shows on standard error.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        Ok(())
    }
}

/// Serves one HTTP connection.
fn serve_alone(shared: &Shared, stream: TcpStream, ending: watch::Receiver<bool>) -> Result<()> {
    shared.desk.control.thread_begins();
    let cancel = Arc::new(Cancel::default());
    {
        let mut cancels = lock(&shared.cancels);
        cancels.retain(|cancel| cancel.strong_count() > 0);
        cancels.push(Arc::downgrade(&cancel));
    }
    let done = with_caller(&shared.desk, &shared.options, &cancel, &shared.settings, |caller| {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let state = RefCell::new((caller, Kept::new(&shared.desk.plan.head)));
        let _entered = runtime.enter();
        let stream = TcpStream::from_std(stream.into_std()?)?;
        let service = service_fn(|request| {
            let (caller, kept) = &mut *state.borrow_mut();
            let answered = answer(&request, &shared.desk, *caller, kept);
            async move { Ok::<_, Infallible>(answered) }
        });
        // Errors of the client are ignored.
        let _ = runtime.block_on(serve_connection(stream, service, ending));
        Ok(())
    });
    shared.desk.control.thread_ends();
    done
}

fn answer<B>(request: &Request<B>, desk: &Desk, caller: &mut dyn Caller, kept: &mut Kept) -> Answered {
    match desk.read(request) {
        Ok(asked) => {
            kept.answer = Some(JsonRows::default());
            let outcome = caller.call(&asked, kept);
            let rows = kept.answer.take().unwrap_or_default();
            desk.answer(asked.transaction, outcome.map(|()| rows))
        }
        Err(refused) => desk.refuse(&refused),
    }
}
