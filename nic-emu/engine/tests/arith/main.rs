//! Promises of the NIC's arithmetic (paper, §4.4): one result, bit for bit, whatever computes it.

mod environment;
mod equality;
mod oracle;
mod reduction_tree;
mod rules;
mod values;
