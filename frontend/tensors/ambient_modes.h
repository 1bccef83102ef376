// The modes around a call, which compiled code is made for: their number is part of the ambient state, and they stand
// in a list that sources of entries begin at.
#pragma once

#include <Python.h>

namespace md {

// Regions of autocast in four bits (autocast_word()), above them the CUDA device that is the thread's current one, and
// the number of other modes.
int overrides_word();
inline constexpr int kCurrentDeviceShift = 4, kModesShift = 11;
void note_current_device(int ordinal);
inline constexpr int kMostModes = 7;  // code under more of them runs as plain Python
inline int modes_around() { return overrides_word() >> kModesShift; }

// The modes of the thread that called compiled code last, the outermost first. Brought up to date where a call finds
// modes around it; empty as soon as one of them is left.
PyObject* modes_list();

}  // namespace md
