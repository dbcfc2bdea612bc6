//! A libelan made for tests, of the functions that `bcs-elan` calls, and a NIC library of its interface.
//!
//! The processes of a machine are states in one process, and their memory is memory of that process; so one
//! thread can drive a whole machine, or each process have a thread of its own. Operations complete when they
//! like: one by one at the hand of a test ([`hooks`]), drawn from a seed, or by a thread.
//!
//! It is stricter than the card wherever the card leaves something open: what a source may not be relied on
//! for is used against who does.
//!
//! | the card | here | source |
//! |---|---|---|
//! | a context and a range of nodes make a network of their own | so do machines | Slurm's qsnet plugin, `qsw_init_capability` |
//! | the same allocations lie at the same address of the card in all processes | so they do, and at other addresses of the host | LA-MPI, `Communicator::getMcastBuf`; edb on addresses of host and card |
//! | puts and gets have no order, not even between two processes | any may be next, and of a long one any packet | GASNet: a long active message waits for its put |
//! | a source is read as late as its put completes | always, however short | GASNet: sources up to 64 bytes are copied |
//! | a word of 8 bytes at its boundary arrives whole | so it does | GASNet's and ARMCI's flags that are put |
//! | memory that the card cannot reach is a fault | the process aborts | GASNet, `elan_addressable` |
//! | broadcasts of one process are in order, each one act | so they are | paper, §2.2 |
//! | a conditional is one question to all | it is answered by all at one moment | paper, §2.1, §2.2 |
//! | what a dead process should answer is tried again, until the resource manager ends the job | it stays under way for ever | Quadrics' RMS; LA-MPI's timeouts for a rail that does not answer |
//! | an event that was found complete is not to be named again | the process aborts | GASNet: no `TxWait` after a `TxDone` that succeeded |

pub mod card;
pub mod events;
pub mod hooks;
pub mod interface;
pub mod machine;
