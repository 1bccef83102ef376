// Makes symbols and numbers of the plan of elements that can be read before the graph runs.
#include "frontend/values/input_elements.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "frontend/tensors/tensor_element.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/number_value.h"
#include "frontend/values/size_value.h"

namespace md {
namespace {

thread_local bool leaves_unknown = false;

bool may_write(const Node& n, int storage) {
  if (n.kind == NodeKind::Call) return true;
  if (!is_inplace(n) || n.args.empty()) return false;
  Node* const* const written = n.args[0].get_if<Node*>();
  return !written || (*written)->types.empty() || (*written)->type().storage == storage;
}

bool may_be_written(const Graph& g, int storage) {
  return std::ranges::any_of(g.nodes, [&](const auto& n) { return may_write(*n, storage); });
}

bool is_untouched_input(const Tracer& t, const TensorValue& x) {
  if (!x.source || !x.real || !is_tensor(x.real.get()) || Py_TYPE(x.real.get()) != tensor_type) return false;
  if (x.node->kind != NodeKind::Placeholder || x.source->kind == SourceKind::ArrayTensor) return false;
  if (x.stand_in || x.of_instance || t.graphs.on_fakes) return false;
  if (may_be_written(*t.graphs.current, x.type.storage)) return false;
  return std::ranges::none_of(t.graphs.outer, [&](auto& g) { return may_be_written(*g, x.type.storage); });
}

ValueRef int_in(Tracer& t, const TensorValue& x) {
  std::int64_t now;
  if (!read_element(x.real.get(), DType::Int64, &now)) return {};
  const SizePlace place{x.source, SizePlace::Field::Element, 0};
  for (std::size_t i = 0; i < t.sizes.places.size(); ++i)
    if (t.sizes.places[i].source == place.source && t.sizes.places[i].field == place.field)
      return size_value(t, t.shapes().symbol(static_cast<int>(i)));
  const Size s = t.shapes().integer(now, to_string(place));
  t.sizes.places.push_back(place);
  t.sizes.inputs.push_back({place, s, t.user_frame()});
  return size_value(t, s);
}

ValueRef float_in(Tracer& t, const TensorValue& x) {
  double now;
  if (t.config.specialize_float || !read_element(x.real.get(), DType::Float64, &now) || !std::isfinite(now)) return {};
  t.sizes.has_numbers = true;
  auto made = make_ref<NumberValue>(t, x.source, checked(PyFloat_FromDouble(now)));
  made->of_element = true;
  made->real = made->hint;
  return made;
}

}  // namespace

PyObject* py_leave_elements_unknown(PyObject*, PyObject* on) {
  const bool before = std::exchange(leaves_unknown, on == Py_True);
  return PyBool_FromLong(before);
}

ValueRef element_of_input(Tracer& t, TensorValue& x) {
  if (leaves_unknown || !t.config.dynamic_shapes || x.type.dim() != 0 || !is_untouched_input(t, x)) return {};
  if (x.type.dtype == DType::Int64) return int_in(t, x);
  return x.type.dtype == DType::Float64 ? float_in(t, x) : ValueRef();
}

}  // namespace md
