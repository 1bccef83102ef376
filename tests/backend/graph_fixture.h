// Building functional graphs, random operands, and comparing the compiled kernel with the reference to the bit.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "backend/executable/install.h"
#include "ir/compile/backend.h"
#include "ir/core/error.h"
#include "ir/reference/engine.h"
#include "ir/run/evaluate_graph.h"
#include "tests/ir/elements.h"

namespace md::testing {

enum class Layout { Contiguous, Transposed, Strided };

inline double interesting(std::mt19937& random, DType t) {
  static constexpr double kFloats[] = {0.0,   -0.0,     1,         -1,  0.5,   2,    -3.75, 1e-40, 1e30,
                                       -1e30, INFINITY, -INFINITY, NAN, 100.5, 1e10, 6e-8,  65504, 65520};
  static constexpr double kInts[] = {0, 1, -1, 2, 7, -2147483648.0, 2147483647.0, 127, -128, 255, 32767, -32768};
  const auto pick = random() % 4;
  if (t == DType::Bool) return random() % 2;
  if (!is_floating(t))
    return pick == 0 ? kInts[random() % std::size(kInts)] : static_cast<double>(static_cast<int>(random() % 41)) - 20;
  return pick == 0 ? kFloats[random() % std::size(kFloats)] : std::uniform_real_distribution<double>(-4, 4)(random);
}

// `tame`: ordinary values only, no zeros among integers.
inline TensorRef random_tensor(std::mt19937& random, DimVec sizes, DType t, Layout layout, bool tame = false) {
  DimVec strides = contiguous_strides(sizes);
  std::int64_t span = 1;
  for (auto s : sizes) span *= s;
  if (layout == Layout::Transposed && sizes.size() >= 2) {
    DimVec swapped = sizes;
    std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
    strides = contiguous_strides(swapped);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  } else if (layout == Layout::Strided) {
    for (auto& s : strides) s *= 2;
    span *= 2;
  }
  TensorRef flat = empty_tensor({span + 1}, t);
  for (std::int64_t i = 0; i < span; ++i)
    put_element(t, const_cast<char*>(element_at(*flat, i + 1)),
                tame ? 1 + static_cast<double>(random() % 1000) / 128 : interesting(random, t));
  return TensorRef(new TensorImpl(flat->storage, t, sizes, strides, 1));
}

inline TensorRef copy_of(const TensorRef& x) {
  Ref<Storage> storage = allocate_storage(x->storage->bytes());
  std::memcpy(storage->data(), x->storage->data(), x->storage->bytes());
  return TensorRef(new TensorImpl(storage, x->dtype, x->sizes, x->strides, x->offset));
}

inline std::int64_t offset_of(const TensorImpl& x, std::int64_t linear) {
  std::int64_t at = 0;
  for (std::size_t d = x.sizes.size(); d-- > 0;) {
    at += linear % x.sizes[d] * x.strides[d];
    linear /= x.sizes[d];
  }
  return at;
}

// Empty if equal: same dtype, sizes, strides of dimensions that have any, and bits; any NaN equals any NaN.
inline std::string difference(const TensorImpl& a, const TensorImpl& b) {
  if (a.dtype != b.dtype) return "dtype";
  if (!(a.sizes == b.sizes)) return "sizes";
  for (std::size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] > 1 && a.numel() > 0 && a.strides[d] != b.strides[d]) return "strides";
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const std::int64_t x = offset_of(a, i), y = offset_of(b, i);
    const char *left = element_at(a, x), *right = element_at(b, y);
    if (element_bits(a.dtype, left) == element_bits(b.dtype, right)) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(get_element(a.dtype, left)) + " against " +
           std::to_string(get_element(b.dtype, right));
  }
  return {};
}

class GraphFixture {
 public:
  GraphFixture() { graph.functional = true; }

  Node* input(const TensorRef& x) {
    TensorType t;
    t.dtype = x->dtype;
    for (auto s : x->sizes) t.sizes.push_back(s);
    for (auto s : x->strides) t.strides.push_back(s);
    t.offset = x->offset;
    t.storage = static_cast<int>(inputs.size());
    inputs.push_back(x);
    Node n{.kind = NodeKind::Placeholder, .target = "x"};
    n.name = "x" + std::to_string(inputs.size());
    n.types = {t};
    return graph.append(std::move(n));
  }
  // Throws OpError if the call is refused.
  Node* call(const Op& o, std::vector<Arg> bound) {
    Node n{.kind = NodeKind::Op, .op = o.id, .target = std::string(o.public_name)};
    n.types = infer(o, bound);
    n.multi = o.schema.results != 1;
    n.args = std::move(bound);
    n.name = o.public_name;
    return graph.append(std::move(n));
  }
  Node* call(std::string_view name, std::vector<Arg> args) {
    BoundCall b = bind(name, args, {});
    return call(op(b.op), std::move(b.args));
  }
  void finish(std::vector<Node*> results) {
    ListArg l{{}, true};
    for (Node* r : results) l.items.emplace_back(r);
    Node n{.kind = NodeKind::Output};
    n.args = {l};
    n.name = "output";
    graph.append(std::move(n));
  }

  // Runs the graph compiled and by the reference engine, each on its own copy of the inputs; compares results, inputs
  // and whether they fail.
  void check(const std::string& what) {
    install_llvm_backend();
    const auto kernel = find_backend("llvm")->compile(clone(graph));
    const Node* out = graph.output();
    const std::size_t results = out->args[0].get<ListArg>().items.size();
    std::vector<TensorRef> ours, theirs, got(results), expected;
    std::vector<TensorImpl*> pointers;
    for (const TensorRef& x : inputs)
      ours.push_back(copy_of(x)), theirs.push_back(copy_of(x)), pointers.push_back(ours.back().get());
    bool fails = false, failed = false;
    try {
      expected = evaluate(graph, theirs, reference_engine());
    } catch (const OpError&) {
      fails = true;
    }
    try {
      kernel->run(pointers, got);
    } catch (const OpError&) {
      failed = true;
    }
    ASSERT_EQ(failed, fails) << what;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_EQ(difference(*ours[i], *theirs[i]), "") << what << ": input " << i;
    if (fails) return;
    for (std::size_t i = 0; i < results; ++i)
      EXPECT_EQ(difference(*got[i], *expected[i]), "") << what << ": result " << i << "\n" << print_ir(graph);
  }

  Graph graph;
  std::vector<TensorRef> inputs;
};

}  // namespace md::testing
