// What load_inline() puts in front of a C++ source: torch/tensor.h and the binding of functions to a Python module.
#pragma once

#include <functional>
#include <tuple>

#include "torch/tensor.h"

namespace torch {
namespace detail {

// --- Arguments
// --------------------------------------------------------------------------------------------------------

[[noreturn]] inline void wrong_type(const char* wanted, PyObject* o) {
  PyErr_Format(PyExc_TypeError, "incompatible function arguments: expected %s, got '%.200s'", wanted,
               Py_TYPE(o)->tp_name);
  throw c10::PythonException();
}

template <class T>
struct Convert;

template <>
struct Convert<at::Tensor> {
  static at::Tensor in(PyObject* o) {
    MinidynamoTensor* t = c10::detail::api->from_object(o);
    if (!t) wrong_type("a Tensor", o);
    return at::Tensor(t);
  }
  static PyObject* out(const at::Tensor& t) {
    if (t.defined()) return c10::detail::api->to_object(t.handle());
    Py_RETURN_NONE;
  }
};

template <>
struct Convert<bool> {
  static bool in(PyObject* o) {
    if (!PyBool_Check(o)) wrong_type("a bool", o);
    return o == Py_True;
  }
  static PyObject* out(bool b) { return PyBool_FromLong(b); }
};

template <class T>
struct ConvertInteger {
  static T in(PyObject* o) {
    if (!PyIndex_Check(o) || PyFloat_Check(o)) wrong_type("an int", o);
    PyObject* index = PyNumber_Index(o);
    if (!index) throw c10::PythonException();
    const long long v = PyLong_AsLongLong(index);
    Py_DECREF(index);
    if (v == -1 && PyErr_Occurred()) throw c10::PythonException();
    if (static_cast<long long>(static_cast<T>(v)) != v) {
      PyErr_Format(PyExc_TypeError, "incompatible function arguments: %lld does not fit the parameter", v);
      throw c10::PythonException();
    }
    return static_cast<T>(v);
  }
  static PyObject* out(T v) { return PyLong_FromLongLong(static_cast<long long>(v)); }
};
template <>
struct Convert<std::int64_t> : ConvertInteger<std::int64_t> {};
template <>
struct Convert<long long> : ConvertInteger<long long> {};
template <>
struct Convert<int> : ConvertInteger<int> {};
template <>
struct Convert<std::size_t> : ConvertInteger<std::size_t> {};
template <>
struct Convert<unsigned> : ConvertInteger<unsigned> {};

template <>
struct Convert<double> {
  static double in(PyObject* o) {
    const double v = PyFloat_AsDouble(o);
    if (v == -1 && PyErr_Occurred()) throw c10::PythonException();
    return v;
  }
  static PyObject* out(double v) { return PyFloat_FromDouble(v); }
};
template <>
struct Convert<float> {
  static float in(PyObject* o) { return static_cast<float>(Convert<double>::in(o)); }
  static PyObject* out(float v) { return PyFloat_FromDouble(v); }
};

template <>
struct Convert<std::string> {
  static std::string in(PyObject* o) {
    Py_ssize_t n = 0;
    const char* text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, &n) : nullptr;
    if (!text) wrong_type("a str", o);
    return std::string(text, static_cast<std::size_t>(n));
  }
  static PyObject* out(const std::string& v) {
    return PyUnicode_FromStringAndSize(v.data(), static_cast<Py_ssize_t>(v.size()));
  }
};

template <class T>
struct Convert<std::vector<T>> {
  static std::vector<T> in(PyObject* o) {
    if (!PyList_Check(o) && !PyTuple_Check(o)) wrong_type("a list", o);
    std::vector<T> v;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      v.push_back(Convert<T>::in(PySequence_Fast_GET_ITEM(o, i)));
    return v;
  }
  static PyObject* out(const std::vector<T>& v) {
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(v.size()));
    for (std::size_t i = 0; list && i < v.size(); ++i) {
      PyObject* item = Convert<T>::out(v[i]);
      if (!item)
        Py_CLEAR(list);
      else
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
    }
    return list;
  }
};

template <class T>
struct Convert<std::optional<T>> {
  static std::optional<T> in(PyObject* o) {
    if (o == Py_None) return std::nullopt;
    return Convert<T>::in(o);
  }
  static PyObject* out(const std::optional<T>& v) {
    if (v) return Convert<T>::out(*v);
    Py_RETURN_NONE;
  }
};

template <class... T>
struct Convert<std::tuple<T...>> {
  static PyObject* out(const std::tuple<T...>& v) { return build(v, std::index_sequence_for<T...>()); }
  template <std::size_t... I>
  static PyObject* build(const std::tuple<T...>& v, std::index_sequence<I...>) {
    PyObject* items[] = {Convert<T>::out(std::get<I>(v))...};
    PyObject* made = PyTuple_New(sizeof...(T));
    bool fine = made != nullptr;
    for (std::size_t i = 0; i < sizeof...(T); ++i) {
      fine &= items[i] != nullptr;
      if (made)
        PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(i), items[i]);
      else
        Py_XDECREF(items[i]);
    }
    if (!fine) Py_CLEAR(made);
    return made;
  }
};
template <class A, class B>
struct Convert<std::pair<A, B>> {
  static PyObject* out(const std::pair<A, B>& v) { return Convert<std::tuple<A, B>>::out({v.first, v.second}); }
};

// --- Calls
// ------------------------------------------------------------------------------------------------------------

// Exceptions as Python knows them.
template <class F>
PyObject* guarded(F&& f) {
  try {
    return f();
  } catch (const c10::PythonException&) {
  } catch (const std::out_of_range& e) {
    PyErr_SetString(PyExc_IndexError, e.what());
  } catch (const std::invalid_argument& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "the extension threw something that is no std::exception");
  }
  return nullptr;
}

template <class R, class... A, std::size_t... I>
PyObject* call(R (*function)(A...), PyObject* const* args, std::index_sequence<I...>) {
  std::tuple<std::decay_t<A>...> values{Convert<std::decay_t<A>>::in(args[I])...};
  if constexpr (std::is_void_v<R>) {
    function(static_cast<A>(std::get<I>(values))...);
    Py_RETURN_NONE;
  } else {
    return Convert<std::decay_t<R>>::out(function(static_cast<A>(std::get<I>(values))...));
  }
}

template <class R, class... A>
PyObject* call_with(R (*function)(A...), const char* name, PyObject* const* args, Py_ssize_t count) {
  if (count != static_cast<Py_ssize_t>(sizeof...(A))) {
    PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments: takes %zd, got %zd", name,
                 static_cast<Py_ssize_t>(sizeof...(A)), count);
    return nullptr;
  }
  return guarded([&] { return call(function, args, std::index_sequence_for<A...>()); });
}

inline bool import_api() {
  PyObject* module = PyImport_ImportModule("minidynamo._C");
  PyObject* capsule = module ? PyObject_GetAttrString(module, "_extension_api") : nullptr;
  Py_XDECREF(module);
  if (!capsule) return false;
  const auto* api = static_cast<const MinidynamoApi*>(PyCapsule_GetPointer(capsule, "minidynamo._C._extension_api"));
  Py_DECREF(capsule);
  if (!api) return false;
  if (api->version != MINIDYNAMO_API_VERSION) {
    PyErr_SetString(PyExc_ImportError, "the extension was built for another version of minidynamo; build it again");
    return false;
  }
  c10::detail::api = api;
  return true;
}

// A function of the module, owned by the capsule that Python passes along: "PyCapsule.square_cpu".
struct Bound {
  std::string name, doc;
  std::function<PyObject*(PyObject* const*, Py_ssize_t)> function;
  PyMethodDef def{};
};

inline PyObject* call_bound(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  return static_cast<Bound*>(PyCapsule_GetPointer(capsule, nullptr))->function(args, count);
}

// The module being defined; named after pybind11's class, whose `def` it has.
class Module {
 public:
  explicit Module(PyObject* module) : module_(module) {}

  // Throws PythonException. What else pybind11 takes (py::arg and the like) is not understood.
  template <class R, class... A>
  Module& def(const char* name, R (*function)(A...), const char* doc = "") {
    auto* bound = new Bound{name, doc, {}, {}};
    bound->function = [function, bound](PyObject* const* args, Py_ssize_t count) {
      return call_with(function, bound->name.c_str(), args, count);
    };
    bound->def = {bound->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_bound)),
                  METH_FASTCALL, bound->doc.c_str()};
    add(bound);
    return *this;
  }

 private:
  void add(Bound* bound) {
    PyObject* owner = PyCapsule_New(
        bound, nullptr, [](PyObject* capsule) { delete static_cast<Bound*>(PyCapsule_GetPointer(capsule, nullptr)); });
    if (!owner) delete bound;
    PyObject* name = PyModule_GetNameObject(module_);
    PyObject* made = owner && name ? PyCFunction_NewEx(&bound->def, owner, name) : nullptr;
    const bool fine = made && PyModule_AddObjectRef(module_, bound->name.c_str(), made) == 0;
    Py_XDECREF(made);
    Py_XDECREF(name);
    Py_XDECREF(owner);
    if (!fine) throw c10::PythonException();
  }

  PyObject* module_;
};

// What an extension's initialisation does.
inline PyObject* make_module(PyModuleDef* def, void (*fill)(Module&)) {
  if (!import_api()) return nullptr;
  PyObject* module = PyModule_Create(def);
  if (!module) return nullptr;
  PyObject* done = guarded([&]() -> PyObject* {
    Module m(module);
    fill(m);
    return module;
  });
  if (!done) Py_DECREF(module);
  return done;
}

}  // namespace detail
}  // namespace torch

namespace pybind11 {
using module_ = torch::detail::Module;
}
namespace py = pybind11;

// PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("square", &square, "text"); }
#define MINIDYNAMO_MODULE(name, variable)                                                      \
  static void minidynamo_fill_##name(::torch::detail::Module&);                                \
  static PyModuleDef minidynamo_module_##name = {                                              \
      PyModuleDef_HEAD_INIT, #name, nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr}; \
  PyMODINIT_FUNC PyInit_##name() {                                                             \
    return ::torch::detail::make_module(&minidynamo_module_##name, minidynamo_fill_##name);    \
  }                                                                                            \
  static void minidynamo_fill_##name([[maybe_unused]] ::torch::detail::Module& variable)
#define PYBIND11_MODULE(name, variable) MINIDYNAMO_MODULE(name, variable)
