// cond: two regions that have to give the same.
#include "frontend/marked_callables/cond.h"

#include <fmt/format.h>

#include "frontend/cpython/object_text.h"
#include "frontend/marked_callables/regions.h"
#include "frontend/marked_callables/shaped_values.h"
#include "frontend/plan/result_shape.h"
#include "frontend/values/containers.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/infer/infer.h"
#include "ir/infer/unbacked.h"

namespace md {

namespace {

[[noreturn]] void results_differ(const std::string& what, const std::string& a, const std::string& b) {
  throw FailedCall(OpError(ErrorKind::Runtime,
                           fmt::format("cond(): the branches have to give tensors of the same {}, but one gives {} "
                                       "and the other {}",
                                       what, a, b)),
                   "call_function torch.ops.higher_order.cond");
}

// Only ints and tensors may differ between calls; what else stands in the shape is None, a bool or text.
void check_shape(Tracer& t, PyObject* shape) {
  if (shape == shape_hole()) return;
  if (!for_each_part(shape, [&](PyObject* part) { check_shape(t, part); }))
    expect(t, false, "cond", "the branches have to give tensors and ints, but one gives " + repr_of(shape));
}

bool same_size(Size a, Size b) {
  if (a == b) return true;
  return !is_unbacked(a) && !is_unbacked(b) && guard_eq(a, b);
}

// Both branches have to give the same dtypes and as many dimensions. Where sizes differ, the run finds them out; where
// these or strides do, both are made contiguous.
TensorType merged_type(Tracer& t, Node& n, Region& a, Region& b, Node*& x, Node*& y) {
  if (x->type().dim() != y->type().dim())
    results_differ("dim", std::to_string(x->type().dim()), std::to_string(y->type().dim()));
  if (x->type().dtype != y->type().dtype)
    results_differ("dtype", std::string(info(x->type().dtype).name), std::string(info(y->type().dtype).name));
  if (!(x->type().device == y->type().device))
    results_differ("device", to_string(x->type().device), to_string(y->type().device));
  SizeVec sizes = x->type().sizes;
  bool same_sizes = true, same_strides = true;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!same_size(sizes[d], y->type().sizes[d])) {
      sizes[d] = unknown_size(t, n, {0, SizeRange::kMax});
      same_sizes = false;
    }
    same_strides &= same_sizes && same_size(x->type().strides[d], y->type().strides[d]);
  }
  if (!same_strides) x = made_contiguous(a, x), y = made_contiguous(b, y);
  TensorType type = x->type();
  if (!same_sizes) type.sizes = sizes, type.strides = row_major_strides(sizes);
  type.offset = 0;
  type.storage = t.graphs.next_storage++;
  type.requires_grad |= y->type().requires_grad;
  type.history = type.requires_grad ? GradHistory::Computed : GradHistory::Leaf;
  return type;
}

bool same_number(const Leaf& a, const Leaf& b) { return !a.node && !b.node && a.number == b.number; }

ValueRef emit_cond(Tracer& t, Node* predicate, Region yes, Region no) {
  const std::string one = shape_text(yes.shape.get()), other = shape_text(no.shape.get());
  if (yes.results.size() != no.results.size()) results_differ("structure", one, other);
  // Of dicts the order counts, which the texts show.
  expect(t, same_shape(yes.shape.get(), no.shape.get()) && one == other, "cond",
         "the branches have to give the same structure, but one gives " + one + " and the other " + other);
  // Numbers on which the branches agree are no results of the node; the others are read from tensors behind it.
  const std::vector<Leaf> first = yes.results, second = no.results;
  std::erase_if(yes.results,
                [&, k = std::size_t{0}](const Leaf&) mutable { return ++k, same_number(first[k - 1], second[k - 1]); });
  std::erase_if(no.results,
                [&, k = std::size_t{0}](const Leaf&) mutable { return ++k, same_number(first[k - 1], second[k - 1]); });
  std::vector<Node*> results[] = {result_nodes(yes), result_nodes(no)};
  Node n{NodeKind::Call};
  n.target = "ops.higher_order.cond";
  n.name = "cond";
  for (std::size_t k = 0; k < results[0].size(); ++k)
    n.types.push_back(merged_type(t, n, yes, no, results[0][k], results[1][k]));
  Region* const regions[] = {&yes, &no};
  const std::string names[] = {region_name(t, "cond_true"), region_name(t, "cond_false")};
  const std::vector<Node*> captured = close_regions(regions, results, names);
  n.args = {Arg(predicate), tensor_list(captured, true)};
  const std::vector<ValueRef> made = append_regions(t, std::move(n), regions);
  std::size_t leaf = 0, next = 0;
  return shaped_value(t, yes.shape.get(), [&]() -> ValueRef {
    const std::size_t k = leaf++;
    if (same_number(first[k], second[k])) return size_value(t, first[k].number);
    const ValueRef& item = made.at(next++);
    return first[k].node && second[k].node ? item : item_of(t, *as<TensorValue>(item));
  });
}

}  // namespace

ValueRef trace_cond(Tracer& t, const ValueRef& predicate, const ValueRef& true_fn, const ValueRef& false_fn,
                    const ValueRef& operands) {
  const auto check = [&](bool holds, const std::string& text) { expect(t, holds, "cond", text); };
  check(can_call(true_fn), "true_fn should be a function, but it is " + true_fn->print());
  check(can_call(false_fn), "false_fn should be a function, but it is " + false_fn->print());
  check(operands->kind == ValueKind::List || operands->kind == ValueKind::Tuple,
        "operands should be a list or tuple, but they are " + operands->print());
  const std::vector<ValueRef> given = collect(t, operands);
  auto* x = as<TensorValue>(predicate);
  const bool is_test = predicate->kind == ValueKind::SizeTest || predicate->kind == ValueKind::Number;
  if (!x && !is_test) {
    check(predicate->kind == ValueKind::Constant || predicate->kind == ValueKind::Size,
          "pred should be a bool or a tensor of one element, but it is " + predicate->print());
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "cond() was given a constant as its predicate: only the branch it picks is part of the program",
                     1) < 0)
      throw PythonError{};
    return t.call(predicate->truth(t) ? true_fn : false_fn, CallArgs{given, {}});
  }
  ValueRef test = x ? predicate : test_as_tensor(t, predicate);
  Node* node = as<TensorValue>(test)->node;
  const RegionArgs arguments = [&](const std::vector<ValueRef>&) { return CallArgs{given, {}}; };
  Region yes = trace_region(t, "cond", true_fn, {}, given, arguments);
  Region no = trace_region(t, "cond", false_fn, {}, given, arguments);
  check_shape(t, yes.shape.get());
  check_shape(t, no.shape.get());
  return emit_cond(t, node, std::move(yes), std::move(no));
}

}  // namespace md
