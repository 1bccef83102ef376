// The binary tree of a fold's chunks, in code: on a processor and on a GPU the same one.
#pragma once

#include "backend/llvm/emit.h"

namespace md {

// `tree` is an array of a result for each level. Result `index` joins it: while its number has a low one bit, it
// completes the pair waiting on that level.
void push_into_tree(const Emit& e, const NestValue& reduce, llvm::Value* tree, llvm::Value* v, llvm::Value* index);
// Of `count` results, at least one: the pairs still waiting, smallest first; an odd one out moves up a level unchanged.
llvm::Value* result_of_tree(const Emit& e, const NestValue& reduce, llvm::Value* tree, llvm::Value* count);
// The result of folding nothing: no negative zero.
llvm::Value* result_of_nothing(const Emit& e, const NestValue& reduce);

}  // namespace md
