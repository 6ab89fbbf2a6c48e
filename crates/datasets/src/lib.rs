//! The datasets of the FlowGMM paper and their relatives: what there is, where it is, and how it is read.
//!
//! ```text
//! name ─find→ Dataset { files: addresses, sizes, checksums }
//!   ─Store::get→ files, resumed, checked, renamed into place        ─Store::check→ present, damaged or absent
//!   ─Store::images, texts, table, hepmass→ ImageSet, TextSet, semisup::Labelled
//!   ─Store::label_splits→ the rows that the paper's authors labelled
//! path ─ImageSource::of, Collection::open→ the user's images, of any size ─layout, rows→ rows of pixels
//! ```
//!
//! Every loader reads the format its publisher gives out, plain or gzipped, and takes nothing on trust: a damaged file
//! is an error that names it, never a panic, and no header makes us allocate more than the file holds.
//!
//! ```
//! use flowgmm_datasets::{find, list};
//!
//! assert!(list().any(|dataset| dataset.name == "svhn"));
//! assert!(find("mnits").unwrap_err().to_string().contains("Did you mean 'mnist'?"));
//! ```

mod balance;
mod checksum;
mod cifar;
mod collection;
mod download;
mod error;
mod hepmass;
mod http;
mod idx;
mod images;
mod input;
mod load;
mod mat;
mod miniboone;
mod network;
mod registry;
mod rows;
mod splits;
mod standard;
mod store;
mod svhn;
mod text;
mod transfer;
mod uci;
mod verify;

pub use balance::balance;
pub use checksum::Checksum;
pub use cifar::{CIFAR_CLASSES, read_cifar10, read_cifar10_archive};
pub use collection::{Collection, ImageSource, ReadOptions, png};
pub use download::{DownloadObserver, DownloadProgress, Retry};
pub use error::{Blame, Error};
pub use hepmass::{RowSelection, prepare_hepmass, read_hepmass};
pub use idx::read_idx;
pub use images::ImageSet;
pub use load::Subset;
pub use miniboone::{MiniBooneRecipe, prepare_miniboone, read_miniboone};
pub use network::Network;
pub use registry::{DataFile, Dataset, DatasetKind, Extent, KnownCopy, find, list};
pub use splits::LabelSplits;
pub use standard::{Deviation, Standard, continuous_columns};
pub use store::{Fetched, FileCheck, State, Store, StoreOptions};
pub use svhn::read_svhn;
pub use text::{AG_NEWS_CLASSES, TextSet, YAHOO_CLASSES, read_ag_news, read_yahoo, read_yahoo_archive};
pub use uci::{LabelAt, Separator, read_uci};
pub use verify::Checked;

/// What a fallible function of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;
