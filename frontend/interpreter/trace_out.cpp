// Traces `out=` as the op followed by a copy into the tensors given.
#include "frontend/interpreter/trace_out.h"

#include "frontend/tensors/out_argument.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/containers.h"
#include "frontend/values/tensor.h"

namespace md {

namespace {

// What needs more than a copy (other sizes, a dtype that does not fit, no tensor) is left to the function itself.
void check_storable(const TensorValue* result, const TensorValue* out, const std::string& name) {
  const auto refuse = [&](const char* why) { unmodelled(name + "(..., out=...)", why); };
  if (!result || !out) refuse("an out that is no tensor");
  if (!fits_out(result->type.dtype, out->type.dtype)) refuse("an out of a dtype the result cannot be cast to");
  if (result->type.requires_grad || out->type.requires_grad) refuse("an out or a result that requires grad");
  bool same = result->type.dim() == out->type.dim();
  for (int d = 0; same && d < out->type.dim(); ++d) {
    same = guard_eq(result->type.sizes[static_cast<std::size_t>(d)], out->type.sizes[static_cast<std::size_t>(d)]);
  }
  if (!same) refuse("an out of other sizes than the result");
}

void store(Tracer& t, const ValueRef& result, const ValueRef& out, const std::string& name) {
  check_storable(as<TensorValue>(result), as<TensorValue>(out), name);
  t.call_op("copy_", Spelling::Method, CallArgs{{out, result}, {}}, "");
}

// Functions that make tensors from nothing make them where `out` is.
void make_where(Tracer& t, const ValueRef& out, const std::string& name, CallArgs& args) {
  const auto* tensor = as<TensorValue>(out);
  const auto forms = overloads(name);
  const bool makes = std::ranges::all_of(forms, [](OpId id) { return op(id).placed_by_default; });
  if (!tensor || !makes || tensor->type.device == default_device()) return;
  for (const auto& [key, value] : args.keywords)
    if (PyUnicode_CompareWithASCIIString(key.get(), "device") == 0) return;
  args.keywords.emplace_back(checked(PyUnicode_InternFromString("device")),
                             t.constant(device_object(tensor->type.device)));
}

}  // namespace

ValueRef trace_call_into(Tracer& t, const std::string& name, CallArgs args, const std::string& target) {
  const ValueRef out = t.realize(args.take_keyword("out"));
  make_where(t, out, name, args);
  ValueRef result = t.call_op(name, Spelling::Function, args, target);
  if (out->kind == ValueKind::Constant && out->real.get() == Py_None) return result;
  auto* several = as<TupleValue>(result);
  if (!several) {
    store(t, result, out, name);
    return out;
  }
  std::vector<ValueRef> outs;
  if (auto* tuple = as<TupleValue>(out)) outs = tuple->items;
  if (auto* list = as<ListValue>(out)) outs = list->items;
  if (outs.size() != several->items.size()) unmodelled(name + "(..., out=...)", "an out of another length");
  for (std::size_t i = 0; i < outs.size(); ++i) {
    outs[i] = t.realize(outs[i]);
    store(t, several->items[i], outs[i], name);
  }
  auto made = make_ref<TupleValue>(std::move(outs), several->type);
  made->fields = several->fields;
  return made;
}

}  // namespace md
