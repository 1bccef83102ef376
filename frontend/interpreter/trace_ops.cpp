// Tracer: tensor calls become graph nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/interpreter/trace_out.h"
#include "frontend/interpreter/trace_writes.h"
#include "frontend/report/call_text.h"
#include "frontend/tensors/generator_object.h"
#include "frontend/tensors/op_function.h"
#include "frontend/tensors/out_argument.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/append_item.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/logs.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/array.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/handled_values.h"
#include "frontend/values/inference_mode.h"
#include "frontend/values/number_formulas.h"
#include "frontend/values/pending_views.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/graph/op_table.h"

namespace md {

namespace {

// Shape rules ask the thread's gradient mode; the trace may have got to another.
struct GradMode {
  explicit GradMode(bool on) : before(md::grad_enabled()) { set_grad_enabled(on); }
  ~GradMode() { set_grad_enabled(before); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;
  bool before;
};

struct OperatorRow {
  const char* name;  // in Python's operator module
  const char* op;    // public op name
};
constexpr OperatorRow kOperators[] = {{"add", "add"},
                                      {"sub", "sub"},
                                      {"mul", "mul"},
                                      {"truediv", "div"},
                                      {"floordiv", "floor_divide"},
                                      {"mod", "remainder"},
                                      {"pow", "pow"},
                                      {"matmul", "matmul"},
                                      {"and_", "bitwise_and"},
                                      {"or_", "bitwise_or"},
                                      {"xor", "bitwise_xor"},
                                      {"lshift", "bitwise_left_shift"},
                                      {"rshift", "bitwise_right_shift"},
                                      {"neg", "neg"},
                                      {"invert", "bitwise_not"},
                                      {"abs", "abs"},
                                      {"eq", "eq"},
                                      {"ne", "ne"},
                                      {"lt", "lt"},
                                      {"le", "le"},
                                      {"gt", "gt"},
                                      {"ge", "ge"},
                                      {"getitem", "getitem"},
                                      {"setitem", "setitem"},
                                      {"iadd", "add"},
                                      {"isub", "sub"},
                                      {"imul", "mul"},
                                      {"itruediv", "div"},
                                      {"ifloordiv", "floor_divide"},
                                      {"imod", "remainder"},
                                      {"ipow", "pow"},
                                      {"iand", "bitwise_and"},
                                      {"ior", "bitwise_or"},
                                      {"ixor", "bitwise_xor"},
                                      {"ilshift", "bitwise_left_shift"},
                                      {"irshift", "bitwise_right_shift"}};

Arg slice_arg(Tracer& t, SliceValue& s) {
  for (const ValueRef* part : {&s.start, &s.stop, &s.step})
    if (t.realize(*part)->kind == ValueKind::Tensor)
      graph_break<GB0038>(s.start->print(), s.stop->print(), s.step->print());
  return make_slice(t.to_arg(s.start), t.to_arg(s.stop), t.to_arg(s.step));
}

// x[i] is a view, x[True] a copy; what looks positions up copies anyway.
bool copies(Tracer& t, const ValueRef& index) {
  auto is_bool = [&](const ValueRef& raw) {
    ValueRef v = t.realize(raw);
    return v->kind == ValueKind::Constant && PyBool_Check(v->real.get());
  };
  auto* tuple = as<TupleValue>(t.realize(index));
  return is_bool(index) || (tuple && std::any_of(tuple->items.begin(), tuple->items.end(), is_bool));
}

bool is_comparison(const std::string& target) {
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"})
    if (target == name) return true;
  return false;
}

bool has_keyword(const CallArgs& args, const char* name) {
  return std::ranges::any_of(args.keywords,
                             [&](const auto& k) { return PyUnicode_CompareWithASCIIString(k.first.get(), name) == 0; });
}

// `generator=None` of a random op is no argument of the graph. Other generators are objects no graph can hold.
bool is_default_generator(Tracer& t, const std::string& public_name, const std::string& key, const ValueRef& value) {
  if (key != "generator") return false;
  const auto forms = overloads(public_name);
  if (std::ranges::none_of(forms, [](OpId id) { return takes_generator(op(id)); })) return false;
  const ValueRef v = t.realize(value);
  if (v->kind == ValueKind::Constant && v->real.get() == Py_None) return true;
  if (v->python_type() == generator_type) graph_break<GB0055>(v->print());
  t.raise(PyExc_TypeError, public_name + "(): argument 'generator' must be torch.Generator, not " +
                               (v->python_type() ? type_name(v->python_type()) : "object"));
}

// The argument, or the item of a list among them, that is the tensor of `node`; null if there is none.
ValueRef argument_of(Tracer& t, const CallArgs& args, const Node* node) {
  const auto matching = [&](const ValueRef& raw) {
    const ValueRef v = t.realize(raw);
    auto* tensor = as<TensorValue>(data_of(v));
    return tensor && tensor->node == node ? v : ValueRef();
  };
  const auto among = [&](const ValueRef& raw) {
    const ValueRef v = t.realize(raw);
    auto* list = as<ListValue>(v);
    auto* tuple = as<TupleValue>(v);
    if (!list && !tuple) return matching(v);
    for (const ValueRef& item : list ? list->items : tuple->items)
      if (ValueRef found = matching(item)) return found;
    return ValueRef();
  };
  for (const ValueRef& v : args.positional)
    if (ValueRef found = among(v)) return found;
  for (const auto& [name, v] : args.keywords)
    if (ValueRef found = among(v)) return found;
  return {};
}

// A result that is an operand handed back is that very object. It goes by the name of the call from here on, but in a
// region or a trace of shapes, whose nodes mean nothing to the graph around it.
ValueRef with_operands(Tracer& t, const CallArgs& args, Node* made, ValueRef result,
                       const std::vector<Node*>& handed_back) {
  auto* several = as<TupleValue>(result);
  for (std::size_t i = 0; i < handed_back.size(); ++i) {
    const ValueRef operand = handed_back[i] ? argument_of(t, args, handed_back[i]) : ValueRef();
    if (!operand) continue;
    if (several) {
      several->items[i] = operand;
      continue;
    }
    if (t.graphs.outer.empty() && !t.graphs.on_fakes) as<TensorValue>(data_of(operand))->node = made;
    return operand;
  }
  return result;
}

// Results that handlers have made are of the classes of their stand-ins.
ValueRef with_stand_ins(Tracer& t, ValueRef result, const std::vector<TensorRef>& made) {
  auto* several = as<TupleValue>(result);
  if (!several) return made.size() == 1 ? with_stand_in(t, result, made[0]) : result;
  for (std::size_t i = 0; i < several->items.size() && i < made.size(); ++i)
    several->items[i] = with_stand_in(t, several->items[i], made[i]);
  return result;
}

// A call that makes a tensor wherever this thread makes them says so in the graph.
void name_default_device(Node& n, BoundCall& call) {
  const Op& called = op(call.op);
  if (!called.placed_by_default || !call.args[static_cast<std::size_t>(called.device)].is_none()) return;
  place_by_default(called, call.args);
  const Arg& device = call.args[static_cast<std::size_t>(called.device)];
  if (device.is_none()) return;
  std::erase_if(n.kwargs, [](const auto& k) { return k.first == "device"; });
  n.kwargs.emplace_back("device", device);
}

}  // namespace

Arg Tracer::to_arg(const ValueRef& raw) {
  ValueRef v = scalar_as_number(*this, data_of(realize(raw)));
  if (auto* x = as<TensorValue>(v)) return x->node;
  if (auto* n = as<SizeValue>(v)) return n->size;
  if (auto* f = as<NumberValue>(v)) return graph_number(*this, *f);
  if (auto* test = as<SizeTestValue>(v)) return as<TensorValue>(realize(test_in_graph(*this, *test)))->node;
  if (auto* s = as<SliceValue>(v)) return slice_arg(*this, *s);
  const bool list = v->kind == ValueKind::List;
  if (list || v->kind == ValueKind::Tuple) {
    if (is_stack_short()) graph_break<GB0055>(v->print());  // nested too deep, or in itself
    ListArg out;
    out.tuple = !list;
    for (auto& item : list ? static_cast<ListValue*>(v.get())->items : static_cast<TupleValue*>(v.get())->items)
      out.items.push_back(to_arg(item));
    return out;
  }
  if (v->kind == ValueKind::Constant) {
    PyObject* o = v->real.get();
    if (PyBytes_Check(o)) graph_break<GB0055>(v->print());
    return md::to_arg(o);
  }
  if (v->kind == ValueKind::Object &&
      type_find(v->python_type(), checked(PyUnicode_InternFromString("__torch_function__")).get()))
    unmodelled(v->print(), "operand with a __torch_function__");
  const bool object = v->kind == ValueKind::Opaque || v->kind == ValueKind::Object || v->kind == ValueKind::Builtin;
  if (object && v->real && std::strcmp(Py_TYPE(v->real.get())->tp_name, "torch.layout") == 0)
    return md::to_arg(v->real.get());  // there is one such object
  if (object && v->python_type() && std::strcmp(v->python_type()->tp_name, "_Layout") == 0)
    unmodelled(v->print(), "layout other than torch.strided");
  if (object && !config.trace_more) graph_break<GB0055>(v->print());
  if (object && !uncaught()) unmodelled(v->print(), "operand of an op that names itself when it refuses");
  if (object)
    raise(PyExc_TypeError,
          std::string("argument of a tensor op must be a tensor, a number or a sequence of them, not '") +
              (v->python_type() ? type_name(v->python_type()) : "object") + "'");
  graph_break<GB0055>(v->print());
}

ValueRef Tracer::tensor_value(Node* n, std::size_t result) { return make_ref<TensorValue>(n, n->types.at(result)); }

ValueRef Tracer::op_result(Node* n) {
  for (TensorType& type : n->types)
    if (type.storage < 0) type.storage = graphs.next_storage++;
  if (!n->multi) {
    note_unbacked(*this, n);
    return tensor_value(n);
  }
  std::vector<ValueRef> items;
  for (std::size_t i = 0; i < n->types.size(); ++i) {
    Node* item = append_item(*graphs.current, n, i);
    note_unbacked(*this, item);
    items.push_back(tensor_value(item));
  }
  return result_tuple(n, std::move(items));
}

ValueRef Tracer::result_tuple(Node* n, std::vector<ValueRef> items) {
  const Op& called = op(n->op);
  if (called.schema.results == -1) return make_ref<TupleValue>(std::move(items));
  auto tuple = make_ref<TupleValue>(std::move(items), named_result_type(called));
  tuple->fields = called.schema.result_names;
  return tuple;
}

static bool has_one_element(const SizeVec& sizes) {
  return std::ranges::all_of(sizes, [](const Size& s) { return s == Size(1); });
}

// One-element tensors of an argument as the numbers they may hold; false: there is none.
static bool as_numbers(Arg& a) {
  bool any = false;
  if (auto* list = std::get_if<ListArg>(&a.v))
    for (Arg& item : list->items) any |= as_numbers(item);
  auto* const node = std::get_if<Node*>(&a.v);
  if (!node || (*node)->types.size() != 1 || !has_one_element((*node)->type().sizes)) return any;
  a = is_integral((*node)->type().dtype) ? Arg(1) : Arg(1.0);
  return true;
}

// The arguments, keywords last, in whose places tensors stand although a number would be right: their content is asked
// for. Empty: the call is wrong.
static std::vector<std::size_t> asked_for_content(const std::vector<OpId>& forms, const Node& n) {
  const std::size_t count = n.args.size() + n.kwargs.size();
  const auto fits = [&](const std::vector<std::size_t>& places) {
    std::vector<Arg> args = n.args;
    KwArgs kwargs = n.kwargs;
    for (std::size_t i : places)
      if (!as_numbers(i < args.size() ? args[i] : kwargs[i - args.size()].second)) return false;
    try {
      (void)md::bind(forms, args, kwargs);
      return true;
    } catch (const OpError&) {
      return false;
    }
  };
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < count; ++i) {
    if (fits({i})) return {i};
    Arg a = i < n.args.size() ? n.args[i] : n.kwargs[i - n.args.size()].second;
    if (as_numbers(a)) all.push_back(i);
  }
  return all.size() > 1 && fits(all) ? all : std::vector<std::size_t>();
}

// A call that needs the content of arguments to become a node.
struct AsksContent {
  std::vector<std::size_t> places;
};

static BoundCall bound_call(Tracer& t, const std::vector<OpId>& forms, Node& n, bool setitem) {
  try {
    return md::bind(forms, setitem ? std::span<const Arg>(n.args).first(2) : std::span<const Arg>(n.args), n.kwargs);
  } catch (const OpError& e) {
    if (e.kind != ErrorKind::Type) throw;
    if (settle_numbers(t, n.args, n.kwargs)) return md::bind(forms, n.args, n.kwargs);
    if (std::vector<std::size_t> places = asked_for_content(forms, n); !places.empty()) throw AsksContent{places};
    graph_break<GB0112>(call_target(n), std::string(e.what()));
  }
}

static ValueRef read_number(Tracer& t, const ValueRef& raw, bool& any) {
  const ValueRef v = t.realize(raw);
  auto* const x = as<TensorValue>(v);
  if (!x || !has_one_element(x->type.sizes)) return v;
  any = true;
  return captured_item(t, *x);
}

// The arguments with those numbers read; empty where the settings do not allow it.
static std::optional<CallArgs> read_numbers(Tracer& t, const CallArgs& args, const std::vector<std::size_t>& places) {
  CallArgs known = args;
  bool any = false;  // else they are numbers of the graph, which this op does not take
  for (std::size_t i : places) {
    const std::size_t given = args.positional.size();
    if (i >= given + args.keywords.size()) return {};
    ValueRef& place = i < given ? known.positional[i] : known.keywords[i - given].second;
    const ValueRef v = t.realize(place);
    const std::vector<ValueRef>* items = nullptr;
    if (auto* list = as<ListValue>(v)) items = &list->items;
    if (auto* tuple = as<TupleValue>(v)) items = &tuple->items;
    if (!items) {
      if (!(place = read_number(t, v, any))) return {};
      continue;
    }
    std::vector<ValueRef> numbers;
    for (const ValueRef& item : *items)
      if (!numbers.emplace_back(read_number(t, item, any))) return {};
    place = make_ref<TupleValue>(std::move(numbers));
  }
  if (!any) return {};
  return known;
}

// One node for a bound call; in-place forms move their first operand on to the new node.
ValueRef Tracer::emit(const std::string& public_name, Spelling spelling, const std::string& target, bool inplace,
                      const CallArgs& args) {
  Node n{NodeKind::Op};
  n.spelling = spelling;
  n.target = target;
  n.name = target;
  for (auto& a : args.positional) n.args.push_back(to_arg(a));
  for (auto& [k, v] : args.keywords) {
    const std::string key = text_of(k.get());
    if (!is_default_generator(*this, public_name, key, v)) n.kwargs.emplace_back(key, to_arg(v));
  }
  n.stack = user_stack();
  auto* self = inplace ? as<TensorValue>(realize(args.positional.at(0))) : nullptr;
  if (inplace && !self) raise(PyExc_TypeError, target + " needs a tensor");
  if (inplace && graphs.mirrored.contains(self->type.storage))
    unmodelled(target, "a write to what an array reads backward");
  if (inplace && graphs.hooked.contains(self->type.storage))
    unmodelled(target, "a write to a tensor whose gradient has just got a hook");
  const bool setitem = public_name == "setitem";
  const bool handled = holds_handled(*this, args);
  std::vector<TensorRef> stand_ins;  // of the results
  std::vector<Node*> handed_back;
  std::vector<SizeGuard> check_later;
  const std::vector<OpId> forms = forms_of(overloads(setitem ? "getitem" : public_name), inplace && !setitem);
  const bool has_key = setitem || public_name == "getitem";
  if (has_key) {
    std::vector<Arg> key{n.args.at(1)};
    if (settle_numbers(*this, key, n.kwargs)) n.args[1] = key[0];
  }
  try {
    BoundCall call = bound_call(*this, forms, n, setitem);
    if (sizes.env && settle_arguments(op(call.op), call.args, n.args, n.kwargs))
      call = bound_call(*this, forms, n, setitem);
    n.op = call.op;
    // Library code the package brings along makes what it needs on the CPU, as the library does.
    if (!default_device().is_cpu() && !frame().is_library()) name_default_device(n, call);
    const GradMode mode(grad_enabled);
    if (inplace) check_inference_write(*this, *self);
    if (setitem) {
      take_on_grad(*graphs.current, *self, check_traced_assignment(*this, n, check_later), target);
    } else {
      if (inplace) check_writable(*self);
      if (op(n.op).kind() == OpKind::View) check_pending(n);
      n.types = infer_traced(*this, n, call.args, handed_back, check_later);
      n.multi = op(call.op).schema.results != 1;
      if (handled) stand_ins = call_stand_ins(*this, args, n, call, inplace);
      if (inplace) note_write(*graphs.current, *self, op(n.op), n.types.at(0), target);
    }
  } catch (const OpError& e) {
    report_op_error(e, n);
  } catch (const AsksContent& e) {
    const auto known = n.kwargs.size() == args.keywords.size() ? read_numbers(*this, args, e.places) : std::nullopt;
    if (!known) graph_break<GB0033>(public_name);
    if (spelling != Spelling::Function && spelling != Spelling::Method)
      return emit(public_name, spelling, target, inplace, *known);
    const std::string name = public_name.substr(public_name.starts_with("Tensor.") ? 7 : 0);
    return call_op(inplace ? name + "_" : name, spelling, *known, target);
  } catch (const DataDependent& e) {
    report_data_dependent(*this, e, public_name, args);
  }
  ++graphs.calls_captured;
  if (inplace) n.types = setitem ? std::vector<TensorType>{} : std::vector<TensorType>{self->type};
  Node* made = graphs.current->append(std::move(n));
  if (log_traces) log_graph_call(*this, *made);
  if (!inplace) {
    const ValueRef result = op_result(made);
    check_assumed(*this, check_later);
    return with_operands(*this, args, made, with_stand_ins(*this, result, stand_ins), handed_back);
  }
  check_assumed(*this, check_later);
  // x += 1 assigns; after x.add_(1) and x[0] = 7 the tensor goes by its old name.
  if (spelling == Spelling::Inplace && !setitem) self->node = made;
  return ValueRef(self);
}

void Tracer::report_op_error(const OpError& e, const Node& n) {
  const bool compares = n.spelling == Spelling::Operator && is_comparison(n.target);
  if (compares && e.kind == ErrorKind::Runtime && n.args.size() == 2)
    graph_break<GB0182>(n.target, operand_text(n.args[0]), operand_text(n.args[1]));
  throw FailedCall(e, call_text(n));
}

ValueRef Tracer::call_op(const std::string& name, Spelling spelling, const CallArgs& args, const std::string& target) {
  if (spelling == Spelling::Function && has_keyword(args, "out") && takes_out(overloads(name))) {
    return trace_call_into(*this, name, args, target);
  }
  if (ValueRef made = by_number_formula(*this, name, spelling, args)) return made;
  const bool inplace = is_inplace_method(name);
  const std::string base = inplace ? name.substr(0, name.size() - 1) : name;
  const std::string method = "Tensor." + base;  // may mean an op of its own
  const bool own = spelling == Spelling::Method && !overloads(method).empty();
  return emit(own ? method : base, spelling, target.empty() ? name : target, inplace, args);
}

ValueRef Tracer::call_operator(const std::string& name, const CallArgs& args) {
  if (name == "pos") return realize(args.positional.at(0));
  for (const OperatorRow& row : kOperators) {
    if (name != row.name) continue;
    const bool inplace = (name[0] == 'i' && name != "invert") || name == "setitem";
    if (name == "pow")
      if (ValueRef made = by_number_formula(*this, name, Spelling::Operator, args)) return made;
    ValueRef made = emit(row.op, inplace ? Spelling::Inplace : Spelling::Operator, name, inplace, args);
    const bool copied = name == "getitem" && args.positional.size() == 2 && copies(*this, args[1]);
    return copied ? call_op("clone", Spelling::Method, CallArgs{{made}, {}}) : made;
  }
  unmodelled("operator." + name, print_list(args.positional));
}

ValueRef Tracer::call_attribute_op(const std::string& name, const CallArgs& args) {
  return emit(name, Spelling::Attribute, name, false, args);
}

ValueRef Tracer::constant_tensor(PyObject* object) {
  Node n{NodeKind::GetAttr};
  n.target = n.name = "_tensor_constant" + std::to_string(graphs.constant_count++);
  n.constant = TensorRef(tensor_impl(object));
  n.types = {type_of(Arg(n.constant))};
  n.types[0].storage = graphs.next_storage++;
  n.stack = user_stack();
  Node* held = graphs.current->append(std::move(n));
  return call_op("clone", Spelling::Method, CallArgs{{tensor_value(held)}, {}});
}

void Tracer::emit_grad_switch(bool on) {
  Node n{NodeKind::State};
  n.target = "_C._set_grad_enabled";
  n.name = "_set_grad_enabled";
  n.args = {Arg(on)};
  graphs.current->append(std::move(n));
}

void Tracer::name_node(const ValueRef& v, const std::string& variable) {
  if (frame().is_library()) return;
  auto* array = as<ArrayValue>(v);
  auto* x = array ? array->tensor.get() : as<TensorValue>(v);
  if (!x || x->node->kind == NodeKind::Placeholder || !graphs.named.insert(x->node).second) return;
  graphs.current->rename(x->node, variable);
}

}  // namespace md
