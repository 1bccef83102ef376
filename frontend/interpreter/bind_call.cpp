// Python's argument binding for traced calls.
#include <algorithm>

#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"

namespace md {

namespace {

struct Binder {
  Tracer& t;
  FunctionValue& fn;
  const CodeBody& body;
  std::vector<ValueRef>& slots;

  // A call that does not fit: CPython says why, asked with a function of the same parameters that does nothing.
  [[noreturn]] void refuse(const CallArgs& args) {
    expect_defaults();
    for (int k = body.argcount; k < body.argcount + body.kwonlyargcount; ++k) {
      if (!fn.parts || fn.keywords_stored || fn.keyword_dictionary(t)) break;
      PyObject* name = body.slot_names[static_cast<std::size_t>(k)].get();
      SourceRef place = t.recorder.sources.child(fn.parts, SourceKind::FuncKwDefault, name);
      has_default(name) ? t.expect_present(place) : t.guard(GuardKind::NotPresent, place);
    }
    std::vector<PyObject*> given(args.positional.size() + args.keywords.size(), Py_None);
    PyRef names = checked(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size())));
    for (std::size_t k = 0; k < args.keywords.size(); ++k)
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(k), Py_NewRef(args.keywords[k].first.get()));
    PyRef none =
        PyRef::steal(PyObject_Vectorcall(empty_function().get(), given.data(), args.positional.size(), names.get()));
    if (none || !PyErr_ExceptionMatches(PyExc_TypeError)) throw InternalError("a call that fits was refused");
    t.raise_current();
  }

  bool has_default(PyObject* name) const {
    if (DictValue* seen = fn.keyword_dictionary(t)) return bool(seen->find(t, t.constant(name)));
    return std::ranges::any_of(fn.kwdefaults,
                               [&](const auto& d) { return PyUnicode_Compare(d.first.get(), name) == 0; });
  }

  PyRef empty_function() const {
    constexpr int kGathers = CO_VARARGS | CO_VARKEYWORDS;
    const int gathered = !!(body.flags & CO_VARARGS) + !!(body.flags & CO_VARKEYWORDS);
    const int count = body.argcount + body.kwonlyargcount + gathered;
    PyRef names = checked(PyTuple_New(count));
    for (int k = 0; k < count; ++k)
      PyTuple_SET_ITEM(names.get(), k, Py_NewRef(body.slot_names[static_cast<std::size_t>(k)].get()));
    PyRef nothing = PyRef::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty("", "", 1)));
    PyRef replace = checked(PyObject_GetAttrString(nothing.get(), "replace"));
    PyRef parts = checked(Py_BuildValue("{s:i,s:i,s:i,s:i,s:i,s:O}", "co_argcount", body.argcount, "co_posonlyargcount",
                                        body.posonlyargcount, "co_kwonlyargcount", body.kwonlyargcount, "co_nlocals",
                                        count, "co_flags", CO_OPTIMIZED | CO_NEWLOCALS | (body.flags & kGathers),
                                        "co_varnames", names.get()));
    PyRef code = checked(PyObject_Call(replace.get(), checked(PyTuple_New(0)).get(), parts.get()));
    PyRef function = checked(PyFunction_NewWithQualName(code.get(), fn.globals.get(), fn.qualname.get()));
    PyRef defaults = checked(PyTuple_New(static_cast<Py_ssize_t>(fn.defaults.size())));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(defaults.get()); ++k)
      PyTuple_SET_ITEM(defaults.get(), k, Py_NewRef(Py_None));
    checked(PyFunction_SetDefaults(function.get(), fn.defaults.empty() ? Py_None : defaults.get()));
    PyRef kwdefaults = checked(PyDict_New());
    for (int k = body.argcount; k < body.argcount + body.kwonlyargcount; ++k)
      if (PyObject* name = body.slot_names[static_cast<std::size_t>(k)].get(); has_default(name))
        checked(PyDict_SetItem(kwdefaults.get(), name, Py_None));
    checked(PyFunction_SetKwDefaults(function.get(), kwdefaults.get()));
    return function;
  }

  void keywords(const CallArgs& args, Ref<DictValue>& extra) {
    const int total = body.argcount + body.kwonlyargcount;
    for (auto& [key, v] : args.keywords) {
      int at = -1;
      for (int k = body.posonlyargcount; k < total && at < 0; ++k)
        if (PyUnicode_Compare(body.slot_names[static_cast<std::size_t>(k)].get(), key.get()) == 0) at = k;
      if (at < 0) {
        if (!extra) refuse(args);
        extra->put(t, t.constant(key), v);
      } else if (slots[static_cast<std::size_t>(at)]) {
        refuse(args);
      } else {
        slots[static_cast<std::size_t>(at)] = v;
      }
    }
  }

  // Defaults belong to the last parameters: their number says which.
  void expect_defaults() {
    if (!fn.parts || fn.defaults_stored) return;
    SourceRef all =
        t.recorder.sources.child(fn.parts, SourceKind::Field, checked(PyUnicode_FromString("__defaults__")).get());
    if (fn.defaults.empty()) return t.guard(GuardKind::NoneMatch, all);
    t.guard(GuardKind::LengthCheck, all, {}, static_cast<std::int64_t>(fn.defaults.size()));
  }

  ValueRef keyword_default(PyObject* name) {
    if (DictValue* seen = fn.keyword_dictionary(t)) return seen->find(t, t.constant(name));
    for (auto& [key, v] : fn.kwdefaults) {
      if (PyUnicode_Compare(key.get(), name) != 0) continue;
      if (fn.parts) t.expect_present(t.recorder.sources.child(fn.parts, SourceKind::FuncKwDefault, key.get()));
      return v;
    }
    return {};
  }

  void defaults(const CallArgs& args) {
    const int first_default = body.argcount - static_cast<int>(fn.defaults.size());
    for (int k = 0; k < body.argcount; ++k)
      if (!slots[static_cast<std::size_t>(k)]) {
        expect_defaults();
        break;
      }
    for (int k = 0; k < body.argcount; ++k) {
      ValueRef& s = slots[static_cast<std::size_t>(k)];
      if (!s && k >= first_default) s = fn.defaults[static_cast<std::size_t>(k - first_default)];
      if (!s) refuse(args);
    }
    for (int k = body.argcount; k < body.argcount + body.kwonlyargcount; ++k) {
      ValueRef& s = slots[static_cast<std::size_t>(k)];
      if (!s) s = keyword_default(body.slot_names[static_cast<std::size_t>(k)].get());
      if (!s) refuse(args);
    }
  }
};

}  // namespace

void bind_call(Tracer& t, FunctionValue& fn, const CodeBody& body, CallArgs args, std::vector<ValueRef>& slots) {
  Binder b{t, fn, body, slots};
  const auto positional = static_cast<std::size_t>(body.argcount);
  const auto after = positional + static_cast<std::size_t>(body.kwonlyargcount);
  const bool varargs = body.flags & CO_VARARGS;
  const std::size_t given = args.positional.size();
  if (given > positional && !varargs) b.refuse(args);
  for (std::size_t i = 0; i < std::min(given, positional); ++i) slots[i] = args.positional[i];
  if (varargs) {
    std::vector<ValueRef> rest;
    if (given > positional)
      rest.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(positional), args.positional.end());
    slots[after] = make_ref<TupleValue>(std::move(rest));
  }
  Ref<DictValue> extra;
  if (body.flags & CO_VARKEYWORDS) {
    extra = make_ref<DictValue>(&PyDict_Type);
    slots[after + (varargs ? 1 : 0)] = extra;
  }
  b.keywords(args, extra);
  b.defaults(args);
}

}  // namespace md
