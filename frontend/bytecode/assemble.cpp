// Lowered instructions to bytes, tables and a code object.
#include <fmt/format.h>

#include "frontend/bytecode/lower.h"
#include "frontend/bytecode/tables.h"
#include "ir/core/error.h"

namespace md {
namespace {

class Encoder {
 public:
  explicit Encoder(const LoweredCode& code) : code_(code.instructions), places_(code_.size()) {
    for (std::size_t k = 0; k < code_.size(); ++k) {
      places_[k].size = 1 + raw_info(code_[k].op).caches;
      places_[k].arg = code_[k].arg;
    }
    resolve(code);
    settle();
  }

  EncodedCode run(int first_line) const {
    EncodedCode out;
    std::vector<LocationRun> runs;
    for (std::size_t k = 0; k < code_.size(); ++k) {
      emit(out.code, k);
      runs.push_back({places_[k].size, code_[k].pos});
    }
    out.locations = write_locations(runs, first_line);
    out.exceptions = write_exceptions(ranges());
    return out;
  }

 private:
  struct Place {
    int offset = 0, size = 0;  // code units
    int arg = 0;
    int target = -1;   // lowered index
    int handler = -1;  // lowered index
  };

  static int prefixes(int arg) { return (arg > 0xff) + (arg > 0xffff) + (arg > 0xffffff); }

  void resolve(const LoweredCode& code) {
    const auto place_of = [&](int label) {
      const int k = code.first[label];
      if (k >= static_cast<int>(code_.size())) throw InternalError("jump to the end of the code");
      return k;
    };
    for (std::size_t k = 0; k < code_.size(); ++k) {
      const LoweredInstruction& i = code_[k];
      if (i.label >= 0) places_[k].target = i.to_exit ? code.exit_first[i.label] : place_of(i.label);
      if (i.handler.label >= 0) places_[k].handler = place_of(i.handler.label);
    }
  }

  // Grows jumps until every distance fits; sizes never shrink, so this ends.
  void settle() {
    for (bool changed = true; changed;) {
      changed = false;
      int offset = 0;
      for (Place& p : places_) {
        p.offset = offset;
        offset += p.size;
      }
      for (std::size_t k = 0; k < code_.size(); ++k) {
        Place& p = places_[k];
        if (p.target >= 0) p.arg = distance(k);
        const int size = 1 + raw_info(code_[k].op).caches + prefixes(p.arg);
        if (size <= p.size) continue;
        p.size = size;
        changed = true;
      }
    }
  }

  int distance(std::size_t k) const {
    const int d = places_[places_[k].target].offset - (places_[k].offset + places_[k].size);
    const bool backward = raw_info(code_[k].op).arg == RawArg::Backward;
    if (backward != (d < 0)) throw InternalError(fmt::format("{} jumps the wrong way", raw_info(code_[k].op).name));
    return backward ? -d : d;
  }

  void emit(std::string& out, std::size_t k) const {
    const RawInfo& info = raw_info(code_[k].op);
    const int arg = places_[k].arg;
    for (int n = places_[k].size - 1 - info.caches; n > 0; --n) {
      out.push_back(static_cast<char>(raw_info(RawOp::EXTENDED_ARG).number));
      out.push_back(static_cast<char>(arg >> 8 * n & 0xff));
    }
    out.push_back(static_cast<char>(info.number));
    out.push_back(static_cast<char>(arg & 0xff));
    out.append(2 * info.caches, '\0');
  }

  std::vector<ExceptionRange> ranges() const {
    std::vector<ExceptionRange> out;
    for (std::size_t k = 0; k < code_.size(); ++k) {
      if (places_[k].handler < 0) continue;
      const Handler h{places_[places_[k].handler].offset, code_[k].handler.depth, code_[k].handler.lasti};
      const int start = places_[k].offset, end = start + places_[k].size;
      if (!out.empty() && out.back().end == start && out.back().handler == h) {
        out.back().end = end;
      } else {
        out.push_back({start, end, h});
      }
    }
    return out;
  }

  const std::vector<LoweredInstruction>& code_;
  std::vector<Place> places_;
};

PyRef tuple_of(const std::vector<PyRef>& items) {
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t k = 0; k < items.size(); ++k) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(k), Py_NewRef(items[k].get()));
  }
  return tuple;
}

PyRef slots_of_kind(const CodeBody& body, SlotKind kind) {
  std::vector<PyRef> names;
  for (std::size_t k = 0; k < body.slot_names.size(); ++k) {
    if (body.slot_kinds[k] & kind) names.push_back(body.slot_names[k]);
  }
  return tuple_of(names);
}

// CPython lays slots out as locals, then cells, then free variables.
void check_slots(const CodeBody& body) {
  if (body.slot_names.size() != body.slot_kinds.size()) throw InternalError("slots without a kind");
  int last = 0;
  for (const std::uint8_t kind : body.slot_kinds) {
    const int group = kind & kSlotFree ? 2 : kind & kSlotLocal ? 0 : 1;
    if (group < last) throw InternalError("slots out of order");
    last = group;
  }
}

PyRef bytes_object(const std::string& s) {
  return checked(PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

int stack_size(const CodeBody& body) {
  int depth = 0;
  stack_depths(body, &depth);
  for (const Instruction& i : body.instructions) {
    if (kMinor >= 13 && i.op == Opcode::CALL && i.kwnames) return depth + 1;  // the names lie on the stack
  }
  return std::max(depth, 1);
}

}  // namespace

EncodedCode encode(const LoweredCode& lowered, int first_line) { return Encoder(lowered).run(first_line); }

PyRef assemble(const CodeBody& body) {
  check_slots(body);
  const std::vector<FlowState> flow = analyse(body);
  const LoweredCode lowered = lower(body, flow);
  const EncodedCode encoded = encode(lowered, body.firstlineno);
  const PyRef code = bytes_object(encoded.code), locations = bytes_object(encoded.locations);
  const PyRef exceptions = bytes_object(encoded.exceptions);
  // A tuple of its own: the constructor interns strings inside it.
  const PyRef consts = tuple_of(lowered.consts), names = tuple_of(body.names);
  const PyRef locals = slots_of_kind(body, kSlotLocal), cells = slots_of_kind(body, kSlotCell);
  const PyRef frees = slots_of_kind(body, kSlotFree);
#if PY_VERSION_HEX >= 0x030C0000
  constexpr auto kNew = PyUnstable_Code_NewWithPosOnlyArgs;
#else
  constexpr auto kNew = PyCode_NewWithPosOnlyArgs;
#endif
  PyCodeObject* const result = kNew(
      body.argcount, body.posonlyargcount, body.kwonlyargcount, static_cast<int>(PyTuple_GET_SIZE(locals.get())),
      stack_size(body), body.flags, code.get(), consts.get(), names.get(), locals.get(), frees.get(), cells.get(),
      body.filename.get(), body.name.get(), body.qualname.get(), body.firstlineno, locations.get(), exceptions.get());
  return checked(reinterpret_cast<PyObject*>(result));
}

}  // namespace md
