// An argument or result of an op call: what a user may write between the parentheses. The same type serves eager calls
// (tensors) and graph nodes (nodes).
#pragma once

#include <complex>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/tensor/tensor.h"
#include "registry/memory_format.h"

namespace md {

struct Node;
struct Arg;

struct NoneArg {
  bool operator==(const NoneArg&) const = default;
};
struct EllipsisArg {
  bool operator==(const EllipsisArg&) const = default;
};
struct ListArg {
  std::vector<Arg> items;
  bool tuple = false;  // prints as (..) instead of [..]
  bool operator==(const ListArg&) const;
};
struct SliceArg {  // start, stop, step: None, int or node
  std::shared_ptr<const std::vector<Arg>> parts;
  bool operator==(const SliceArg&) const;
};

struct Arg {
  using Value = std::variant<NoneArg, bool, Size, double, std::string, std::complex<double>, DType, Device,
                             MemoryFormat, EllipsisArg, SliceArg, ListArg, TensorRef, Node*>;
  Value v;

  Arg() = default;
  Arg(NoneArg) {}
  Arg(bool b) : v(b) {}
  Arg(int i) : v(Size(i)) {}
  Arg(std::int64_t i) : v(Size(i)) {}
  Arg(Size s) : v(s) {}
  Arg(double d) : v(d) {}
  Arg(std::complex<double> c) : v(c) {}
  Arg(std::string s) : v(std::move(s)) {}
  Arg(const char* s) : v(std::string(s)) {}
  Arg(DType t) : v(t) {}
  Arg(Device d) : v(d) {}
  Arg(MemoryFormat f) : v(f) {}
  Arg(EllipsisArg e) : v(e) {}
  Arg(SliceArg s) : v(std::move(s)) {}
  Arg(ListArg l) : v(std::move(l)) {}
  Arg(TensorRef t) : v(std::move(t)) {}
  Arg(Node* n) : v(n) {}

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(v);
  }
  template <class T>
  const T& get() const {
    return std::get<T>(v);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&v);
  }
  bool is_none() const { return is<NoneArg>(); }
  // A number ops take.
  bool is_number() const { return is<bool>() || is<Size>() || is<double>() || is<std::complex<double>>(); }
  bool operator==(const Arg& o) const { return v == o.v; }
};

inline bool is_tensor(const Arg& a) { return a.is<TensorRef>() || a.is<Node*>(); }
inline bool ListArg::operator==(const ListArg& o) const { return tuple == o.tuple && items == o.items; }
inline bool SliceArg::operator==(const SliceArg& o) const { return *parts == *o.parts; }
SliceArg make_slice(Arg start, Arg stop, Arg step);

// Calls f(Node*&) on every node inside, however deep (copying shared slices).
template <class F>
void for_each_node(Arg& a, F&& f) {
  if (auto* n = std::get_if<Node*>(&a.v)) {
    f(*n);
  } else if (auto* l = std::get_if<ListArg>(&a.v)) {
    for (Arg& x : l->items) for_each_node(x, f);
  } else if (auto* s = std::get_if<SliceArg>(&a.v)) {
    auto parts = std::make_shared<std::vector<Arg>>(*s->parts);
    for (Arg& x : *parts) for_each_node(x, f);
    s->parts = std::move(parts);
  }
}

}  // namespace md
