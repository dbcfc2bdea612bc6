//! The emulated NIC of one job on one node (paper, §3 and §4).
