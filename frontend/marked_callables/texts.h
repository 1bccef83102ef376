// Texts of tensors: they are written after the graph, of copies the graph makes where the program writes them.
#pragma once

#include "frontend/marked_callables/marked_value.h"

namespace md {

// format(v, spec), of a tensor, a list, tuple or dict with tensors in it, or of such a text. Null: it has to be written
// now, or is known.
ValueRef deferred_text(Tracer& t, const ValueRef& v, int conversion, const ValueRef& spec);
// The pieces of an f-string, some of them deferred: null if none is.
ValueRef joined_text(const std::vector<ValueRef>& pieces);
// What str.format() gave for these keywords.
ValueRef text_of_fields(const ValueRef& text, const ValueRef& keywords);

}  // namespace md
