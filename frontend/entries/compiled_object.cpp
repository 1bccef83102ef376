// The type of compiled functions.
#include "frontend/entries/compiled_object.h"

namespace md {
namespace {

PyTypeObject* the_type = nullptr;

}  // namespace

PyTypeObject* compiled_type() { return the_type; }
void set_compiled_type(PyTypeObject* type) { the_type = type; }

bool is_compiled_function(PyObject* o) { return Py_TYPE(o) == the_type; }
PyObject* compiled_function_traced(PyObject* o) { return reinterpret_cast<CompiledFunctionObject*>(o)->function; }
PyObject* compiled_function_original(PyObject* o) { return reinterpret_cast<CompiledFunctionObject*>(o)->original; }

}  // namespace md
