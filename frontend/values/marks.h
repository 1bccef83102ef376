// Callables the program asked to treat in its own way: allow_in_graph and its kin put marks on objects, the classes of
// minidynamo.library on all their instances.
#pragma once

#include <optional>
#include <string>

#include "frontend/cpython/py_ref.h"

namespace md {

enum class MarkKind : std::uint8_t {
  CustomOp,        // an overload of an operator of minidynamo.library: one opaque node
  Namespace,       // torch.ops and what hangs on it, looked up while tracing
  OwnOp,           // an op of the table under its name in torch.ops.aten
  AllowInGraph,    // one opaque node
  Nonstrict,       // likewise, named flat_apply
  AssumeConstant,  // called while tracing, its result is a constant
  Disallow,        // breaks
  Forbid,          // an error
  Substitute,      // another function is traced in its place: the payload
  DontSkip,        // traced although its module is not
  BreakPolicy,     // calls the payload's function under error_on_graph_break(...)
  Comptime,        // code that talks to the tracer
  CompileRegion,   // nested_compile_region: the payload's function, traced in place
  RegionOperator,  // the operator behind it, which nobody may name
  Logging,         // reorderable_logging_functions: runs after the graph
  Ignored,         // ignore_logger_methods: not called at all
  Text,            // an f-string of tensors, made after the graph
};

struct CallableMark {
  MarkKind kind;
  PyRef payload;
};

// The mark of an object, or of its class. With the GIL held.
std::optional<CallableMark> find_mark(PyObject* o);
// Whether the function is entered although its module is closed.
bool is_dont_skip(PyObject* function);

void init_marks(PyObject* module);  // adds _C._mark_callable; throws PythonError

}  // namespace md
