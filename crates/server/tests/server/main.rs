//! The server over loopback: every route, who is let in, limits, reloading, and requests that mean harm.

mod admission;
mod client;
mod fixture;
mod hostile;
mod images;
mod limits;
mod page;
mod playground;
mod protocol;
mod reload;
mod routes;
