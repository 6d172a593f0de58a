//! The handles of databases on the server, by address.

use crate::connection::Connection;
use crate::statement::Statement;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

type Table<T> = LazyLock<RwLock<HashMap<usize, Arc<T>>>>;

static CONNECTIONS: Table<Connection> = LazyLock::new(RwLock::default);
static STATEMENTS: Table<Statement> = LazyLock::new(RwLock::default);

fn get<T>(table: &Table<T>, address: usize) -> Option<Arc<T>> {
    table.read().unwrap_or_else(PoisonError::into_inner).get(&address).cloned()
}

fn put<T>(table: &Table<T>, address: usize, entry: Arc<T>) {
    table.write().unwrap_or_else(PoisonError::into_inner).insert(address, entry);
}

fn take<T>(table: &Table<T>, address: usize) -> Option<Arc<T>> {
    table.write().unwrap_or_else(PoisonError::into_inner).remove(&address)
}

pub fn connection(address: usize) -> Option<Arc<Connection>> {
    get(&CONNECTIONS, address)
}

pub fn enter_connection(address: usize, connection: Arc<Connection>) {
    put(&CONNECTIONS, address, connection);
}

/// Removes a connection that was closed, unless another one has its address by now.
pub fn remove_connection(address: usize, closed: &Arc<Connection>) {
    let mut connections = CONNECTIONS.write().unwrap_or_else(PoisonError::into_inner);
    if connections.get(&address).is_some_and(|there| Arc::ptr_eq(there, closed)) {
        connections.remove(&address);
    }
}

pub fn statement(address: usize) -> Option<Arc<Statement>> {
    get(&STATEMENTS, address)
}

pub fn enter_statement(address: usize, statement: Arc<Statement>) {
    put(&STATEMENTS, address, statement);
}

pub fn remove_statement(address: usize) -> Option<Arc<Statement>> {
    take(&STATEMENTS, address)
}
