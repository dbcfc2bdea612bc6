//! Chapter 5: datatypes; chapter 7: their names; chapter 19: types of Fortran.

use crate::edge::{
    handle, is_large, narrow, numbers, object, place, read_only, result_string, store_all, string, wide,
};
use bcs_mpi::constants::*;
use bcs_mpi::datatype;
use bcs_mpi::datatype::construct::{self, Constructor, Darray, Subarray, Unit, create};
use bcs_mpi::datatype::envelope::{ArrayRoom, get_contents, get_envelope};
use std::ffi::{c_char, c_int, c_void};

/// The names of an array argument and of its length.
const BLOCKLENGTHS: [&str; 2] = ["array_of_blocklengths", "count"];
const DISPLACEMENTS: [&str; 2] = ["array_of_displacements", "count"];

calls! {
    twin MPI_Type_contiguous(count: COUNT, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) [] {
        let newtype = handle(newtype, "newtype")?;
        newtype.set(create(is_large::<COUNT>(), Constructor::Contiguous { count: wide(count) }, oldtype)?)
    }
    twin MPI_Type_vector(
        count: COUNT, blocklength: COUNT, stride: COUNT, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let vector = Constructor::Vector {
            count: wide(count), blocklength: wide(blocklength), stride: wide(stride), unit: Unit::Extents,
        };
        newtype.set(create(is_large::<COUNT>(), vector, oldtype)?)
    }
    twin MPI_Type_create_hvector(
        count: COUNT, blocklength: COUNT, stride: ADDR, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let vector = Constructor::Vector {
            count: wide(count), blocklength: wide(blocklength), stride: wide(stride), unit: Unit::Bytes,
        };
        newtype.set(create(is_large::<COUNT>(), vector, oldtype)?)
    }
    twin MPI_Type_indexed(
        count: COUNT, array_of_blocklengths: *const COUNT, array_of_displacements: *const COUNT,
        oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let blocklengths = numbers(array_of_blocklengths, wide(count), BLOCKLENGTHS)?;
        let displacements = numbers(array_of_displacements, wide(count), DISPLACEMENTS)?;
        let indexed = Constructor::Indexed { blocklengths, displacements, unit: Unit::Extents };
        newtype.set(create(is_large::<COUNT>(), indexed, oldtype)?)
    }
    twin MPI_Type_create_hindexed(
        count: COUNT, array_of_blocklengths: *const COUNT, array_of_displacements: *const ADDR,
        oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let blocklengths = numbers(array_of_blocklengths, wide(count), BLOCKLENGTHS)?;
        let displacements = numbers(array_of_displacements, wide(count), DISPLACEMENTS)?;
        let indexed = Constructor::Indexed { blocklengths, displacements, unit: Unit::Bytes };
        newtype.set(create(is_large::<COUNT>(), indexed, oldtype)?)
    }
    twin MPI_Type_create_indexed_block(
        count: COUNT, blocklength: COUNT, array_of_displacements: *const COUNT,
        oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let displacements = numbers(array_of_displacements, wide(count), DISPLACEMENTS)?;
        let blocks = Constructor::IndexedBlock { blocklength: wide(blocklength), displacements, unit: Unit::Extents };
        newtype.set(create(is_large::<COUNT>(), blocks, oldtype)?)
    }
    twin MPI_Type_create_hindexed_block(
        count: COUNT, blocklength: COUNT, array_of_displacements: *const ADDR,
        oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let displacements = numbers(array_of_displacements, wide(count), DISPLACEMENTS)?;
        let blocks = Constructor::IndexedBlock { blocklength: wide(blocklength), displacements, unit: Unit::Bytes };
        newtype.set(create(is_large::<COUNT>(), blocks, oldtype)?)
    }
    twin MPI_Type_create_struct(
        count: COUNT, array_of_blocklengths: *const COUNT, array_of_displacements: *const ADDR,
        array_of_types: *const MPI_Datatype, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let lengths = numbers(array_of_blocklengths, wide(count), BLOCKLENGTHS)?;
        let displacements = numbers(array_of_displacements, wide(count), DISPLACEMENTS)?;
        let types = read_only(array_of_types, wide(count), ["array_of_types", "count"])?;
        newtype.set(construct::create_struct(is_large::<COUNT>(), lengths, displacements, types)?)
    }
    twin MPI_Type_create_subarray(
        ndims: c_int, array_of_sizes: *const COUNT, array_of_subsizes: *const COUNT, array_of_starts: *const COUNT,
        order: c_int, oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let sizes = numbers(array_of_sizes, wide(ndims), ["array_of_sizes", "ndims"])?;
        let subsizes = numbers(array_of_subsizes, wide(ndims), ["array_of_subsizes", "ndims"])?;
        let starts = numbers(array_of_starts, wide(ndims), ["array_of_starts", "ndims"])?;
        let subarray = Constructor::Subarray(Subarray { sizes, subsizes, starts, order });
        newtype.set(create(is_large::<COUNT>(), subarray, oldtype)?)
    }
    twin MPI_Type_create_darray(
        size: c_int, rank: c_int, ndims: c_int, array_of_gsizes: *const COUNT, array_of_distribs: *const c_int,
        array_of_dargs: *const c_int, array_of_psizes: *const c_int, order: c_int, oldtype: MPI_Datatype,
        newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let darray = Darray {
            size, rank, order,
            gsizes: numbers(array_of_gsizes, wide(ndims), ["array_of_gsizes", "ndims"])?,
            distribs: read_only(array_of_distribs, wide(ndims), ["array_of_distribs", "ndims"])?.into(),
            dargs: read_only(array_of_dargs, wide(ndims), ["array_of_dargs", "ndims"])?.into(),
            psizes: read_only(array_of_psizes, wide(ndims), ["array_of_psizes", "ndims"])?.into(),
        };
        newtype.set(create(is_large::<COUNT>(), Constructor::Darray(darray), oldtype)?)
    }
    twin MPI_Type_create_resized(
        oldtype: MPI_Datatype, lb: ADDR, extent: ADDR, newtype: *mut MPI_Datatype,
    ) [] {
        let newtype = handle(newtype, "newtype")?;
        let resized = Constructor::Resized { lb: wide(lb), extent: wide(extent) };
        newtype.set(create(is_large::<COUNT>(), resized, oldtype)?)
    }
    call MPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) [] {
        let newtype = handle(newtype, "newtype")?;
        newtype.set(construct::dup(oldtype)?)
    }
    call MPI_Type_create_f90_real(p: c_int, r: c_int, newtype: *mut MPI_Datatype) [] {
        handle(newtype, "newtype")?.set(construct::create_f90_real(p, r)?)
    }
    call MPI_Type_create_f90_complex(p: c_int, r: c_int, newtype: *mut MPI_Datatype) [] {
        handle(newtype, "newtype")?.set(construct::create_f90_complex(p, r)?)
    }
    call MPI_Type_create_f90_integer(r: c_int, newtype: *mut MPI_Datatype) [] {
        handle(newtype, "newtype")?.set(construct::create_f90_integer(r)?)
    }
    call MPI_Type_match_size(typeclass: c_int, size: c_int, datatype: *mut MPI_Datatype) [] {
        handle(datatype, "datatype")?.set(construct::match_size(typeclass, size)?)
    }
    call MPI_Type_get_value_index(
        value_type: MPI_Datatype, index_type: MPI_Datatype, pair_type: *mut MPI_Datatype,
    ) [] {
        handle(pair_type, "pair_type")?.set(construct::get_value_index(value_type, index_type)?)
    }
    call MPI_Type_commit(datatype: *mut MPI_Datatype) [] {
        datatype::commit(*object(datatype, "datatype")?)?
    }
    call MPI_Type_free(datatype: *mut MPI_Datatype) [] {
        datatype::free(object(datatype, "datatype")?)?
    }
    twin MPI_Type_size(datatype: MPI_Datatype, size: *mut COUNT) [] {
        place(size, "size")?.set(narrow(Some(datatype::size(datatype)? as u64)))
    }
    call MPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) [] {
        place(size, "size")?.set(datatype::size(datatype)?)
    }
    twin MPI_Type_get_extent(datatype: MPI_Datatype, lb: *mut ADDR, extent: *mut ADDR) [] {
        let (to_lb, to_extent) = (place(lb, "lb")?, place(extent, "extent")?);
        let (lb, extent) = datatype::extent(datatype)?;
        to_lb.set(lb as ADDR);
        to_extent.set(extent as ADDR)
    }
    call MPI_Type_get_extent_x(datatype: MPI_Datatype, lb: *mut MPI_Count, extent: *mut MPI_Count) [] {
        let (to_lb, to_extent) = (place(lb, "lb")?, place(extent, "extent")?);
        let (lb, extent) = datatype::extent(datatype)?;
        to_lb.set(lb);
        to_extent.set(extent)
    }
    twin MPI_Type_get_true_extent(datatype: MPI_Datatype, true_lb: *mut ADDR, true_extent: *mut ADDR) [] {
        let (to_lb, to_extent) = (place(true_lb, "true_lb")?, place(true_extent, "true_extent")?);
        let (lb, extent) = datatype::true_extent(datatype)?;
        to_lb.set(lb as ADDR);
        to_extent.set(extent as ADDR)
    }
    call MPI_Type_get_true_extent_x(
        datatype: MPI_Datatype, true_lb: *mut MPI_Count, true_extent: *mut MPI_Count,
    ) [] {
        let (to_lb, to_extent) = (place(true_lb, "true_lb")?, place(true_extent, "true_extent")?);
        let (lb, extent) = datatype::true_extent(datatype)?;
        to_lb.set(lb);
        to_extent.set(extent)
    }
    call MPI_Type_get_envelope(
        datatype: MPI_Datatype, num_integers: *mut c_int, num_addresses: *mut c_int, num_datatypes: *mut c_int,
        combiner: *mut c_int,
    ) [] {
        let (integers, addresses) = (place(num_integers, "num_integers")?, place(num_addresses, "num_addresses")?);
        let (types, combiner) = (place(num_datatypes, "num_datatypes")?, place(combiner, "combiner")?);
        let contents = get_envelope(false, datatype)?;
        integers.set(narrow(Some(contents.integers.len() as u64)));
        addresses.set(narrow(Some(contents.addresses.len() as u64)));
        types.set(narrow(Some(contents.types.len() as u64)));
        combiner.set(contents.combiner)
    }
    call MPI_Type_get_envelope_c(
        datatype: MPI_Datatype, num_integers: *mut MPI_Count, num_addresses: *mut MPI_Count,
        num_large_counts: *mut MPI_Count, num_datatypes: *mut MPI_Count, combiner: *mut c_int,
    ) [] {
        let (integers, addresses) = (place(num_integers, "num_integers")?, place(num_addresses, "num_addresses")?);
        let counts = place(num_large_counts, "num_large_counts")?;
        let (types, combiner) = (place(num_datatypes, "num_datatypes")?, place(combiner, "combiner")?);
        let contents = get_envelope(true, datatype)?;
        integers.set(contents.integers.len() as MPI_Count);
        addresses.set(contents.addresses.len() as MPI_Count);
        counts.set(contents.counts.len() as MPI_Count);
        types.set(contents.types.len() as MPI_Count);
        combiner.set(contents.combiner)
    }
    call MPI_Type_get_contents(
        datatype: MPI_Datatype, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int,
        array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint, array_of_datatypes: *mut MPI_Datatype,
    ) [] {
        let room = ArrayRoom {
            integers: wide(max_integers), addresses: wide(max_addresses), counts: 0, datatypes: wide(max_datatypes),
        };
        let places = [array_of_integers.is_null(), array_of_addresses.is_null(), true, array_of_datatypes.is_null()];
        let (contents, types) = get_contents(false, datatype, &room, places)?;
        store_all(&contents.integers, array_of_integers, "array_of_integers")?;
        store_all(&contents.addresses, array_of_addresses, "array_of_addresses")?;
        store_all(&types, array_of_datatypes, "array_of_datatypes")?
    }
    call MPI_Type_get_contents_c(
        datatype: MPI_Datatype, max_integers: MPI_Count, max_addresses: MPI_Count, max_large_counts: MPI_Count,
        max_datatypes: MPI_Count, array_of_integers: *mut c_int, array_of_addresses: *mut MPI_Aint,
        array_of_large_counts: *mut MPI_Count, array_of_datatypes: *mut MPI_Datatype,
    ) [] {
        let room = ArrayRoom {
            integers: max_integers, addresses: max_addresses, counts: max_large_counts, datatypes: max_datatypes,
        };
        let places = [
            array_of_integers.is_null(), array_of_addresses.is_null(), array_of_large_counts.is_null(),
            array_of_datatypes.is_null(),
        ];
        let (contents, types) = get_contents(true, datatype, &room, places)?;
        store_all(&contents.integers, array_of_integers, "array_of_integers")?;
        store_all(&contents.addresses, array_of_addresses, "array_of_addresses")?;
        store_all(&contents.counts, array_of_large_counts, "array_of_large_counts")?;
        store_all(&types, array_of_datatypes, "array_of_datatypes")?
    }
    call MPI_Type_get_name(datatype: MPI_Datatype, type_name: *mut c_char, resultlen: *mut c_int) [] {
        let name = || datatype::name(datatype);
        result_string(type_name, "type_name", MPI_MAX_OBJECT_NAME, resultlen, name)?
    }
    call MPI_Type_set_name(datatype: MPI_Datatype, type_name: *const c_char) [] {
        datatype::set_name(datatype, string(type_name, "type_name", MPI_ERR_ARG)?)?
    }
    call MPI_Get_address(location: *const c_void, address: *mut MPI_Aint) [] {
        place(address, "address")?.set(location.addr() as MPI_Aint)
    }
    plain MPI_Aint_add(base: MPI_Aint, disp: MPI_Aint) -> MPI_Aint {
        base.wrapping_add(disp)
    }
    plain MPI_Aint_diff(addr1: MPI_Aint, addr2: MPI_Aint) -> MPI_Aint {
        addr1.wrapping_sub(addr2)
    }
}
