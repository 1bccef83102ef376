// {fmt} compiled once. Debian has it as headers and a shared library, which a wheel cannot rely on; header-only, every
// file that formats text would compile all of it, four seconds each. Here its inline functions are compiled for good:
// the other files see declarations only and are linked with these.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace md {

[[gnu::used]] static std::string (*const kFormat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace md

// Templates that other files only declare, and that are inlined above.
FMT_BEGIN_NAMESPACE
namespace detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE
