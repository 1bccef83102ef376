// einsum: the equation is parsed into labels, every operand gets one dimension for each label, and operands are
// multiplied from left to right, a label being summed over as soon as no later operand has it.
#include <algorithm>
#include <array>
#include <cctype>

#include "ir/infer/expansion.h"
#include "registry/ops/products.h"

namespace md {
namespace {

constexpr int kLetters = 52;
constexpr int kEllipsis = kLetters;  // stands for the dimensions without a letter

// 'A'..'Z' before 'a'..'z', the order of an output that is not written.
int label_of(char c) { return c <= 'Z' ? c - 'A' : 26 + (c - 'a'); }
char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + (label - 26)); }

using Labels = std::vector<int>;

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  bool explicit_output = false;
};

Labels parse_labels(const Expansion& e, std::string_view text, std::size_t start) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (std::isalpha(static_cast<unsigned char>(c))) {
      labels.push_back(label_of(c));
    } else if (text.substr(i, 3) == "...") {
      if (std::ranges::find(labels, kEllipsis) != labels.end()) {
        e.fail(ErrorKind::Runtime, "'{}' holds more than one ellipsis", text);
      }
      labels.push_back(kEllipsis);
      i += 2;
    } else {
      e.fail(ErrorKind::Runtime, "subscripts must be letters or '...', but position {} of the equation holds '{}'",
             start + i, c);
    }
  }
  return labels;
}

Equation parse(const Expansion& e, const std::string& text) {
  Equation q;
  const std::size_t arrow = text.find("->");
  const std::string_view left = std::string_view(text).substr(0, std::min(arrow, text.size()));
  for (std::size_t at = 0; at <= left.size();) {
    const std::size_t comma = std::min(left.find(',', at), left.size());
    q.inputs.push_back(parse_labels(e, left.substr(at, comma - at), at));
    at = comma + 1;
  }
  q.explicit_output = arrow != std::string::npos;
  if (q.explicit_output) q.output = parse_labels(e, std::string_view(text).substr(arrow + 2), arrow + 2);
  return q;
}

// Which dimension of the common index space every label has: output first, then those summed over.
class Einsum {
 public:
  Einsum(const Expansion& e, Equation q, std::vector<Arg> operands)
      : e_(e), q_(std::move(q)), operands_(std::move(operands)) {
    check_ranks();
    find_output();
    number_labels();
    for (std::size_t i = 0; i < operands_.size(); ++i) operands_[i] = spread(i);
    check_sizes();
  }

  Arg run() {
    Arg result = operands_[0];
    std::vector<bool> summed(static_cast<std::size_t>(dims_));
    const auto done_after = [&](std::size_t i) {
      ListArg now;
      for (int d = output_dims_; d < dims_; ++d) {
        if (!summed[static_cast<std::size_t>(d)] && last_operand_[static_cast<std::size_t>(d)] <= i) {
          summed[static_cast<std::size_t>(d)] = true;
          now.items.emplace_back(d);
        }
      }
      return now;
    };
    if (operands_.size() == 1) result = sum(result, done_after(0));
    for (std::size_t i = 1; i < operands_.size(); ++i) result = multiplied(result, operands_[i], done_after(i));
    SizeVec sizes = type_of(result).sizes;
    while (static_cast<int>(sizes.size()) > output_dims_) {  // summed over: each of size 1
      result = e_.call(id::Select, {result, static_cast<int>(sizes.size()) - 1, 0});
      sizes.pop_back();
    }
    return result;
  }

 private:
  void check_ranks() {
    if (q_.inputs.size() != operands_.size()) {
      e_.fail(ErrorKind::Runtime, "the equation names {} operands, but {} were given", q_.inputs.size(),
              operands_.size());
    }
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const Labels& labels = q_.inputs[i];
      const bool open = std::ranges::find(labels, kEllipsis) != labels.end();
      const int letters = static_cast<int>(labels.size()) - open, rank = type_of(operands_[i]).dim();
      if (open ? letters > rank : letters != rank) {
        e_.fail(ErrorKind::Runtime, "operand {} has {} dimensions (sizes {}), but {} subscripts{}", i, rank,
                sizes_text(type_of(operands_[i]).sizes), letters, open ? " beside the ellipsis" : " and no ellipsis");
      }
      if (open) ellipsis_ = std::max(ellipsis_, rank - letters);
    }
  }

  // Without an output in the equation: the ellipsis, then every letter that occurs once.
  void find_output() {
    std::array<int, kLetters + 1> count{};
    for (const Labels& labels : q_.inputs) {
      for (const int label : labels) ++count[static_cast<std::size_t>(label)];
    }
    if (!q_.explicit_output) {
      if (count[kEllipsis] > 0) q_.output.push_back(kEllipsis);
      for (int label = 0; label < kLetters; ++label) {
        if (count[static_cast<std::size_t>(label)] == 1) q_.output.push_back(label);
      }
      return;
    }
    std::array<bool, kLetters + 1> seen{};
    for (const int label : q_.output) {
      if (label == kEllipsis) continue;
      if (seen[static_cast<std::size_t>(label)]) {
        e_.fail(ErrorKind::Runtime, "output subscript {} appears more than once", letter_of(label));
      }
      if (count[static_cast<std::size_t>(label)] == 0) {
        e_.fail(ErrorKind::Runtime, "output subscript {} does not appear in any operand", letter_of(label));
      }
      seen[static_cast<std::size_t>(label)] = true;
    }
  }

  void number_labels() {
    first_dim_.fill(-1);
    const auto number = [&](int label) {
      int& d = first_dim_[static_cast<std::size_t>(label)];
      if (d >= 0) return;
      d = dims_;
      dims_ += label == kEllipsis ? ellipsis_ : 1;
    };
    for (const int label : q_.output) number(label);
    output_dims_ = dims_;
    for (const Labels& labels : q_.inputs) {
      for (const int label : labels) number(label);
    }
    last_operand_.assign(static_cast<std::size_t>(dims_), 0);
  }

  // Operand i with its dimensions where their labels are, and of size 1 where it has none.
  Arg spread(std::size_t i) {
    Arg x = operands_[i];
    Labels at;  // for each dimension of x where it goes
    const int rank = type_of(x).dim(), letters = static_cast<int>(q_.inputs[i].size()) - 1;
    for (const int label : q_.inputs[i]) {
      const int first = first_dim_[static_cast<std::size_t>(label)];
      if (label != kEllipsis) {
        at.push_back(first);
        continue;
      }
      const int own = rank - letters;
      for (int d = 0; d < own; ++d) at.push_back(first + ellipsis_ - own + d);
    }
    x = with_diagonals(x, at, i);
    ListArg order;
    std::vector<int> missing;
    for (int d = 0; d < dims_; ++d) {
      const auto found = std::ranges::find(at, d);
      if (found == at.end()) {
        missing.push_back(d);
        continue;
      }
      order.items.emplace_back(static_cast<int>(found - at.begin()));
      last_operand_[static_cast<std::size_t>(d)] = i;
    }
    x = e_.call(id::Permute, {x, order});
    for (const int d : missing) x = e_.call(id::Unsqueeze, {x, d});
    return x;
  }

  // Dimensions of one label become their diagonal.
  Arg with_diagonals(Arg x, Labels& at, std::size_t operand) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      for (std::size_t j = i + 1; j < at.size();) {
        if (at[j] != at[i]) {
          ++j;
          continue;
        }
        const SizeVec sizes = type_of(x).sizes;
        if (!guard_eq(sizes[i], sizes[j])) {
          e_.fail(ErrorKind::Runtime, "a subscript repeated in operand {} stands for sizes {} and {}", operand,
                  to_string(sizes[i]), to_string(sizes[j]));
        }
        x = e_.call(id::Diagonal, {x, 0, static_cast<int>(i), static_cast<int>(j)});
        x = e_.call(id::MoveDim, {x, ListArg{{Arg(-1)}}, ListArg{{Arg(static_cast<int>(i))}}});
        at.erase(at.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
    return x;
  }

  void check_sizes() const {
    for (int d = 0; d < dims_; ++d) {
      Size known = 1;
      for (std::size_t i = 0; i < operands_.size(); ++i) {
        const Size s = type_of(operands_[i]).sizes[d];
        if (guard_eq(s, 1) || guard_eq(s, known)) continue;
        if (!guard_eq(known, 1)) {
          e_.fail(ErrorKind::Runtime, "operand {} has size {} where another has {}: they do not broadcast", i,
                  to_string(s), to_string(known));
        }
        known = s;
      }
    }
  }

  Arg sum(const Arg& x, const ListArg& dims) const {
    return dims.items.empty() ? x : e_.call(id::Sum, {x, dims, true, type_of(x).dtype});
  }

  // How a dimension takes part in a product of two operands.
  struct Roles {
    std::vector<int> batch, left, right, summed;
  };

  // a * b summed over `dims`, whose sizes become 1.
  Arg multiplied(Arg a, Arg b, const ListArg& dims) const {
    std::vector<bool> ends(static_cast<std::size_t>(dims_));
    for (const Arg& d : dims.items) ends[static_cast<std::size_t>(d.get<Size>().value())] = true;
    Roles r;
    ListArg only_a, only_b;
    for (int d = 0; d < dims_; ++d) {
      const bool in_a = !guard_eq(type_of(a).sizes[d], 1), in_b = !guard_eq(type_of(b).sizes[d], 1);
      if (!ends[static_cast<std::size_t>(d)]) {
        (in_a && in_b ? r.batch : in_a ? r.left : r.right).push_back(d);
      } else if (in_a && in_b) {
        r.summed.push_back(d);
      } else {
        if (in_a) only_a.items.emplace_back(d);
        if (in_b) only_b.items.emplace_back(d);
        r.right.push_back(d);  // of size 1 from here on
      }
    }
    a = sum(a, only_a), b = sum(b, only_b);
    if (r.summed.empty()) return e_.call(id::Mul, {a, b});
    return matrix_product(a, b, r);
  }

  static void append(ListArg& to, const std::vector<int>& dims) {
    for (const int d : dims) to.items.emplace_back(d);
  }

  // The dimensions in the given order, joined into one for each group.
  Arg grouped(const Arg& x, std::initializer_list<const std::vector<int>*> groups) const {
    ListArg order;
    for (const auto* g : groups) append(order, *g);
    for (int d = 0; d < dims_; ++d) {  // the others have size 1
      if (std::ranges::find(order.items, Arg(d)) == order.items.end()) order.items.emplace_back(d);
    }
    SizeVec joined;
    for (const auto* g : groups) {
      Size n = 1;
      for (const int d : *g) n = n * type_of(x).sizes[d];
      joined.push_back(n);
    }
    return reshaped(e_, e_.call(id::Permute, {x, order}), joined);
  }

  Arg matrix_product(const Arg& a, const Arg& b, const Roles& r) const {
    Arg made;
    if (r.batch.empty()) {
      made = e_.call(id::Mm, {grouped(a, {&r.left, &r.summed}), grouped(b, {&r.summed, &r.right})});
    } else {
      made =
          e_.call(id::Bmm, {grouped(a, {&r.batch, &r.left, &r.summed}), grouped(b, {&r.batch, &r.summed, &r.right})});
    }
    // Back to one dimension for each label.
    std::vector<int> order;
    SizeVec sizes;
    const SizeVec sa = type_of(a).sizes, sb = type_of(b).sizes;
    const auto take = [&](const std::vector<int>& dims, const SizeVec& from) {
      for (const int d : dims) order.push_back(d), sizes.push_back(from[d]);
    };
    take(r.batch, sa), take(r.left, sa), take(r.right, sb),
        take(r.summed, SizeVec(static_cast<std::size_t>(dims_), Size(1)));
    ListArg back;
    for (int d = 0; d < dims_; ++d) {
      back.items.emplace_back(static_cast<int>(std::ranges::find(order, d) - order.begin()));
    }
    return e_.call(id::Permute, {reshaped(e_, made, sizes), back});
  }

  const Expansion& e_;
  Equation q_;
  std::vector<Arg> operands_;
  int ellipsis_ = 0;                           // dimensions it stands for
  std::array<int, kLetters + 1> first_dim_{};  // of each label, or -1
  int dims_ = 0, output_dims_ = 0;
  std::vector<std::size_t> last_operand_;  // that has the dimension
};

}  // namespace

Arg expand_rule(ops::Einsum, const Expansion& e) {
  const auto& operands = e.arg(1).get<ListArg>().items;
  if (operands.empty()) e.fail(ErrorKind::Runtime, "must provide at least one operand");
  return Einsum(e, parse(e, e.arg(0).get<std::string>()), operands).run();
}

}  // namespace md
