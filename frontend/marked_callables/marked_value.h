// A marked callable (marks.h) as the tracer sees it.
#pragma once

#include "frontend/trace/value.h"
#include "frontend/values/marks.h"

namespace md {

struct MarkedValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Marked;
  MarkedValue(MarkKind which, PyRef object, PyRef payload) : Value(kKind), which(which), payload(std::move(payload)) {
    real = std::move(object);
  }
  std::string print() const override;
  PyTypeObject* python_type() const override;
  PyRef as_constant() const override { return real; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call(Tracer& t, CallArgs args) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  bool truth(Tracer&) override { return true; }
  Reg rebuild(PlanBuilder& b) override;

  MarkKind which;
  PyRef payload;
  std::vector<ValueRef> parts;  // Text: what the format string in `payload` is filled with
  bool waits = false;           // Text: it may be written after the graph
  std::vector<PyRef> fields;    // Text: the keywords of str.format() whose values only a run knows

 private:
  ValueRef call_own(Tracer& t, CallArgs args);
  ValueRef call_operator(Tracer& t, CallArgs args);
  ValueRef call_opaque(Tracer& t, CallArgs args);
  ValueRef call_constant(Tracer& t, CallArgs args);
  ValueRef call_later(Tracer& t, CallArgs args);
  ValueRef call_region(Tracer& t, CallArgs args);
  ValueRef call_with_policy(Tracer& t, CallArgs args);
};

// Null: the object is not marked and named by no setting, or it is an object for whose calls Tracer::marked_callable()
// is asked.
ValueRef wrap_marked(Tracer& t, PyObject* o, SourceRef source);

}  // namespace md
