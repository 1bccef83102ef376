// itertools: every step runs when the program asks for it, as in Python.
#include "frontend/builtins/families.h"
#include "frontend/cpython/import_module.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/item_numbers.h"
#include "frontend/values/iterators.h"

namespace md {

namespace {

constexpr int kAdd = 0;                        // CPython's NB_ADD
constexpr std::size_t kMaxCycle = 100 * 1024;  // values a cycle may have to remember

PyTypeObject* itertools_type(const char* name) {
  PyRef module = checked(import_module("itertools"));
  PyRef type = checked(PyObject_GetAttrString(module.get(), name));
  return reinterpret_cast<PyTypeObject*>(type.get());  // the module keeps it
}

std::string printed(const char* name) { return std::string("ItertoolsVariable(<class 'itertools.") + name + "'>)"; }

ValueRef iterator_over(Tracer& t, const ValueRef& v) { return t.realize(t.realize(v)->iter(t)); }

// --- accumulate: inner = source, running total once there is one ----------------------------------------------------

ValueRef next_of_accumulate(Tracer& t, FunctionIterator& self) {
  if (self.inner.size() == 3) {  // the initial value comes first
    self.inner.pop_back();
    return self.inner[1];
  }
  ValueRef v = self.inner[0]->next(t);
  if (!v) return {};
  if (self.inner.size() == 1) {
    self.inner.push_back(v);
    return v;
  }
  const auto refused = [&] { return "[" + self.inner[1]->print() + ", " + v->print() + "]"; };
  try {
    return self.inner[1] = self.function ? t.call(self.function, CallArgs{{self.inner[1], v}, {}})
                                         : t.binary_op(self.inner[1], v, kAdd);
  } catch (const GraphBreak&) {
    graph_break<GB0114>(printed("accumulate"), refused(), "{}");
  } catch (const TracedRaise&) {
    if (t.config.trace_more) throw;
    listed_break<GB0114>(printed("accumulate"), refused(), "{}");
  }
}

// The total so far comes first again, and is drawn at once.
bool remake_accumulate(Tracer& t, FunctionIterator& self, CallArgs& args, std::int64_t& draws) {
  args.positional = {self.inner[0], self.function ? self.function : t.none()};
  if (self.inner.size() == 1) return true;
  args.keywords.emplace_back(checked(PyUnicode_InternFromString("initial")), self.inner[1]);
  draws = self.inner.size() == 2;
  return !is_true_constant(t.realize(self.inner[1]), Py_None);  // None would mean that there is no initial value
}

ValueRef rule_accumulate(Tracer& t, CallArgs& args) {
  const std::string self = printed("accumulate"), positional = print_list(args.positional),
                    named = print_keywords(args);
  ValueRef function = args.take_keyword("func"), initial = args.take_keyword("initial");
  if (!args.keywords.empty()) graph_break<GB0154>(self, positional, named);
  if (args.positional.empty() || args.positional.size() > 2) graph_break<GB0133>(self, positional, named);
  if (args.positional.size() == 2 && function) graph_break<GB0132>(self, positional, named);
  if (args.positional.size() == 2) function = args[1];
  if (PyTypeObject* type = args[0]->python_type();
      type && !type->tp_iter && !t.config.trace_more && !(type->tp_as_sequence && type->tp_as_sequence->sq_item))
    listed_break<GB0133>(self, positional, named);
  auto it = make_ref<FunctionIterator>("AccumulateIteratorVariable()", itertools_type("accumulate"),
                                       std::vector<ValueRef>{iterator_over(t, args[0])}, next_of_accumulate);
  it->remake = remake_accumulate;
  if (function && !is_true_constant(t.realize(function), Py_None)) it->function = t.realize(function);
  if (initial && !is_true_constant(t.realize(initial), Py_None)) it->inner.insert(it->inner.end(), 2, initial);
  return it;
}

// --- groupby
// ----------------------------------------------------------------------------------------------------------

// inner of the iterator: source, key of the group handed out last, key and value read last; null where there is none.
// Its count numbers the groups: only the newest one still gives values.
enum GroupPart : std::size_t { kSource, kGroupKey, kKey, kValue };

bool read_next(Tracer& t, FunctionIterator& groups) {
  ValueRef v = groups.inner[kSource]->next(t);
  if (!v) return false;
  ValueRef key = v;
  if (groups.function) {
    try {
      key = t.realize(t.call(groups.function, CallArgs{{v}, {}}));
    } catch (const GraphBreak&) {
      graph_break<GB0115>(printed("groupby"), "[" + v->print() + "]", "{}");
    } catch (const TracedRaise&) {
      if (t.config.trace_more) throw;
      listed_break<GB0115>(printed("groupby"), "[" + v->print() + "]", "{}");
    }
  }
  if (is_item_number(key)) graph_break<GB0115>(printed("groupby"), "[" + v->print() + "]", "{}");
  if (!t.realize(key)->as_constant())
    graph_break<GB0152>(printed("groupby"), "[" + v->print() + "]", "{}", key->print());
  groups.inner[kKey] = t.realize(key);
  groups.inner[kValue] = v;
  return true;
}

// inner of a group: the iterator it belongs to, its key.
ValueRef next_of_group(Tracer& t, FunctionIterator& group) {
  auto& groups = *as<FunctionIterator>(group.inner[0]);
  if (groups.count != group.count) return {};
  if (!groups.inner[kValue] && !read_next(t, groups)) return {};
  if (!values_equal(t, group.inner[1], groups.inner[kKey])) return {};
  return std::move(groups.inner[kValue]);
}

ValueRef next_of_groupby(Tracer& t, FunctionIterator& self) {
  ++self.count;
  while (!self.inner[kKey] || (self.inner[kGroupKey] && values_equal(t, self.inner[kGroupKey], self.inner[kKey])))
    if (!read_next(t, self)) return {};
  self.inner[kGroupKey] = self.inner[kKey];
  auto group = make_ref<FunctionIterator>("GroupIteratorVariable()", itertools_type("_grouper"),
                                          std::vector<ValueRef>{ValueRef(&self), self.inner[kKey]}, next_of_group);
  group->count = self.count;
  return make_ref<TupleValue>(std::vector<ValueRef>{self.inner[kKey], group});
}

ValueRef rule_groupby(Tracer& t, CallArgs& args) {
  const std::string self = printed("groupby"), positional = print_list(args.positional), named = print_keywords(args);
  ValueRef key = args.take_keyword("key");
  if (!args.keywords.empty()) graph_break<GB0155>(self, positional, named);
  if (args.positional.size() != 1) graph_break<GB0134>(self, positional, named);
  auto it = make_ref<FunctionIterator>("GroupByIteratorVariable()", itertools_type("groupby"),
                                       std::vector<ValueRef>{iterator_over(t, args[0]), {}, {}, {}}, next_of_groupby);
  if (key && !is_true_constant(t.realize(key), Py_None)) it->function = t.realize(key);
  return it;
}

// --- cycle, chain, repeat, count, islice
// --------------------------------------------------------------------------------

ValueRef rule_chain(Tracer& t, CallArgs& args);

// inner = source, then what it gave; count: the next one to repeat, once the source has ended.
ValueRef next_of_cycle(Tracer& t, FunctionIterator& self) {
  if (self.count == 0) {
    if (ValueRef v = self.inner[0]->next(t)) {
      if (self.inner.size() > kMaxCycle) graph_break<GB0192>(self.print(), std::to_string(kMaxCycle));
      self.inner.push_back(v);
      return v;
    }
    if (self.inner.size() == 1) return {};
  }
  const auto at = static_cast<std::size_t>(self.count) % (self.inner.size() - 1);
  self.count = static_cast<std::int64_t>(at) + 1;
  return self.inner[at + 1];
}

// What it has kept comes before what is left of the source, and is drawn at once.
bool remake_cycle(Tracer& t, FunctionIterator& self, CallArgs& args, std::int64_t& draws) {
  CallArgs parts{{make_ref<ListValue>(std::vector<ValueRef>(self.inner.begin() + 1, self.inner.end()))}, {}};
  const auto kept = static_cast<std::int64_t>(self.inner.size()) - 1;
  if (self.count == 0) parts.positional.push_back(self.inner[0]);
  args.positional = {rule_chain(t, parts)};
  draws = kept + self.count;
  return true;
}

ValueRef rule_cycle(Tracer& t, CallArgs& args) {
  expect_args(t, "cycle", args, 1, 1);
  auto it = make_ref<FunctionIterator>("CycleIteratorVariable()", itertools_type("cycle"),
                                       std::vector<ValueRef>{iterator_over(t, args[0])}, next_of_cycle);
  it->remake = remake_cycle;
  return it;
}

// inner = the iterables; the one at count has been made an iterator once `strict` says so.
ValueRef next_of_chain(Tracer& t, FunctionIterator& self) {
  for (; static_cast<std::size_t>(self.count) < self.inner.size(); ++self.count, self.strict = false) {
    ValueRef& current = self.inner[static_cast<std::size_t>(self.count)];
    if (!std::exchange(self.strict, true)) current = iterator_over(t, current);
    if (ValueRef v = current->next(t)) return v;
  }
  return {};
}

bool remake_chain(Tracer&, FunctionIterator& self, CallArgs& args, std::int64_t&) {
  args.positional.assign(self.inner.begin() + self.count, self.inner.end());
  return true;
}

ValueRef rule_chain(Tracer& t, CallArgs& args) {
  if (!args.keywords.empty()) t.raise(PyExc_TypeError, "chain() takes no keyword arguments");
  auto it =
      make_ref<FunctionIterator>("ChainIteratorVariable()", itertools_type("chain"), args.positional, next_of_chain);
  it->remake = remake_chain;
  return it;
}

// inner = the value; count: how often still, -1 for ever.
ValueRef next_of_repeat(Tracer&, FunctionIterator& self) {
  if (self.count == 0) return {};
  if (self.count > 0) --self.count;
  return self.inner[0];
}

bool remake_repeat(Tracer& t, FunctionIterator& self, CallArgs& args, std::int64_t&) {
  args.positional = self.inner;
  if (self.count >= 0) args.positional.push_back(t.integer(self.count));
  return true;
}

ValueRef rule_repeat(Tracer& t, CallArgs& args) {
  ValueRef times = args.take_keyword("times"), value = args.take_keyword("object");
  if (value) args.positional.insert(args.positional.begin(), value);
  if (times) args.positional.push_back(times);
  expect_args(t, "repeat", args, 1, 2);
  std::int64_t n = -1;
  if (args.size() == 2 && !constant_int(t.realize(args[1]), n)) return {};
  auto it = make_ref<FunctionIterator>("RepeatIteratorVariable()", itertools_type("repeat"),
                                       std::vector<ValueRef>{args[0]}, next_of_repeat);
  it->count = args.size() == 2 ? std::max<std::int64_t>(n, 0) : -1;
  it->remake = remake_repeat;
  return it;
}

// inner = next value, step.
ValueRef next_of_count(Tracer& t, FunctionIterator& self) {
  ValueRef now = self.inner[0];
  self.inner[0] = t.binary_op(now, self.inner[1], kAdd);
  return now;
}

bool remake_count(Tracer&, FunctionIterator& self, CallArgs& args, std::int64_t&) {
  args.positional = self.inner;
  return true;
}

ValueRef rule_count(Tracer& t, CallArgs& args) {
  ValueRef start = args.take_keyword("start"), step = args.take_keyword("step");
  if (start) args.positional.insert(args.positional.begin(), start);
  if (step && args.positional.empty()) args.positional.push_back(t.integer(0));
  if (step) args.positional.push_back(step);
  expect_args(t, "count", args, 0, 2);
  std::vector<ValueRef> inner = args.positional;
  while (inner.size() < 2) inner.push_back(t.integer(inner.empty() ? 0 : 1));
  for (auto& v : inner)
    if (v = t.realize(v); v->kind != ValueKind::Constant || !PyNumber_Check(v->real.get())) return {};
  auto it =
      make_ref<FunctionIterator>("CountIteratorVariable()", itertools_type("count"), std::move(inner), next_of_count);
  it->remake = remake_count;
  return it;
}

// inner = source, next position wanted, stop (None: no end), step; count: positions read; strict: it has ended.
ValueRef next_of_islice(Tracer& t, FunctionIterator& self) {
  if (self.strict) return {};
  std::int64_t wanted = 0, stop = -1, step = 1;
  constant_int(self.inner[1], wanted), constant_int(self.inner[3], step);
  const bool ends = constant_int(self.inner[2], stop);
  ValueRef v;
  do {
    const bool take = self.count >= wanted;
    v = take && ends && self.count >= stop ? ValueRef() : self.inner[0]->next(t);
    self.strict = !v;
    if (take || !v) break;
  } while (++self.count);
  if (!v) return {};
  ++self.count;
  // CPython's number overflows to the stop as well, which without a stop is -1: the very next value comes.
  const bool beyond = step > std::numeric_limits<std::int64_t>::max() - std::max<std::int64_t>(wanted, 0);
  self.inner[1] = t.integer(beyond || (ends && wanted + step > stop) ? (ends ? stop : -1) : wanted + step);
  return v;
}

// Positions count from the one that the source is at.
bool remake_islice(Tracer& t, FunctionIterator& self, CallArgs& args, std::int64_t&) {
  std::int64_t wanted = 0, stop = 0;
  constant_int(self.inner[1], wanted);
  const bool ends = constant_int(self.inner[2], stop);
  if (self.strict) {
    args.positional = {make_ref<TupleValue>(std::vector<ValueRef>()), t.integer(0)};
  } else {
    args.positional = {self.inner[0], t.integer(std::max<std::int64_t>(wanted - self.count, 0)),
                       ends ? t.integer(std::max<std::int64_t>(stop - self.count, 0)) : t.none(), self.inner[3]};
  }
  return true;
}

ValueRef rule_islice(Tracer& t, CallArgs& args) {
  if (!args.keywords.empty()) t.raise(PyExc_TypeError, "islice() takes no keyword arguments");
  expect_args(t, "islice", args, 2, 4);
  std::vector<ValueRef> bounds(args.positional.begin() + 1, args.positional.end());
  if (bounds.size() == 1) bounds.insert(bounds.begin(), t.integer(0));
  if (bounds.size() == 2) bounds.push_back(t.integer(1));
  std::int64_t n;
  for (std::size_t k = 0; k < 3; ++k) {
    bounds[k] = t.realize(bounds[k]);
    const bool none = is_true_constant(bounds[k], Py_None);
    if (none && k != 1) bounds[k] = t.integer(k == 0 ? 0 : 1);
    if (none) continue;
    if (!constant_int(bounds[k], n)) return {};
    if (n < (k == 2 ? 1 : 0))
      t.raise(PyExc_ValueError, k == 2 ? "Step for islice() must be a positive integer or None."
                                : args.size() == 2
                                    ? "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize."
                                    : "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.");
  }
  std::vector<ValueRef> inner{iterator_over(t, args[0])};
  inner.insert(inner.end(), bounds.begin(), bounds.end());
  auto it = make_ref<FunctionIterator>("IsliceIteratorVariable()", itertools_type("islice"), std::move(inner),
                                       next_of_islice);
  it->remake = remake_islice;
  return it;
}

constexpr BuiltinRow kItertoolsRules[] = {
    {"itertools", "accumulate", rule_accumulate}, {"itertools", "groupby", rule_groupby},
    {"itertools", "cycle", rule_cycle},           {"itertools", "chain", rule_chain},
    {"itertools", "repeat", rule_repeat},         {"itertools", "count", rule_count},
    {"itertools", "islice", rule_islice}};

}  // namespace

std::span<const BuiltinRow> itertools_rules() { return kItertoolsRules; }

}  // namespace md
