// What a trace takes for granted: the places it has looked at, and a guard for each assumption.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/guards/guard.h"
#include "frontend/guards/source.h"

namespace md {

struct GuardRecorder {
  SourceTable sources;
  GuardSet guards;
  std::vector<SourceRef> present;                  // must load
  const std::set<std::string>* varying = nullptr;  // names of sources whose objects differ in most calls: no guards
  // --- look-ups on classes, one guard for each class
  struct ClassNotes {
    PyRef type, items;                                      // items: list of ClassLookups payloads
    std::unordered_multimap<std::size_t, PyObject*> known;  // the same by their hash
  };
  std::vector<ClassNotes> class_notes;
  std::unordered_map<PyObject*, std::size_t> class_places;  // in class_notes, by type
};

}  // namespace md
