//! Chapter 7: attributes of communicators, datatypes and windows; chapter 16: the old names of those of
//! communicators.

use bcs_mpi::attributes;

/// A line: the kind of handle, the names of arguments (the object, its key, the two callbacks), whose error
/// handler is asked, the five calls.
macro_rules! attributes {
    ($($handle:ident $object:ident $keyval:ident $copy:ident $delete:ident [$($owner:tt)*]
        $create:ident $free:ident $set:ident $get:ident $remove:ident;)*) => { calls! { $(
        $create($copy, $delete, $keyval: OUT, extra_state) [] {
            $keyval.set(attributes::create_keyval::<$handle>($copy, $delete, extra_state)?)
        }
        $free($keyval: INOUT) [] {
            attributes::free_keyval::<$handle>($keyval)?
        }
        $set($object, $keyval, attribute_val) [$($owner)*] {
            attributes::set($object, $keyval, attribute_val)?
        }
        $get($object, $keyval, attribute_val: POINTER, flag: OUT) [$($owner)*] {
            let found = attributes::get($object, $keyval)?;
            flag.set(found.is_some().into());
            if let Some(found) = found {
                attribute_val.set(found);
            }
        }
        $remove($object, $keyval) [$($owner)*] {
            attributes::delete($object, $keyval)?
        }
    )* } };
}

attributes! {
    MPI_Comm comm comm_keyval comm_copy_attr_fn comm_delete_attr_fn [on comm]
        MPI_Comm_create_keyval MPI_Comm_free_keyval
        MPI_Comm_set_attr MPI_Comm_get_attr MPI_Comm_delete_attr;
    MPI_Comm comm keyval copy_fn delete_fn [on comm]
        MPI_Keyval_create MPI_Keyval_free MPI_Attr_put MPI_Attr_get MPI_Attr_delete;
    MPI_Datatype datatype type_keyval type_copy_attr_fn type_delete_attr_fn []
        MPI_Type_create_keyval MPI_Type_free_keyval
        MPI_Type_set_attr MPI_Type_get_attr MPI_Type_delete_attr;
    MPI_Win win win_keyval win_copy_attr_fn win_delete_attr_fn [on win]
        MPI_Win_create_keyval MPI_Win_free_keyval
        MPI_Win_set_attr MPI_Win_get_attr MPI_Win_delete_attr;
}
