//! HTTP connections as tasks of a Tokio runtime, which send their operations to the shared connections of a model.

use super::desk::{Answered, Desk};
use super::serve_connection;
use super::served::{Served, Server};
use crate::failure::Failure;
use crate::models::job::{Job, Part, parts};
use crate::models::tasks::{Access, Database, builder, carry_out};
use anyhow::{Context, Result};
use contend_wire::sample::worker_code;
use hyper::Request;
use hyper::service::service_fn;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;

struct Tasks<A> {
    runtime: Runtime,
    access: A,
    interrupts: Vec<Box<dyn Fn()>>,
    shared: Arc<Shared>,
}

struct Shared {
    desk: Arc<Desk>,
    /// The parts of each transaction of the plan.
    parts: Vec<Vec<Part>>,
}

/// Opens the connections that all requests share, on a runtime with this number of threads.
///
/// # Errors
/// What went wrong while one was opened.
pub fn open<A: Access>(
    desk: &Arc<Desk>,
    tokio_threads: u32,
    blocking_threads: Option<u32>,
    open: impl FnOnce(&Runtime) -> Result<Database<A>>,
) -> Result<Served> {
    let mut made = builder(tokio_threads, blocking_threads, &desk.control);
    let runtime = made.enable_io().build().context("cannot make a Tokio runtime")?;
    let Database { access, facts, interrupts } = open(&runtime)?;
    let parts = desk.plan.head.transactions.iter().map(parts).collect();
    let shared = Arc::new(Shared { desk: Arc::clone(desk), parts });
    let server = Tasks { runtime, access, interrupts, shared };
    Ok(Served { sessions: facts, server: Box::new(server), desk: Arc::clone(desk) })
}

impl<A: Access> Server for Tasks<A> {
    fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    fn welcome(&self, ending: watch::Receiver<bool>) -> Box<dyn FnMut(TcpStream) + Send> {
        let (access, shared) = (self.access.clone(), Arc::clone(&self.shared));
        Box::new(move |stream| {
            let (access, shared) = (access.clone(), Arc::clone(&shared));
            let service = service_fn(move |request| {
                let (access, shared) = (access.clone(), Arc::clone(&shared));
                async move { Ok::<_, Infallible>(answer(&request, &shared, &access).await) }
            });
            // Errors of the client are ignored.
            tokio::spawn(serve_connection(stream, service, ending.clone()));
        })
    }

    fn interrupt(&self) {
        self.interrupts.iter().for_each(|interrupt| interrupt());
    }

    fn look_again(&self) {
        self.runtime.block_on(self.access.look_again());
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.runtime.block_on(self.access.close())
    }
}

async fn answer<B>(request: &Request<B>, shared: &Shared, access: &impl Access) -> Answered {
    let desk = &shared.desk;
    let asked = match desk.read(request) {
        Ok(asked) => asked,
        Err(refused) => return desk.refuse(&refused),
    };
    let transaction = asked.transaction;
    let job = Job::asked(&desk.plan, &desk.control, asked);
    let done = carry_out(&shared.parts[usize::from(transaction)], &desk.control, access, job).await;
    let outcome = match done {
        Ok(mut job) => job.outcome.map(|()| job.take_answer()).map_err(|failed| failed.failure),
        Err(e) => {
            eprintln!("contend worker: {e:#}");
            Err(Failure::worker(worker_code::DRIVER))
        }
    };
    desk.answer(transaction, outcome)
}
