// minidynamo.<name> and Tensor.<name>: functions and methods derived from the op table, and the few written by hand
// (native), all of one shape so that the tracer recognises them by one test.
#pragma once

#include <span>

#include "frontend/tensors/fast_call.h"
#include "frontend/tensors/tensor_object.h"

namespace md {

// Arguments as vectorcall hands them over; a method finds its tensor in args[0].
struct PassedArgs {
  PyObject* const* args;
  Py_ssize_t nargs;
  PyObject* kwnames;  // tuple or null; the values follow the positional ones
  Py_ssize_t keyword_count() const { return kwnames ? PyTuple_GET_SIZE(kwnames) : 0; }
};

// May throw OpError or PythonError. Returns a new reference.
using NativeFunction = PyRef (*)(const PassedArgs& call);

struct NativeRow {
  const char* name;
  NativeFunction call;
  const char* doc;
  bool undispatched = false;  // asks no __torch_function__, and its result is of the type it says
};

struct OpFunctionObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  const char* name;                  // "add", "add_"
  const char* public_name;           // the op's: "add" of "add_"
  const Op* fast[kMaxFastOperands];  // sole_overload for one and two operands
  const OpId* overloads;             // into the op table; empty for natives
  Py_ssize_t overload_count;
  NativeFunction native;
  PyObject* doc;
  bool method, inplace, undispatched;
  bool exact;  // one op, whatever it is written as: what it computes is the result
};
extern PyTypeObject* op_method_type;

int init_op_functions(PyObject* module);
// Functions of the table go into `module`, methods into the Tensor type.
int add_table_ops(PyObject* module);
PyRef op_function_named(const PassedArgs& call);  // _op_function("sum.dim"); KeyError
int add_native_functions(PyObject* module, std::span<const NativeRow> rows);
int add_native_methods(std::span<const NativeRow> rows);

// The op call itself, shared by functions, methods and operators.
PyRef call_overloads(std::span<const OpId> overloads, const char* public_name, const PassedArgs& call, bool inplace);
// Whether calls of this form may mean the op (x.f_() in-place ones only, f(x) no op that is nothing else), and the
// overloads for which that is so.
bool has_form(const Op& o, bool inplace);
std::vector<OpId> forms_of(std::span<const OpId> overloads, bool inplace);
// Wraps a result; a tensor that is one of the arguments comes back as that very object.
PyRef wrap_result(const Op& op, const Arg& result, const PassedArgs& call);

// torch.return_types.<name>: the named tuple of an op with named results.
PyRef named_result(const Op& op, const Arg& result);
PyTypeObject* named_result_type(const Op& op);
const Op* op_of_result_type(const PyTypeObject* type);  // null: not such a type
int add_return_types(PyObject* module);                 // submodule `return_types`
int add_table_properties();                             // x.T and the like

// --- Arguments of native functions ------------------------------------------------------------------------------
// Distributes positional and keyword arguments over `names` (as many as `out`; absent ones stay null). The first
// `required` must be given, the last `keyword_only` may not be positional. Throws TypeError naming `function`.
struct NativeSignature {
  const char* function;
  std::span<const char* const> names;
  int required = 0;
  int keyword_only = 0;
};
void parse_native(const NativeSignature& sig, const PassedArgs& call, std::span<PyObject*> out);
// For functions without any argument (methods: beside self).
void no_arguments(const char* function, const PassedArgs& call, Py_ssize_t allowed);
[[noreturn]] void throw_type_error(const char* format, ...);

}  // namespace md
