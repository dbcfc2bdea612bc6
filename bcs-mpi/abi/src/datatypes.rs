//! Chapter 5: datatypes; chapter 7: their names; chapter 19: types of Fortran.

use crate::edge::{is_large, narrow, numbers, result_string, store_all, wide};
use bcs_mpi::datatype;
use bcs_mpi::datatype::construct::{self, Constructor, Darray, Subarray, Unit, create};
use bcs_mpi::datatype::envelope::{get_contents, get_envelope};

/// Constructors of a type from `oldtype`.
macro_rules! constructors {
    ($($name:ident($($argument:ident $(: $kind:tt)?),*) = $constructor:expr;)*) => { answers! { $(
        $name($($argument $(: $kind)?,)* oldtype) -> newtype [] =
            create(is_large::<COUNT>(), $constructor, ("oldtype", &[oldtype]));
    )* } };
}

constructors! {
    MPI_Type_contiguous(count) = Constructor::Contiguous { count: wide(count) };
    MPI_Type_vector(count, blocklength, stride) = Constructor::Vector {
        count: wide(count), blocklength: wide(blocklength), stride: wide(stride), unit: Unit::Extents,
    };
    MPI_Type_create_hvector(count, blocklength, stride) = Constructor::Vector {
        count: wide(count), blocklength: wide(blocklength), stride: wide(stride), unit: Unit::Bytes,
    };
    MPI_Type_indexed(count, array_of_blocklengths: [count], array_of_displacements: [count]) =
        Constructor::Indexed {
            blocklengths: numbers(array_of_blocklengths),
            displacements: numbers(array_of_displacements),
            unit: Unit::Extents,
        };
    MPI_Type_create_hindexed(count, array_of_blocklengths: [count], array_of_displacements: [count]) =
        Constructor::Indexed {
            blocklengths: numbers(array_of_blocklengths),
            displacements: numbers(array_of_displacements),
            unit: Unit::Bytes,
        };
    MPI_Type_create_indexed_block(count, blocklength, array_of_displacements: [count]) =
        Constructor::IndexedBlock {
            blocklength: wide(blocklength),
            displacements: numbers(array_of_displacements),
            unit: Unit::Extents,
        };
    MPI_Type_create_hindexed_block(count, blocklength, array_of_displacements: [count]) =
        Constructor::IndexedBlock {
            blocklength: wide(blocklength),
            displacements: numbers(array_of_displacements),
            unit: Unit::Bytes,
        };
    MPI_Type_create_subarray(
        ndims, array_of_sizes: [ndims], array_of_subsizes: [ndims], array_of_starts: [ndims], order
    ) = Constructor::Subarray(Subarray {
        sizes: numbers(array_of_sizes),
        subsizes: numbers(array_of_subsizes),
        starts: numbers(array_of_starts),
        order,
    });
    MPI_Type_create_darray(
        size, rank, ndims, array_of_gsizes: [ndims], array_of_distribs: [ndims], array_of_dargs: [ndims],
        array_of_psizes: [ndims], order
    ) = Constructor::Darray(Darray {
        size, rank, order,
        gsizes: numbers(array_of_gsizes),
        distribs: array_of_distribs.into(),
        dargs: array_of_dargs.into(),
        psizes: array_of_psizes.into(),
    });
}

answers! {
    MPI_Type_create_resized(oldtype, lb, extent) -> newtype [] =
        create(
            is_large::<COUNT>(),
            Constructor::Resized { lb: wide(lb), extent: wide(extent) },
            ("oldtype", &[oldtype]),
        );
    MPI_Type_create_struct(
        count, array_of_blocklengths: [count], array_of_displacements: [count], array_of_types: [count]
    ) -> newtype [] = create(
        is_large::<COUNT>(),
        Constructor::Struct {
            blocklengths: numbers(array_of_blocklengths),
            displacements: numbers(array_of_displacements),
        },
        ("array_of_types", array_of_types),
    );
    MPI_Type_dup(oldtype) -> newtype [] = construct::dup(oldtype);
    MPI_Type_create_f90_real(p, r) -> newtype [] = construct::create_f90_real(p, r);
    MPI_Type_create_f90_complex(p, r) -> newtype [] = construct::create_f90_complex(p, r);
    MPI_Type_create_f90_integer(r) -> newtype [] = construct::create_f90_integer(r);
    MPI_Type_match_size(typeclass, size) -> datatype [] = construct::match_size(typeclass, size);
    MPI_Type_get_value_index(value_type, index_type) -> pair_type [] =
        construct::get_value_index(value_type, index_type);
    MPI_Type_commit(datatype: INOUT) [] = datatype::commit(*datatype);
    MPI_Type_free(datatype: INOUT) [] = datatype::free(datatype);
    MPI_Type_set_name(datatype, type_name: STRING) [] = datatype::set_name(datatype, type_name);
    MPI_Type_get_name(datatype, type_name, resultlen) [] =
        result_string(type_name, "type_name", MPI_MAX_OBJECT_NAME, resultlen, || datatype::name(datatype));
    MPI_Get_address(location) -> address [] = Ok(location.addr() as MPI_Aint);
}

calls! {
    MPI_Type_size MPI_Type_size_x(datatype, size: OUT) [] {
        size.set(narrow(Some(datatype::size(datatype)? as u64)))
    }
    MPI_Type_get_extent MPI_Type_get_extent_x(datatype, lb: OUT, extent: OUT) [] {
        let found = datatype::extent(datatype)?;
        lb.set(found.0 as _);
        extent.set(found.1 as _)
    }
    MPI_Type_get_true_extent MPI_Type_get_true_extent_x(datatype, true_lb: OUT, true_extent: OUT) [] {
        let found = datatype::true_extent(datatype)?;
        true_lb.set(found.0 as _);
        true_extent.set(found.1 as _)
    }
    MPI_Type_get_envelope(
        datatype, num_integers: OUT, num_addresses: OUT, num_datatypes: OUT, combiner: OUT,
    ) [] {
        let contents = get_envelope(false, datatype)?;
        num_integers.set(narrow(Some(contents.integers.len() as u64)));
        num_addresses.set(narrow(Some(contents.addresses.len() as u64)));
        num_datatypes.set(narrow(Some(contents.types.len() as u64)));
        combiner.set(contents.combiner)
    }
    MPI_Type_get_envelope_c(
        datatype, num_integers: OUT, num_addresses: OUT, num_large_counts: OUT, num_datatypes: OUT,
        combiner: OUT,
    ) [] {
        let contents = get_envelope(true, datatype)?;
        num_integers.set(contents.integers.len() as MPI_Count);
        num_addresses.set(contents.addresses.len() as MPI_Count);
        num_large_counts.set(contents.counts.len() as MPI_Count);
        num_datatypes.set(contents.types.len() as MPI_Count);
        combiner.set(contents.combiner)
    }
    MPI_Type_get_contents(
        datatype, max_integers, max_addresses, max_datatypes, array_of_integers, array_of_addresses,
        array_of_datatypes,
    ) [] {
        let room = [
            (wide(max_integers), !array_of_integers.is_null()),
            (wide(max_addresses), !array_of_addresses.is_null()),
            (0, false),
            (wide(max_datatypes), !array_of_datatypes.is_null()),
        ];
        let (contents, types) = get_contents(false, datatype, room)?;
        store_all(&contents.integers, array_of_integers, "array_of_integers")?;
        store_all(&contents.addresses, array_of_addresses, "array_of_addresses")?;
        store_all(&types, array_of_datatypes, "array_of_datatypes")?
    }
    MPI_Type_get_contents_c(
        datatype, max_integers, max_addresses, max_large_counts, max_datatypes, array_of_integers,
        array_of_addresses, array_of_large_counts, array_of_datatypes,
    ) [] {
        let room = [
            (max_integers, !array_of_integers.is_null()),
            (max_addresses, !array_of_addresses.is_null()),
            (max_large_counts, !array_of_large_counts.is_null()),
            (max_datatypes, !array_of_datatypes.is_null()),
        ];
        let (contents, types) = get_contents(true, datatype, room)?;
        store_all(&contents.integers, array_of_integers, "array_of_integers")?;
        store_all(&contents.addresses, array_of_addresses, "array_of_addresses")?;
        store_all(&contents.counts, array_of_large_counts, "array_of_large_counts")?;
        store_all(&types, array_of_datatypes, "array_of_datatypes")?
    }
    MPI_Aint_add(base, disp) [plain] {
        base.wrapping_add(disp)
    }
    MPI_Aint_diff(addr1, addr2) [plain] {
        addr1.wrapping_sub(addr2)
    }
}
