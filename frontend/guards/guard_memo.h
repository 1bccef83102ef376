// What a passed check leaves behind: words of memory which, while they are unchanged, show that most of it passes
// again.
#pragma once

#include <cstring>
#include <vector>

#include "frontend/cpython/internals.h"
#include "frontend/guards/source.h"

namespace md {

class CompiledGuards;
struct GuardOp;
struct LoadFact;

// Words follow the way the guards went, from the objects the frame was called with: each lies in memory that the words
// before it show to be alive. What no word can tell (tensors) is checked as ever, with the registers it needs filled
// in.
class GuardMemo {
 public:
  // In the order of `operations`; before it run, the fills up to fills_end take place.
  struct Fill {
    std::uint16_t reg;
    PyObject* object;
  };
  struct Live {
    const GuardOp* op;
    std::size_t fills_end;
  };

  bool any() const { return valid_; }
  bool off() const { return off_; }  // there is too little to memoize
  bool unchanged(const FrameArgs& args) {
    if ((globals_ && globals_ != args.globals) || (builtins_ && builtins_ != args.builtins)) return false;
    for (const Anchor& a : anchors_)
      if (args.localsplus[a.slot] != a.object) return changed(a.node);
    if (!elements_.empty() && !elements_unchanged(args)) return false;
    for (const md_word& w : words_) {
      std::uint64_t now;
      std::memcpy(&now, w.at, sizeof now);
      if (now != w.value) [[unlikely]]
        return changed(owners_[static_cast<std::size_t>(&w - words_.data())]);
    }
    ++hits_;
    return true;
  }
  const std::vector<Live>& live() const { return live_; }
  const std::vector<Fill>& fills() const { return fills_; }

  // All operations have just been run and have passed.
  void passed(const CompiledGuards& p, PyObject** regs, const FrameArgs& args);

 private:
  friend class MemoRecorder;
  struct Anchor {
    int slot;
    PyObject* object;
    int node;
  };

  // An element of a tuple or dictionary that the frame was called with.
  struct Element {
    int slot;
    const LoadFact* load;
    PyObject* object;
    int node;
  };

  bool elements_unchanged(const FrameArgs& args);
  bool changed(int node) {
    changed_ = node;
    return false;
  }
  void forget();

  std::vector<Anchor> anchors_;  // of the frame's slots, that they hold the same objects
  std::vector<Element> elements_;
  PyObject *globals_ = nullptr, *builtins_ = nullptr;
  std::vector<md_word> words_;
  std::vector<int> owners_;  // of the words: the nodes at whose objects they are
  std::vector<Live> live_;
  std::vector<Fill> fills_;
  std::vector<PyRef> kept_;  // numbers and strings whose addresses stand for their values

  bool valid_ = false, off_ = false;
  std::uint32_t hits_ = 0;             // since the words were noted
  std::uint32_t wait_ = 1, left_ = 2;  // passes until they are noted again
  int changed_ = -1;                   // the node at which they were found changed
  std::vector<std::uint8_t> strikes_;  // by node: how often soon after
};

}  // namespace md
