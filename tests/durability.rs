//! The study of crashes.
