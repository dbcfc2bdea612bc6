//! Chapter 10: info objects; chapter 16: their old calls.

use crate::edge::{check_length, handle, object, place, store_string, string};
use bcs_mpi::constants::*;
use bcs_mpi::info;
use std::ffi::{c_char, c_int};

calls! {
    call MPI_Info_create(info: *mut MPI_Info) [] {
        handle(info, "info")?.set(info::create())
    }
    call MPI_Info_create_env(_argc: c_int, _argv: *mut *mut c_char, info: *mut MPI_Info) [] {
        handle(info, "info")?.set(info::create_env())
    }
    call MPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) [] {
        handle(newinfo, "newinfo")?.set(info::dup(info)?)
    }
    call MPI_Info_free(info: *mut MPI_Info) [] {
        info::free(object(info, "info")?)?
    }
    call MPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char) [] {
        info::set(info, string(key, "key", MPI_ERR_INFO_KEY)?, string(value, "value", MPI_ERR_INFO_VALUE)?)?
    }
    call MPI_Info_delete(info: MPI_Info, key: *const c_char) [] {
        info::delete(info, &string(key, "key", MPI_ERR_INFO_KEY)?)?
    }
    call MPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) [] {
        place(nkeys, "nkeys")?.set(info::count(info)?)
    }
    call MPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) [] {
        let to = object(key, "key")?;
        store_string(&info::nth_key(info, n)?, to, MPI_MAX_INFO_KEY as usize)
    }
    call MPI_Info_get_string(
        info: MPI_Info, key: *const c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int,
    ) [] {
        let (buflen, flag) = (object(buflen, "buflen")?, place(flag, "flag")?);
        check_length("buflen", *buflen)?;
        let found = info::get(info, &string(key, "key", MPI_ERR_INFO_KEY)?)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            if *buflen > 0 {
                store_string(&found, object(value, "value")?, *buflen as usize);
            }
            *buflen = found.len() as c_int + 1;
        }
    }
    call MPI_Info_get(
        info: MPI_Info, key: *const c_char, valuelen: c_int, value: *mut c_char, flag: *mut c_int,
    ) [] {
        let flag = place(flag, "flag")?;
        check_length("valuelen", valuelen)?;
        let found = info::get(info, &string(key, "key", MPI_ERR_INFO_KEY)?)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            store_string(&found, object(value, "value")?, valuelen as usize + 1);
        }
    }
    call MPI_Info_get_valuelen(
        info: MPI_Info, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int,
    ) [] {
        let (length, flag) = (place(valuelen, "valuelen")?, place(flag, "flag")?);
        let found = info::get(info, &string(key, "key", MPI_ERR_INFO_KEY)?)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            length.set(found.len() as c_int);
        }
    }
}
