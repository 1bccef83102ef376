// Exceptions that the package's own code raises where a library in C would refuse a call.
#pragma once

namespace md {

class Tracer;
struct ExceptionValue;

// An exception that no handler sees, of a raise statement in code that stands for an operator: throws what a call that
// does not fit its operands throws. Comes back for any other.
void refuse_operation(Tracer& t, const ExceptionValue& x);

}  // namespace md
