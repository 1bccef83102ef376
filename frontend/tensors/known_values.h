// Whether the elements of tensors mean anything on this thread.
#pragma once

namespace md {

// While it lives, fake tensors take the place of real ones: asking for an element raises
// minidynamo._dynamo.marked_callables.DataDependentValue.
class UnknownValues {
 public:
  UnknownValues();
  ~UnknownValues();
  UnknownValues(const UnknownValues&) = delete;
  UnknownValues& operator=(const UnknownValues&) = delete;
};

// Raises that exception while one lives.
void expect_known();

}  // namespace md
