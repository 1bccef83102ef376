// Types as annotations have them: List[int], int | None, Callable[[int], str]. They never change, so what is asked of
// them is asked for real.
#pragma once

#include "frontend/trace/value.h"

namespace md {

// The object that a class, an alias of `typing` or `types`, or a tuple or list of these is; guarded. Null: none of
// these.
PyRef type_expression(Tracer& t, const ValueRef& v);
// An object of `typing` (Union, List, an alias): subscripted by what type_expression() knows.
bool is_of_typing(const Value& v);
// One that C code compares and hashes: list[int], int | None, Callable[[int], str] of collections.abc.
bool is_type_of_c(const Value& v);
// Its __args__, __origin__ or __parameters__; null: it is no alias, or another name.
// What list[int] asks `list` for is a part as well.
ValueRef part_of_type(Tracer& t, const ValueRef& alias, PyObject* name);
ValueRef subscript_type(Tracer& t, PyObject* generic, const ValueRef& key);  // null: not with this key

}  // namespace md
