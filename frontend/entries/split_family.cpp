// Finds the place of resume code in the function it comes from, splits there, and tells in the slots of the resume code
// what its parts take.
#include "frontend/entries/split_family.h"

#include <algorithm>
#include <optional>

#include "frontend/bytecode/effects.h"
#include "frontend/bytecode/flow.h"
#include "frontend/entries/frame_notes.h"

namespace md {
namespace {

PyCodeObject* code_object(const PartCode& part) { return reinterpret_cast<PyCodeObject*>(part.code.get()); }

int cell_named(const CodeBody& body, PyObject* name) {
  for (std::size_t k = 0; k < body.slot_names.size(); ++k) {
    if ((body.slot_kinds[k] & (kSlotCell | kSlotFree)) && PyUnicode_Compare(body.slot_names[k].get(), name) == 0)
      return static_cast<int>(k);
  }
  return -1;
}

// Slots of parameters the code never mentions otherwise.
void place_parameters(ResumeOrigin& origin, const CodeBody& whole, const CodeBody& part, const PartCode& code) {
  for (std::size_t k = 0; k < code.parameters.size(); ++k) {
    const SplitParameter& p = code.parameters[k];
    if (p.kind != SplitParameter::Kind::Slot) continue;
    const bool cell = whole.slot_kinds[static_cast<std::size_t>(p.index)] & (kSlotCell | kSlotFree);
    const int slot =
        cell ? cell_named(part, whole.slot_names[static_cast<std::size_t>(p.index)].get()) : static_cast<int>(k);
    if (slot >= 0) origin.slots[static_cast<std::size_t>(slot)] = p.index;
  }
}

// Resume code ends with the instructions of the function that can be reached from its entry, in their order.
bool find_places(ResumeOrigin& origin, const SplitFamily& family, const CodeBody& part, const PartCode& code) {
  if (!origin.places.empty()) return true;
  const CodeBody& whole = *family.body;
  const std::vector<int> kept = reachable_from(whole, origin.entry);
  if (kept.size() > part.instructions.size()) return false;
  const std::size_t start = part.instructions.size() - kept.size();
  std::vector<int> places(part.instructions.size(), -1);
  origin.slots.assign(part.slot_names.size(), -1);
  for (std::size_t k = 0; k < kept.size(); ++k) {
    const Instruction& here = part.instructions[start + k];
    const Instruction& there = whole.instructions[static_cast<std::size_t>(kept[k])];
    if (here.op != there.op) return false;
    places[start + k] = kept[k];
    if (has_slot_operand(here.op)) origin.slots[static_cast<std::size_t>(here.a)] = there.a;
  }
  place_parameters(origin, whole, part, code);
  origin.places = std::move(places);
  return true;
}

// What is live before the instruction, as the function sees it; none where something has no place there.
std::optional<BreakLayout> in_function(const ResumeOrigin& origin, const SplitFamily& family,
                                       const BreakLayout& layout) {
  BreakLayout out = layout;
  out.instruction = origin.places[static_cast<std::size_t>(layout.instruction)];
  if (out.instruction < 0) return {};
  out.slot_bound.assign(family.body->slot_names.size(), false);
  for (std::size_t k = 0; k < layout.slot_bound.size(); ++k) {
    if (!layout.slot_bound[k]) continue;
    if (origin.slots[k] >= 0)
      out.slot_bound[static_cast<std::size_t>(origin.slots[k])] = true;
    else if (k != 0)  // slot 0 may stand for what super() reads
      return {};
  }
  return out;
}

// Parameters in slots of the resume code; false: it lacks one.
bool use_slots_of(const ResumeOrigin& origin, PartCode& code) {
  for (SplitParameter& p : code.parameters) {
    if (p.kind != SplitParameter::Kind::Slot) continue;
    const auto found = std::ranges::find(origin.slots, p.index);
    if (found == origin.slots.end()) return false;
    p.index = static_cast<int>(found - origin.slots.begin());
  }
  return true;
}

bool takes_the_same(const PartCode& a, const PartCode& b) {
  return std::ranges::equal(a.parameters, b.parameters, [](const SplitParameter& x, const SplitParameter& y) {
    return x.kind == y.kind && x.index == y.index;
  });
}

// The code made first for what is live at the place.
void use_known(const std::shared_ptr<SplitFamily>& family, const BreakLayout& at, PartCode& made) {
  if (!made) return;
  for (auto& [known, part] : family->resumes) {
    if (!is_same(known, at) || !takes_the_same(part, made)) continue;
    made = part;
    return;
  }
  auto origin = std::make_shared<ResumeOrigin>();
  origin->family = family;
  origin->entry = at.instruction;
  frame_notes(code_object(made)).origin = std::move(origin);
  family->resumes.emplace_back(at, made);
}

SplitCode split_at_place(const std::shared_ptr<SplitFamily>& family, const BreakLayout& layout) {
  for (auto& [known, code] : family->splits)
    if (is_same(known, layout)) return code;
  const CodeBody& body = *family->body;
  SplitCode code = split(body, layout);
  BreakLayout after = layout;
  after.instruction = layout.instruction + 1;
  after.stack_is_null = code.resume_stack_is_null;
  use_known(family, after, code.resume);
  after.instruction = body.instructions[static_cast<std::size_t>(layout.instruction)].target;
  after.stack_is_null = code.taken_stack_is_null;
  use_known(family, after, code.resume_taken);
  family->splits.emplace_back(layout, code);
  return code;
}

// By the function the resume code comes from; none where that is not known any more.
std::optional<SplitCode> split_by_origin(const FrameNotes& notes, const CodeBody& body, const BreakLayout& layout) {
  const std::shared_ptr<ResumeOrigin> origin = notes.origin;
  const std::shared_ptr<SplitFamily> family = origin ? origin->family.lock() : nullptr;
  if (!family) return {};
  const auto own = std::ranges::find_if(family->resumes, [&](auto& r) {
    const FrameNotes* of = find_frame_notes(code_object(r.second));
    return of == &notes;
  });
  if (own == family->resumes.end() || !find_places(*origin, *family, body, own->second)) return {};
  const std::optional<BreakLayout> place = in_function(*origin, *family, layout);
  if (!place) return {};
  SplitCode out = split_at_place(family, *place);
  for (PartCode* part : {&out.break_part, &out.resume, &out.resume_taken})
    if (!use_slots_of(*origin, *part)) return {};
  return out;
}

}  // namespace

SplitFamily::~SplitFamily() {
  for (auto& [at, part] : resumes) drop_entries(code_object(part));
}

bool is_same(const BreakLayout& a, const BreakLayout& b) {
  const auto alike = [](const OpenContext& x, const OpenContext& y) {
    return x.stack_index == y.stack_index && x.cls.get() == y.cls.get() &&
           std::ranges::equal(x.args, y.args, {}, &PyRef::get, &PyRef::get);
  };
  return a.instruction == b.instruction && a.stack_is_null == b.stack_is_null && a.slot_bound == b.slot_bound &&
         std::ranges::equal(a.contexts, b.contexts, alike);
}

SplitCode split_in_family(FrameNotes& notes, const std::shared_ptr<const CodeBody>& body, const BreakLayout& layout) {
  if (std::optional<SplitCode> known = split_by_origin(notes, *body, layout)) return std::move(*known);
  if (!notes.family) notes.family = std::make_shared<SplitFamily>(body);
  const std::shared_ptr<SplitFamily> family = notes.family;  // reset() may clear the notes meanwhile
  return split_at_place(family, layout);
}

}  // namespace md
