// Random tensors of every layout, and the comparison of block engines with the reference, bit by bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "backend/blocks/engine.h"
#include "ir/core/error.h"
#include "ir/core/threads.h"
#include "ir/graph/op_ids.h"
#include "ir/reference/engine.h"
#include "tests/backend/refusals.h"
#include "tests/ir/elements.h"

namespace md {
namespace {

const std::vector<DType> kTypes = every_dtype();

std::vector<blocks::BlockEngine*> engines() {
  static const std::vector<blocks::BlockEngine*> all = [] {
    std::vector<blocks::BlockEngine*> v;
    int count;
    const auto* tables = blocks::runnable_tables(&count);
    for (int i = 0; i < count; ++i) v.push_back(new blocks::BlockEngine(*tables[i]));
    return v;
  }();
  return all;
}

// --- Values --------------------------------------------------------------------------------------------------------

double special_float(std::mt19937_64& g) {
  constexpr double kSpecial[] = {0.0,    -0.0,  1.0,  -1.0, INFINITY, -INFINITY, NAN,   0.5,   -0.5,
                                 1e-310, 1e-40, 1e30, 2.5,  100.0,    3.2e10,    -7e18, 1e300, -1e-5,
                                 89.25,  710.5, 1e6,  -2e9, 6e-8,     65504,     65520, 300,   -129};
  return kSpecial[g() % std::size(kSpecial)];
}

double random_float(std::mt19937_64& g) {
  if (g() % 8 == 0) return special_float(g);
  return std::ldexp(static_cast<double>(static_cast<std::int64_t>(g())), -63 + static_cast<int>(g() % 12) - 4);
}

std::int64_t random_int(std::mt19937_64& g, DType t) {
  switch (g() % 6) {
    case 0:
      return integer_min(t);
    case 1:
      return -1;
    case 2:
      return integer_max(t);
    default:
      return static_cast<std::int64_t>(g() % 41) - 20;
  }
}

void put_random(char* at, DType t, std::mt19937_64& g, bool nonzero) {
  if (is_floating(t)) return put_element(t, at, random_float(g));
  if (t == DType::Bool) return put_element(t, at, static_cast<std::int64_t>(g() & 1));
  const std::int64_t i = random_int(g, t);
  put_element(t, at, nonzero && i == 0 ? 3 : i);
}

// How a tensor lies in memory.
enum class Layout { RowMajor, Transposed, Stepped, Offset, BroadcastLast, BroadcastFirst };

TensorRef random_tensor(DimVec sizes, DType t, Layout layout, unsigned seed, bool nonzero = false) {
  const std::size_t rank = sizes.size();
  if (rank && layout == Layout::BroadcastLast) sizes[rank - 1] = 1;
  if (rank && layout == Layout::BroadcastFirst) sizes[0] = 1;
  DimVec strides(rank);
  std::int64_t next = layout == Layout::Stepped ? 3 : 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = layout == Layout::Transposed ? i : rank - 1 - i;
    strides[d] = next;
    next *= std::max<std::int64_t>(sizes[d], 1);
  }
  const std::int64_t offset = layout == Layout::Offset ? 5 : 0, count = next + offset + 8;
  const TensorRef base = empty_tensor({count}, t);
  std::mt19937_64 g(seed);
  for (std::int64_t i = 0; i < count; ++i) {
    put_random(base->as<char>() + i * static_cast<std::int64_t>(item_size(t)), t, g, nonzero);
  }
  return make_ref<TensorImpl>(base->storage, t, sizes, strides, offset);
}

// --- Comparison ----------------------------------------------------------------------------------------------------

std::vector<std::uint64_t> all_bits(const TensorImpl& t) {
  std::vector<std::uint64_t> bits;
  const std::int64_t n = t.numel();
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, offset = 0;
    for (std::size_t d = t.sizes.size(); d-- > 0;) {
      offset += rest % t.sizes[d] * t.strides[d];
      rest /= t.sizes[d];
    }
    bits.push_back(element_bits(t.dtype, element_at(t, offset)));
  }
  return bits;
}

std::vector<TensorRef> allocate(const std::vector<TensorType>& types) {
  std::vector<TensorRef> out;
  for (const TensorType& t : types) {
    DimVec sizes, strides;
    for (const Size s : t.sizes) sizes.push_back(s.value());
    for (const Size s : t.strides) strides.push_back(s.value());
    const TensorRef dense = empty_tensor(sizes, t.dtype);
    out.push_back(make_ref<TensorImpl>(dense->storage, t.dtype, sizes, strides, 0));
  }
  return out;
}

// Whether the dtypes, or operands without the elements that a reduction needs, forbid the call.
bool is_refused(const Op& op, const std::vector<Arg>& args) {
  const SizeVec sizes = type_of(args[0]).sizes;
  const bool nothing = std::any_of(sizes.begin(), sizes.end(), [](const Size& s) { return s == Size(0); });
  return (nothing && op.traits.needs_elements) || dtypes_forbid(op, args);
}

// Runs the call on the reference and on every level; false if the op does not take these operands, which has to be as
// its declaration says.
[[maybe_unused]] bool same_everywhere(const Op& op, const std::vector<Arg>& args) {
  const bool drawn = op.kind() == OpKind::Pointwise || op.kind() == OpKind::Reduction;
  std::vector<TensorType> types;
  try {
    types = infer(op, args);
  } catch (const OpError& e) {
    EXPECT_TRUE(!drawn || is_refused(op, args)) << op.name() << ": " << e.what();
    return false;
  }
  EXPECT_FALSE(drawn && dtypes_forbid(op, args)) << op.name() << " takes dtypes it has no body for";
  const std::vector<TensorRef> want = allocate(types);
  bool fails = false;
  try {
    reference_engine().run(op, args, want);
  } catch (const OpError&) {
    fails = true;
  }
  for (blocks::BlockEngine* e : engines()) {
    const std::vector<TensorRef> got = allocate(types);
    if (fails) {
      EXPECT_THROW(e->run(op, args, got), OpError) << op.name();
      continue;
    }
    e->run(op, args, got);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto a = all_bits(*want[i]), b = all_bits(*got[i]);
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (a[k] != b[k]) {
          ADD_FAILURE() << op.name() << " result " << i << " element " << k << " of " << a.size() << ": reference "
                        << std::hex << a[k] << ", blocks " << b[k] << std::dec << ", operand dtype "
                        << info(type_of(args[0]).dtype).name;
          return true;
        }
      }
    }
  }
  return true;
}

[[maybe_unused]] std::vector<Arg> with_defaults(const Op& op, std::vector<Arg> operands) {
  for (std::size_t i = operands.size(); i < op.schema.params.size(); ++i) {
    operands.push_back(op.schema.params[i].default_value);
  }
  return operands;
}

}  // namespace
}  // namespace md
