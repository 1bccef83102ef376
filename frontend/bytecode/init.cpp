#include "frontend/bytecode/init.h"

#include "frontend/bytecode/instruction.h"
#include "frontend/bytecode/raw_opcodes.h"
#include "ir/error.h"

namespace md {
namespace {

PyCodeObject* as_code(PyObject* o) {
  if (PyCode_Check(o)) return reinterpret_cast<PyCodeObject*>(o);
  PyErr_SetString(PyExc_TypeError, "expected a code object");
  throw PythonError{};
}

// The boundary to Python.
template <class F>
PyObject* guarded(F f) {
  try {
    return f().release();
  } catch (const PythonError&) {
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_SystemError, e.what());
  }
  return nullptr;
}

PyRef describe(const Instruction& i) {
  const Handler& h = i.handler;
  const Position& p = i.pos;
  return checked(Py_BuildValue("siiiO(iiii)(iii)iss", opcode_name(i.op), i.a, i.b, i.target,
                               i.kwnames ? i.kwnames.get() : Py_None, p.line, p.end_line, p.column, p.end_column,
                               h.label, h.depth, h.lasti, i.offset, i.orig_name, i.orig_arg.c_str()));
}

PyObject* py_decode(PyObject*, PyObject* code) {
  return guarded([&] {
    const auto body = decode(as_code(code));
    PyRef list = checked(PyList_New(0));
    for (const Instruction& i : body->instructions) checked(PyList_Append(list.get(), describe(i).get()));
    return list;
  });
}

// `forget`: drop what the decoder remembers of the original encoding, so that only the rules decide.
PyObject* py_roundtrip(PyObject*, PyObject* args) {
  PyObject* code;
  int forget = 0;
  if (!PyArg_ParseTuple(args, "O|p", &code, &forget)) return nullptr;
  return guarded([&] {
    const auto body = decode(as_code(code));
    for (Instruction& i : body->instructions) {
      if (!forget) break;
      i.offset = -1;
      i.dropped.clear();
    }
    return assemble(*body);
  });
}

PyObject* py_raw_opcodes(PyObject*, PyObject*) {
  return guarded([] {
    PyRef dict = checked(PyDict_New());
    for (int k = 1; k < raw_op_count(); ++k) {
      const RawInfo& info = raw_info(static_cast<RawOp>(k));
      if (info.number == 0) continue;
      const PyRef value = checked(Py_BuildValue("ii", info.number, info.caches));
      checked(PyDict_SetItemString(dict.get(), info.name, value.get()));
    }
    return dict;
  });
}

PyMethodDef methods[] = {
    {"decode", py_decode, METH_O,
     "decode(code) -> [(op, a, b, target, kwnames, position, handler, offset, original name, original operand)]"},
    {"roundtrip", py_roundtrip, METH_VARARGS, "roundtrip(code, forget=False) -> assemble(decode(code))"},
    {"raw_opcodes", py_raw_opcodes, METH_NOARGS, "raw_opcodes() -> {name: (number, caches)}"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "minidynamo._C._bytecode", nullptr, -1, methods};

}  // namespace

int init_bytecode(PyObject* module) {
  PyObject* part = PyModule_Create(&definition);
  return part ? PyModule_AddObject(module, "_bytecode", part) : -1;
}

}  // namespace md
