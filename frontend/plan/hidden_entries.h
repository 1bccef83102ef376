// Entries of an instance's __dict__ that the class has a descriptor for: stores reach them past it.
#pragma once

namespace md {

inline constexpr int kPastDescriptors = 1;  // as the index of AttrSet and AttrDelete

}  // namespace md
