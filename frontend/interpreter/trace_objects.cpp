// The tracer's objects: each real one becomes one value, when somebody looks at it; a second source of it is an alias.
#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/interpreter/wrap.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/array.h"
#include "frontend/values/constant.h"
#include "frontend/values/number_value.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor_subclass.h"

namespace md {

ValueRef Tracer::lazy(PyObject* object, SourceRef source) {
  if (!source) return from_object(object, nullptr);
  if (source->depth > kDeepestSource)
    throw SkipFrame{"it walks more than " + std::to_string(kDeepestSource) + " steps into what it is given"};
  switch (source->kind) {
    // Found where a look-up might have failed: an exception handler tells the difference.
    case SourceKind::Global:
    case SourceKind::Builtin:
    case SourceKind::Attr:
    case SourceKind::InstanceDict:
    case SourceKind::TensorAttr:
    case SourceKind::CellContents:
      expect_present(source);
      break;
    default:
      break;
  }
  return make_ref<LazyValue>(object, source);
}

ValueRef Tracer::realize(const ValueRef& v) {
  auto* lazy = as<LazyValue>(v);
  if (!lazy) return v;
  if (!lazy->real && !lazy->realized) unmodelled(lazy->print(), "value that only a run knows");
  if (!lazy->realized) lazy->realized = wrap(lazy->real.get(), lazy->source);
  return lazy->realized;
}

ValueRef Tracer::constant(PyRef object) { return make_ref<ConstantValue>(std::move(object)); }

ValueRef Tracer::from_object(PyObject* object, SourceRef source) {
  if (!source && is_constant_object(object)) return constant(object);
  return wrap(object, source);
}

void Tracer::guard(GuardKind kind, SourceRef source, PyRef object, std::int64_t value) {
  // The entry holds a constant: only its content can change, and the class of an instance.
  const bool is_constant = source && source->kind == SourceKind::Constant;
  if (is_constant && kind == GuardKind::IdMatch) return;
  if (is_constant && kind == GuardKind::TypeMatch && !(Py_TYPE(source->object.get())->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return;
  Guard g{kind, source, std::move(object), value};
  g.where = user_frame();
  recorder.guards.add(std::move(g));
}

static std::string constant_name(PyObject* o) {
  if (PyType_Check(o)) return "___class_" + type_name(reinterpret_cast<PyTypeObject*>(o));
  return "___constant_" + type_name(Py_TYPE(o));
}

ValueRef Tracer::wrap(PyObject* object, SourceRef source) {
  if (recorder.varying && source && recorder.varying->contains(source->name))
    unmodelled(source->name, "object that is another one in most calls");
  if (PyLong_CheckExact(object) && source)
    if (ValueRef v = dynamic_int(*this, object, source)) return v;
  if (PyFloat_CheckExact(object) && source)
    if (ValueRef v = dynamic_float(*this, object, source)) return v;
  if (PyUnicode_CheckExact(object) && !ready_text(object)) throw PythonError{};
  if (is_constant_object(object)) return source ? wrap_constant(*this, object, source) : constant(object);
  if (ValueRef made = prototypes.value_of(object)) return made;
  if (!source) source = recorder.sources.constant(object, constant_name(object));
  if (auto it = objects.known.find(object); it != objects.known.end()) {
    ValueRef v = it->second;
    const bool has_identity = v->kind != ValueKind::Builtin && v->kind != ValueKind::OpFunction &&
                              v->kind != ValueKind::Module && v->kind != ValueKind::Class;
    if (v->source && v->source != source && (has_identity || source->kind != SourceKind::Constant)) {
      if (has_identity && source->kind != SourceKind::Constant && v->source->kind != SourceKind::Constant) {
        Guard g{GuardKind::Aliasing, source};
        g.other = v->source;
        g.where = user_frame();
        recorder.guards.add(std::move(g));
      } else {
        guard(GuardKind::IdMatch, source, PyRef::borrow(object));
      }
    }
    return v;
  }
  ValueRef v;
  if (is_tensor_exact(object) || is_parameter(object)) {
    v = input_tensor(object, source);
  } else if (config.trace_numpy && (is_plain_array(object) || is_numpy_scalar(object))) {
    v = input_array(*this, object, source);
  } else if (is_tensor(object)) {
    if (is_library_class(Py_TYPE(object), LibraryClass::SparseTensor) ||
        is_library_class(Py_TYPE(object), LibraryClass::CompressedTensor))
      graph_break<GB0015>();
    if (is_library_class(Py_TYPE(object), LibraryClass::NestedTensor)) graph_break<GB0016>();
    if (is_library_class(Py_TYPE(object), LibraryClass::QuantizedTensor))
      graph_break<GB0064>("it is of type " + type_name(Py_TYPE(object)));
    v = wrap_tensor_subclass(*this, object, source);
    v->source = source;
    v->real = PyRef::borrow(object);
  } else {
    v = wrap_by_type(*this, object, source);
    v->source = source;
    v->real = PyRef::borrow(object);
  }
  objects.known[object] = v;
  objects.keep_alive.push_back(PyRef::borrow(object));
  return v;
}

}  // namespace md
