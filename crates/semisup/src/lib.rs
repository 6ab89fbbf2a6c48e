//! semisup
