// Guards on what an object is: its type, its identity, its constant value.
#pragma once

#include <cmath>

#include "frontend/cpython/iterator_state.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/guards/compiled_guards.h"
#include "frontend/tensors/array_view.h"

namespace md::guards {

struct TypeMatch {
  static constexpr const char* name = "TYPE_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.slot = b.refer(g.object.get()); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return reinterpret_cast<PyObject*>(Py_TYPE(regs[op.reg])) == *op.slot;
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "___check_type_id(" + s + ", " + std::to_string(reinterpret_cast<std::uintptr_t>(r.id)) + ")";
  }
};

struct IdMatch {
  static constexpr const char* name = "ID_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
    op.slot = b.refer(g.object.get());
    op.flag = g.object.get() == Py_None;
  }
  // The slot of a dead object holds None, which must not be taken for the object.
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    PyObject* o = regs[op.reg];
    return o == *op.slot && (o != Py_None || op.flag);
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "___check_obj_id(" + s + ", " + std::to_string(reinterpret_cast<std::uintptr_t>(r.id)) + ")";
  }
};

struct CMethod {
  static constexpr const char* name = "C_METHOD";
  static void prepare(const Guard& g, GuardBuilder&, GuardOp& op) { op.value = g.value; }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    PyObject* o = regs[op.reg];
    return PyCFunction_Check(o) &&
           reinterpret_cast<std::intptr_t>(reinterpret_cast<PyCFunctionObject*>(o)->m_ml) == op.value;
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "___check_c_method(" + s + ", " + constant_repr(r.object.get()) + ")";
  }
};

struct EqualsMatch {
  static constexpr const char* name = "EQUALS_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.object = b.hold(g.object); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    PyObject* o = regs[op.reg];
    return o == op.object || plain_equal(op.object, o) || library_equal(op.object, o);
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    PyObject* const o = r.object.get();
    return s + " == " + (has_comparable_state(o) ? iterator_text(o) : constant_repr(o));
  }

 private:
  static bool library_equal(PyObject* a, PyObject* b);
};

struct DataMatch {
  static constexpr const char* name = "DATA_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.object = b.hold(g.object); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return holds_equal(op.object, regs[op.reg]) || is_scalar_of(regs[op.reg], op.object);
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "___check_data(" + s + ", " + constant_repr(r.object.get()) + ")";
  }
};

struct NoneMatch {
  static constexpr const char* name = "NONE_MATCH";
  static void prepare(const Guard&, GuardBuilder&, GuardOp&) {}
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return regs[op.reg] == Py_None;
  }
  static std::string text(const GuardRecord&, const std::string& s) { return s + " is None"; }
};

struct TrueMatch {
  static constexpr const char* name = "TRUE_MATCH";
  static void prepare(const Guard&, GuardBuilder&, GuardOp&) {}
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return regs[op.reg] == Py_True;
  }
  static std::string text(const GuardRecord&, const std::string& s) { return s + " == True"; }
};

struct FalseMatch {
  static constexpr const char* name = "FALSE_MATCH";
  static void prepare(const Guard&, GuardBuilder&, GuardOp&) {}
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return regs[op.reg] == Py_False;
  }
  static std::string text(const GuardRecord&, const std::string& s) { return s + " == False"; }
};

struct Nan {
  static constexpr const char* name = "LAMBDA_GUARD";
  static void prepare(const Guard&, GuardBuilder&, GuardOp&) {}
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    PyObject* o = regs[op.reg];
    return PyFloat_CheckExact(o) && std::isnan(PyFloat_AS_DOUBLE(o));
  }
  static std::string text(const GuardRecord&, const std::string& s) { return "__math_isnan(" + s + ")"; }
};

}  // namespace md::guards
