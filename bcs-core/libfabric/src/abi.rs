//! What libfabric's structures look like in memory, as its ABI version 1.3 has them (`FABRIC_1.3`, which
//! libfabric 1.11 and everything later offers, 2.x included).
//!
//! libfabric exports few functions; everything else is called through tables of functions that its objects
//! point to. A table begins with its size: a function beyond it is not there ([`has`]). Names are those of
//! the library's manual pages, `fi_getinfo(3)`, `fi_domain(3)`, `fi_rma(3)`, `fi_cq(3)`, so that they can be
//! looked up there; what this package does not call is an untyped pointer. The offsets at the end are those
//! that a C compiler gives the library's headers.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

/// A function that is not called here.
type Unused = *const c_void;

// Capabilities (`fi_getinfo`), and flags of operations.
pub const FI_MSG: u64 = 1 << 1;
pub const FI_RMA: u64 = 1 << 2;
pub const FI_ATOMIC: u64 = 1 << 4;
pub const FI_WRITE: u64 = 1 << 9;
pub const FI_RECV: u64 = 1 << 10;
pub const FI_TRANSMIT: u64 = 1 << 11;
pub const FI_REMOTE_WRITE: u64 = 1 << 13;
pub const FI_COMPLETION: u64 = 1 << 24;
pub const FI_INJECT_COMPLETE: u64 = 1 << 26;
pub const FI_DELIVERY_COMPLETE: u64 = 1 << 28;
/// Of `fi_getinfo`: the node is the address to send from.
pub const FI_SOURCE: u64 = 1 << 57;
pub const FI_NUMERICHOST: u64 = 1 << 55;

// Modes: what a provider may ask of its user.
pub const FI_CONTEXT: u64 = 1 << 59;
pub const FI_CONTEXT2: u64 = 1 << 52;

// Orders (`fi_endpoint`).
pub const FI_ORDER_WAW: u64 = 1 << 4;
pub const FI_ORDER_RMA_WAW: u64 = 1 << 35;

// Modes of memory registration (`fi_mr`).
pub const FI_MR_LOCAL: c_int = 1 << 2;
pub const FI_MR_VIRT_ADDR: c_int = 1 << 4;
pub const FI_MR_ALLOCATED: c_int = 1 << 5;
pub const FI_MR_PROV_KEY: c_int = 1 << 6;
pub const FI_MR_ENDPOINT: c_int = 1 << 9;

// Values of enumerations.
pub const FI_EP_RDM: c_int = 3;
pub const FI_PROGRESS_MANUAL: c_int = 2;
pub const FI_THREAD_DOMAIN: c_int = 3;
pub const FI_RM_ENABLED: c_int = 2;
pub const FI_AV_TABLE: c_int = 2;
pub const FI_WAIT_NONE: c_int = 0;
pub const FI_WAIT_FD: c_int = 3;
pub const FI_CQ_FORMAT_CONTEXT: c_int = 1;
/// Of `control`: the descriptor that a queue's user can sleep on.
pub const FI_GETWAIT: c_int = 5;
/// Of `control`: an object is complete and may be used.
pub const FI_ENABLE: c_int = 6;

// Errors that are negative results, beside those of the system.
pub const FI_EAVAIL: i32 = 259;

/// An address that an endpoint was told of, by the number that it has there (`fi_addr_t`).
pub type FiAddr = u64;

#[repr(C)]
pub struct FiTxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

#[repr(C)]
pub struct FiRxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

#[repr(C)]
pub struct FiEpAttr {
    pub kind: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    pub max_order_raw_size: usize,
    pub max_order_war_size: usize,
    pub max_order_waw_size: usize,
    pub mem_tag_format: u64,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
}

#[repr(C)]
pub struct FiDomainAttr {
    pub domain: *mut FidDomain,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_mgmt: c_int,
    pub av_type: c_int,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
    pub cq_data_size: usize,
    pub cq_cnt: usize,
    pub ep_cnt: usize,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub max_ep_tx_ctx: usize,
    pub max_ep_rx_ctx: usize,
    pub max_ep_stx_ctx: usize,
    pub max_ep_srx_ctx: usize,
    pub cntr_cnt: usize,
    pub mr_iov_limit: usize,
    pub caps: u64,
    pub mode: u64,
    pub auth_key: *mut u8,
    pub auth_key_size: usize,
    pub max_err_data: usize,
    pub mr_cnt: usize,
    pub tclass: u32,
}

#[repr(C)]
pub struct FiFabricAttr {
    pub fabric: *mut FidFabric,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

#[repr(C)]
pub struct FiInfo {
    pub next: *mut FiInfo,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut Fid,
    pub tx_attr: *mut FiTxAttr,
    pub rx_attr: *mut FiRxAttr,
    pub ep_attr: *mut FiEpAttr,
    pub domain_attr: *mut FiDomainAttr,
    pub fabric_attr: *mut FiFabricAttr,
    pub nic: *mut c_void,
}

/// How every object of the library begins.
#[repr(C)]
pub struct Fid {
    pub class: usize,
    pub context: *mut c_void,
    pub ops: *const FiOps,
}

#[repr(C)]
pub struct FiOps {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
    pub ops_open: Unused,
    pub tostr: Unused,
    pub ops_set: Unused,
}

#[repr(C)]
pub struct FidFabric {
    pub fid: Fid,
    pub ops: *const FiOpsFabric,
    pub api_version: u32,
}

#[repr(C)]
pub struct FiOpsFabric {
    pub size: usize,
    pub domain: unsafe extern "C" fn(*mut FidFabric, *mut FiInfo, *mut *mut FidDomain, *mut c_void) -> c_int,
    pub passive_ep: Unused,
    pub eq_open: Unused,
    pub wait_open: Unused,
    pub trywait: unsafe extern "C" fn(*mut FidFabric, *mut *mut Fid, c_int) -> c_int,
    pub domain2: Unused,
}

#[repr(C)]
pub struct FidDomain {
    pub fid: Fid,
    pub ops: *const FiOpsDomain,
    pub mr: *const FiOpsMr,
}

#[repr(C)]
pub struct FiOpsDomain {
    pub size: usize,
    pub av_open: unsafe extern "C" fn(*mut FidDomain, *mut FiAvAttr, *mut *mut FidAv, *mut c_void) -> c_int,
    pub cq_open: unsafe extern "C" fn(*mut FidDomain, *mut FiCqAttr, *mut *mut FidCq, *mut c_void) -> c_int,
    pub endpoint: unsafe extern "C" fn(*mut FidDomain, *mut FiInfo, *mut *mut FidEp, *mut c_void) -> c_int,
    pub scalable_ep: Unused,
    pub cntr_open: Unused,
    pub poll_open: Unused,
    pub stx_ctx: Unused,
    pub srx_ctx: Unused,
    pub query_atomic: Unused,
    pub query_collective: Unused,
    pub endpoint2: Unused,
}

/// The arguments of `reg` beside the object: where and how long, the access, an offset, the key that is asked
/// for, flags; then the object that is made, and a context.
pub type RegisterFunction = unsafe extern "C" fn(
    *mut Fid,
    *const c_void,
    usize,
    u64,
    u64,
    u64,
    u64,
    *mut *mut FidMr,
    *mut c_void,
) -> c_int;

#[repr(C)]
pub struct FiOpsMr {
    pub size: usize,
    pub reg: RegisterFunction,
    pub regv: Unused,
    pub regattr: Unused,
}

#[repr(C)]
pub struct FidMr {
    pub fid: Fid,
    pub mem_desc: *mut c_void,
    pub key: u64,
}

#[repr(C)]
pub struct FiAvAttr {
    pub kind: c_int,
    pub rx_ctx_bits: c_int,
    pub count: usize,
    pub ep_per_node: usize,
    pub name: *const c_char,
    pub map_addr: *mut c_void,
    pub flags: u64,
}

#[repr(C)]
pub struct FidAv {
    pub fid: Fid,
    pub ops: *const FiOpsAv,
}

#[repr(C)]
pub struct FiOpsAv {
    pub size: usize,
    pub insert:
        unsafe extern "C" fn(*mut FidAv, *const c_void, usize, *mut FiAddr, u64, *mut c_void) -> c_int,
    pub insertsvc: Unused,
    pub insertsym: Unused,
    pub remove: Unused,
    pub lookup: Unused,
    pub straddr: Unused,
    pub av_set: Unused,
}

#[repr(C)]
pub struct FidEp {
    pub fid: Fid,
    pub ops: Unused,
    pub cm: *const FiOpsCm,
    pub msg: Unused,
    pub rma: *const FiOpsRma,
    pub tagged: Unused,
    pub atomic: Unused,
    pub collective: Unused,
}

#[repr(C)]
pub struct FiOpsCm {
    pub size: usize,
    pub setname: Unused,
    pub getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
    pub getpeer: Unused,
    pub connect: Unused,
    pub listen: Unused,
    pub accept: Unused,
    pub reject: Unused,
    pub shutdown: Unused,
    pub join: Unused,
}

#[repr(C)]
pub struct FiOpsRma {
    pub size: usize,
    pub read: Unused,
    pub readv: Unused,
    pub readmsg: Unused,
    pub write: Unused,
    pub writev: Unused,
    pub writemsg: unsafe extern "C" fn(*mut FidEp, *const FiMsgRma, u64) -> isize,
    pub inject: Unused,
    pub writedata: Unused,
    pub injectdata: Unused,
}

#[repr(C)]
pub struct FiRmaIov {
    pub addr: u64,
    pub len: usize,
    pub key: u64,
}

#[repr(C)]
pub struct FiMsgRma {
    pub msg_iov: *const libc::iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: FiAddr,
    pub rma_iov: *const FiRmaIov,
    pub rma_iov_count: usize,
    pub context: *mut c_void,
    pub data: u64,
}

#[repr(C)]
pub struct FiCqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_obj: c_int,
    pub signaling_vector: c_int,
    pub wait_cond: c_int,
    pub wait_set: *mut c_void,
}

#[repr(C)]
pub struct FidCq {
    pub fid: Fid,
    pub ops: *const FiOpsCq,
}

#[repr(C)]
pub struct FiOpsCq {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut FidCq, *mut c_void, usize) -> isize,
    pub readfrom: Unused,
    pub readerr: unsafe extern "C" fn(*mut FidCq, *mut FiCqErrEntry, u64) -> isize,
    pub sread: Unused,
    pub sreadfrom: Unused,
    pub signal: Unused,
    pub strerror: unsafe extern "C" fn(*mut FidCq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
}

/// A completion, in the format [`FI_CQ_FORMAT_CONTEXT`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FiCqEntry {
    pub op_context: *mut c_void,
}

#[repr(C)]
pub struct FiCqErrEntry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
}

/// What an operation's context begins with under the modes `FI_CONTEXT` and `FI_CONTEXT2`: the provider's
/// own.
#[repr(C)]
pub struct FiContext2 {
    pub internal: [*mut c_void; 8],
}

/// Whether a table of functions reaches to the end of the function at an offset.
pub const fn has(table_bytes: usize, offset: usize) -> bool {
    table_bytes >= offset + size_of::<Unused>()
}

const fn is(found: usize, wanted: usize) {
    assert!(found == wanted, "a structure does not lie in memory as libfabric's does");
}

// On the 64-bit systems for which the library is built, C gives these.
const _: () = {
    is(size_of::<FiTxAttr>(), 80);
    is(offset_of!(FiTxAttr, inject_size), 40);
    is(offset_of!(FiTxAttr, tclass), 72);
    is(size_of::<FiRxAttr>(), 64);
    is(offset_of!(FiRxAttr, iov_limit), 56);
    is(size_of::<FiEpAttr>(), 96);
    is(offset_of!(FiEpAttr, max_msg_size), 16);
    is(offset_of!(FiEpAttr, max_order_waw_size), 48);
    is(offset_of!(FiEpAttr, auth_key), 88);
    is(size_of::<FiDomainAttr>(), 192);
    is(offset_of!(FiDomainAttr, av_type), 32);
    is(offset_of!(FiDomainAttr, mr_mode), 36);
    is(offset_of!(FiDomainAttr, mr_key_size), 40);
    is(offset_of!(FiDomainAttr, caps), 136);
    is(offset_of!(FiDomainAttr, tclass), 184);
    is(size_of::<FiFabricAttr>(), 32);
    is(offset_of!(FiFabricAttr, prov_name), 16);
    is(offset_of!(FiFabricAttr, api_version), 28);
    is(size_of::<FiInfo>(), 120);
    is(offset_of!(FiInfo, addr_format), 24);
    is(offset_of!(FiInfo, src_addr), 48);
    is(offset_of!(FiInfo, handle), 64);
    is(offset_of!(FiInfo, tx_attr), 72);
    is(offset_of!(FiInfo, nic), 112);
    is(size_of::<Fid>(), 24);
    is(size_of::<FiOps>(), 56);
    is(offset_of!(FiOps, control), 24);
    is(size_of::<FidFabric>(), 40);
    is(offset_of!(FiOpsFabric, trywait), 40);
    is(size_of::<FidDomain>(), 40);
    is(size_of::<FiOpsDomain>(), 96);
    is(offset_of!(FiOpsDomain, endpoint), 24);
    is(offset_of!(FiOpsMr, reg), 8);
    is(size_of::<FidMr>(), 40);
    is(offset_of!(FidMr, key), 32);
    is(size_of::<FiAvAttr>(), 48);
    is(size_of::<FidAv>(), 32);
    is(offset_of!(FiOpsAv, insert), 8);
    is(size_of::<FidEp>(), 80);
    is(offset_of!(FidEp, cm), 32);
    is(offset_of!(FidEp, rma), 48);
    is(offset_of!(FiOpsCm, getname), 16);
    is(offset_of!(FiOpsRma, writemsg), 48);
    is(size_of::<FiRmaIov>(), 24);
    is(size_of::<FiMsgRma>(), 64);
    is(offset_of!(FiMsgRma, rma_iov), 32);
    is(offset_of!(FiMsgRma, data), 56);
    is(size_of::<FiCqAttr>(), 40);
    is(offset_of!(FiCqAttr, wait_obj), 20);
    is(size_of::<FidCq>(), 32);
    is(offset_of!(FiOpsCq, readerr), 24);
    is(offset_of!(FiOpsCq, strerror), 56);
    is(size_of::<FiCqErrEntry>(), 80);
    is(offset_of!(FiCqErrEntry, err), 56);
    is(offset_of!(FiCqErrEntry, err_data), 64);
    is(size_of::<FiContext2>(), 64);
};
