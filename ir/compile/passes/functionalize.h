// Traced graph in, functional graph out. Every storage has a current value; a view is a storage and a chain of view
// ops; an in-place op on a view writes into the storage's value (`write_view`); inputs that changed become Commit nodes
// at the end, in placeholder order. Composite ops are opened on the way, since only their parts say what aliases what.
//
// Without it, in-place ops and views could be neither reordered nor fused.
//
// Outputs keep what eager execution shows of them: an input returned is the placeholder, a view of an input is a chain
// of view nodes on the placeholder (seen after the commits), views of one fresh tensor share it, strides are eager's.
#pragma once

#include "ir/compile/passes/gradient_notes.h"

namespace md {

// Throws NotFunctional for what the functional dialect cannot say (writes to overlapping memory, to inputs that share
// storage, to constants).
std::unique_ptr<Graph> functionalize(const Graph& traced);
// For a graph that is to be differentiated: types say what requires grad under the traced grad mode, and `notes.at_end`
// may append to the graph before it gets its Output.
std::unique_ptr<Graph> functionalize(const Graph& traced, GradientNotes& notes);

}  // namespace md
