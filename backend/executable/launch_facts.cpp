// What measurements tell of a launch.
#include "backend/executable/specialization.h"

namespace md {

// What the launch reads and writes: the elements of its tensors, each once.
PartName Specialization::about(const SizedLaunch& s) const {
  PartName about{.kind = PartKind::Kernel, .name = *s.name, .function = "", .file = ""};
  const auto within = [&](const std::vector<SizedLaunch>& all, const std::vector<Launch>& made) -> const Launch* {
    const auto at = static_cast<std::size_t>(&s - all.data());
    return &s >= all.data() && at < all.size() ? &made[at] : nullptr;
  };
  const Launch* from = within(launches_, executable_.launches);
  if (!from) from = within(commits_, executable_.commits);
  if (!from || !s.is_nest()) return about;
  for (const Place& p : from->buffers) {
    const SizedTensor t = sized(p);
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < t.sizes.size(); ++d)
      elements *= t.strides[d] ? t.sizes[d] : std::min<std::int64_t>(t.sizes[d], 1);
    about.bytes += elements * static_cast<std::int64_t>(item_size(t.dtype));
  }
  return about;
}

}  // namespace md
