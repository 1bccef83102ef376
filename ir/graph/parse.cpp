// Reads the graph text of ir/graph/print_ir.cpp.
#include <unordered_map>

#include "ir/core/error.h"
#include "ir/core/scalar_builder.h"
#include "ir/graph/graph.h"
#include "ir/graph/reader.h"
#include "ir/sizes/shape_env.h"
#include "ir/tensor/strided.h"

namespace md {
namespace {

// Expressions of symbols, and the lines that declare what the symbols of one graph are.
class SizeParser {
 public:
  // `shapes`: where symbols go; made with the first one.
  SizeParser(Reader& in, std::shared_ptr<ShapeEnv>& shapes) : in_(in), shapes_(shapes) {}

  void symbol() {
    SizeSymbol s;
    s.name = in_.word("a symbol");
    if (in_.accept("=")) s.hint = in_.integer();
    in_.expect("in");
    in_.expect("[");
    s.range.lo = bound();
    in_.expect(",");
    s.range.hi = bound();
    in_.expect("]");
    if (in_.accept("from")) s.source = in_.string();
    const std::string name = s.name;
    if (!symbols_.emplace(name, env().declare(std::move(s))).second) in_.fail("symbol " + name + " is declared twice");
  }

  void divisible() {
    const Size a = braced_size();
    in_.expect("by");
    env().assume_divisible(a, braced_size());
  }

  Size braced_size() {
    in_.expect("{");
    const Size s = size();
    in_.expect("}");
    return s;
  }

  SizeVec vector(std::string_view close) {
    SizeVec out;
    while (!in_.accept(close)) {
      if (!out.empty()) in_.expect(",");
      out.push_back(size());
    }
    return out;
  }

  Size atom() {
    if (in_.next_is_digit()) return in_.integer();
    if (in_.accept("(")) {
      const Size v = size();
      in_.expect(")");
      return v;
    }
    const std::string name = in_.word("a size");
    if (name == "min" || name == "max") {
      in_.expect("(");
      const Size a = size();
      in_.expect(",");
      const Size b = size();
      in_.expect(")");
      return name == "min" ? min(a, b) : max(a, b);
    }
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) in_.fail("unknown symbol " + name);
    return found->second;
  }

 private:
  ShapeEnv& env() {
    if (!shapes_) shapes_ = std::make_shared<ShapeEnv>();
    return *shapes_;
  }

  std::int64_t bound() {
    if (in_.accept("-inf")) return SizeRange::kMin;
    return in_.accept("inf") ? SizeRange::kMax : in_.integer();
  }

  Size size() {
    Size v = in_.accept("-") ? Size(0) - product() : product();
    while (true) {
      if (in_.accept("+")) {
        v = v + product();
      } else if (in_.accept("-")) {
        v = v - product();
      } else {
        return v;
      }
    }
  }

  Size product() {
    Size v = power();
    while (true) {
      if (in_.accept("//")) {
        v = floordiv(v, power());
      } else if (in_.accept("%")) {
        v = mod(v, power());
      } else if (in_.accept("*")) {
        v = v * power();
      } else {
        return v;
      }
    }
  }

  Size power() {
    const Size base = atom();
    if (!in_.accept("**")) return base;
    Size v = 1;
    const int n = in_.small_integer();
    if (n > 64) in_.fail("the power is too high");
    for (int i = 0; i < n; ++i) v = v * base;
    return v;
  }

  Reader& in_;
  std::shared_ptr<ShapeEnv>& shapes_;
  std::unordered_map<std::string, Size> symbols_;
};

const DTypeInfo* find_dtype(std::string_view short_name) {
  for (const DTypeInfo& row : kDTypes) {
    if (row.short_name == short_name) return &row;
  }
  return nullptr;
}

class TypeParser {
 public:
  TypeParser(Reader& in, SizeParser& sizes) : in_(in), sizes_(sizes) {}

  DType dtype() {
    const DTypeInfo* row = find_dtype(in_.word("a dtype"));
    if (!row) in_.fail("unknown dtype");
    return row->dtype;
  }

  Device device() {
    const std::string text = in_.string();
    const std::optional<Device> d = parse_device(text);
    if (!d) in_.fail("unknown device " + text);
    return *d;
  }

  TensorType type() {
    TensorType t;
    t.dtype = dtype();
    in_.expect("[");
    t.sizes = sizes_.vector("]");
    if (in_.accept("{")) {
      t.strides = sizes_.vector("}");
      if (t.strides.size() != t.sizes.size()) in_.fail("as many strides as sizes, please");
    } else {
      t.strides = t.sizes;
      Size step = 1;
      for (std::size_t i = t.sizes.size(); i-- > 0; step = step * max(t.sizes[i], 1)) t.strides[i] = step;
    }
    if (in_.accept("+")) t.offset = sizes_.atom();
    if (in_.accept("$")) t.storage = in_.small_integer();
    if (in_.accept("on")) t.device = device();
    t.requires_grad = in_.accept("grad");
    for (std::size_t i = 1; i < std::size(kGradHistoryWords); ++i)
      if (in_.accept(std::string(kGradHistoryWords[i]))) t.history = static_cast<GradHistory>(i);
    t.wrapped_number = in_.accept("number");
    return t;
  }

 private:
  Reader& in_;
  SizeParser& sizes_;
};

class GraphParser {
 public:
  explicit GraphParser(Reader& in) : in_(in), graph_(std::make_unique<Graph>()) {}

  std::unique_ptr<Graph> parse() {
    graph_->functional = in_.accept("functional");
    if (!graph_->functional) in_.expect("traced");
    in_.expect("graph");
    graph_->name = in_.string();
    in_.expect("{");
    while (!in_.accept("}")) {
      if (in_.at_end()) in_.fail("expected '}'");
      line();
    }
    return std::move(graph_);
  }

 private:
  void line() {
    if (in_.accept("symbol")) return sizes_.symbol();
    if (in_.accept("divisible")) return sizes_.divisible();
    if (in_.accept("stack")) return stack();
    in_.expect("%");
    node(in_.word("a node name"));
  }

  void result_types(Node& n) {
    if (!in_.accept(":")) return;
    n.multi = in_.accept("(");
    if (!n.multi) {
      n.types = {types_.type()};
      return;
    }
    while (!in_.accept(")")) {
      n.types.push_back(types_.type());
      if (in_.peek() != ')') in_.expect(",");
    }
  }

  // --- Arguments ------------------------------------------------------------------------------------------------

  std::vector<Arg> args(std::string_view close, KwArgs* kwargs = nullptr) {
    std::vector<Arg> out;
    while (!in_.accept(close)) {
      std::string keyword;
      Arg a = arg(kwargs ? &keyword : nullptr);
      if (keyword.empty()) {
        out.push_back(std::move(a));
      } else {
        kwargs->emplace_back(keyword, std::move(a));
      }
      if (in_.peek() != close[0]) in_.expect(",");
    }
    return out;
  }

  Arg arg(std::string* keyword = nullptr) {
    if (in_.accept("%")) return node_named(in_.word("a node name"));
    if (in_.accept("...")) return EllipsisArg{};
    if (in_.accept("[")) return ListArg{args("]"), false};
    if (in_.accept("(")) return ListArg{args(")"), true};
    if (in_.peek() == '{') return sizes_.braced_size();
    if (in_.peek() == '"') return in_.string();
    if (in_.next_is_digit() || in_.peek() == '-') return in_.number();
    return named_arg(in_.word("an argument"), keyword);
  }

  Arg named_arg(const std::string& word, std::string* keyword) {
    if (keyword && in_.accept("=")) {
      *keyword = word;
      return arg();
    }
    if (word == "None") return NoneArg{};
    if (word == "True" || word == "False") return word == "True";
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "nan") return std::nan("");
    if (word == "device") return types_.device();
    if (word == "complex") return complex();
    if (word == "slice") {
      in_.expect("(");
      std::vector<Arg> parts = args(")");
      if (parts.size() != 3) in_.fail("a slice has three parts");
      return make_slice(parts[0], parts[1], parts[2]);
    }
    if (const DTypeInfo* row = find_dtype(word)) return row->dtype;
    if (const auto format = find_memory_format(word)) return *format;
    in_.fail("unknown argument '" + word + "'");
  }

  Arg complex() {
    in_.expect("(");
    const std::vector<Arg> parts = args(")");
    const bool numbers = parts.size() == 2 && parts[0].is<double>() && parts[1].is<double>();
    if (!numbers) in_.fail("a complex number has two floats");
    return std::complex<double>(parts[0].get<double>(), parts[1].get<double>());
  }

  Node* node_named(const std::string& name) {
    const auto found = nodes_.find(name);
    if (found == nodes_.end()) in_.fail("%" + name + " is not defined above");
    return found->second;
  }

  // --- Nodes ----------------------------------------------------------------------------------------------------

  void stack() {
    if (in_.small_integer() != static_cast<int>(stacks_.size())) in_.fail("stacks are numbered 0, 1, 2, ...");
    std::vector<UserFrame> frames;
    while (in_.peek() == '"') {
      UserFrame f;
      f.file = in_.string();
      in_.expect(":");
      f.line = in_.small_integer();
      f.function = in_.string();
      f.line_text = in_.string();
      frames.push_back(std::move(f));
    }
    stacks_.push_back(std::make_shared<const std::vector<UserFrame>>(std::move(frames)));
  }

  void node(const std::string& name) {
    if (nodes_.contains(name)) in_.fail("%" + name + " is defined twice");
    in_.expect("=");
    Node n{.kind = NodeKind::Op, .name = name};
    head(n);
    result_types(n);
    if (in_.accept("@")) {
      const auto index = static_cast<std::size_t>(in_.small_integer());
      if (index >= stacks_.size()) in_.fail("no such stack above");
      n.stack = stacks_[index];
    }
    if (in_.accept("with")) {
      while (!in_.accept("end")) n.regions.push_back(GraphParser(in_).parse());
    }
    Node* made = graph_->append(std::move(n));
    if (made->name != name) in_.fail("%" + name + " is a reserved name");
    nodes_[name] = made;
  }

  void head(Node& n) {
    if (const bool size = in_.accept("size"); size || in_.accept("input")) {
      n.kind = NodeKind::Placeholder;
      n.is_size = size;
      n.target = in_.string();
    } else if (in_.accept("item")) {
      n.kind = NodeKind::GetItem;
      n.index = in_.small_integer();
      in_.expect("of");
      n.args = {arg()};
    } else if (in_.accept("attr")) {
      n.kind = NodeKind::GetAttr;
      n.target = in_.string();
      if (in_.peek() != ':' && in_.peek() != '@' && in_.peek() != '%' && in_.peek() != '}') n.constant = constant();
    } else if (in_.accept("state")) {
      n.kind = NodeKind::State;
      n.target = in_.string();
      in_.expect("(");
      n.args = args(")");
    } else if (in_.accept("call")) {
      n.kind = NodeKind::Call;
      call(n);
    } else if (in_.accept("commit")) {
      n.kind = NodeKind::Commit;
      n.index = in_.small_integer();
      in_.expect("(");
      n.args = args(")");
    } else if (in_.accept("output")) {
      n.kind = NodeKind::Output;
      n.args = {arg()};
    } else {
      call(n);
    }
  }

  void call(Node& n) {
    const std::string name = in_.word("an op", true);
    n.op = find_op(name);
    if (n.op == kNoOp && name != "_") in_.fail("unknown op " + name);
    in_.expect("(");
    n.args = args(")", &n.kwargs);
    if (n.op != kNoOp) n.target = op(n.op).public_name;
    if (!in_.accept("as")) return;
    const std::string spelling = in_.word("a spelling");
    constexpr std::string_view kSpellings[] = {"function", "method", "operator", "inplace", "attribute", "name"};
    int index = 0;
    for (std::string_view known : kSpellings) {
      if (known == spelling) break;
      ++index;
    }
    if (index == std::ssize(kSpellings)) in_.fail("unknown spelling " + spelling);
    n.spelling = static_cast<Spelling>(index);
    n.target = in_.string();
  }

  TensorRef constant() {
    const DType t = types_.dtype();
    in_.expect("[");
    DimVec dims;
    for (const Size& s : sizes_.vector("]")) {
      if (!s.is_const() || s.value() < 0) in_.fail("constants have constant sizes");
      dims.push_back(s.value());
    }
    if (in_.accept("on")) return constant_without_memory(dims, t);
    TensorRef out = empty_tensor(dims, t);
    in_.expect("[");
    for (std::int64_t i = 0; i < out->numel(); ++i) {
      if (i) in_.expect(",");
      Arg v = in_.peek() == 'i' || in_.peek() == 'n' ? named_arg(in_.word("a number"), nullptr) : in_.number();
      store(*out, i, v);
    }
    in_.expect("]");
    return out;
  }

  TensorRef constant_without_memory(const DimVec& dims, DType t) {
    const Device d = types_.device();
    if (d.has_memory()) in_.fail("constants elsewhere than on the CPU have no elements");
    return empty_tensor(dims, t, d);
  }

  void store(TensorImpl& t, std::int64_t i, const Arg& v) {
    if (!is_floating(t.dtype) && !v.is<Size>()) in_.fail("expected a whole number");
    visit_dtype(t.dtype, [&](auto element) {
      using T = decltype(element);
      t.as<T>()[i] = v.is<double>() ? convert_value<T>(v.get<double>()) : convert_value<T>(v.get<Size>().value());
    });
  }

  Reader& in_;
  std::unique_ptr<Graph> graph_;
  SizeParser sizes_{in_, graph_->shapes};
  TypeParser types_{in_, sizes_};
  std::unordered_map<std::string, Node*> nodes_;
  std::vector<UserStack> stacks_;
};

}  // namespace

std::unique_ptr<Graph> parse_ir(const std::string& text) {
  Reader in(text);
  try {
    auto g = GraphParser(in).parse();
    if (!in.at_end()) in.fail("text after the graph");
    return g;
  } catch (const InternalError& e) {
    in.fail(e.what());
  }
}

}  // namespace md
