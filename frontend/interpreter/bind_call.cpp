// Python's argument binding for traced calls.
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

  std::string name() const { return text_of(fn.qualname.get()) + "()"; }
  std::string parameter(int k) const { return text_of(body.slot_names[static_cast<std::size_t>(k)].get()); }

  void too_many(std::size_t given) {
    const auto most = static_cast<std::size_t>(body.argcount);
    const std::size_t least = most - fn.defaults.size();
    std::string takes =
        fn.defaults.empty() ? std::to_string(most) : "from " + std::to_string(least) + " to " + std::to_string(most);
    t.raise(PyExc_TypeError, name() + " takes " + takes + " positional argument" +
                                 (most == 1 && fn.defaults.empty() ? "" : "s") + " but " + std::to_string(given) +
                                 (given == 1 ? " was" : " were") + " given");
  }

  void keywords(CallArgs& args, Ref<DictValue>& extra) {
    const int total = body.argcount + body.kwonlyargcount;
    for (auto& [key, v] : args.keywords) {
      int at = -1;
      for (int k = body.posonlyargcount; k < total && at < 0; ++k)
        if (PyUnicode_Compare(body.slot_names[static_cast<std::size_t>(k)].get(), key.get()) == 0) at = k;
      if (at < 0) {
        if (!extra)
          t.raise(PyExc_TypeError, name() + " got an unexpected keyword argument '" + text_of(key.get()) + "'");
        extra->put(t, t.constant(key), v);
      } else if (slots[static_cast<std::size_t>(at)]) {
        t.raise(PyExc_TypeError, name() + " got multiple values for argument '" + text_of(key.get()) + "'");
      } else {
        slots[static_cast<std::size_t>(at)] = v;
      }
    }
  }

  // Defaults belong to the last parameters: their number says which.
  void expect_defaults() {
    if (!fn.parts) return;
    SourceRef all =
        t.recorder.sources.child(fn.parts, SourceKind::Field, checked(PyUnicode_FromString("__defaults__")).get());
    if (fn.defaults.empty()) return t.guard(GuardKind::NoneMatch, all);
    t.guard(GuardKind::LengthCheck, all, {}, static_cast<std::int64_t>(fn.defaults.size()));
  }

  void defaults() {
    const int first_default = body.argcount - static_cast<int>(fn.defaults.size());
    for (int k = 0; k < body.argcount; ++k)
      if (!slots[static_cast<std::size_t>(k)]) {
        expect_defaults();
        break;
      }
    std::vector<std::string> missing;
    for (int k = 0; k < body.argcount; ++k) {
      ValueRef& s = slots[static_cast<std::size_t>(k)];
      if (!s && k >= first_default) s = fn.defaults[static_cast<std::size_t>(k - first_default)];
      if (!s) missing.push_back("'" + parameter(k) + "'");
    }
    if (!missing.empty()) report_missing(missing, "positional");
    for (int k = body.argcount; k < body.argcount + body.kwonlyargcount; ++k) {
      ValueRef& s = slots[static_cast<std::size_t>(k)];
      for (auto& [key, v] : fn.kwdefaults)
        if (!s && PyUnicode_Compare(key.get(), body.slot_names[static_cast<std::size_t>(k)].get()) == 0) {
          s = v;
          if (fn.parts) t.expect_present(t.recorder.sources.child(fn.parts, SourceKind::FuncKwDefault, key.get()));
        }
      if (s) continue;
      PyObject* name = body.slot_names[static_cast<std::size_t>(k)].get();
      if (fn.parts) t.guard(GuardKind::NotPresent, t.recorder.sources.child(fn.parts, SourceKind::FuncKwDefault, name));
      missing.push_back("'" + parameter(k) + "'");
    }
    if (!missing.empty()) report_missing(missing, "keyword-only");
  }

  void report_missing(const std::vector<std::string>& missing, const char* what) {
    std::string list;
    for (std::size_t i = 0; i < missing.size(); ++i)
      list += (i == 0 ? "" : i + 1 < missing.size() ? ", " : missing.size() == 2 ? " and " : ", and ") + missing[i];
    t.raise(PyExc_TypeError, name() + " missing " + std::to_string(missing.size()) + " required " + what + " argument" +
                                 (missing.size() == 1 ? "" : "s") + ": " + list);
  }
};

}  // namespace

void bind_call(Tracer& t, FunctionValue& fn, const CodeBody& body, CallArgs args, std::vector<ValueRef>& slots) {
  Binder b{t, fn, body, slots};
  const auto positional = static_cast<std::size_t>(body.argcount);
  const auto after = positional + static_cast<std::size_t>(body.kwonlyargcount);
  const bool varargs = body.flags & CO_VARARGS;
  const std::size_t given = args.positional.size();
  if (given > positional && !varargs) b.too_many(given);
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
  b.defaults();
}

}  // namespace md
