"""Chapters 9 and 10: classes of errors under MPI_ERRORS_RETURN, error handlers, codes of the program's own, and info objects."""

from __future__ import annotations

from .snippets import kind_of

ERRORS = {
    "negative count": "RETURNS(MPI_Send(&x, -1, MPI_INT, 0, 1, c));",
    "tag of a send": "RETURNS(MPI_Send(&x, 1, MPI_INT, 0, -5, c));",
    "tag of a receive": "RETURNS(MPI_Recv(&x, 1, MPI_INT, 0, -5, c, &s));",
    "rank of a send": "RETURNS(MPI_Send(&x, 1, MPI_INT, 5, 1, c));",
    "wildcard rank of a send": "RETURNS(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, c));",
    "rank of a receive": "RETURNS(MPI_Recv(&x, 1, MPI_INT, 9, 1, c, &s));",
    "no datatype": "RETURNS(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 1, c));",
    "uncommitted datatype": "MPI_Datatype t; MPI_Type_contiguous(2, MPI_INT, &t); RETURNS(MPI_Send(&x, 1, t, 0, 1, c)); MPI_Type_free(&t);",
    "truncation": "MPI_Request q; int y[4] = {1, 2, 3, 4}; MPI_Isend(y, 4, MPI_INT, 0, 1, c, &q); RETURNS(MPI_Recv(&x, 1, MPI_INT, 0, 1, c, &s)); MPI_Wait(&q, &s);",
    "truncation in a wait": "MPI_Request q[2]; MPI_Status u[2]; int y[4] = {1, 2, 3, 4}; MPI_Irecv(&x, 1, MPI_INT, 0, 1, c, &q[0]); MPI_Isend(y, 4, MPI_INT, 0, 1, c, &q[1]); "
    "RETURNS(MPI_Waitall(2, q, u)); note_class(\"receive\", u[0].MPI_ERROR);",
    "root": "RETURNS(MPI_Bcast(&x, 1, MPI_INT, 7, c));",
    "negative root": "RETURNS(MPI_Bcast(&x, 1, MPI_INT, -1, c));",
    "no operation": "RETURNS(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, c));",
    "operation on pairs": "RETURNS(MPI_Allreduce(z, z + 4, 1, MPI_2INT, MPI_SUM, c));",
    "location of numbers": "RETURNS(MPI_Allreduce(z, z + 4, 1, MPI_INT, MPI_MAXLOC, c));",
    "bits of numbers": "double d[2] = {0}; RETURNS(MPI_Allreduce(d, d + 1, 1, MPI_DOUBLE, MPI_BAND, c));",
    "no communicator": "RETURNS(MPI_Comm_rank(MPI_COMM_NULL, &x));",
    "no group": "RETURNS(MPI_Group_size(MPI_GROUP_NULL, &x));",
    "rank twice": "MPI_Group g, h; MPI_Comm_group(MPI_COMM_WORLD, &g); RETURNS(MPI_Group_incl(g, 2, (int[]){0, 0}, &h)); MPI_Group_free(&g);",
    "rank outside a group": "MPI_Group g, h; MPI_Comm_group(c, &g); RETURNS(MPI_Group_incl(g, 1, (int[]){3}, &h)); MPI_Group_free(&g);",
    "negative length": "MPI_Datatype t; RETURNS(MPI_Type_contiguous(-1, MPI_INT, &t));",
    "negative block": "MPI_Datatype t; RETURNS(MPI_Type_vector(2, -1, 3, MPI_INT, &t));",
    "subarray too large": "MPI_Datatype t; RETURNS(MPI_Type_create_subarray(1, (int[]){3}, (int[]){4}, (int[]){0}, MPI_ORDER_C, MPI_INT, &t));",
    "datatype of nothing": "MPI_Datatype t; RETURNS(MPI_Type_dup(MPI_DATATYPE_NULL, &t));",
    "predefined datatype freed": "MPI_Datatype t = MPI_INT; RETURNS(MPI_Type_free(&t));",
    "grid too large": "MPI_Comm n; RETURNS(MPI_Cart_create(c, 1, (int[]){5}, (int[]){0}, 0, &n));",
    "no topology": "RETURNS(MPI_Cart_rank(c, (int[]){0}, &x));",
    "coordinates outside": "MPI_Comm n; MPI_Cart_create(c, 1, (int[]){1}, (int[]){0}, 0, &n); RETURNS(MPI_Cart_rank(n, (int[]){2}, &x)); MPI_Comm_free(&n);",
    "dimensions that do not divide": "int d[2] = {3, 0}; RETURNS(MPI_Dims_create(8, 2, d));",
    "predefined key freed": "x = MPI_TAG_UB; RETURNS(MPI_Comm_free_keyval(&x));",
    "invalid key": "RETURNS(MPI_Comm_set_attr(c, MPI_KEYVAL_INVALID, &x));",
    "key of another kind": "int k; MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &k, NULL); RETURNS(MPI_Comm_set_attr(c, k, &x)); MPI_Type_free_keyval(&k);",
    "key that is not there": "MPI_Info i; MPI_Info_create(&i); RETURNS(MPI_Info_delete(i, \"absent\")); MPI_Info_free(&i);",
    "no info": "RETURNS(MPI_Info_set(MPI_INFO_NULL, \"a\", \"b\"));",
    "nth key outside": "MPI_Info i; char k[MPI_MAX_INFO_KEY]; MPI_Info_create(&i); RETURNS(MPI_Info_get_nthkey(i, 2, k)); MPI_Info_free(&i);",
    "predefined operation freed": "MPI_Op o = MPI_SUM; RETURNS(MPI_Op_free(&o));",
    "no request freed": "MPI_Request q = MPI_REQUEST_NULL; RETURNS(MPI_Request_free(&q));",
    "no request started": "MPI_Request q = MPI_REQUEST_NULL; RETURNS(MPI_Start(&q));",
    "remote size within a group": "RETURNS(MPI_Comm_remote_size(c, &x));",
    "merge within a group": "MPI_Comm n; RETURNS(MPI_Intercomm_merge(c, 0, &n));",
    "null buffer": "RETURNS(MPI_Send(NULL, 1, MPI_INT, 0, 1, c));",
    "in place of a broadcast": "RETURNS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, c));",
    "aliased": "RETURNS(MPI_Allreduce(z, z, 1, MPI_INT, MPI_SUM, c));",
    "no room to pack": "char b[2]; x = 0; RETURNS(MPI_Pack(z, 2, MPI_INT, b, 2, &x, c));",
    "size without a datatype": "MPI_Datatype t; RETURNS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &t));",
    "predefined handler freed": "MPI_Errhandler h = MPI_ERRORS_RETURN; RETURNS(MPI_Errhandler_free(&h)); note(\"null\", h == MPI_ERRHANDLER_NULL);",
    "unknown set of processes": "MPI_Session e; MPI_Group g; if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &e) == MPI_SUCCESS) { RETURNS(MPI_Group_from_session_pset(e, \"mpi://nowhere\", &g)); MPI_Session_finalize(&e); }",
    "ranks that do not fit": "MPI_Group g, h; MPI_Comm_group(c, &g); RETURNS(MPI_Group_range_incl(g, 1, (int[][3]){{0, 4, 1}}, &h)); MPI_Group_free(&g);",
    "stride of nothing": "MPI_Group g, h; MPI_Comm_group(c, &g); RETURNS(MPI_Group_range_incl(g, 1, (int[][3]){{0, 0, 0}}, &h)); MPI_Group_free(&g);",
    "colour": "MPI_Comm n; RETURNS(MPI_Comm_split(c, -7, 0, &n));",
}  # fmt: skip
"""Calls that are wrong; which class the standard wants is what differs, or what the list of exceptions says."""

HANDLERS = {
    "own handler": "MPI_Errhandler h; MPI_Comm c; MPI_Comm_dup(MPI_COMM_SELF, &c); MPI_Comm_create_errhandler(count_error, &h); MPI_Comm_set_errhandler(c, h); MPI_Errhandler_free(&h); "
    "int x = 0; MPI_Send(&x, 1, MPI_INT, 9, 1, c); MPI_Comm_call_errhandler(c, MPI_ERR_TAG); note(\"errors\", errors_counted()); MPI_Comm_free(&c);",
    "inherited handler": "MPI_Errhandler h, g; MPI_Comm c, d; MPI_Comm_dup(MPI_COMM_SELF, &c); MPI_Comm_create_errhandler(count_error, &h); MPI_Comm_set_errhandler(c, h); MPI_Comm_dup(c, &d); MPI_Comm_get_errhandler(d, &g); "
    "note(\"same\", g == h); MPI_Comm_call_errhandler(d, MPI_ERR_OTHER); note(\"errors\", errors_counted()); MPI_Errhandler_free(&g); MPI_Errhandler_free(&h); MPI_Comm_free(&c); MPI_Comm_free(&d);",
    "own codes": "int k, e, f; char t[MPI_MAX_ERROR_STRING]; int l; MPI_Add_error_class(&k); MPI_Add_error_code(k, &e); MPI_Error_class(e, &f); note(\"class\", f == k); MPI_Add_error_string(e, \"quite wrong\"); "
    "MPI_Error_string(e, t, &l); note_text(\"string\", t); note(\"length\", l); note(\"last\", k > MPI_ERR_LASTCODE); MPI_Remove_error_string(e); MPI_Remove_error_code(e); MPI_Remove_error_class(k);",
    "lastusedcode": "int *v, f, k, before; MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &v, &f); before = *v; MPI_Add_error_class(&k); MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &v, &f); "
    "note(\"grows\", *v >= k && *v >= before); note(\"flag\", f != 0);",
    "class of a class": "int k; for (int i = 0; i < MPI_ERR_LASTCODE && i < 60; i += 1 + X) { MPI_Error_class(MPI_ERR_TAG, &k); note(\"class\", k); }",
    "info": "MPI_Info i, j; int n, f, l; char v[64]; MPI_Info_create(&i); MPI_Info_set(i, \"one\", \"1\"); MPI_Info_set(i, \"two\", \"deux\"); MPI_Info_set(i, \"one\", \"uno\"); MPI_Info_get_nkeys(i, &n); note(\"keys\", n); "
    "l = 64; MPI_Info_get_string(i, \"one\", &l, v, &f); note_text(\"value\", v); note(\"length\", l); note(\"flag\", f != 0); MPI_Info_dup(i, &j); MPI_Info_delete(i, \"one\"); MPI_Info_get_nkeys(j, &n); note(\"keys\", n); "
    "l = 3; MPI_Info_get_string(j, \"two\", &l, v, &f); note_text(\"cut\", v); note(\"needed\", l); MPI_Info_get_string(i, \"one\", &l, v, &f); note(\"flag\", f != 0); MPI_Info_get_nthkey(i, 0, v); note_text(\"key\", v); MPI_Info_free(&i); MPI_Info_free(&j); note(\"null\", i == MPI_INFO_NULL);",
    "info of a communicator": "MPI_Info i; MPI_Comm c; int n; MPI_Comm_dup(MPI_COMM_SELF, &c); MPI_Comm_get_info(c, &i); MPI_Info_get_nkeys(i, &n); note(\"keys\", n >= 0); MPI_Info_free(&i); MPI_Comm_free(&c);",
    "version": "int v, w; MPI_Get_version(&v, &w); note(\"at least 4\", v >= 4); MPI_Abi_get_version(&v, &w); note(\"abi\", v);",
    "initialized": "int f = -1; MPI_Initialized(&f); note(\"initialized\", f != 0); MPI_Finalized(&f); note(\"finalized\", f != 0); MPI_Is_thread_main(&f); note(\"main\", f != 0);",
    "level of threads": "int p = -1; MPI_Query_thread(&p); note(\"level\", p >= MPI_THREAD_SINGLE && p <= MPI_THREAD_MULTIPLE);",
    "addresses": "int a[4]; MPI_Aint p, q; MPI_Get_address(&a[0], &p); MPI_Get_address(&a[3], &q); note(\"difference\", MPI_Aint_diff(q, p)); note(\"sum\", MPI_Aint_add(p, 12) == q);",
    "memory": "void *m = NULL; MPI_Alloc_mem(1000 * X, MPI_INFO_NULL, &m); if (X) memset(m, 1, 1000 * X); MPI_Free_mem(m); note(\"done\", 1);",
    "handles as numbers": "note(\"world\", MPI_Comm_toint(MPI_COMM_WORLD)); note(\"int\", MPI_Type_toint(MPI_INT)); note(\"sum\", MPI_Op_toint(MPI_SUM)); note(\"back\", MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE);",
    "generalized request": "MPI_Request q; MPI_Status s; MPI_Grequest_start(query_seven, free_nothing, cancel_nothing, NULL, &q); int f = -1; MPI_Test(&q, &f, &s); note(\"flag\", f != 0); MPI_Grequest_complete(q); MPI_Wait(&q, &s); note_status(&s, MPI_INT);",
    "session": "MPI_Session e; MPI_Group g; MPI_Comm c; int n, r; MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &e); MPI_Group_from_session_pset(e, \"mpi://SELF\", &g); MPI_Comm_create_from_group(g, \"mine\", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c); "
    "MPI_Comm_size(c, &n); MPI_Comm_rank(c, &r); note(\"size\", n); note(\"rank\", r); MPI_Group_size(g, &n); note(\"group\", n); MPI_Group_free(&g); MPI_Comm_free(&c); MPI_Session_finalize(&e); note(\"null\", e == MPI_SESSION_NULL);",
    "sets of a session": "MPI_Session e; int n, l = 0, found = 0; char t[256]; MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &e); MPI_Session_get_num_psets(e, MPI_INFO_NULL, &n); for (int i = 0; i < n; i++) { l = 256; MPI_Session_get_nth_pset(e, MPI_INFO_NULL, i, &l, t); "
    "found += !strcmp(t, \"mpi://WORLD\") + !strcmp(t, \"mpi://SELF\"); } note(\"found\", found); MPI_Session_finalize(&e);",
}  # fmt: skip

RETURNING = "MPI_Comm c; MPI_Status s = {{0}}; int x = 1, y = 1, z[16] = {0}; MPI_Comm_dup(MPI_COMM_SELF, &c); (void)s; (void)x; (void)y; (void)z; MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN); MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);"
FATAL = "MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL); MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); MPI_Comm_free(&c);"

KINDS = [
    kind_of("errors", ERRORS, 2.0, (RETURNING, FATAL)),
    kind_of("environment", HANDLERS, 1.0),
]
