// Iterators. One class for everything that steps: a sequence position, or a small closure for enumerate, zip, map, ...
#pragma once

#include <memory>

#include "frontend/trace/value.h"

namespace md {

struct SymbolicFrame;

// iter() of lists, tuples, ranges, strings, dict views: items fixed at creation, or read live from a list.
struct SequenceIterator final : Value {
  static constexpr ValueKind kKind = ValueKind::Iterator;
  SequenceIterator(std::vector<ValueRef> items, ValueRef base)
      : Value(kKind), items(std::move(items)), base(std::move(base)) {}
  std::string print() const override;
  PyTypeObject* python_type() const override;
  ValueRef iter(Tracer&) override { return ValueRef(this); }
  ValueRef next(Tracer& t) override;
  Reg rebuild(PlanBuilder& b) override;
  std::vector<ValueRef> items;
  ValueRef base;   // the iterable: a list is read live
  ValueRef owner;  // an object of the program's that holds it
  std::size_t index = 0;
  bool exhausted = false;
  // Of a dict or set when it was made: a change meanwhile is an error.
  std::int64_t size = -1;
  long shape = 0;

 private:
  bool keys_changed() const;
  void check_unchanged(Tracer& t);
};

// The trace has changed it: an iterator over it would be made before the changes are.
bool is_changed(const PlanBuilder& b, const ValueRef& container);

// enumerate, zip, map, filter, reversed, iter over generators: the real type, its inner iterators and what gives the
// next item.
struct FunctionIterator final : Value {
  static constexpr ValueKind kKind = ValueKind::FunctionIterator;
  using Next = ValueRef (*)(Tracer&, FunctionIterator&);  // null at the end
  // Arguments that make a real one in this state, and how many values to draw from it at once; false: nothing does.
  using Remake = bool (*)(Tracer&, FunctionIterator&, CallArgs& args, std::int64_t& draws);
  FunctionIterator(const char* printed, PyTypeObject* type, std::vector<ValueRef> inner, Next advance)
      : Value(kKind), printed(printed), type(type), inner(std::move(inner)), advance(advance) {}
  std::string print() const override { return printed; }
  PyTypeObject* python_type() const override { return type; }
  ValueRef iter(Tracer&) override { return ValueRef(this); }
  ValueRef next(Tracer& t) override { return advance(t, *this); }
  Reg rebuild(PlanBuilder& b) override;
  const char* printed;
  PyTypeObject* type;
  std::vector<ValueRef> inner;
  Next advance;
  Remake remake = nullptr;
  ValueRef function;       // map, filter
  std::int64_t count = 0;  // enumerate
  bool strict = false;     // zip
};

// A generator object: its frame, parked between yields.
struct GeneratorValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Generator;
  GeneratorValue(std::unique_ptr<SymbolicFrame> frame, std::string name);
  ~GeneratorValue() override;
  std::string print() const override { return "LocalGeneratorObjectVariable(" + name + ")"; }
  PyTypeObject* python_type() const override { return &PyGen_Type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef iter(Tracer&) override { return ValueRef(this); }
  ValueRef next(Tracer& t) override;
  Reg rebuild(PlanBuilder& b) override;
  // The next value yielded; null when the body returns, which gives `returned`.
  ValueRef send(Tracer& t, ValueRef sent, ValueRef& returned);
  // The same, with an exception raised where it is suspended.
  ValueRef throw_in(Tracer& t, ValueRef exception, ValueRef& returned);
  ValueRef close(Tracer& t);
  std::unique_ptr<SymbolicFrame> frame;  // null when finished
  // A cleanup of its own is to run where Python closes it: it is suspended inside try or with.
  bool has_cleanup() const;
  bool delegates() const;  // suspended in `yield from`
  std::string name;
  PyRef code;
  bool running = false;
  bool started = false;

 private:
  template <class Run>
  ValueRef guarded(Tracer& t, Run run);
  // What throw_in does first while another generator or iterator is delegated to. True: `yielded` is the answer.
  bool throw_into_delegate(Tracer& t, ValueRef& exception, ValueRef& yielded, ValueRef& finished);
};

}  // namespace md
