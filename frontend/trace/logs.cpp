// Texts of instructions, inlining, graph calls and symbols for the log, each behind its switch.
#include "frontend/trace/logs.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "frontend/cpython/object_text.h"
#include "frontend/report/call_text.h"
#include "frontend/report/source_lines.h"
#include "frontend/trace/polyfills.h"
#include "ir/sizes/shape_env.h"

namespace md {

namespace {

std::string depth_note(const SymbolicFrame& f) {
  return f.inline_depth > 0 ? fmt::format(" (inline depth: {})", f.inline_depth) : "";
}

// Frames of code that polyfills a library's function are part of the call.
const SymbolicFrame& users_frame(const Tracer& t) {
  std::size_t k = t.stack.frames.size() - 1;
  while (k > 0 && t.stack.frames[k]->is_library()) --k;
  return *t.stack.frames[k];
}

void debug(const std::string& text) { report("log_debug", {py_str(text)}); }
void trace(const char* artifact, const std::string& text) { report("log_artifact", {py_str(artifact), py_str(text)}); }

// "TRACE FX call add from file:line in fn", and the source with the instruction's part underlined.
void trace_call(const Tracer& t, const char* kind, const std::string& called) {
  const SymbolicFrame& f = users_frame(t);
  const Position& p = f.instruction().pos;
  const std::string file = text_of(f.body->filename.get());
  PyRef source = report("marked_source", {py_str(file), py_int(p.line), py_int(p.end_line), py_int(p.column),
                                          py_int(p.end_column), f.globals});
  trace("trace_call", fmt::format("TRACE {} {} from {}:{} in {}{}\n{}", kind, called, file, p.line, f.printed_name,
                                  depth_note(f), text_of(source.get())));
}

}  // namespace

void log_instruction(Tracer& t, SymbolicFrame& f, const Instruction& i) {
  if (i.offset < 0 || f.is_library()) return;
  const std::string file = text_of(f.body->filename.get());
  if (i.pos.line >= 0 && i.pos.line != f.last_line) {
    f.last_line = i.pos.line;
    trace("trace_source",
          fmt::format("TRACE starts_line {}:{} in {}{}\n    {}", file, i.pos.line, f.printed_name, depth_note(f),
                      t.source_lines.raw(f.body->filename.get(), i.pos.line, f.globals.get())));
  }
  std::string stack = "[";
  for (auto& v : f.stack) stack += (stack.size() > 1 ? ", " : "") + (v ? v->print() : std::string("NullVariable"));
  // Real instructions that went into this one, and parts of one that was printed already.
  if (i.op == Opcode::CALL) {
    for (const DroppedInstruction& d : i.dropped) {
      trace("trace_bytecode", fmt::format("TRACE {} {} {}]", d.name, operand_text(*f.body, d.arg), stack));
      if (std::string_view(d.name) == "LOAD_CONST") {
        stack += fmt::format(", TupleVariable(length={})", PyTuple_GET_SIZE(i.kwnames.get()));
      }
    }
  }
  // What a resume function's RESUME leaves out (split_part.cpp) is not the reader's business.
  const bool begins = i.op == Opcode::RESUME && f.printed_name.starts_with("torch_dynamo_resume_in_");
  if (*i.orig_name)
    trace("trace_bytecode",
          fmt::format("TRACE {} {} {}]", i.orig_name, begins ? "0" : operand_text(*f.body, i.orig_arg), stack));
}

// The numbers are the reference's: how a size is made known to the trace.
static std::string sizes_known(const SizeVec& sizes) {
  std::string out;
  for (const Size& s : sizes)
    out += std::string(out.empty() ? "" : ", ") + (s.is_const() ? "<DimDynamic.STATIC: 2>" : "<DimDynamic.DYNAMIC: 0>");
  return out;
}

void log_graph_input(Node& placeholder, SourceRef source) {
  const TensorType& type = placeholder.types.at(0);
  std::string strides, none, concrete;
  for (const Size& s : type.sizes) {
    strides += strides.empty() ? "<DimDynamic.INFER_STRIDE: 4>" : ", <DimDynamic.INFER_STRIDE: 4>";
    none += none.empty() ? "None" : ", None";
    concrete += (concrete.empty() ? "" : ", ") + std::to_string(hint(s));
  }
  if (type.sizes.size() == 1) concrete += ",";
  debug(
      fmt::format("wrap_to_fake {} ({}) StatefulSymbolicContext(dynamic_sizes=[{}], dynamic_strides=[{}], "
                  "constraint_sizes=[{}], constraint_strides=[{}]) <class 'torch.Tensor'>",
                  source->name, concrete, sizes_known(type.sizes), strides, none, none));
  debug(fmt::format("create_graph_input {} {} {} at debug_level 0 before=False", placeholder.target, source->name,
                    operand_text(&placeholder)));
}

void log_graph_call(Tracer& t, const Node& made) {
  const SymbolicFrame& f = users_frame(t);
  const std::pair<const void*, int> here{f.body.get(), f.current};
  if (std::exchange(t.graphs.logged_call, here) != here) trace_call(t, "FX call", made.name);
}

void log_inlining(Tracer& t, const SymbolicFrame& callee) {
  if (callee.is_library()) return;
  trace_call(t, "inlined call", callee.printed_name);
  debug(
      fmt::format("INLINING {}, inlined according trace_rules.lookup inlined by default", repr_of(callee.code.get())));
}

void log_inlining_done(Tracer&, const SymbolicFrame& callee) {
  if (!callee.is_library()) debug("DONE INLINING " + repr_of(callee.code.get()));
}

void log_inlining_failed(const Tracer& t) {
  for (std::size_t k = t.stack.frames.size(); k-- > 1;) {
    if (t.stack.frames[k]->is_library()) continue;
    debug("empty checkpoint");  // nothing to go back to in the middle of a callee
    debug("FAILED INLINING " + repr_of(t.stack.frames[k]->code.get()));
  }
}

void log_no_checkpoint() { debug("empty checkpoint"); }

void log_symbols(const Tracer& t) {
  if (!t.sizes.env) return;
  const auto tell = [](const std::string& text) { report("log_dynamic", {py_str(text)}); };
  for (const SizeSymbol& s : t.sizes.env->symbols()) {
    const std::string value = s.hint ? std::to_string(*s.hint) : "?", of = s.source.empty() ? "data" : s.source;
    tell(fmt::format("create_symbol {} = {} for {}", s.name, value, of));
  }
  for (const SizeGuard& g : t.sizes.env->guards()) tell(fmt::format("eval {} [guard added]", to_string(g)));
}

void log_guards(const CompiledGuards& p, const FrameArgs& args) {
  const auto start = std::chrono::steady_clock::now();
  check(p, args);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  report("log_artifact",
         {py_str("guards"), py_str(fmt::format("{}\nGuard eval latency = {:.2f} us", tree_text(p), took.count()))});
}

}  // namespace md
