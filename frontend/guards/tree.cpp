// The TREE_GUARD_MANAGER text: the source trie with its guards, as the reference prints it.

#include <algorithm>
#include <deque>
#include <iterator>
#include <unordered_map>

#include "frontend/guards/kinds.h"
#include "frontend/guards/text.h"

namespace md {
namespace {

// One printed manager. It may stand for a step between two sources (a function's __defaults__, a frame's globals).
struct Printed {
  std::string source, accessor;
  std::vector<std::string> guards;
  std::vector<Printed*> children;
  PyObject* key_order = nullptr;  // tuple of keys: prints as key and value pairs
  SourceKind kind = SourceKind::Local;
  int index = -1;
  PyObject* key = nullptr;
};

std::string call(const char* accessor, const std::string& argument) { return accessor + ("(" + argument + ")"); }
std::string dict_item(PyObject* key) { return call("DictGetItemGuardAccessor", constant_repr(key)); }
std::string get_attr(const std::string& name) { return call("GetAttrGuardAccessor", name); }

class Tree {
 public:
  explicit Tree(const CompiledGuards& p) : p_(p), printed_(p.nodes.size(), nullptr), type_of_(p.nodes.size(), nullptr) {
    for (const GuardRecord& r : p.records) {
      if (r.kind == GuardKind::TypeMatch && r.node >= 0) type_of_[static_cast<std::size_t>(r.node)] = &r.described;
    }
    for (const GuardRecord& r : p.records) add(r);
  }

  std::string text() const {
    std::string out = "GUARDS:\n\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n";
    render(root_, 1, out);
    for (const std::string& line : sizes_) out += "+- " + line + "\n";
    return out;
  }

 private:
  void add(const GuardRecord& r) {
    const std::string condition = condition_text(p_, r);
    const std::string line = std::string(printed_name(r.kind)) + ": " + with_place(p_, r, condition);
    if (r.kind == GuardKind::SizeAssumption) return sizes_.push_back(line);
    if (r.node < 0) return root_.guards.push_back(line);
    if (r.kind == GuardKind::NotPresent) return add_absence(r, condition);
    Printed& at = manager(r.node);
    if (r.kind == GuardKind::DictKeyOrder) {
      at.key_order = r.object.get();
      return;
    }
    at.guards.push_back(line);
    // The others of a relation show only its name.
    for (int other : r.others) manager(other).guards.push_back(printed_name(r.kind));
  }

  // Shown at the place where it was looked for.
  void add_absence(const GuardRecord& r, const std::string& condition) {
    const GuardNode& n = p_.nodes[static_cast<std::size_t>(r.node)];
    const char* name = condition.rfind("not hasattr", 0) == 0 ? "NO_HASATTR" : printed_name(r.kind);
    Printed& at = n.parent >= 0 ? manager(n.parent) : n.kind == SourceKind::Global ? globals() : root_;
    at.guards.push_back(std::string(name) + ": " + with_place(p_, r, condition));
  }

  // A source's name is also its place in the tree, so one index serves all levels.
  Printed& child(Printed& of, const std::string& name, const std::string& accessed_by) {
    Printed*& known = by_name_[name];
    if (!known) {
      known = &all_.emplace_back();
      of.children.push_back(known);
      known->source = name;
      known->accessor = accessed_by;
    }
    return *known;
  }

  Printed& globals() { return child(root_, "G", "GlobalsGuardAccessor"); }

  Printed*& printed(int node) { return printed_[static_cast<std::size_t>(node)]; }

  Printed& manager(int node) {
    std::vector<int> missing;
    for (int at = node; at >= 0 && !printed(at); at = p_.nodes[static_cast<std::size_t>(at)].parent)
      missing.push_back(at);
    for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
      const GuardNode& n = p_.nodes[static_cast<std::size_t>(*at)];
      Printed& made = n.parent >= 0 ? below(*printed(n.parent), n) : top(n);
      made.kind = n.kind;
      made.index = n.index;
      made.key = n.key.get();
      printed(*at) = &made;
    }
    return *printed(node);
  }

  Printed& top(const GuardNode& n) {
    if (n.kind == SourceKind::Global && !n.key) return globals();
    if (n.kind == SourceKind::Global) return child(globals(), n.name, dict_item(n.key.get()));
    if (n.kind == SourceKind::Builtin) {
      Printed& builtins =
          child(globals(), "G['__builtins_dict___0']", call("DictGetItemGuardAccessor", "'__builtins_dict___0'"));
      return child(builtins, n.name, dict_item(n.key.get()));
    }
    if (n.kind == SourceKind::Constant) {
      const bool global = n.name.rfind("G['", 0) == 0 && n.name.find(']') == n.name.size() - 1;
      if (!global) return child(root_, n.name, "ConstantGuardAccessor");
      return child(globals(), n.name, call("DictGetItemGuardAccessor", n.name.substr(2, n.name.size() - 3)));
    }
    const std::string key = n.name.substr(2, n.name.size() - 3);  // L['x'] without L[ ]
    return child(root_, n.name,
                 "FrameLocalsGuardAccessor(key=" + key + ", framelocals_idx=" + std::to_string(n.index) + ")");
  }

  Printed& below(Printed& base, const GuardNode& n) {
    const std::string b = base.source;
    switch (n.kind) {
      // A free variable's cell and its content are one manager.
      case SourceKind::CellContents:
        return n.name == b ? base : child(base, n.name, get_attr("cell_contents"));
      case SourceKind::Attr:
      case SourceKind::TensorAttr:
      case SourceKind::RangeField:
        return child(base, n.name, get_attr(utf8_of(n.key.get())));
      case SourceKind::InstanceDict:
        return child(child(base, b + ".__dict__", "GetGenericDictGuardAccessor"), n.name, dict_item(n.key.get()));
      case SourceKind::ModuleGlobal:
        return child(child(base, b + ".__globals__", get_attr("__globals__")), n.name, dict_item(n.key.get()));
      case SourceKind::TypeOf:
        return child(base, n.name, "TypeGuardAccessor");
      case SourceKind::TypeAttr:
        return child(child(child(base, "type(" + b + ")", "TypeGuardAccessor"), "dict(type(" + b + ").__dict__)",
                           "TypeDictGuardAccessor"),
                     n.name, dict_item(n.key.get()));
      case SourceKind::ClassAttr:
        return child(child(base, "dict(" + b + ".__dict__)", "TypeDictGuardAccessor"), n.name, dict_item(n.key.get()));
      case SourceKind::ListItem:
        return child(base, n.name, item_accessor(n));
      case SourceKind::DictItem:
        return child(base, n.name, dict_item(n.key.get()));
      case SourceKind::FuncDefault:
        return child(child(base, b + ".__defaults__", "FuncDefaultsGuardAccessor"), n.name,
                     call("GetItemGuardAccessor", std::to_string(n.index)));
      case SourceKind::FuncKwDefault:
        return child(child(base, b + ".__kwdefaults__", "FuncKwDefaultsGuardAccessor"), n.name, dict_item(n.key.get()));
      case SourceKind::FuncClosure:
        return child(child(base, b + ".__closure__", get_attr("__closure__")), n.name,
                     call("TupleGetItemGuardAccessor", std::to_string(n.index)));
      case SourceKind::DictKey:
        return child(base, n.name, call("DictKeyGuardAccessor", std::to_string(n.index)));
      default:
        return child(base, n.name, get_attr(n.name.substr(n.name.rfind('.') + 1)));
    }
  }

  // Lists and tuples have accessors of their own, known by the type guard on the container.
  std::string item_accessor(const GuardNode& n) const {
    const std::string* type = type_of_[static_cast<std::size_t>(n.parent)];
    if (type && *type == "list") return call("ListGetItemGuardAccessor", std::to_string(n.index));
    if (type && *type == "tuple") return call("TupleGetItemGuardAccessor", std::to_string(n.index));
    return call("GetItemGuardAccessor", std::to_string(n.index));
  }

  static void line(int depth, const std::string& text, std::string& out) {
    for (int i = 0; i < std::min(depth, kSpelledDepth); ++i) out += "| ";  // the deepest stand below each other
    out += "+- " + text + "\n";
  }

  // What is still to be written: a line, or what stands below a manager.
  struct Pending {
    int depth;
    std::string line;
    const Printed* below = nullptr;
  };

  static void render(const Printed& root, int depth, std::string& out) {
    std::vector<Pending> open{{depth, {}, &root}};
    while (!open.empty()) {
      const Pending now = std::move(open.back());
      open.pop_back();
      if (!now.below) {
        line(now.depth, now.line, out);
        continue;
      }
      std::vector<Pending> parts = parts_of(*now.below, now.depth);
      open.insert(open.end(), std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend()));
    }
  }

  static std::vector<Pending> parts_of(const Printed& at, int depth) {
    std::vector<Pending> parts;
    for (const std::string& g : at.guards) parts.push_back({depth, g});
    if (at.key_order) add_pairs(at, depth, parts);
    for (const Printed* c : at.children) {
      if (at.key_order && in_pair(at, *c)) continue;
      parts.push_back({depth, manager_text(*c) + ", accessed_by=" + c->accessor});
      parts.push_back({depth + 1, {}, c});
    }
    return parts;
  }

  static std::string manager_text(const Printed& at) {
    return (at.key_order ? "DictGuardManager: source=" : "GuardManager: source=") + at.source;
  }

  static bool is_value_of(const Printed& c, PyObject* key) {
    return c.kind == SourceKind::DictItem && c.key && plain_equal(key, c.key);
  }

  static bool in_pair(const Printed& at, const Printed& c) {
    if (c.kind == SourceKind::DictKey) return c.index < PyTuple_GET_SIZE(at.key_order);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(at.key_order); ++i) {
      if (is_value_of(c, PyTuple_GET_ITEM(at.key_order, i))) return true;
    }
    return false;
  }

  static void add_pairs(const Printed& at, int depth, std::vector<Pending>& parts) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(at.key_order); ++i) {
      PyObject* key = PyTuple_GET_ITEM(at.key_order, i);
      const std::string key_source = "list(dict.keys(" + at.source + "))[" + std::to_string(i) + "]";
      parts.push_back({depth, "KeyValueManager pair at index=" + std::to_string(i)});
      parts.push_back({depth + 1, "KeyManager: GuardManager: source=" + key_source});
      parts.push_back({depth + 2, "EQUALS_MATCH: " + key_source + " == " + constant_repr(key)});
      for (const Printed* c : at.children) {
        if (c->kind == SourceKind::DictKey && c->index == i) parts.push_back({depth + 2, {}, c});
        if (!is_value_of(*c, key)) continue;
        parts.push_back({depth + 1, "ValueManager: " + manager_text(*c)});
        parts.push_back({depth + 2, {}, c});
      }
    }
  }

  const CompiledGuards& p_;
  Printed root_;
  std::deque<Printed> all_;
  std::vector<std::string> sizes_;  // below the root manager
  std::unordered_map<std::string, Printed*> by_name_;
  std::vector<Printed*> printed_;            // by node
  std::vector<const std::string*> type_of_;  // by node: the class a type guard names
};

}  // namespace

std::string tree_text(const CompiledGuards& p) { return Tree(p).text(); }

}  // namespace md
