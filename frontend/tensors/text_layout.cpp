// Chooses one format for a tensor's elements, then breaks them into rows and blocks.
#include "frontend/tensors/text_layout.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "ir/core/scalar_builder.h"
#include "ir/gradients/tape.h"
#include "ir/graph/op_table.h"
#include "ir/tensor/readable.h"
#include "ir/tensor/stored_numbers.h"
#include "ir/tensor/strided.h"

namespace md {

namespace {

double as_double(DType t, const char* at) {
  if (is_storage_only(t)) return visit_stored(t, at, [](auto v) { return static_cast<double>(v); });
  return visit_dtype(
      t, [&](auto element) { return static_cast<double>(widen(*reinterpret_cast<const decltype(element)*>(at))); });
}

std::string integer_text(DType t, const char* at) {
  if (is_storage_only(t))
    return visit_stored(t, at, [](auto v) { return std::to_string(static_cast<std::uint64_t>(v)); });
  return visit_dtype(t, [&](auto element) {
    return std::to_string(static_cast<std::int64_t>(widen(*reinterpret_cast<const decltype(element)*>(at))));
  });
}

std::string printed(const char* format, int precision, double v) {
  char text[400];  // the longest: 308 digits and the decimals
  std::snprintf(text, sizeof text, format, std::min(precision, 60), v);
  return text;
}

// The text of one element; all elements share the style and, if it can be, the width.
class ElementStyle {
 public:
  ElementStyle(DType dtype, const PrintOptions& options) : dtype_(dtype), options_(options) {}

  // First pass: every element that will be printed.
  void see(const char* at) {
    if (!is_floating(dtype_)) {
      width_ = std::max(width_, text(at).size());
      return;
    }
    const double v = as_double(dtype_, at);
    if (!std::isfinite(v) || v == 0) return;
    finite_.push_back(v);
    smallest_ = std::min(smallest_, std::fabs(v));
    largest_ = std::max(largest_, std::fabs(v));
    whole_ = whole_ && v == std::ceil(v);
  }

  void decide() {
    if (finite_.empty()) return;
    scientific_ = largest_ / smallest_ > 1000.0 || largest_ > 1.0e8 || (!whole_ && smallest_ < 1.0e-4);
    if (options_.scientific == PrintOptions::Scientific::Always) scientific_ = true;
    if (options_.scientific == PrintOptions::Scientific::Never) scientific_ = false;
    for (double v : finite_) width_ = std::max(width_, number(v).size());
  }

  std::string padded(const char* at) const {
    std::string s = text(at);
    // Infinities and NaN of whole-number tensors carry no point, so they may be shorter or longer than the rest.
    return s.size() < width_ ? std::string(width_ - s.size(), ' ') + s : s;
  }
  std::size_t width() const { return width_; }
  bool is_negative(const char* at) const { return as_double(dtype_, at) < 0; }

 private:
  std::string text(const char* at) const {
    if (dtype_ == DType::Bool) return *at ? "True" : "False";
    if (is_floating(dtype_)) return number(as_double(dtype_, at));
    return integer_text(dtype_, at);
  }
  std::string number(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    if (scientific_) return printed("%.*e", options_.precision, v);
    if (whole_) return printed("%.*f", 0, v) + ".";
    return printed("%.*f", options_.precision, v);
  }

  DType dtype_;
  const PrintOptions& options_;
  std::vector<double> finite_;
  double smallest_ = std::numeric_limits<double>::infinity(), largest_ = 0;
  bool whole_ = true, scientific_ = false;
  std::size_t width_ = 1;
};

// Of any dtype: of complex elements each part has a style of its own, and the sign of the second one stands between.
class NumberStyle {
 public:
  NumberStyle(DType dtype, const PrintOptions& options)
      : complex_(is_complex(dtype)),
        part_(static_cast<std::size_t>(item_size(to_real(dtype)))),
        first_(to_real(dtype), options),
        second_(to_real(dtype), options) {}
  void see(const char* at) {
    first_.see(at);
    if (complex_) second_.see(at + part_);
  }
  void decide() {
    first_.decide();
    if (complex_) second_.decide();
  }
  std::string padded(const char* at) const {
    if (!complex_) return first_.padded(at);
    std::string imaginary = second_.padded(at + part_);
    imaginary.erase(0, imaginary.find_first_not_of(' '));
    return first_.padded(at) + (second_.is_negative(at + part_) ? "" : "+") + imaginary + "j";
  }
  std::size_t width() const { return complex_ ? first_.width() + second_.width() + 1 : first_.width(); }

 private:
  bool complex_;
  std::size_t part_;
  ElementStyle first_, second_;
};

class Layout {
 public:
  Layout(const TensorImpl& t, const PrintOptions& options)
      : t_(t), options_(options), summarise_(t.numel() > options.threshold), style_(t.dtype, options) {
    measure(0, base());
    style_.decide();
  }
  std::string text(int indent) const { return block(0, base(), indent); }

 private:
  const char* base() const { return static_cast<const char*>(t_.data()); }
  std::int64_t size(int dim) const { return t_.sizes[static_cast<std::size_t>(dim)]; }
  const char* step(int dim, const char* at, std::int64_t i) const {
    return at + i * t_.strides[static_cast<std::size_t>(dim)] * static_cast<std::int64_t>(item_size(t_.dtype));
  }
  bool cut(int dim) const { return summarise_ && size(dim) > 2 * options_.edge_items; }

  // f(position), or f(-1) once for the gap.
  template <class F>
  void for_each_shown(int dim, F&& f) const {
    const std::int64_t n = size(dim);
    if (!cut(dim)) {
      for (std::int64_t i = 0; i < n; ++i) f(i);
      return;
    }
    for (std::int64_t i = 0; i < options_.edge_items; ++i) f(i);
    f(-1);
    for (std::int64_t i = n - options_.edge_items; i < n; ++i) f(i);
  }

  void measure(int dim, const char* at) {
    if (dim == t_.dim()) return style_.see(at);
    for_each_shown(dim, [&](std::int64_t i) {
      if (i >= 0) measure(dim + 1, step(dim, at, i));
    });
  }

  std::string row(const char* at, int indent) const {
    const int dim = t_.dim() - 1;
    const int element = static_cast<int>(style_.width()) + 2;
    const int per_line = std::max(1, (options_.line_width - indent) / element);
    std::string out = "[";
    int column = 0;
    for_each_shown(dim, [&](std::int64_t i) {
      if (column == per_line) {
        out += ",\n" + std::string(static_cast<std::size_t>(indent) + 1, ' ');
        column = 0;
      } else if (column) {
        out += ", ";
      }
      ++column;
      out += i < 0 ? " ..." : style_.padded(step(dim, at, i));
    });
    return out + "]";
  }

  std::string block(int dim, const char* at, int indent) const {
    if (dim == t_.dim()) return style_.padded(at);
    if (dim == t_.dim() - 1) return row(at, indent);
    const std::string between = "," + std::string(static_cast<std::size_t>(t_.dim() - dim - 1), '\n') +
                                std::string(static_cast<std::size_t>(indent) + 1, ' ');
    std::string out = "[";
    bool first = true;
    for_each_shown(dim, [&](std::int64_t i) {
      if (!first) out += between;
      first = false;
      out += i < 0 ? "..." : block(dim + 1, step(dim, at, i), indent + 1);
    });
    return out + "]";
  }

  const TensorImpl& t_;
  const PrintOptions& options_;
  bool summarise_;
  NumberStyle style_;
};

std::string sizes_text(const DimVec& sizes) {
  std::string s = "(";
  for (std::size_t i = 0; i < sizes.size(); ++i) s += (i ? ", " : "") + std::to_string(sizes[i]);
  return s + (sizes.size() == 1 ? ",)" : ")");
}

std::vector<std::string> suffixes(const TensorImpl& t) {
  std::vector<std::string> list;
  const bool shows_none = !t.has_memory();
  const bool empty = t.numel() == 0 || shows_none;
  if (!t.device().is_cpu()) list.push_back("device='" + to_string(t.device()) + "'");
  if (shows_none || (empty && t.dim() != 1)) list.push_back("size=" + sizes_text(t.sizes));
  const bool obvious =
      t.dtype == default_dtype() ||
      (!empty && (t.dtype == DType::Int64 || t.dtype == DType::Bool || t.dtype == to_complex(default_dtype())));
  if (!obvious) list.push_back("dtype=torch." + std::string(info(t.dtype).name));
  if (!t.is_leaf()) {
    const std::string name = grad_edge(TensorRef(const_cast<TensorImpl*>(&t))).node->name();
    list.push_back("grad_fn=<" + name.substr(name.rfind(':') + 1) + ">");
  }
  if (t.requires_grad && t.is_leaf()) list.push_back("requires_grad=True");
  return list;
}

}  // namespace

std::string values_text(const TensorImpl& t, int indent, const PrintOptions& options) {
  if (!t.has_memory()) return "...";
  if (t.numel() == 0) return "[]";
  if (!t.is_readable())
    return values_text(*readable_when_done(TensorRef(const_cast<TensorImpl*>(&t))), indent, options);
  return Layout(t, options).text(indent);
}

std::string tensor_text(const TensorImpl& t, const std::string& prefix, const PrintOptions& options) {
  const int indent = static_cast<int>(prefix.size());
  std::string out = prefix + values_text(t, indent, options);
  const auto newline = out.rfind('\n');
  // The reference counts one column more on the first line than on the others.
  std::size_t column = newline == std::string::npos ? out.size() + 2 : out.size() - newline + 1;
  for (const std::string& s : suffixes(t)) {
    if (column + s.size() + 2 > static_cast<std::size_t>(options.line_width)) {
      out += ",\n" + std::string(prefix.size(), ' ') + s;
      column = prefix.size() + s.size();
    } else {
      out += ", " + s;
      column += s.size() + 2;
    }
  }
  return out + ")";
}

}  // namespace md
