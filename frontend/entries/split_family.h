// What a function was split into at its breaks. Resume code of one place is made once, whichever part broke: the rounds
// of a loop that breaks in each of them run the same code, and so the same entries.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "frontend/bytecode/split.h"

namespace md {

struct FrameNotes;

// Held by the notes of the function. Entries of resume code may hold that very code: they are dropped with the family.
struct SplitFamily {
  std::shared_ptr<const CodeBody> body;
  std::vector<std::pair<BreakLayout, SplitCode>> splits;
  std::vector<std::pair<BreakLayout, PartCode>> resumes;

  explicit SplitFamily(std::shared_ptr<const CodeBody> body) : body(std::move(body)) {}
  SplitFamily(const SplitFamily&) = delete;
  SplitFamily& operator=(const SplitFamily&) = delete;
  ~SplitFamily();
};

// Where resume code comes from: the family, and the instruction of the function it begins with.
struct ResumeOrigin {
  std::weak_ptr<SplitFamily> family;
  int entry = -1;
  std::vector<int> places, slots;  // of the instructions and slots here those in the function, or -1; filled on demand
};

// Splits the code the notes are of, decoded. Slots of parameters are its own.
SplitCode split_in_family(FrameNotes& notes, const std::shared_ptr<const CodeBody>& body, const BreakLayout& layout);

bool is_same(const BreakLayout& a, const BreakLayout& b);

}  // namespace md
