//! An endpoint: the objects of libfabric that send one-sided writes and say when these are complete.
//!
//! Invariant: objects are closed in the reverse order of their opening, and nothing of them is used after.
//! One thread at a time calls the library for them (`FI_THREAD_DOMAIN`).

use super::abi::{
    FI_AV_TABLE, FI_COMPLETION, FI_CQ_FORMAT_CONTEXT, FI_DELIVERY_COMPLETE, FI_EAVAIL, FI_ENABLE, FI_GETWAIT,
    FI_INJECT_COMPLETE, FI_RECV, FI_TRANSMIT, FI_WAIT_FD, FI_WAIT_NONE, FiAddr, FiAvAttr, FiCqAttr,
    FiCqEntry, FiCqErrEntry, FiMsgRma, FiOpsFabric, FiRmaIov, Fid, FidAv, FidCq, FidEp, has,
};
use super::domain::{Domain, close};
use super::error::OfiError;
use super::handlers::KeptHandlers;
use super::library::text_at;
use super::offer::{Offer, Promises};
use super::operations::Operations;
use super::region::{Access, MemoryRegistrar, Region};
use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::{NonNull, null_mut};

/// No address is longer.
const ADDRESS_LIMIT_BYTES: usize = 512;

/// How many completions one call takes.
const COMPLETIONS: usize = 64;

/// A range that is written.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// What is read: the range stays, and stays as it is, until the write is complete.
    pub from: NonNull<u8>,
    /// How many bytes.
    pub bytes: usize,
    /// The registration of that range, where the provider asks for one.
    pub local: Option<&'a Region>,
    /// Where it is written, as the other end has told it.
    pub at: u64,
}

/// A remote write.
#[derive(Debug)]
pub struct RemoteWrite<'a> {
    /// To whom.
    pub to: FiAddr,
    /// What is written, and where.
    pub piece: Piece<'a>,
    /// Another piece in the same write, in no order with the first one ([`Promises::has_pairs`]).
    pub second: Option<Piece<'a>>,
    /// The key for what is written.
    pub key: u64,
    /// What its completion means.
    pub means: Means,
}

/// What the completion of a write means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// What was read may be used again (`FI_INJECT_COMPLETE`).
    Free,
    /// What was written is in the other end's memory (`FI_DELIVERY_COMPLETE`).
    Delivered,
}

impl Means {
    fn flags(self) -> u64 {
        match self {
            Self::Free => FI_INJECT_COMPLETE,
            Self::Delivered => FI_DELIVERY_COMPLETE,
        }
    }
}

/// What a completion says.
#[derive(Debug)]
pub enum Completion<T> {
    /// The write is complete.
    Done(T),
    /// The write has failed.
    Failed(T, String),
}

/// An endpoint, whose writes its user calls by values of this type.
#[derive(Debug)]
pub struct Endpoint<T> {
    promises: Promises,
    domain: std::sync::Arc<Domain>,
    endpoint: NonNull<FidEp>,
    queue: NonNull<FidCq>,
    addresses: NonNull<FidAv>,
    /// What a sleeper watches; none where the provider has none.
    descriptor: Option<RawFd>,
    name: Vec<u8>,
    operations: Operations<T>,
}

// SAFETY: as of the domain.
unsafe impl<T: Send> Send for Endpoint<T> {}

/// Objects that were opened, closed in the reverse order if the next one cannot be.
struct Opened(Vec<NonNull<Fid>>);

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: they are open, and nobody has them.
        self.0.drain(..).rev().for_each(|object| unsafe { close(object) });
    }
}

impl<T: Copy> Endpoint<T> {
    /// Opens an endpoint of the provider that was chosen, for so many others, of which each may have so many
    /// writes under way that never complete.
    ///
    /// # Errors
    /// The provider refuses.
    pub fn open(offer: &Offer, peers: usize, lost_writes: usize) -> Result<Self, OfiError> {
        let (library, promises) = (offer.library, offer.promises.clone());
        let _kept = KeptHandlers::keep();
        let info = offer.info().as_ptr();
        let object = format!("the provider {}", promises.provider);
        let check = |result: c_int, call| library.check(result.into(), call, &object);
        let there =
            |call| OfiError::Call { call, object: object.clone(), reason: "nothing was opened".into() };
        let mut opened = Opened(Vec::new());
        // SAFETY: the offer is whole, and objects are used as they were opened. Attributes and places for
        // results stay for the time of each call.
        unsafe {
            let mut fabric = null_mut();
            check((library.fabric)((*info).fabric_attr, &mut fabric, null_mut()), "fi_fabric")?;
            let fabric = NonNull::new(fabric).ok_or_else(|| there("fi_fabric"))?;
            opened.0.push(fabric.cast());
            let mut domain = null_mut();
            let open = (*(*fabric.as_ptr()).ops).domain;
            check(open(fabric.as_ptr(), info, &mut domain, null_mut()), "fi_domain")?;
            let domain = NonNull::new(domain).ok_or_else(|| there("fi_domain"))?;
            opened.0.push(domain.cast());
            let calls = (*domain.as_ptr()).ops;

            let kind = match (*(*info).domain_attr).av_type {
                0 => FI_AV_TABLE,
                kind => kind,
            };
            let mut attributes = FiAvAttr {
                kind,
                rx_ctx_bits: 0,
                count: peers.max(1),
                ep_per_node: 0,
                name: std::ptr::null(),
                map_addr: null_mut(),
                flags: 0,
            };
            let mut addresses = null_mut();
            check(
                ((*calls).av_open)(domain.as_ptr(), &mut attributes, &mut addresses, null_mut()),
                "fi_av_open",
            )?;
            let addresses = NonNull::new(addresses).ok_or_else(|| there("fi_av_open"))?;
            opened.0.push(addresses.cast());

            // Room for all completions, so that none is ever lost.
            let mut attributes = FiCqAttr {
                size: 2 * promises.operations,
                flags: 0,
                format: FI_CQ_FORMAT_CONTEXT,
                wait_obj: FI_WAIT_FD,
                signaling_vector: 0,
                wait_cond: 0,
                wait_set: null_mut(),
            };
            let mut queue = null_mut();
            let open = (*calls).cq_open;
            if open(domain.as_ptr(), &mut attributes, &mut queue, null_mut()) != 0 {
                attributes.wait_obj = FI_WAIT_NONE;
                check(open(domain.as_ptr(), &mut attributes, &mut queue, null_mut()), "fi_cq_open")?;
            }
            let queue = NonNull::new(queue).ok_or_else(|| there("fi_cq_open"))?;
            opened.0.push(queue.cast());
            let descriptor = match attributes.wait_obj {
                FI_WAIT_FD => descriptor_of(queue),
                _ => None,
            };

            let mut endpoint = null_mut();
            check(((*calls).endpoint)(domain.as_ptr(), info, &mut endpoint, null_mut()), "fi_endpoint")?;
            let endpoint = NonNull::new(endpoint).ok_or_else(|| there("fi_endpoint"))?;
            opened.0.push(endpoint.cast());
            let own = endpoint.cast::<Fid>().as_ptr();
            let calls = (*own).ops;
            check(((*calls).bind)(own, addresses.cast().as_ptr(), 0), "fi_ep_bind (address vector)")?;
            let both = FI_TRANSMIT | FI_RECV;
            check(((*calls).bind)(own, queue.cast().as_ptr(), both), "fi_ep_bind (completion queue)")?;
            check(((*calls).control)(own, FI_ENABLE, null_mut()), "fi_enable")?;

            let mut name = vec![0_u8; ADDRESS_LIMIT_BYTES];
            let mut length = name.len();
            let get = (*(*endpoint.as_ptr()).cm).getname;
            check(get(own, name.as_mut_ptr().cast(), &mut length), "fi_getname")?;
            name.truncate(length);

            opened.0.clear();
            // Writes to others that have died may never complete, and keep theirs.
            let operations = Operations::new(promises.operations + peers * lost_writes);
            let domain = std::sync::Arc::new(Domain { library, fabric, domain });
            Ok(Self { promises, domain, endpoint, queue, addresses, descriptor, name, operations })
        }
    }

    /// What its provider promises.
    pub fn promises(&self) -> &Promises {
        &self.promises
    }

    /// The address by which others reach it.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// What becomes readable when there is something to do; none where the provider has no such thing.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the descriptor is the queue's, and as long open as this.
        self.descriptor.map(|descriptor| unsafe { BorrowedFd::borrow_raw(descriptor) })
    }

    /// Whether a sleep on the descriptor is allowed now: nothing is there that it does not tell.
    pub fn may_sleep(&self) -> bool {
        let fabric = self.domain.fabric.as_ptr();
        let mut queue = self.queue.cast::<Fid>().as_ptr();
        // SAFETY: the objects are open, and the list has one of them.
        unsafe {
            let calls = (*fabric).ops;
            has((*calls).size, offset_of!(FiOpsFabric, trywait))
                && ((*calls).trywait)(fabric, &mut queue, 1) == 0
        }
    }

    /// Registers a range of memory for this endpoint.
    ///
    /// # Safety
    /// The range stays mapped as long as the region and the endpoint.
    ///
    /// # Errors
    /// The provider, or the system, refuses so much.
    pub unsafe fn register(
        &self,
        memory: NonNull<u8>,
        bytes: usize,
        access: Access,
    ) -> Result<Region, OfiError> {
        // SAFETY: the endpoint is open; as the caller vouches.
        unsafe { self.registrar().register(memory, bytes, access) }
    }

    /// What registers memory for it.
    pub fn registrar(&self) -> MemoryRegistrar {
        let (domain, mode) = (self.domain.clone(), self.promises.memory_mode);
        MemoryRegistrar { domain, mode, endpoint: self.endpoint.cast() }
    }

    /// Makes another endpoint known.
    ///
    /// # Errors
    /// The provider does not take the address.
    pub fn insert(&mut self, address: &[u8]) -> Result<FiAddr, OfiError> {
        let mut found: FiAddr = FiAddr::MAX;
        let addresses = self.addresses.as_ptr();
        // A provider may read a string to its end, or as much as its longest address has.
        let mut padded = [0; ADDRESS_LIMIT_BYTES];
        let bytes = address.len().min(ADDRESS_LIMIT_BYTES - 1);
        padded[..bytes].copy_from_slice(&address[..bytes]);
        // SAFETY: the address vector is open; it reads an address of the provider's form, behind which zeros
        // follow, and writes one number.
        let inserted = unsafe {
            let insert = (*(*addresses).ops).insert;
            insert(addresses, padded.as_ptr().cast(), 1, &mut found, 0, null_mut())
        };
        match inserted {
            1 => Ok(found),
            other => {
                let object = format!("an address of {} bytes", address.len());
                let result = if other < 0 { other.into() } else { -i64::from(libc::EINVAL) };
                self.domain.library.check(result, "fi_av_insert", &object)?;
                Ok(found)
            }
        }
    }

    /// Posts a write, which is named by `operation` when it completes. False when the provider takes none
    /// now: then its completions are to be taken, and it is to be tried again.
    ///
    /// # Safety
    /// What is read stays, and stays as it is, until the write is complete or the endpoint is gone; and where
    /// that is registered, its registration, too.
    ///
    /// # Errors
    /// The provider refuses.
    pub unsafe fn post(&mut self, write: &RemoteWrite<'_>, operation: T) -> Result<bool, OfiError> {
        let Some(context) = self.operations.begin(operation) else { return Ok(false) };
        let pieces = [write.piece, write.second.unwrap_or(write.piece)];
        let from = pieces.map(|it| libc::iovec { iov_base: it.from.as_ptr().cast(), iov_len: it.bytes });
        let mut descriptions = pieces.map(|it| it.local.map_or(null_mut(), Region::description));
        let targets = pieces.map(|it| FiRmaIov { addr: it.at, len: it.bytes, key: write.key });
        let count = 1 + usize::from(write.second.is_some());
        let message = FiMsgRma {
            msg_iov: from.as_ptr(),
            desc: descriptions.as_mut_ptr(),
            iov_count: count,
            addr: write.to,
            rma_iov: targets.as_ptr(),
            rma_iov_count: count,
            context,
            data: 0,
        };
        let endpoint = self.endpoint.as_ptr();
        // SAFETY: the endpoint is open; the message and its lists stay for the time of the call, the context
        // until the completion, and what is read, too, as the caller vouches.
        let result = unsafe {
            ((*(*endpoint).rma).writemsg)(endpoint, &raw const message, write.means.flags() | FI_COMPLETION)
        };
        match result {
            0 => Ok(true),
            _ => {
                self.operations.end(context);
                match i32::try_from(-result) {
                    Ok(libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS) => Ok(false),
                    _ => {
                        let object = format!("a write of {} bytes", write.piece.bytes);
                        self.domain.library.check(result as i64, "fi_writemsg", &object).map(|()| false)
                    }
                }
            }
        }
    }

    /// Moves what the provider has to move, and takes completions. How many there were.
    ///
    /// # Errors
    /// The queue itself has failed.
    pub fn poll(&mut self, mut handle: impl FnMut(Completion<T>)) -> Result<usize, OfiError> {
        let mut count = 0;
        loop {
            let mut entries = [FiCqEntry { op_context: null_mut() }; COMPLETIONS];
            let queue = self.queue.as_ptr();
            // SAFETY: the queue is open, and has entries of this format.
            let read = unsafe { ((*(*queue).ops).read)(queue, entries.as_mut_ptr().cast(), entries.len()) };
            match usize::try_from(read) {
                Ok(read) => {
                    for entry in &entries[..read.min(COMPLETIONS)] {
                        if let Some(operation) = self.operations.end(entry.op_context) {
                            handle(Completion::Done(operation));
                            count += 1;
                        }
                    }
                    if read < COMPLETIONS {
                        return Ok(count);
                    }
                }
                Err(_) if read as i64 == -i64::from(libc::EAGAIN) => return Ok(count),
                Err(_) if read as i64 == -i64::from(FI_EAVAIL) => {
                    let Some(failed) = self.take_error() else { return Ok(count) };
                    failed.into_iter().for_each(&mut handle);
                    count += 1;
                }
                Err(_) => {
                    self.domain.library.check(read as i64, "fi_cq_read", &self.promises.provider)?;
                    return Ok(count);
                }
            }
        }
    }

    /// Takes the error that the queue has, if it has one, and if it is of a write.
    fn take_error(&mut self) -> Option<Option<Completion<T>>> {
        let mut entry = FiCqErrEntry {
            op_context: null_mut(),
            flags: 0,
            len: 0,
            buf: null_mut(),
            data: 0,
            tag: 0,
            olen: 0,
            err: 0,
            prov_errno: 0,
            err_data: null_mut(),
            err_data_size: 0,
        };
        let queue = self.queue.as_ptr();
        // SAFETY: the queue is open, and the place for the error stays for the time of the call.
        let read = unsafe { ((*(*queue).ops).readerr)(queue, &mut entry, 0) };
        if read < 1 {
            return None;
        }
        let Some(operation) = self.operations.end(entry.op_context) else { return Some(None) };
        let mut text = [0; 256];
        // SAFETY: the queue is open; the text is a string that stays until the queue is read again, or null.
        let detail = unsafe {
            let data: *const c_void = entry.err_data;
            text_at(((*(*queue).ops).strerror)(queue, entry.prov_errno, data, text.as_mut_ptr(), text.len()))
        };
        let mut reason = self.domain.library.error_text(entry.err.into());
        if let Some(detail) = detail.filter(|detail| !detail.is_empty() && !reason.starts_with(detail)) {
            reason = format!("{reason}: {detail}");
        }
        Some(Some(Completion::Failed(operation, reason)))
    }
}

/// The descriptor of a queue.
///
/// # Safety
/// The queue is open.
unsafe fn descriptor_of(queue: NonNull<FidCq>) -> Option<RawFd> {
    let mut descriptor: c_int = -1;
    let own = queue.cast::<Fid>().as_ptr();
    // SAFETY: the queue is open, and this command writes a descriptor.
    let result = unsafe { ((*(*own).ops).control)(own, FI_GETWAIT, (&raw mut descriptor).cast()) };
    (result == 0 && descriptor >= 0).then_some(descriptor)
}

impl<T> Drop for Endpoint<T> {
    fn drop(&mut self) {
        // SAFETY: they are open, and this is their last use; the domain follows.
        unsafe {
            close(self.endpoint.cast());
            close(self.queue.cast());
            close(self.addresses.cast());
        }
    }
}
