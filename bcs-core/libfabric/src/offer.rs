//! What a provider of libfabric offers here, and which one is taken.
//!
//! A provider is asked for reliable datagram endpoints with one-sided writes, and for the strongest order
//! that it may promise: first that writes keep their order, then that a completion says that data has been
//! delivered. What a provider does not promise is not assumed.

use super::abi::{
    FI_ATOMIC, FI_CONTEXT, FI_CONTEXT2, FI_DELIVERY_COMPLETE, FI_EP_RDM, FI_MR_ALLOCATED, FI_MR_ENDPOINT,
    FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_NUMERICHOST, FI_ORDER_RMA_WAW, FI_ORDER_WAW,
    FI_PROGRESS_MANUAL, FI_REMOTE_WRITE, FI_RM_ENABLED, FI_RMA, FI_SOURCE, FI_THREAD_DOMAIN, FI_WRITE,
    FiInfo,
};
use super::error::OfiError;
use super::handlers::KeptHandlers;
use super::library::{Library, text_at};
use super::order::SignalOrder;
use std::ffi::{CString, c_char, c_int};
use std::net::IpAddr;
use std::ptr::NonNull;

/// Providers with a network card that writes memory by itself, the best first.
pub const HARDWARE: [&str; 5] = ["cxi", "efa", "opx", "psm3", "verbs"];

/// Providers whose endpoints have an internet address of this node.
const INTERNET: [&str; 5] = ["tcp", "net", "sockets", "udp", "verbs"];

/// Software providers that wake whoever sleeps on their descriptor when a one-sided write comes: each write
/// passes through a socket that is watched. A network card writes memory, and wakes nobody.
const WAKING: [&str; 3] = ["tcp", "net", "udp"];

/// A provider whose longer writes complete in the order in which they were posted, whoever they are for:
/// behind one to a node that has died, none would complete any more. Those that it copies at once do.
const SHARED_MEMORY: &str = "shm";

/// The orders, in which they are tried.
const ORDERS: [SignalOrder; 2] = [SignalOrder::WriteAfterWrite, SignalOrder::Completion];

/// The shortest write that a provider must be able to make in one.
const LEAST_WRITE_BYTES: usize = 4096;

/// The longest write that is made in one: some are then under way at once.
const MOST_WRITE_BYTES: usize = 64 << 10;

/// How many operations may be under way. More would only wait in the card, and software providers make
/// buffers for all of them.
const OPERATIONS_LIMIT: usize = 256;

/// How many receives an endpoint is made for: some, because providers want that, but none is posted.
const RECEIVES: usize = 16;

/// What a provider has promised for this node's endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promises {
    /// The provider, as it names itself: `tcp;ofi_rxm`.
    pub provider: String,
    /// The network card, or what stands for it.
    pub domain: String,
    /// What makes a signal follow its data.
    pub order: SignalOrder,
    /// The longest write that is made in one, in bytes: a multiple of 8.
    pub write_bytes: usize,
    /// The longest write that can be made in one where no order matters, in bytes.
    pub most_write_bytes: usize,
    /// How many operations may be under way.
    pub operations: usize,
    /// Whether one write may be of two ranges.
    pub has_pairs: bool,
    /// Whether the provider has atomic operations (`FI_ATOMIC`). Signals do without.
    pub has_atomics: bool,
    /// Whether something moves only while this process calls the library.
    pub is_manual: bool,
    /// Whether a sleeper on the descriptor is woken by a one-sided write.
    pub wakes: bool,
    /// The form of its addresses. Both ends of a link have the same.
    pub address_format: u32,
    /// What it asks for when memory is registered.
    pub memory_mode: MemoryMode,
}

/// What a provider asks for when memory is registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryMode {
    /// Memory from which is written is registered, too.
    pub is_local: bool,
    /// Remote addresses are those of the other process, not offsets in the registered range.
    pub is_virtual: bool,
    /// The provider chooses keys.
    pub has_own_keys: bool,
    /// A registration belongs to an endpoint.
    pub is_of_endpoint: bool,
    /// The length of a key, in bytes.
    pub key_bytes: usize,
}

/// A list of what providers offer, as the library gives it.
#[derive(Debug)]
pub(crate) struct Info {
    library: &'static Library,
    first: NonNull<FiInfo>,
}

// SAFETY: the list is memory of this process that nobody else has, and the library frees it from any thread.
unsafe impl Send for Info {}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: the list came from the library, and nothing points into it any more.
        unsafe { (self.library.freeinfo)(self.first.as_ptr()) };
    }
}

/// What is asked of the library.
struct Question<'a> {
    provider: Option<&'a str>,
    order: SignalOrder,
    source: Option<IpAddr>,
}

impl Info {
    /// Asks the library. None when nothing fits.
    fn ask(library: &'static Library, question: &Question<'_>) -> Result<Option<Self>, OfiError> {
        let no_memory = || OfiError::Call {
            call: "fi_dupinfo",
            object: "hints".into(),
            reason: "there is no memory".into(),
        };
        // SAFETY: without an argument it makes an empty one.
        let hints = NonNull::new(unsafe { (library.dupinfo)(std::ptr::null()) }).ok_or_else(no_memory)?;
        let hints = Self { library, first: hints };
        // SAFETY: the hints are whole, with all their parts, and nobody else has them. The name is of the
        // C library's memory, from which the hints are freed with it.
        unsafe {
            let info = hints.first.as_ptr();
            let parts = [
                (*info).tx_attr.is_null(),
                (*info).ep_attr.is_null(),
                (*info).rx_attr.is_null(),
                (*info).domain_attr.is_null(),
                (*info).fabric_attr.is_null(),
            ];
            if parts.contains(&true) {
                return Err(no_memory());
            }
            (*info).caps = FI_MSG | FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
            (*info).mode = FI_CONTEXT | FI_CONTEXT2;
            (*(*info).ep_attr).kind = FI_EP_RDM;
            (*(*info).tx_attr).size = OPERATIONS_LIMIT;
            (*(*info).rx_attr).size = RECEIVES;
            let domain = (*info).domain_attr;
            (*domain).threading = FI_THREAD_DOMAIN;
            (*domain).resource_mgmt = FI_RM_ENABLED;
            (*domain).mr_mode =
                FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
            let orders = FI_ORDER_WAW | FI_ORDER_RMA_WAW;
            match question.order {
                SignalOrder::WriteAfterWrite => {
                    (*(*info).tx_attr).msg_order = orders;
                    (*(*info).rx_attr).msg_order = orders;
                }
                SignalOrder::Completion => (*(*info).tx_attr).op_flags = FI_DELIVERY_COMPLETE,
            }
            if let Some(provider) = question.provider {
                let Ok(name) = CString::new(provider) else { return Ok(None) };
                (*(*info).fabric_attr).prov_name = libc::strdup(name.as_ptr());
            }
        }
        let source = question.source.map(|address| CString::new(address.to_string()).unwrap_or_default());
        let flags = if source.is_some() { FI_SOURCE | FI_NUMERICHOST } else { 0 };
        let node = source.as_ref().map_or(std::ptr::null(), |source| source.as_ptr());
        let mut found = std::ptr::null_mut();
        let none: *const c_char = std::ptr::null();
        // SAFETY: the strings and hints stay for the time of the call, and the place for the list, too.
        let result = unsafe {
            (library.getinfo)(library.interface(), node, none, flags, hints.first.as_ptr(), &mut found)
        };
        match NonNull::new(found) {
            _ if result == -libc::ENODATA || result == -libc::ENOSYS => Ok(None),
            Some(first) if result == 0 => Ok(Some(Self { library, first })),
            None if result == 0 => Ok(None),
            _ => {
                let object = format!("the provider {}", question.provider.unwrap_or("of any name"));
                library.check(result.into(), "fi_getinfo", &object).map(|()| None)
            }
        }
    }

    /// The offers, one after the other, as the library sorts them.
    fn offers(&self) -> impl Iterator<Item = &FiInfo> {
        // SAFETY: the list is whole, and stays as long as this is borrowed; its end is null.
        let first = unsafe { self.first.as_ref() };
        // SAFETY: as above.
        std::iter::successors(Some(first), |info| unsafe { info.next.as_ref() })
    }
}

/// The provider that is taken, and what it has promised.
#[derive(Debug)]
pub struct Offer {
    /// What it has promised.
    pub promises: Promises,
    pub(crate) library: &'static Library,
    list: Info,
    /// Its place in the list.
    place: usize,
}

impl Offer {
    /// The first offer that can be used: of the provider of this name (or of the first in [`HARDWARE`] that
    /// is there), with this order (or with the strongest that it promises). Endpoints have this address,
    /// where addresses are of the internet.
    ///
    /// # Errors
    /// The library is not there, the provider is not, or does not do what is needed.
    pub fn choose(
        provider: Option<&str>,
        order: Option<SignalOrder>,
        address: IpAddr,
    ) -> Result<Self, OfiError> {
        let library = Library::get()?;
        let _kept = KeptHandlers::keep();
        let wanted: Vec<&str> = provider.map_or(HARDWARE.to_vec(), |provider| vec![provider]);
        let orders: Vec<SignalOrder> = order.map_or(ORDERS.to_vec(), |order| vec![order]);
        let mut unfit = None;
        for provider in &wanted {
            let core = core_name(provider);
            let source = (INTERNET.contains(&core) && !address.is_unspecified()).then_some(address);
            for order in &orders {
                let question = Question { provider: Some(provider), order: *order, source };
                let Some(list) = Info::ask(library, &question)? else { continue };
                let judged: Vec<_> = list.offers().map(|info| judge(info, *order)).collect();
                for (place, judged) in judged.into_iter().enumerate() {
                    match judged {
                        Ok(promises) => return Ok(Self { promises, library, list, place }),
                        Err(why) => unfit = Some(why),
                    }
                }
            }
        }
        let offered = offered(library);
        match (unfit, order, provider) {
            (Some((provider, why)), ..) => Err(OfiError::Unfit { provider, why }),
            (None, Some(order), Some(provider)) if offered.iter().any(|name| is_named(name, provider)) => {
                Err(OfiError::NoOrder { provider: provider.into(), order })
            }
            _ => Err(OfiError::NoProvider {
                version: library.version,
                wanted: provider.map_or(HARDWARE.join(", "), |provider| format!("'{provider}'")),
                offered: listed(&offered),
            }),
        }
    }

    /// What the library is to open.
    pub(crate) fn info(&self) -> NonNull<FiInfo> {
        self.list.offers().nth(self.place).map_or(self.list.first, NonNull::from)
    }
}

/// The name without what is layered on it: `tcp` of `tcp;ofi_rxm`.
fn core_name(provider: &str) -> &str {
    provider.split(';').next().unwrap_or(provider)
}

/// Whether a provider of this name was asked for.
fn is_named(name: &str, wanted: &str) -> bool {
    name == wanted || core_name(name) == wanted
}

/// The providers with one-sided writes on this node, each once.
fn offered(library: &'static Library) -> Vec<String> {
    let question = Question { provider: None, order: SignalOrder::Completion, source: None };
    let Ok(Some(list)) = Info::ask(library, &question) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for name in list.offers().filter_map(provider_of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A list of providers for an error.
fn listed(providers: &[String]) -> String {
    let listed: Vec<_> = providers
        .iter()
        .map(|name| if core_name(name) == "shm" { format!("{name} (within a host)") } else { name.clone() })
        .collect();
    if listed.is_empty() { "none".into() } else { listed.join(", ") }
}

fn provider_of(info: &FiInfo) -> Option<String> {
    // SAFETY: an offer is whole: what it points to is there, and names are strings.
    unsafe { text_at(info.fabric_attr.as_ref()?.prov_name) }
}

/// What an offer promises when it is used with this order; or the provider and why it cannot be used.
fn judge(info: &FiInfo, order: SignalOrder) -> Result<Promises, (String, String)> {
    let provider = provider_of(info).unwrap_or_default();
    let unfit = |why: String| Err((provider.clone(), why));
    // SAFETY: an offer is whole: what it points to is there, and stays with it.
    let parts = unsafe {
        (info.tx_attr.as_ref(), info.rx_attr.as_ref(), info.ep_attr.as_ref(), info.domain_attr.as_ref())
    };
    let (Some(tx), Some(rx), Some(ep), Some(domain)) = parts else {
        return unfit("its offer is not whole".into());
    };
    if info.caps & FI_RMA == 0 {
        return unfit("it has no one-sided writes (FI_RMA)".into());
    }
    let strange = (info.mode | domain.mode | tx.mode) & !(FI_CONTEXT | FI_CONTEXT2);
    if strange != 0 {
        return unfit(format!("it asks for the modes {strange:#x}, which are not offered"));
    }
    let known = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    // The two oldest modes are names for sets of the others, and are not asked for.
    if domain.mr_mode & !known != 0 {
        return unfit(format!("it asks for the memory modes {:#x}, which are not offered", domain.mr_mode));
    }
    if domain.mr_key_size > size_of::<u64>() {
        return unfit(format!("its keys of {} bytes are too long", domain.mr_key_size));
    }
    let mut write_bytes = ep.max_msg_size.min(MOST_WRITE_BYTES);
    match order {
        SignalOrder::WriteAfterWrite => {
            // Either order says it, and both ends have to keep it.
            let both = tx.msg_order & rx.msg_order;
            if both & (FI_ORDER_WAW | FI_ORDER_RMA_WAW) == 0 {
                return unfit("it does not keep writes in order".into());
            }
            write_bytes = write_bytes.min(ep.max_order_waw_size);
            if core_name(&provider) == SHARED_MEMORY {
                write_bytes = write_bytes.min(tx.inject_size);
            }
        }
        SignalOrder::Completion => {
            if tx.op_flags & FI_DELIVERY_COMPLETE == 0 {
                return unfit("it does not say when data has been delivered (FI_DELIVERY_COMPLETE)".into());
            }
        }
    }
    if write_bytes < LEAST_WRITE_BYTES {
        return unfit(format!("it writes no more than {write_bytes} bytes in one, or in order"));
    }
    let has = |mode: c_int| domain.mr_mode & mode != 0;
    let wakes = WAKING.contains(&core_name(&provider));
    Ok(Promises {
        // SAFETY: as above; the name is a string.
        domain: unsafe { text_at(domain.name) }.unwrap_or_default(),
        order,
        write_bytes: write_bytes / 8 * 8,
        most_write_bytes: ep.max_msg_size,
        operations: tx.size.clamp(1, OPERATIONS_LIMIT),
        has_pairs: tx.iov_limit >= 2 && tx.rma_iov_limit >= 2,
        has_atomics: info.caps & FI_ATOMIC != 0,
        is_manual: domain.data_progress == FI_PROGRESS_MANUAL,
        wakes: wakes && domain.data_progress == FI_PROGRESS_MANUAL,
        address_format: info.addr_format,
        memory_mode: MemoryMode {
            is_local: has(FI_MR_LOCAL),
            is_virtual: has(FI_MR_VIRT_ADDR),
            has_own_keys: has(FI_MR_PROV_KEY),
            is_of_endpoint: has(FI_MR_ENDPOINT),
            key_bytes: domain.mr_key_size,
        },
        provider,
    })
}
