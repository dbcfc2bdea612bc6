"""Chapters 5, 7 and 8 without messages: bounds and contents of datatypes, packing, groups, attributes, names, grids."""

from __future__ import annotations

import random

from .. import types
from ..code import Code, Kind, Place
from ..model import Operation
from .snippets import kind_of

GROUPS = "MPI_Group w, a, b, g; int n, r, k[8]; (void)r; (void)k; MPI_Comm_group(MPI_COMM_WORLD, &w); MPI_Group_range_incl(w, 1, (int[][3]){{0, X % world_size, 1}}, &a); MPI_Group_range_incl(w, 1, (int[][3]){{world_size - 1, Y % world_size, -1}}, &b);"
DONE = "MPI_Group_free(&w); MPI_Group_free(&a); MPI_Group_free(&b);"
SHOW = 'MPI_Group_size(g, &n); note("size", n); MPI_Group_rank(g, &r); note("rank", r); for (int i = 0; i < n; i++) { MPI_Group_translate_ranks(g, 1, &i, w, &r); note("is", r); } if (g != MPI_GROUP_EMPTY) MPI_Group_free(&g);'

GROUP = {
    "union": f"MPI_Group_union(a, b, &g); {SHOW}",
    "intersection": f"MPI_Group_intersection(a, b, &g); {SHOW}",
    "difference": f"MPI_Group_difference(a, b, &g); {SHOW}",
    "exclusion": f"MPI_Group_excl(w, 1, (int[]){{X % world_size}}, &g); {SHOW}",
    "excluded range": f"MPI_Group_range_excl(w, 1, (int[][3]){{{{0, world_size - 1, 2}}}}, &g); {SHOW}",
    "range": f"MPI_Group_range_incl(w, 1, (int[][3]){{{{world_size - 1, 0, -2}}}}, &g); {SHOW}",
    "nothing": 'MPI_Group_incl(w, 0, NULL, &g); note("empty", g == MPI_GROUP_EMPTY); MPI_Group_compare(g, MPI_GROUP_EMPTY, &r); note("compared", r);',
    "compare": 'MPI_Group_compare(a, b, &r); note("compared", r); MPI_Group_compare(a, a, &r); note("same", r);',
    "translate": 'k[0] = 0; k[1] = MPI_PROC_NULL; MPI_Group_translate_ranks(a, 2, k, b, k + 2); note("first", k[2]); note("null", k[3]);',
}  # fmt: skip

OBJECTS = {
    "names": 'MPI_Comm c; char t[MPI_MAX_OBJECT_NAME]; int l; MPI_Comm_get_name(MPI_COMM_WORLD, t, &l); note_text("world", t); MPI_Comm_dup(MPI_COMM_SELF, &c); MPI_Comm_get_name(c, t, &l); note("length", l); MPI_Comm_set_name(c, " a name "); MPI_Comm_get_name(c, t, &l); note_text("name", t); note("length", l); MPI_Comm_free(&c);',
    "names of datatypes": 'MPI_Datatype d; char t[MPI_MAX_OBJECT_NAME]; int l; MPI_Type_get_name(MPI_DOUBLE, t, &l); note_text("double", t); MPI_Type_contiguous(2, MPI_INT, &d); MPI_Type_get_name(d, t, &l); note("length", l); MPI_Type_set_name(d, "pair"); MPI_Type_get_name(d, t, &l); note_text("name", t); MPI_Type_free(&d);',
    "attributes": 'int k, f; void *v = NULL; MPI_Comm c, d; logged_begin(); MPI_Comm_create_keyval(copy_logged, delete_logged, &k, (void *)7); MPI_Comm_dup(MPI_COMM_SELF, &c); MPI_Comm_set_attr(c, k, (void *)11); MPI_Comm_set_attr(c, k, (void *)(intptr_t)(20 + X)); MPI_Comm_dup(c, &d); MPI_Comm_get_attr(d, k, &v, &f); note("flag", f != 0); note("value", (intptr_t)v); MPI_Comm_delete_attr(c, k); MPI_Comm_get_attr(c, k, &v, &f); note("flag", f != 0); MPI_Comm_free(&d); MPI_Comm_free_keyval(&k); note("invalid", k == MPI_KEYVAL_INVALID); MPI_Comm_free(&c); logged_end();',
    "attributes of datatypes": 'int k, f; void *v = NULL; MPI_Datatype c, d; logged_begin(); MPI_Type_create_keyval(copy_logged_type, delete_logged_type, &k, (void *)5); MPI_Type_contiguous(2, MPI_INT, &c); MPI_Type_set_attr(c, k, (void *)3); MPI_Type_dup(c, &d); MPI_Type_get_attr(d, k, &v, &f); note("flag", f != 0); note("value", (intptr_t)v); MPI_Type_free(&c); MPI_Type_free(&d); MPI_Type_free_keyval(&k); logged_end();',
    "duplicated attributes": 'int k, f; void *v; MPI_Comm c, d; MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &k, NULL); MPI_Comm_dup(MPI_COMM_SELF, &c); MPI_Comm_set_attr(c, k, (void *)9); MPI_Comm_dup(c, &d); MPI_Comm_get_attr(d, k, &v, &f); note("flag", f != 0); note("value", f ? (intptr_t)v : 0); MPI_Comm_split(c, 0, 0, &c); MPI_Comm_get_attr(c, k, &v, &f); note("split has it", f != 0); MPI_Comm_free(&c); MPI_Comm_free(&d); MPI_Comm_free_keyval(&k);',
    "predefined attributes": 'int *v, f; MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &v, &f); note("tags", f && *v >= 32767); MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &v, &f); note("clock", f && (*v == 0 || *v == 1));',
    "dimensions": 'int d[3] = {0}; MPI_Dims_create(X * Y + 1, 1 + X % 3, d); for (int i = 0; i < 3; i++) note("dimension", d[i]); int e[3] = {0, 2, 0}; MPI_Dims_create(2 * (Y + 1), 3, e); for (int i = 0; i < 3; i++) note("dimension", e[i]);',
    "large dimensions": 'int d[3] = {0}; MPI_Dims_create((int[]){7488, 96, 1000, 1001, 720, 64, 210, 97}[X], 2 + Y % 2, d); for (int i = 0; i < 3; i++) note("dimension", d[i]);',
    "compared": 'MPI_Comm c; int r; MPI_Comm_dup(MPI_COMM_WORLD, &c); MPI_Comm_compare(c, MPI_COMM_WORLD, &r); note("duplicate", r); MPI_Comm_compare(c, MPI_COMM_SELF, &r); note("self", r); MPI_Comm_free(&c); note("null", c == MPI_COMM_NULL);',
    "grid": 'MPI_Comm g; int d[2] = {0}, r, k[2], p[2], e[2]; MPI_Dims_create(world_size, 2, d); MPI_Cart_create(MPI_COMM_WORLD, 2, d, (int[]){X % 2, Y % 2}, 0, &g); MPI_Cart_get(g, 2, e, p, k); note("here", 10 * k[0] + k[1]); note("periods", 2 * p[0] + p[1]); for (int i = 0; i < world_size; i++) { MPI_Cart_coords(g, i, 2, k); MPI_Cart_rank(g, k, &r); note("back", r); note("at", 10 * k[0] + k[1]); } int f, t; MPI_Cart_shift(g, X % 2, Y - 3, &f, &t); note("from", f); note("to", t); if (X % 2) { MPI_Cart_rank(g, (int[]){-1, 0}, &r); note("around", r); } MPI_Comm_free(&g);',
    "no dimension": 'MPI_Comm g; int n = -1; MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &g); note("null", g == MPI_COMM_NULL); if (g != MPI_COMM_NULL) { MPI_Cartdim_get(g, &n); note("dimensions", n); MPI_Comm_size(g, &n); note("size", n); MPI_Comm_free(&g); }',
    "matched sizes": 'MPI_Datatype t; MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &t); int z; MPI_Type_size(t, &z); note("size", z); MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &t); MPI_Type_size(t, &z); note("size", z);',
}  # fmt: skip

FINALIZATION = {
    "set": "until_finalization(1, 0, 0, X % 2);",
    "replaced": "until_finalization(2 + Y % 3, 0, 0, X % 2);",
    "deleted": "until_finalization(1, 1, X % 2, 0);",
    "key freed": "until_finalization(1, 0, 1, X % 2);",
}
"""Attributes of MPI_COMM_SELF, with callbacks that run in MPI_Finalize (11.4.1)."""


def _generate_bounds(rng: random.Random) -> dict[str, object]:
    return {"type": types.random_tree(rng, 3), "count": rng.randint(0, 5), "external": rng.random() < 0.3}


def _write_bounds(operation: Operation, place: Place) -> Code:
    n, count = place.number, operation["count"]
    code = Code(types.c_of(operation["type"], f"t{n}"))
    code.before += [
        f'note_type(t{n}); MPI_Count z{n}; MPI_Type_size_x(t{n}, &z{n}); note("size", z{n});',
        f"struct buffer s{n} = buffer_of(t{n}, {count}, {place.key()}), d{n} = buffer_of(t{n}, {count}, {place.key(1)});",
    ]
    if operation["external"]:
        code.before += [
            f'MPI_Aint room{n} = 0, at{n} = 0; MPI_Pack_external_size("external32", {count}, t{n}, &room{n}); note("external size", room{n});',
            f'char *b{n} = calloc(1, (size_t)room{n} + 1); MPI_Pack_external("external32", s{n}.at, {count}, t{n}, b{n}, room{n}, &at{n}); note("at", at{n}); note_bytes("packed", b{n}, (size_t)at{n});',
            f'at{n} = 0; MPI_Unpack_external("external32", b{n}, room{n}, &at{n}, d{n}.at, {count}, t{n}); note("at", at{n});',
        ]
    else:
        code.before += [
            f"int room{n} = 0, at{n} = 0, end{n}; MPI_Pack_size({count}, t{n}, MPI_COMM_WORLD, &room{n});",
            f"char *b{n} = calloc(1, (size_t)room{n} + 1); MPI_Pack(s{n}.at, {count}, t{n}, b{n}, room{n}, &at{n}, MPI_COMM_WORLD); end{n} = at{n}; at{n} = 0;",
            f'MPI_Unpack(b{n}, end{n}, &at{n}, d{n}.at, {count}, t{n}, MPI_COMM_WORLD); note("all", at{n} == end{n});',
        ]
    code.before += [
        f'note_buffer("unpacked", &d{n}); free(b{n}); release(&s{n}); release(&d{n});',
        f'int i{n}, a{n}, k{n}, c{n}; MPI_Type_get_envelope(t{n}, &i{n}, &a{n}, &k{n}, &c{n}); note("integers", i{n}); note("addresses", a{n}); note("datatypes", k{n}); note("combiner", c{n});',
        *types.free_of(operation["type"], f"t{n}"),
    ]
    return code


def _bounds_features(operation: Operation) -> dict[str, object]:
    return types.features_of(operation["type"])


KINDS = [
    kind_of("group", GROUP, 0.7, (GROUPS, DONE)),
    kind_of("objects", OBJECTS, 1.5),
    kind_of("finalization", FINALIZATION, 0.3),
    Kind("bounds", _generate_bounds, _write_bounds, least={"count": 0, "external": False}, weight=1.5, on="none", features=_bounds_features),
]  # fmt: skip
