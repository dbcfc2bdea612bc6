//! Chapter 10: info objects; chapter 16: their old calls.

use crate::edge::{check_length, object, store_string, string};
use bcs_mpi::info;

answers! {
    MPI_Info_dup(info) -> newinfo [] = info::dup(info);
    MPI_Info_free(info: INOUT) [] = info::free(info);
    MPI_Info_set(info, key: KEY, value) [] =
        info::set(info, key, string(value, "value", MPI_ERR_INFO_VALUE)?);
    MPI_Info_delete(info, key: KEY) [] = info::delete(info, &key);
    MPI_Info_get_nkeys(info) -> nkeys [] = info::count(info);
    MPI_Info_create() -> info [] = Ok(info::create());
    MPI_Info_create_env(_argc, _argv) -> info [] = Ok(info::create_env());
}

calls! {
    MPI_Info_get_nthkey(info, n, key: INOUT) [] {
        store_string(&info::nth_key(info, n)?, key, MPI_MAX_INFO_KEY as usize)
    }
    MPI_Info_get_string(info, key: KEY, buflen: INOUT, value, flag: OUT) [] {
        check_length("buflen", *buflen)?;
        let found = info::get(info, &key)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            if *buflen > 0 {
                store_string(&found, object(value, "value")?, *buflen as usize);
            }
            *buflen = found.len() as c_int + 1;
        }
    }
    MPI_Info_get(info, key: KEY, valuelen, value, flag: OUT) [] {
        check_length("valuelen", valuelen)?;
        let found = info::get(info, &key)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            store_string(&found, object(value, "value")?, valuelen as usize + 1);
        }
    }
    MPI_Info_get_valuelen(info, key: KEY, valuelen: OUT, flag: OUT) [] {
        let found = info::get(info, &key)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            valuelen.set(found.len() as c_int);
        }
    }
}
