// Random traced programs with in-place ops through views, their inputs, and how two runs are compared.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/core/error.h"
#include "ir/run/eager.h"
#include "tests/ir/elements.h"
#include "tests/ir/traced_builder.h"

namespace md {

inline std::int64_t size_of(const Node* n, int d) { return n->type().sizes[static_cast<std::size_t>(d)].value(); }

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : rng_(seed) {
    const int inputs = 1 + pick(3);
    for (int i = 0; i < inputs; ++i) add_input();
    for (int i = 0; i < 12; ++i) step();
    std::vector<Arg> results;
    for (Node* n : tensors_) {
      if (pick(3) == 0 && std::ranges::find(results, Arg(n)) == results.end()) results.push_back(n);
    }
    builder_.output(results);
  }

  const Graph& graph() const { return *builder_.graph; }

  // Fresh inputs with the layouts the graph expects; equal for equal seeds.
  static std::vector<TensorRef> inputs(const Graph& g, unsigned seed) {
    std::mt19937 rng(seed);
    std::vector<TensorRef> out;
    for (const Node* p : g.placeholders()) {
      const TensorType& t = p->type();
      DimVec sizes, strides;
      std::int64_t extent = 1;
      for (std::size_t d = 0; d < t.sizes.size(); ++d) {
        sizes.push_back(t.sizes[d].value());
        strides.push_back(t.strides[d].value());
        extent += (sizes[d] - 1) * strides[d];
      }
      const std::int64_t offset = 3;
      Ref<Storage> storage = allocate_storage(static_cast<std::size_t>(extent + offset) * item_size(t.dtype));
      for (std::int64_t i = 0; i < extent + offset; ++i) fill(storage->data(), i, t.dtype, rng);
      out.push_back(make_ref<TensorImpl>(storage, t.dtype, sizes, strides, offset));
    }
    return out;
  }

 private:
  int pick(int n) { return n < 2 ? 0 : static_cast<int>(rng_() % static_cast<unsigned>(n)); }
  Node* any() { return tensors_[static_cast<std::size_t>(pick(static_cast<int>(tensors_.size())))]; }

  static void fill(void* data, std::int64_t i, DType t, std::mt19937& rng) {
    const int v = static_cast<int>(rng() % 17) - 8;
    const double special[] = {-0.0, 0.0, 1e30, -1.5, 0.1};
    const double x = rng() % 4 == 0 ? special[rng() % 5] : v * 0.37;
    char* const at = static_cast<char*>(data) + i * static_cast<std::int64_t>(item_size(t));
    is_floating(t) ? put_element(t, at, x) : put_element(t, at, static_cast<std::int64_t>(v));
  }

  void add_input() {
    const DType dtypes[] = {DType::Float32, DType::Float32,  DType::Float64, DType::Int64, DType::Int32, DType::Bool,
                            DType::Float16, DType::BFloat16, DType::Int8,    DType::UInt8, DType::Int16};
    const int rank = pick(4);
    SizeVec sizes, strides;
    for (int d = 0; d < rank; ++d) sizes.push_back(1 + pick(4));
    strides = sizes;
    const int layout = pick(3);  // row-major, column-major, every second element
    Size step = layout == 2 ? 2 : 1;
    for (int i = 0; i < rank; ++i) {
      const auto d = static_cast<std::size_t>(layout == 1 ? i : rank - 1 - i);
      strides[d] = step;
      step = step * sizes[d];
    }
    tensors_.push_back(builder_.input(sizes, dtypes[pick(11)], strides));
  }

  Arg operand() {
    switch (pick(6)) {
      case 0:
        return pick(5) - 2;
      case 1:
        return pick(2) ? 1.0 : 0.25;
      default:
        return any();
    }
  }

  // Most draws fit; those whose shapes or dtypes do not are refused by inference and leave the program as it is.
  void step() {
    try {
      draw();
    } catch (const OpError&) {
    }
  }

  void draw() {
    Node* x = any();
    const int rank = x->type().dim();
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
        return keep(
            builder_.call(std::vector<std::string>{"add", "sub", "mul", "maximum", "div"}[pick(5)], {x, operand()}));
      case 3:
        return keep(builder_.call(std::vector<std::string>{"neg", "abs", "relu", "clone", "float", "contiguous", "sign",
                                                           "square", "detach", "double"}[pick(10)],
                                  {x}));
      case 4:
        return keep(builder_.call(std::vector<std::string>{"sum", "amax", "mean", "argmax"}[pick(4)], {x}));
      case 5:
        return keep(builder_.call("sum", {x, pick(std::max(rank, 1))}, {{"keepdim", pick(2) == 0}}));
      case 6:
        return keep(builder_.getitem(x, index(x)));
      case 7:
        return keep(builder_.call("transpose", {x, pick(std::max(rank, 1)), pick(std::max(rank, 1))}));
      case 8:
        return keep(builder_.call(std::vector<std::string>{"reshape", "view"}[pick(2)], {x, -1}));
      case 9:
        return keep(builder_.call("unsqueeze", {x, pick(rank + 1)}));
      case 10:
        return keep(builder_.call("cat", {ListArg{{x, any()}, false}}));
      case 11:
      case 12:
        return write(std::vector<std::string>{"add_", "mul_", "copy_", "sub_"}[pick(4)], x, {operand()});
      case 13:
        return write(std::vector<std::string>{"zero_", "neg_", "relu_", "square_"}[pick(4)], x, {});
      case 14:
        return assign(x);
      default:
        return pieces(x);
    }
  }

  void keep(Node* n) { tensors_.push_back(n); }

  void pieces(Node* x) {
    Node* s = pick(2) ? builder_.call("max", {x, pick(std::max(x->type().dim(), 1))})
                      : builder_.call("split", {x, 1 + pick(2)});
    for (std::size_t i = 0; i < s->types.size(); ++i) keep(builder_.item(s, static_cast<int>(i)));
  }

  Arg index(Node* x) {
    ListArg items{{}, true};
    for (int d = 0; d < x->type().dim(); ++d) {
      const int n = static_cast<int>(size_of(x, d));
      switch (pick(5)) {
        case 0:
          items.items.push_back(pick(n));
          break;
        case 1:
          items.items.push_back(make_slice(pick(n), {}, {}));
          break;
        case 2:
          items.items.push_back(make_slice({}, -1, 2));
          break;
        case 3:
          items.items.push_back(NoneArg{});
          [[fallthrough]];
        default:
          items.items.push_back(make_slice({}, {}, {}));
      }
    }
    return items;
  }

  // In-place calls the reference refuses are left out: the frontend breaks on them.
  static bool writable(const TensorType& self, const TensorType& result) {
    if (!(self.sizes == result.sizes)) return false;
    for (std::size_t d = 0; d < self.sizes.size(); ++d) {
      if (self.strides[d].is_const(0) && !self.sizes[d].is_const(1)) return false;
    }
    return info(result.dtype).category <= info(self.dtype).category;
  }

  void write(const std::string& name, Node* x, std::vector<Arg> rest) {
    std::vector<Arg> args{x};
    args.insert(args.end(), rest.begin(), rest.end());
    BoundCall bound = md::bind(name.substr(0, name.size() - 1), args, {});
    if (writable(x->type(), infer(op(bound.op), bound.args).at(0))) builder_.call(name, args);
  }

  void assign(Node* x) {
    const Arg at = index(x);
    BoundCall view = md::bind("getitem", std::vector<Arg>{x, at}, {});
    Node seen{.kind = NodeKind::Op, .types = infer(op(view.op), view.args)};
    Arg value = pick(2) ? Arg(pick(9)) : Arg(any());
    if (Node** n = std::get_if<Node*>(&value.v)) {
      BoundCall copy = md::bind("copy", std::vector<Arg>{&seen, *n}, {});
      if (!writable(seen.type(), infer(op(copy.op), copy.args).at(0))) return;
    }
    builder_.setitem(x, at, value);
  }

  std::mt19937 rng_;
  TracedBuilder builder_;
  std::vector<Node*> tensors_;
};

// Every NaN counts as one.
inline std::string element(const TensorImpl& t, std::int64_t at) {
  const char* p = element_at(t, at);
  if (is_floating(t.dtype) && std::isnan(get_element(t.dtype, p))) return "nan";
  return std::string(p, item_size(t.dtype));
}

inline std::string bits(const TensorImpl& t) {
  std::string out;
  std::vector<std::int64_t> at(t.sizes.size(), 0);
  for (std::int64_t left = t.numel(); left > 0; --left) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * t.strides[d];
    out += element(t, place) + "|";
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < t.sizes[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

// Which of inputs and outputs are one tensor, or share memory and how.
inline std::string aliasing(const std::vector<TensorRef>& inputs, const std::vector<TensorRef>& outputs) {
  std::vector<TensorRef> all = inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t same = 0, shared = 0;
    while (!(all[same] == all[i])) ++same;
    while (!(all[shared]->storage == all[i]->storage)) ++shared;
    out += std::to_string(same) + "/" + std::to_string(shared) + ":";
    for (std::size_t d = 0; d < all[i]->sizes.size(); ++d) {
      out += std::to_string(all[i]->sizes[d]);
      if (all[i]->sizes[d] > 1 && all[i]->numel() > 0) out += "*" + std::to_string(all[i]->strides[d]);
      out += ",";
    }
    if (shared != i) out += "+" + std::to_string(all[i]->offset - all[shared]->offset);
    out += " ";
  }
  return out;
}

}  // namespace md
