//! Chapter 15: the tool interface. Its calls answer codes, and ask no error handler.

use bcs_mpi::constants::*;
use bcs_mpi::tool::enumeration::Names;
use bcs_mpi::tool::value::{Form, Value};
use bcs_mpi::tool::{Told, catalogue, control_handle, enumeration, event, life, registration, session};
use std::ffi::{CStr, c_char, c_int, c_void};

/// What calls do while the interface is initialised. A body may use `?`, and answers what a call answers; it
/// is unsafe, as the program keeps the promises of the C binding: places are null, or such as the standard
/// says.
macro_rules! tools {
    ($($name:ident($($argument:ident),*) $body:block)*) => { calls! { $(
        $name($($argument),*) [plain] {
            code(|| {
                life::check()?;
                // SAFETY: as above.
                #[allow(unused_unsafe, reason = "not every body is unsafe")]
                unsafe { $body }
            })
        }
    )* } };
}

fn code(act: impl FnOnce() -> Told) -> c_int {
    act().err().unwrap_or(MPI_SUCCESS)
}

/// Stores a result that a program has to have a place for.
///
/// # Safety
/// `to` must be null or writable.
unsafe fn store<T>(to: *mut T, result: impl FnOnce() -> Told<T>) -> Told {
    if to.is_null() {
        return Err(MPI_T_ERR_INVALID);
    }
    let result = result()?;
    // SAFETY: not null, and the caller's promise.
    unsafe { to.write(result) };
    Ok(())
}

/// Stores what a program may not want.
///
/// # Safety
/// `to` must be null or writable.
unsafe fn tell<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(value) };
    }
}

/// Stores a string in as many bytes as `length` says, and the length of all of it, with its end mark
/// (§15.3.3).
///
/// # Safety
/// `length` must be null or an initialised int; `to` null or writable for as many bytes.
unsafe fn tell_text(text: &str, to: *mut c_char, length: *mut c_int) {
    // SAFETY: the caller's promise.
    let Some(length) = (unsafe { length.as_mut() }) else { return };
    if !to.is_null() && *length > 0 {
        // SAFETY: as above.
        unsafe { crate::edge::store_string(text, to, *length as usize) };
    }
    *length = text.len() as c_int + 1;
}

/// Stores as many numbers as there are, and as there is room for.
///
/// # Safety
/// `to` must be null or writable for `room` numbers.
unsafe fn tell_all(numbers: &[c_int], to: *mut c_int, room: c_int) -> Told {
    let room = usize::try_from(room).map_err(|_| MPI_T_ERR_INVALID)?;
    if to.is_null() && room > 0 {
        return Err(MPI_T_ERR_INVALID);
    }
    let count = numbers.len().min(room);
    // SAFETY: not null where there is one, and the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), to, count) };
    Ok(())
}

/// A name that a program gives.
///
/// # Safety
/// `name` must be null or a string of C.
unsafe fn name<'a>(name: *const c_char) -> Told<&'a str> {
    if name.is_null() {
        return Err(MPI_T_ERR_INVALID);
    }
    // SAFETY: the caller's promise. What is no text is no name of anything.
    unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| MPI_T_ERR_INVALID_NAME)
}

/// A handle that a call changes.
///
/// # Safety
/// `at` must be null or initialised, and nobody else's during the call.
unsafe fn handle<'a, T>(at: *mut T) -> Told<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { at.as_mut() }.ok_or(MPI_T_ERR_INVALID)
}

/// The handle of the object that `at` points to; all handles are of one size.
///
/// # Safety
/// `at` must be null or point to a handle.
unsafe fn object(at: *mut c_void) -> Told<usize> {
    const { assert!(size_of::<MPI_Comm>() == size_of::<usize>() && size_of::<MPI_Win>() == size_of::<usize>()) };
    // SAFETY: the caller's promise.
    unsafe { at.cast::<usize>().as_ref() }.copied().ok_or(MPI_T_ERR_INVALID)
}

/// Stores a value where a program wants it.
///
/// # Safety
/// `to` must be null or writable for the value.
unsafe fn store_value(value: Value, to: *mut c_void) -> Told {
    if to.is_null() {
        return Err(MPI_T_ERR_INVALID);
    }
    // SAFETY: the caller's promise.
    unsafe { value.store(to) };
    Ok(())
}

/// Every variable is one element.
const ONE: c_int = 1;

calls! {
    MPI_T_init_thread(required, provided) [plain] {
        // SAFETY: null, or a place of the program's.
        code(|| unsafe { store(provided, || life::init(required)) })
    }
}

tools! {
    MPI_T_finalize() { life::finalize() }

    MPI_T_enum_get_info(enumtype, num, name, name_len) {
        let found = enumeration::get(enumtype)?;
        tell(num, found.items.len() as c_int);
        tell_text(&found.name, name, name_len);
        Ok(())
    }
    MPI_T_enum_get_item(enumtype, indx, value, name, name_len) {
        let (known, number) = enumeration::item(enumtype, indx)?;
        tell(value, number);
        tell_text(known, name, name_len);
        Ok(())
    }

    MPI_T_cvar_get_num(num_cvar) { store(num_cvar, || Ok(control_handle::count())) }
    MPI_T_cvar_get_index(cvar_name, cvar_index) {
        store(cvar_index, || name(cvar_name).and_then(control_handle::index))
    }
    MPI_T_cvar_get_info(index, name, name_len, verbosity, datatype, enumtype, desc, desc_len, bind, scope) {
        let variable = control_handle::variable(index)?;
        tell_text(&variable.name, name, name_len);
        tell_text(&variable.about, desc, desc_len);
        tell(verbosity, variable.verbosity);
        tell(datatype, variable.form.datatype());
        tell(enumtype, Names::handle_of(variable.names));
        tell(bind, variable.access.bind());
        tell(scope, variable.access.scope());
        Ok(())
    }
    MPI_T_cvar_handle_alloc(index, obj_handle, to, count) {
        store(to, || control_handle::alloc(index, || object(obj_handle)))?;
        tell(count, ONE);
        Ok(())
    }
    MPI_T_cvar_handle_free(at) { control_handle::free(handle(at)?) }
    MPI_T_cvar_read(handle, buf) { store_value(control_handle::read(handle)?, buf) }
    MPI_T_cvar_write(handle, buf) {
        control_handle::known(handle)?;
        if buf.is_null() { Err(MPI_T_ERR_INVALID) } else { control_handle::write(handle, buf) }
    }

    MPI_T_pvar_get_num(num_pvar) { store(num_pvar, || Ok(session::count())) }
    MPI_T_pvar_get_index(pvar_name, var_class, pvar_index) {
        store(pvar_index, || name(pvar_name).and_then(|name| session::index(name, var_class)))
    }
    MPI_T_pvar_get_info(
        index, name, name_len, verbosity, var_class, datatype, enumtype, desc, desc_len, bind, readonly, continuous,
        atomic
    ) {
        let variable = session::variable(index)?;
        tell_text(&variable.name, name, name_len);
        tell_text(&variable.about, desc, desc_len);
        tell(verbosity, variable.verbosity);
        tell(var_class, variable.class);
        tell(datatype, variable.form().datatype());
        tell(enumtype, Names::handle_of(variable.names));
        tell(bind, variable.bind);
        tell(readonly, variable.is_continuous().into());
        tell(continuous, variable.is_continuous().into());
        tell(atomic, variable.grows().into());
        Ok(())
    }
    MPI_T_pvar_session_create(to) { store(to, session::create) }
    MPI_T_pvar_session_free(at) { session::free_session(handle(at)?) }
    MPI_T_pvar_handle_alloc(of, index, obj_handle, to, count) {
        store(to, || session::alloc(of, index, || object(obj_handle)))?;
        tell(count, ONE);
        Ok(())
    }
    MPI_T_pvar_handle_free(of, at) { session::free(of, handle(at)?) }
    MPI_T_pvar_start(of, handle) { session::start(of, handle) }
    MPI_T_pvar_stop(of, handle) { session::stop(of, handle) }
    MPI_T_pvar_reset(of, handle) { session::reset(of, handle) }
    MPI_T_pvar_read(of, handle, buf) { store_value(session::read(of, handle)?, buf) }
    MPI_T_pvar_write(of, handle, buf) {
        session::check(of, handle)?;
        if buf.is_null() { Err(MPI_T_ERR_INVALID) } else { session::write(of, handle, buf) }
    }
    MPI_T_pvar_readreset(of, handle, buf) {
        session::check(of, handle)?;
        if buf.is_null() {
            return Err(MPI_T_ERR_INVALID);
        }
        store_value(session::read_and_reset(of, handle)?, buf)
    }

    MPI_T_category_get_num(num_cat) { store(num_cat, || Ok(catalogue::count())) }
    MPI_T_category_changed(update_number) { store(update_number, || Ok(catalogue::UPDATE)) }
    MPI_T_category_get_index(category, cat_index) {
        store(cat_index, || name(category).and_then(catalogue::index))
    }
    MPI_T_category_get_info(
        index, name, name_len, desc, desc_len, num_cvars, num_pvars, num_categories
    ) {
        let content = catalogue::get(index)?;
        tell_text(content.name, name, name_len);
        tell_text(content.about, desc, desc_len);
        tell(num_cvars, content.controls.len() as c_int);
        tell(num_pvars, content.performances.len() as c_int);
        tell(num_categories, content.categories.len() as c_int);
        Ok(())
    }
    MPI_T_category_get_num_events(index, num_events) {
        store(num_events, || catalogue::get(index).map(|content| content.events.len() as c_int))
    }
    MPI_T_category_get_cvars(index, len, indices) {
        tell_all(&catalogue::get(index)?.controls, indices, len)
    }
    MPI_T_category_get_pvars(index, len, indices) {
        tell_all(&catalogue::get(index)?.performances, indices, len)
    }
    MPI_T_category_get_events(index, len, indices) {
        tell_all(&catalogue::get(index)?.events, indices, len)
    }
    MPI_T_category_get_categories(index, len, indices) {
        tell_all(&catalogue::get(index)?.categories, indices, len)
    }

    MPI_T_source_get_num(num_sources) { store(num_sources, || Ok(event::SOURCES.len() as c_int)) }
    MPI_T_source_get_info(index, name, name_len, desc, desc_len, ordering, ticks_per_second, max_ticks, info) {
        let source = event::source(index)?;
        tell_text(source.name, name, name_len);
        tell_text(source.about, desc, desc_len);
        tell(ordering, source.ordering);
        tell(ticks_per_second, source.ticks_per_second);
        tell(max_ticks, source.max_ticks);
        tell_of_no_hints(info);
        Ok(())
    }
    MPI_T_source_get_timestamp(index, timestamp) { store(timestamp, || event::timestamp(index)) }

    MPI_T_event_get_num(num_events) { store(num_events, || Ok(event::count())) }
    MPI_T_event_get_index(event_name, event_index) {
        store(event_index, || name(event_name).and_then(event::index))
    }
    MPI_T_event_get_info(
        index, name, name_len, verbosity, array_of_datatypes, array_of_displacements, num_elements, enumtype, info,
        desc, desc_len, bind
    ) {
        let found = event::get(index)?;
        tell_text(found.name, name, name_len);
        tell_text(found.about, desc, desc_len);
        tell(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
        if let Some(count) = num_elements.as_mut() {
            let room = usize::try_from(*count).unwrap_or(0);
            let elements = found.elements.iter().map(|form: &Form| form.datatype()).zip(found.displacements());
            for (place, (datatype, displacement)) in elements.take(room).enumerate() {
                if !array_of_datatypes.is_null() {
                    array_of_datatypes.add(place).write(datatype);
                }
                if !array_of_displacements.is_null() {
                    array_of_displacements.add(place).write(displacement as MPI_Aint);
                }
            }
            *count = found.elements.len() as c_int;
        }
        tell(enumtype, found.names().handle());
        tell_of_no_hints(info);
        tell(bind, found.bind);
        Ok(())
    }
    MPI_T_event_handle_alloc(index, obj_handle, info, to) {
        store(to, || registration::alloc(index, || object(obj_handle), info))
    }
    MPI_T_event_handle_set_info(of, info) { registration::set_info(of, info) }
    MPI_T_event_handle_get_info(of, info_used) { store(info_used, || registration::get_info(of)) }
    MPI_T_event_register_callback(of, cb_safety, info, user_data, function) {
        registration::register(of, cb_safety, info, user_data, function)
    }
    MPI_T_event_callback_set_info(of, cb_safety, info) {
        registration::set_callback_info(of, cb_safety, info)
    }
    MPI_T_event_callback_get_info(of, cb_safety, info_used) {
        store(info_used, || registration::get_callback_info(of, cb_safety))
    }
    MPI_T_event_set_dropped_handler(of, function) { registration::set_dropped_handler(of, function) }
    MPI_T_event_handle_free(of, user_data, function) { registration::free(of, user_data, function) }
    MPI_T_event_read(instance, element, buffer) {
        store_value(registration::read(instance, element)?, buffer)
    }
    MPI_T_event_copy(instance, buffer) {
        let elements = registration::copy(instance)?;
        for (displacement, value) in elements {
            store_value(value, if buffer.is_null() { buffer } else { buffer.byte_add(displacement) })?;
        }
        Ok(())
    }
    MPI_T_event_get_timestamp(instance, timestamp) { store(timestamp, || registration::timestamp(instance)) }
    MPI_T_event_get_source(instance, index) { store(index, || registration::source(instance)) }
}

/// Stores a new info object without hints, if it is wanted.
///
/// # Safety
/// `to` must be null or writable.
unsafe fn tell_of_no_hints(to: *mut MPI_Info) {
    if !to.is_null() {
        // SAFETY: the caller's promise.
        unsafe { to.write(bcs_mpi::info::create()) };
    }
}
