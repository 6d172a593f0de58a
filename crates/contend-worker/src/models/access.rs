//! How a task uses its database's connection: the difference between the models that share one.

use crate::models::Shared;
use crate::models::job::Job;
use crate::models::place::{Opened, Place};
use crate::models::tasks::Access;
use crate::run::in_words;
use anyhow::{Result, anyhow};
use deadpool::unmanaged::Pool;
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Mutex as FairMutex;
use tokio::task::{JoinError, block_in_place, spawn_blocking};

/// The clients' way to the connections of one database. Cheap to clone: each client has one.
#[derive(Clone)]
pub enum Way {
    /// [`Shared::Direct`].
    Direct(Arc<Locked>),
    /// [`Shared::BlockInPlace`].
    BlockInPlace(Arc<Locked>),
    /// [`Shared::SpawnBlocking`].
    SpawnBlocking(Arc<Locked>),
    /// [`Shared::Dedicated`].
    Dedicated(tokio_rusqlite::Connection, Arc<Place>),
    /// [`Shared::Fifo`].
    Fifo(Arc<FairMutex<Connection>>, Arc<Place>),
    /// [`Shared::Pool`]: the writer, the readers.
    Pool(Pool<Opened>, Pool<Opened>),
}

/// A connection behind a mutex of the standard library, which is not fair: a running thread can take it before one that
/// waits.
pub struct Locked {
    connection: Mutex<Connection>,
    place: Arc<Place>,
}

impl Locked {
    fn run(&self, job: &mut Job) {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        self.place.run(&mut connection, job);
    }
}

/// The error of a call on another thread that returned nothing.
fn lost(error: JoinError) -> anyhow::Error {
    match error.try_into_panic() {
        Ok(panic) => anyhow!("{}", in_words(panic.as_ref())),
        Err(e) => anyhow!("{e}"),
    }
}

impl Way {
    /// For the connections of a database; a pool has several, of which the first writes.
    pub fn new(model: Shared, mut opened: Vec<Opened>) -> Self {
        let readers = opened.split_off(1);
        let mut first = opened.remove(0);
        let place = Arc::clone(&first.place);
        let locked = |first: Opened| Arc::new(Locked { connection: Mutex::new(first.connection), place: first.place });
        match model {
            Shared::Direct => Way::Direct(locked(first)),
            Shared::BlockInPlace => Way::BlockInPlace(locked(first)),
            Shared::SpawnBlocking => Way::SpawnBlocking(locked(first)),
            Shared::Dedicated => Way::Dedicated(tokio_rusqlite::Connection::from(first.connection), place),
            Shared::Fifo => Way::Fifo(Arc::new(FairMutex::new(first.connection)), place),
            Shared::Pool => {
                first.facts.clear();
                Way::Pool(Pool::from(vec![first]), Pool::from(readers))
            }
        }
    }

    /// Does work on the driver's own thread, if it has one, before the driver is called.
    pub async fn on_its_thread(&self, prepare: impl FnOnce() + Send + 'static) {
        if let Way::Dedicated(connection, _) = self {
            // A thread that has ended already shows in the first call.
            let _ = connection.call_raw(move |_| prepare()).await;
        }
    }
}

impl Access for Way {
    async fn call(&self, mut job: Box<Job>) -> Result<Box<Job>> {
        match self {
            Way::Direct(locked) => {
                locked.run(&mut job);
                Ok(job)
            }
            Way::BlockInPlace(locked) => {
                block_in_place(|| locked.run(&mut job));
                Ok(job)
            }
            Way::SpawnBlocking(locked) => {
                let locked = Arc::clone(locked);
                let call = move || {
                    locked.run(&mut job);
                    job
                };
                spawn_blocking(call).await.map_err(lost)
            }
            Way::Dedicated(connection, place) => {
                let place = Arc::clone(place);
                let call = move |connection: &mut Connection| {
                    place.run(connection, &mut job);
                    job
                };
                connection.call_raw(call).await.map_err(|_| anyhow!("the database's thread has ended"))
            }
            Way::Fifo(connection, place) => {
                let mut connection = Arc::clone(connection).lock_owned().await;
                let place = Arc::clone(place);
                let call = move || {
                    place.run(&mut connection, &mut job);
                    // Released before the result is returned, so that the next in the queue need not wait for this
                    // task.
                    drop(connection);
                    job
                };
                spawn_blocking(call).await.map_err(lost)
            }
            Way::Pool(writer, readers) => {
                let pool = if job.reads() { readers } else { writer };
                let mut held = pool.get().await.map_err(|e| anyhow!("the pool gave no connection: {e}"))?;
                let call = move || {
                    let Opened { connection, place, .. } = &mut *held;
                    place.run(connection, &mut job);
                    drop(held);
                    job
                };
                spawn_blocking(call).await.map_err(lost)
            }
        }
    }

    async fn look_again(&self) {
        match self {
            Way::Direct(locked) | Way::BlockInPlace(locked) | Way::SpawnBlocking(locked) => {
                let connection = locked.connection.lock().unwrap_or_else(PoisonError::into_inner);
                locked.place.look_again(&connection);
            }
            Way::Dedicated(connection, place) => {
                let place = Arc::clone(place);
                // A thread that has ended shows when it is closed.
                let _ = connection.call_raw(move |connection| place.look_again(connection)).await;
            }
            Way::Fifo(connection, place) => place.look_again(&*connection.lock().await),
            Way::Pool(writer, readers) => {
                for pool in [writer, readers] {
                    // Takes all of them at once, so that each is read back.
                    let held: Vec<_> = std::iter::from_fn(|| pool.try_get().ok()).collect();
                    held.iter().for_each(|opened| opened.place.look_again(&opened.connection));
                }
            }
        }
    }

    async fn close(self) -> Result<()> {
        match self {
            Way::Direct(locked) | Way::BlockInPlace(locked) | Way::SpawnBlocking(locked) => {
                let connection = locked.connection.lock().unwrap_or_else(PoisonError::into_inner);
                locked.place.finish(&connection)
            }
            Way::Dedicated(connection, place) => {
                let finished = connection.call_raw(move |c| place.finish(c)).await;
                // Waits until the thread has closed it.
                let _ = connection.close().await;
                finished.map_err(|_| anyhow!("the database's thread has ended"))?
            }
            Way::Fifo(connection, place) => place.finish(&*connection.lock().await),
            // A pool has no data in memory.
            Way::Pool(..) => Ok(()),
        }
    }
}
