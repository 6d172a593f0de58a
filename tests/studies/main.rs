//! The studies that are delivered, each as short as it can be.

#[path = "../support/mod.rs"]
mod support;

mod as_published;
mod async_study;
mod backlog;
mod conditions;
mod gameplan;
mod languages;
mod locked;
mod plex;
mod results;
mod wordpress;
