// {fmt} compiled once. Debian has it as headers and a shared library, which a wheel cannot rely on; header-only, every
// file that formats text would compile all of it, four seconds each. Here its functions are defined: the other files
// see declarations only and are linked with these.
#include <fmt/format-inl.h>

// Templates that other files only declare.
FMT_BEGIN_NAMESPACE
namespace detail {
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;
template void buffer<char>::append<char>(const char*, const char*);
template void vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
template auto dragonbox::to_decimal<float>(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal<double>(double) noexcept -> dragonbox::decimal_fp<double>;
}  // namespace detail
FMT_END_NAMESPACE
