//! What a line of a table becomes: `MPI_X` and its twin `PMPI_X`, two exported symbols with one body, neither
//! of which goes through the other, so that tools may define either.
//!
//! ```text
//! calls! { NAME(arguments) [options] { body } }      or several NAMES, whose bodies are the same
//! answers! { NAME(arguments) [options] = function; } that only calls a function; if that answers something,
//!            NAME(arguments) -> last argument [options] = function;
//! ```
//!
//! The types of the arguments, and whether there is NAME_c with large counts too, are in the table of the
//! standard's functions: the build writes a macro of each function's name, which tells `define` of them. In
//! a body, COUNT, DISPL and ADDR stand for the types that differ.
//!
//! What an argument is may stand after its name; the body sees it as that, and what is null is refused:
//! - `OUT`, where the call stores a result, a [`Place`]; `POINTER`, where it stores an address although the
//!   type does not say so;
//! - `IN` and `INOUT`, an object of the program;
//! - `[count]` and `[mut count]`, an array of the program, whose length another argument is;
//! - `STRING`, a string of the program, `KEY`, one that is a key of an info object, and `PATH`, the name of a
//!   file.
//!
//! Options: `timed(bytes)` has MMDS time the call; `on comm` names the communicator (or session, window,
//! file) whose error handler is asked. The body may use `?`. `plain` stands for a function that cannot fail:
//! its body is what it returns.
//!
//! Unwinding does not cross the edge: `extern "C"` functions abort instead, and the hook that
//! [`install_panic_hook`] sets has ended the job with a message before.

use bcs_mpi::constants::*;
use bcs_mpi::object::file::name::FileName;
use bcs_mpi::process::exit;
use bcs_mpi::{MpiError, MpiResult};
use std::ffi::{CStr, c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/prototypes.rs"));

macro_rules! calls {
    ($($($name:ident)+ ($($arguments:tt)*) [$($options:tt)*] $body:block)*) => {
        $(same_body! { [$($name)+] ($($arguments)*) [$($options)*] $body })*
    };
}

/// What only calls a function of `bcs-mpi`.
macro_rules! answers {
    ($($name:ident $arguments:tt $(-> $result:ident)? [$($options:tt)*] = $answer:expr;)*) => {
        $(answer_of! { $name $arguments [$($result)?] [$($options)*] $answer })*
    };
}

macro_rules! answer_of {
    (
        $name:ident($($argument:ident $(: $kind:tt)?),* $(,)?) [$($result:ident)?] [$($options:tt)*] $answer:expr
    ) => {
        calls! {
            $name($($argument $(: $kind)?,)* $($result: OUT)?) [$($options)*] {
                let answer: ::bcs_mpi::MpiResult<_> = $answer;
                $($result.store)?(answer?)
            }
        }
    };
}

macro_rules! same_body {
    ([$($name:ident)+] $arguments:tt $options:tt $body:block) => {
        $($name! { define $name $arguments $options $body })+
    };
}

macro_rules! define {
    (
        $counts:ident $symbol:literal ($($type:ty),*) -> $result:ty;
        $name:ident($($argument:ident),* $(,)?) [plain] $body:block
    ) => {
        #[allow(unused_imports, reason = "not every function has arguments of these types")]
        const _: () = {
            use $crate::edge::$counts::*;

            #[inline]
            unsafe extern "C" fn body($($argument: $type),*) -> $result $body

            #[allow(non_snake_case, reason = "the name of the C binding")]
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                // SAFETY: the caller keeps the promises of the C binding.
                unsafe { body($($argument),*) }
            }

            #[unsafe(export_name = concat!("P", $symbol))]
            pub unsafe extern "C" fn profiled($($argument: $type),*) -> $result {
                // SAFETY: the caller keeps the promises of the C binding.
                unsafe { body($($argument),*) }
            }
        };
    };
    (
        $counts:ident $symbol:literal ($($type:ty),*) -> $result:ty;
        $name:ident($($argument:ident $(: $kind:tt)?),* $(,)?)
        [$(timed($bytes:expr))? $(on $owner:ident)?] $body:block
    ) => {
        define! { $counts $symbol ($($type),*) -> $result; $name($($argument),*) [plain] {
            $(let timed = ::bcs_mpi::process::monitor::enter(primitive!($name, $bytes));)?
            let result = attempt! { ($($argument: $type),*) {
                $($(let $argument = argument!($kind $argument);)?)*
                $($(let $argument = checked!($kind $argument);)?)*
                $body
            } };
            $(::bcs_mpi::process::monitor::leave(timed, || $bytes);)?
            answer!(result, $symbol, [$($argument),*] $(, $owner)?)
        } }
    };
}

/// The primitive that has the name of a call.
macro_rules! primitive {
    ($name:ident $(, $bytes:expr)?) => {
        const { ::mds::Primitive::from_name(stringify!($name)).expect("MMDS knows the call") }
    };
}

/// An argument of a kind, if it is one.
macro_rules! argument {
    (IN $argument:ident) => {
        $crate::edge::object($argument.cast_mut(), stringify!($argument))
    };
    (OUT $argument:ident) => {
        $crate::edge::place($argument, stringify!($argument))
    };
    ([$length:ident] $argument:ident) => {
        $crate::edge::read_only($argument, $length, [stringify!($argument), stringify!($length)])
    };
    ([mut $length:ident] $argument:ident) => {
        $crate::edge::array($argument, $length, [stringify!($argument), stringify!($length)])
    };
    (STRING $argument:ident) => {
        $crate::edge::string($argument, stringify!($argument), MPI_ERR_ARG)
    };
    (PATH $argument:ident) => {
        $crate::edge::file_name($argument, stringify!($argument))
    };
    (KEY $argument:ident) => {
        $crate::edge::string($argument, stringify!($argument), MPI_ERR_INFO_KEY)
    };
    (POINTER $argument:ident) => {
        $crate::edge::place($argument.cast::<*mut c_void>(), stringify!($argument))
    };
    (INOUT $argument:ident) => {
        $crate::edge::object($argument, stringify!($argument))
    };
}

/// The same, or the error. All have been looked at before one is refused: places of handles get null handles.
macro_rules! checked {
    ($kind:tt $argument:ident) => {
        $argument?
    };
}

/// The result of a body, which may use `?`, of a call with these arguments: it is in a function of its own,
/// where `?` leads to. A closure would have its arguments through memory.
macro_rules! attempt {
    (($($argument:ident: $type:ty),*) $body:block) => {{
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "the standard's functions have them")]
        unsafe fn attempt($($argument: $type),*) -> ::bcs_mpi::MpiResult {
            // SAFETY: the program keeps the promises of the C binding: pointers are null, or as the standard
            // (or `bcs.h`) says.
            #[allow(unused_unsafe, reason = "not every body is unsafe")]
            unsafe {
                $body;
            }
            Ok(())
        }
        // SAFETY: as above.
        unsafe { attempt($($argument),*) }
    }};
}

/// What a call of this name, with these arguments, answers for a result.
macro_rules! answer {
    ($result:ident, $symbol:expr, [$($argument:ident),*] $(, $owner:ident)?) => {
        match $result {
            Ok(()) => ::bcs_mpi::constants::MPI_SUCCESS,
            Err(error) => {
                let parameters = [$(stringify!($argument)),*];
                let owner = None$(.or(Some($owner.into())))?;
                ::bcs_mpi::environment::error_handlers::raise($symbol, &parameters, error, owner)
            }
        }
    };
}

macro_rules! counts {
    ($module:ident $count:ty, $displacement:ty, $address:ty) => {
        /// The types of arguments.
        #[allow(dead_code, clippy::upper_case_acronyms, reason = "names of the table's language")]
        pub mod $module {
            pub use ::bcs_mpi::constants::*;
            pub use ::std::ffi::{c_char, c_int, c_void};

            pub type COUNT = $count;
            pub type DISPL = $displacement;
            pub type ADDR = $address;
        }
    };
}

counts! { small c_int, c_int, MPI_Aint }
counts! { large MPI_Count, MPI_Aint, MPI_Count }

/// What a call stores as a result.
pub trait Stored: Copy {
    /// What it stores where it fails: the null handle for a handle.
    const FAILED: Option<Self>;
}

macro_rules! stored {
    ($($type:ty = $failed:expr;)*) => { $(
        impl Stored for $type {
            const FAILED: Option<Self> = $failed;
        }
    )* };
}

stored! {
    c_int = None;
    c_char = None;
    MPI_Aint = None;
    MPI_Count = None;
    *mut c_void = None;
    MPI_Comm = Some(MPI_COMM_NULL);
    MPI_Group = Some(MPI_GROUP_NULL);
    MPI_Request = Some(MPI_REQUEST_NULL);
    MPI_Errhandler = Some(MPI_ERRHANDLER_NULL);
    MPI_Info = Some(MPI_INFO_NULL);
    MPI_Datatype = Some(MPI_DATATYPE_NULL);
    MPI_Op = Some(MPI_OP_NULL);
    MPI_Session = Some(MPI_SESSION_NULL);
    MPI_Win = Some(MPI_WIN_NULL);
    MPI_File = Some(MPI_FILE_NULL);
    MPI_Message = Some(MPI_MESSAGE_NULL);
}

/// Where a call stores a result.
pub struct Place<T: Stored>(*mut T);

impl<T: Stored> Place<T> {
    /// Stores it.
    #[inline(always)]
    pub fn set(self, value: T) {
        // SAFETY: `place` has checked that it is not null, and the program promises that it is one.
        unsafe { self.0.write(value) };
        std::mem::forget(self);
    }

    /// Where that is: the call stores more than one there.
    #[inline(always)]
    pub fn address(self) -> *mut T {
        let Self(to) = self;
        std::mem::forget(self);
        to
    }

    /// Stores what is one in Rust.
    #[inline(always)]
    pub fn store(self, value: impl Into<T>) {
        self.set(value.into());
    }
}

impl<T: Stored> Drop for Place<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(failed) = T::FAILED {
            // SAFETY: as above.
            unsafe { self.0.write(failed) };
        }
    }
}

/// The place of a result: taken before anything else can be found wrong.
///
/// # Errors
/// There is none.
#[inline(always)]
pub fn place<T: Stored>(to: *mut T, argument: &'static str) -> MpiResult<Place<T>> {
    if to.is_null() { Err(no_place(argument)) } else { Ok(Place(to)) }
}

#[cold]
fn no_place(argument: &'static str) -> MpiError {
    MpiError::new(bcs_mpi::error::Problem::NullResult { argument })
}

/// An object of the program that a call reads and changes.
///
/// # Safety
/// `at` must be null or an initialised object that nobody else uses during the call.
///
/// # Errors
/// It is null.
#[inline(always)]
pub unsafe fn object<'a, T>(at: *mut T, argument: &'static str) -> MpiResult<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { at.as_mut() }.ok_or_else(|| no_place(argument))
}

/// A function of the program.
///
/// # Errors
/// There is none.
pub fn callback<F>(function: Option<F>, argument: &'static str) -> MpiResult<F> {
    function.ok_or_else(|| MpiError::argument(MPI_ERR_ARG, argument, "NULL", "it has to be a function"))
}

/// An array of the program.
///
/// # Safety
/// `at` must be null or have `count` initialised elements that nobody else uses during the call.
///
/// # Errors
/// A negative count, or no array for something.
#[inline(always)]
pub unsafe fn array<'a, T>(
    at: *mut T,
    count: impl Number,
    names: [&'static str; 2],
) -> MpiResult<&'a mut [T]> {
    match length(at.is_null(), count.wide(), names)? {
        0 => Ok(&mut []),
        // SAFETY: the caller's promise.
        count => Ok(unsafe { std::slice::from_raw_parts_mut(at, count) }),
    }
}

/// The length of an array, which has to be one if it is to have elements.
#[inline(always)]
fn length(is_null: bool, count: i64, names: [&'static str; 2]) -> MpiResult<usize> {
    match usize::try_from(count) {
        Ok(length) if length == 0 || !is_null => Ok(length),
        _ => Err(no_array(count, names)),
    }
}

/// A negative length: MPI_ERR_COUNT where the standard calls it a count, MPI_ERR_ARG (as MPICH) where it has
/// another name.
#[cold]
pub fn negative(argument: &'static str, value: i64) -> MpiError {
    let class = if argument.ends_with("count") { MPI_ERR_COUNT } else { MPI_ERR_ARG };
    MpiError::argument(class, argument, value, "it must not be negative")
}

/// Checks the room for a string.
///
/// # Errors
/// It is negative.
pub fn check_length(argument: &'static str, room: c_int) -> MpiResult {
    if room < 0 { Err(negative(argument, room.into())) } else { Ok(()) }
}

#[cold]
fn no_array(count: i64, [array, length]: [&'static str; 2]) -> MpiError {
    if count < 0 {
        return negative(length, count);
    }
    MpiError::argument(MPI_ERR_ARG, array, "NULL", format!("it has to have {count} elements"))
}

/// A number of one of the types that differ between a call and its twin.
pub trait Number: Copy {
    /// Its value.
    fn wide(self) -> i64;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(
        impl Number for $type {
            #[inline(always)]
            fn wide(self) -> i64 {
                self as i64
            }
        }
    )* };
}

numbers! { c_int MPI_Count MPI_Aint }

/// Whether a call with counts of this type is the one with large counts.
pub const fn is_large<COUNT>() -> bool {
    size_of::<COUNT>() > size_of::<c_int>()
}

/// An array of the program that is only read.
///
/// # Safety
/// `at` must be null or have `count` initialised elements that nobody changes during the call.
///
/// # Errors
/// A negative count, or no array for something.
#[inline(always)]
pub unsafe fn read_only<'a, T>(
    at: *const T,
    count: impl Number,
    names: [&'static str; 2],
) -> MpiResult<&'a [T]> {
    match length(at.is_null(), count.wide(), names)? {
        0 => Ok(&[]),
        // SAFETY: the caller's promise.
        count => Ok(unsafe { std::slice::from_raw_parts(at, count) }),
    }
}

/// The values of numbers.
pub fn numbers<T: Number>(numbers: &[T]) -> Box<[i64]> {
    numbers.iter().map(|number| number.wide()).collect()
}

/// Stores as many values as an array has to take.
///
/// # Safety
/// `to` must be null or have room for them.
///
/// # Errors
/// No array for something.
pub unsafe fn store_all<T: Copy>(values: &[T], to: *mut T, argument: &'static str) -> MpiResult {
    if values.is_empty() {
        return Ok(());
    }
    if to.is_null() {
        return Err(no_place(argument));
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), to, values.len()) };
    Ok(())
}

/// A string of the program.
///
/// # Safety
/// `at` must be null or a string of C.
///
/// # Errors
/// It is null.
pub unsafe fn string(at: *const c_char, argument: &'static str, class: c_int) -> MpiResult<String> {
    if at.is_null() {
        return Err(MpiError::argument(class, argument, "NULL", "it has to be a string"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}

/// The name of a file, which may be of any bytes.
///
/// # Safety
/// As [`string`].
///
/// # Errors
/// As [`string`].
pub unsafe fn file_name(at: *const c_char, argument: &'static str) -> MpiResult<FileName> {
    if at.is_null() {
        return Err(MpiError::argument(MPI_ERR_ARG, argument, "NULL", "it has to be a string"));
    }
    // SAFETY: the caller's promise.
    Ok(FileName::new(unsafe { CStr::from_ptr(at) }.to_bytes()))
}

/// Stores a string in `room` bytes, cut if need be at the end of a character, with its end mark; answers its
/// length.
///
/// # Safety
/// `to` must be writable for `room` bytes, which are one at least.
pub unsafe fn store_string(text: &str, to: *mut c_char, room: usize) -> c_int {
    let length = text.floor_char_boundary(room - 1);
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, length);
        to.add(length).write(0);
    }
    length as c_int
}

/// Stores a string and its length where the standard fixes the room: names, versions, error strings.
///
/// # Safety
/// `to` must be null or writable for `room` bytes, and `length` null or an int.
///
/// # Errors
/// One of them is null.
pub unsafe fn result_string(
    to: *mut c_char,
    argument: &'static str,
    room: c_int,
    length: *mut c_int,
    text: impl FnOnce() -> MpiResult<String>,
) -> MpiResult {
    let (to, length) = (place(to, argument)?, place(length, "resultlen")?);
    let text = text()?;
    // SAFETY: not null, and the caller's promise.
    length.set(unsafe { store_string(&text, to.0, room as usize) });
    Ok(())
}

/// A value for an output argument that may be narrower; `MPI_UNDEFINED` where there is none, or where it does
/// not fit.
#[inline]
pub fn narrow<T: TryFrom<u64> + From<i16>>(value: Option<u64>) -> T {
    const { assert!(MPI_UNDEFINED >= i16::MIN as c_int) };
    value.and_then(|value| T::try_from(value).ok()).unwrap_or_else(|| T::from(MPI_UNDEFINED as i16))
}

/// The bytes that a call moves, for MMDS; 0 where its arguments are wrong.
#[inline]
pub fn moved(count: impl Into<i64>, datatype: MPI_Datatype) -> u64 {
    let size = bcs_mpi::datatype::size_or_zero(datatype);
    u64::try_from(count.into()).unwrap_or(0).saturating_mul(size)
}

/// A count of either width.
#[inline(always)]
pub fn wide(count: impl Number) -> i64 {
    count.wide()
}

/// Has a panic, which would be a fault of this library, end the job with a message.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        exit::abort_job(MPI_ERR_INTERN, &format!("fault of the MPI library, please report it: {panic}"))
    }));
}
