// The Python face of decoder, assembler and splitter: what the tests of this folder call.
#include "frontend/bytecode/init.h"

#include "frontend/bytecode/instruction.h"
#include "frontend/bytecode/raw_opcodes.h"
#include "frontend/bytecode/split.h"
#include "frontend/bytecode/stop_before.h"
#include "ir/core/error.h"

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

PyRef describe(const CodeBody& body, const Instruction& i) {
  const Handler& h = i.handler;
  const Position& p = i.pos;
  return checked(Py_BuildValue("siiiO(iiii)(iii)iss", opcode_name(i.op), i.a, i.b, i.target,
                               i.kwnames ? i.kwnames.get() : Py_None, p.line, p.end_line, p.column, p.end_column,
                               h.label, h.depth, h.lasti, i.offset, i.orig_name,
                               operand_text(body, i.orig_arg).c_str()));
}

PyObject* py_decode(PyObject*, PyObject* code) {
  return guarded([&] {
    const auto body = decode(as_code(code));
    PyRef list = checked(PyList_New(0));
    for (const Instruction& i : body->instructions) checked(PyList_Append(list.get(), describe(*body, i).get()));
    return list;
  });
}

enum RoundtripMode { kExact, kByRule, kPadded };

PyObject* py_roundtrip(PyObject*, PyObject* args) {
  PyObject* code;
  int mode = kExact;
  if (!PyArg_ParseTuple(args, "O|i", &code, &mode)) return nullptr;
  return guarded([&] {
    const auto body = decode(as_code(code));
    for (Instruction& i : body->instructions) {
      if (mode == kExact) break;
      i.offset = -1;
      i.dropped.clear();
    }
    if (mode == kPadded) pad_with_nops(*body);
    return assemble(*body);
  });
}

PyRef bools(const std::vector<bool>& values) {
  PyRef list = checked(PyList_New(0));
  for (const bool v : values) checked(PyList_Append(list.get(), v ? Py_True : Py_False));
  return list;
}

std::vector<bool> bools(PyObject* list) {
  std::vector<bool> out;
  const PyRef fast = checked(PySequence_Fast(list, "expected a sequence of bools"));
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(fast.get()); ++k) {
    out.push_back(checked(PyObject_IsTrue(PySequence_Fast_GET_ITEM(fast.get(), k))));
  }
  return out;
}

std::unique_ptr<CodeBody> body_with_plain_methods(PyObject* code) {
  auto body = decode(as_code(code));
  make_methods_plain(*body);
  return body;
}

PyObject* py_split_points(PyObject*, PyObject* code) {
  return guarded([&] {
    const auto body = body_with_plain_methods(code);
    PyRef list = checked(PyList_New(0));
    for (const SplitPoint& p : split_points(*body)) {
      const Instruction& i = body->instructions[p.instruction];
      const Handler& h = i.handler;
      const PyRef row =
          checked(Py_BuildValue("isNN(iii)i", p.instruction, opcode_name(i.op), bools(p.layout.stack_is_null).release(),
                                bools(p.layout.slot_bound).release(), h.label, h.depth, h.lasti, i.offset));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list;
  });
}

PyRef describe(const PartCode& part) {
  if (!part) return PyRef::borrow(Py_None);
  static constexpr const char* kKinds[] = {"stack", "slot", "first", "nothing"};
  PyRef list = checked(PyList_New(0));
  for (const SplitParameter& p : part.parameters) {
    const PyRef row = checked(Py_BuildValue("si", kKinds[static_cast<int>(p.kind)], p.index));
    checked(PyList_Append(list.get(), row.get()));
  }
  return checked(Py_BuildValue("OO", part.code.get(), list.get()));
}

// (code, instruction, stack_is_null, slot_bound[, [(stack index, class, args)]])
BreakLayout parse_layout(PyObject* args, PyObject** code, PyObject** extra) {
  BreakLayout layout;
  PyObject *nulls, *bound;
  if (!PyArg_ParseTuple(args, "OiOO|O", code, &layout.instruction, &nulls, &bound, extra)) throw PythonError{};
  layout.stack_is_null = bools(nulls);
  layout.slot_bound = bools(bound);
  return layout;
}

PyObject* py_stop_before(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *code, *marker = Py_None;
    const BreakLayout layout = parse_layout(args, &code, &marker);
    return stop_before(*body_with_plain_methods(code), layout, PyRef::borrow(marker));
  });
}

PyObject* py_resume_at(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *code, *unused = nullptr;
    const BreakLayout layout = parse_layout(args, &code, &unused);
    return describe(resume_at(*body_with_plain_methods(code), layout));
  });
}

void parse_contexts(PyObject* list, BreakLayout& layout) {
  const PyRef fast = checked(PySequence_Fast(list, "expected a sequence of contexts"));
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(fast.get()); ++k) {
    int index;
    PyObject *cls, *args;
    PyObject* const row = PySequence_Fast_GET_ITEM(fast.get(), k);
    if (!PyArg_ParseTuple(row, "iOO!", &index, &cls, &PyTuple_Type, &args)) throw PythonError{};
    OpenContext context{index, PyRef::borrow(cls), {}};
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(args); ++j) {
      context.args.push_back(PyRef::borrow(PyTuple_GET_ITEM(args, j)));
    }
    layout.contexts.push_back(std::move(context));
  }
}

PyObject* py_split(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *code, *contexts = nullptr;
    BreakLayout layout = parse_layout(args, &code, &contexts);
    if (contexts) parse_contexts(contexts, layout);
    const SplitCode s = split(*body_with_plain_methods(code), layout);
    return checked(Py_BuildValue("{sNsNsNsNsNsi}", "break", describe(s.break_part).release(), "resume",
                                 describe(s.resume).release(), "taken", describe(s.resume_taken).release(),
                                 "resume_stack", bools(s.resume_stack_is_null).release(), "taken_stack",
                                 bools(s.taken_stack_is_null).release(), "line", s.line));
  });
}

// types.FunctionType refuses code with free variables and no closure.
PyObject* py_make_function(PyObject*, PyObject* args) {
  PyObject *code, *globals;
  if (!PyArg_ParseTuple(args, "O!O!", &PyCode_Type, &code, &PyDict_Type, &globals)) return nullptr;
  return PyFunction_New(code, globals);
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
    {"roundtrip", py_roundtrip, METH_VARARGS,
     "roundtrip(code, mode=0) -> assemble(decode(code)); mode 1: without what the decoder remembers of the original "
     "encoding, 2: with a NOP before every instruction"},
    {"split_points", py_split_points, METH_O,
     "split_points(code) -> [(instruction, name, stack_is_null, slot_bound, handler, offset)] where all is known"},
    {"stop_before", py_stop_before, METH_VARARGS,
     "stop_before(code, instruction, stack_is_null, slot_bound, marker) -> code returning (marker, *stack, *slots)"},
    {"split", py_split, METH_VARARGS,
     "split(code, instruction, stack_is_null, slot_bound[, [(stack index, class, args)]]) -> dict of parts"},
    {"resume_at", py_resume_at, METH_VARARGS,
     "resume_at(code, instruction, stack_is_null, slot_bound) -> (code, parameters)"},
    {"make_function", py_make_function, METH_VARARGS, "make_function(code, globals) -> function without closure"},
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
