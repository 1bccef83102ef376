// Errors of ops and kernels, before they become Python exceptions of the same name.
#pragma once

#include <stdexcept>
#include <string>

namespace md {

enum class ErrorKind {
  Type,
  Value,
  Index,
  Runtime,
  NotImplemented,
  Memory,
  ZeroDivision,
  Assertion,
  Device,       // what the driver of a device reports: torch.AcceleratorError
  DeviceMemory  // of which a device has too little: torch.OutOfMemoryError
};

// The user's mistake in a tensor call: the frontend raises the Python exception of that kind.
class OpError : public std::runtime_error {
 public:
  OpError(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
  ErrorKind kind;
};

// As above, after something was written that others see: what has failed must not be repeated.
class FailedAfterWrite : public OpError {
 public:
  explicit FailedAfterWrite(const OpError& e) : OpError(e.kind, e.what()) {}
};

// Our mistake: reported as such; the program continues eagerly.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Nobody's: what is asked for depends on values a trace does not have.
class DataDependent : public std::runtime_error {
 public:
  enum class What { Size, Shape, Element };  // a relation between sizes; the sizes of a result; an element of a tensor
  DataDependent(What what, const std::string& message) : std::runtime_error(message), what_kind(what) {}
  What what_kind;
};

// Nobody's: a graph the functional dialect cannot express. It is interpreted as traced.
class NotFunctional : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace md
