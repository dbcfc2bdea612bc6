//! The functions of libelan, and of a NIC library. What each does, and which source says so, is told where
//! they are declared for their callers: in `bcs-core/elan/src/libelan.rs`.

use crate::card::fault;
use crate::events;
use crate::machine::{Capability, Machine, Shared, Work, lock};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The machines, by the hardware context and the lowest and highest node.
type Machines = HashMap<(u32, u32, u32), Shared>;

static MACHINES: LazyLock<Mutex<Machines>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The capability of the process that this thread is about to make.
    static CAPABILITY: RefCell<Option<Capability>> = const { RefCell::new(None) };
}

/// A process on its machine.
#[derive(Debug)]
pub struct State {
    /// The machine.
    pub machine: Shared,
    /// The virtual process number.
    pub process: u32,
}

/// An event, as its callers see it: where it would lie, by its number.
fn pointer_of(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

/// The machine of a capability.
pub fn machine_of(capability: &Capability) -> Shared {
    let key = (capability.context, *capability.nodes.start(), *capability.nodes.end());
    let mut machines = MACHINES.lock().unwrap_or_else(PoisonError::into_inner);
    machines.entry(key).or_insert_with(|| Arc::new(Mutex::new(Machine::new(0)))).clone()
}

/// Forgets the machine of a capability.
pub fn forget(capability: &Capability) {
    let key = (capability.context, *capability.nodes.start(), *capability.nodes.end());
    MACHINES.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
}

/// The state that a caller names.
///
/// # Safety
/// It is one that `elan_init` has returned.
pub unsafe fn state_of<'a>(state: *mut State) -> &'a State {
    // SAFETY: by the contract; states are never freed.
    match unsafe { state.as_ref() } {
        Some(state) => state,
        None => fault("a call names no state"),
    }
}

/// The card's address that stands for memory of another process: whether that has it is seen there.
fn far_address(state: &State, address: *mut c_void) -> u64 {
    match lock(&state.machine).arena(state.process).to_card(address.cast()) {
        Some(card) => card,
        None => fault(&format!("{address:p} of process {} stands for no memory", state.process)),
    }
}

/// The card's address of memory of its own that a caller names.
fn card_address(state: &State, address: *mut c_void, bytes: usize) -> u64 {
    let mut machine = lock(&state.machine);
    let arena = machine.arena(state.process);
    match arena.to_card(address.cast()) {
        Some(card) if arena.holds(address.cast(), bytes) => card,
        _ => fault(&format!("{bytes} bytes at {address:p} of process {} are not addressable", state.process)),
    }
}

/// Reads a capability; see `bcs-core/elan/src/libelan.rs`.
///
/// # Safety
/// The text ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_generateCapability(text: *mut c_char) -> c_int {
    // SAFETY: by the contract.
    let text = unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default();
    match Capability::parse(text) {
        Some(capability) => {
            CAPABILITY.set(Some(capability));
            0
        }
        None => -1,
    }
}

/// Makes a state.
#[unsafe(no_mangle)]
pub extern "C" fn elan_init(_flags: usize) -> *mut State {
    let Some(capability) = CAPABILITY.take() else { return std::ptr::null_mut() };
    let process = capability.node - capability.nodes.start();
    Box::into_raw(Box::new(State { machine: machine_of(&capability), process }))
}

/// Attaches.
///
/// # Safety
/// As all functions here: the state is one that `elan_init` has returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_attach(state: *mut State) {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    if !lock(&state.machine).attach(state.process) {
        fault(&format!("process {} cannot attach: there is one of its number, or no memory", state.process));
    }
}

/// Lets packets in.
///
/// # Safety
/// As [`elan_attach`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_enable_network(state: *mut State) {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    lock(&state.machine).enable(state.process);
}

/// Allocates memory.
///
/// # Safety
/// As [`elan_attach`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_allocMain(state: *mut State, align: c_int, bytes: usize) -> *mut c_void {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    let allocated = lock(&state.machine).arena(state.process).allocate(align.unsigned_abs() as usize, bytes);
    allocated.map_or(std::ptr::null_mut(), |memory| memory.as_ptr().cast())
}

/// Whether memory can be reached.
///
/// # Safety
/// As [`elan_attach`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_addressable(state: *mut State, address: *mut c_void, bytes: usize) -> c_int {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    c_int::from(lock(&state.machine).arena(state.process).holds(address.cast(), bytes))
}

/// Translates an address of the host.
///
/// # Safety
/// As [`elan_attach`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_main2elan(state: *mut State, address: *mut c_void) -> u64 {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    lock(&state.machine).arena(state.process).to_card(address.cast()).unwrap_or(u64::MAX)
}

/// Translates an address of the card.
///
/// # Safety
/// As [`elan_attach`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_elan2main(state: *mut State, address: u64) -> *mut c_void {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    let host = lock(&state.machine).arena(state.process).to_host(address);
    host.map_or(std::ptr::null_mut(), |host| host.cast())
}

/// The slots of Elan4.
#[unsafe(no_mangle)]
pub extern "C" fn elan_queueMaxSlotSize(_state: *mut State) -> c_int {
    2048
}

/// Begins a put.
///
/// # Safety
/// As [`elan_attach`]; the source stays as it is until the event is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_put(
    state: *mut State,
    source: *mut c_void,
    destination: *mut c_void,
    bytes: usize,
    process: c_uint,
) -> *mut c_void {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    let from = (state.process, card_address(state, source, bytes));
    let to = (process, far_address(state, destination));
    let mut machine = lock(&state.machine);
    machine.counts.puts += 1;
    pointer_of(machine.begin(state.process, Work::copy(from, to, bytes)))
}

/// Begins a get.
///
/// # Safety
/// As [`elan_attach`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_get(
    state: *mut State,
    source: *mut c_void,
    destination: *mut c_void,
    bytes: usize,
    process: c_uint,
) -> *mut c_void {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    let from = (process, far_address(state, source));
    let to = (state.process, card_address(state, destination, bytes));
    let mut machine = lock(&state.machine);
    machine.counts.gets += 1;
    pointer_of(machine.begin(state.process, Work::copy(from, to, bytes)))
}

/// Looks at an event.
///
/// # Safety
/// The event is one that a call has returned, and that was not found complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_poll(event: *mut c_void, _tries: c_long) -> c_int {
    c_int::from(events::poll(event.addr()))
}

/// The range from the lowest to the highest process.
fn range(lowest: c_uint, highest: c_uint) -> RangeInclusive<u32> {
    lowest..=highest
}

/// Begins a broadcast; see `bcs-core/elan/include/bcs_elan_nic.h`.
///
/// # Safety
/// As [`elan_put`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcs_elan_broadcast(
    state: *mut State,
    source: *mut c_void,
    destination: *mut c_void,
    bytes: usize,
    lowest: c_uint,
    highest: c_uint,
) -> *mut c_void {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    let source = card_address(state, source, bytes);
    let destination = card_address(state, destination, bytes);
    let mut machine = lock(&state.machine);
    machine.counts.broadcasts += 1;
    let work = Work::Broadcast { source, destination, bytes, range: range(lowest, highest) };
    pointer_of(machine.begin(state.process, work))
}

/// Begins a conditional; see `bcs-core/elan/include/bcs_elan_nic.h`.
///
/// # Safety
/// As [`elan_attach`]; the place of the answer stays until the event is complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcs_elan_conditional(
    state: *mut State,
    variable: *mut c_void,
    condition: c_int,
    value: u64,
    lowest: c_uint,
    highest: c_uint,
    answer: *mut c_int,
) -> *mut c_void {
    // SAFETY: by the contract.
    let state = unsafe { state_of(state) };
    let variable = card_address(state, variable, 8);
    let mut machine = lock(&state.machine);
    machine.counts.conditionals += 1;
    let range = range(lowest, highest);
    let work = Work::Conditional { variable, condition, value, range, answer: answer.expose_provenance() };
    pointer_of(machine.begin(state.process, work))
}
