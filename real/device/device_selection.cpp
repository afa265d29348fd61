#include "real/device/device_selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "protocols/core/errors.hpp"

namespace twinlink::real {
namespace {

constexpr std::string_view kPrefix = "gpu-";

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool is_uuid_part(std::string_view text) {
  return text.starts_with(kPrefix) && text.size() > kPrefix.size() &&
         text.find_first_not_of("0123456789abcdef-", kPrefix.size()) == std::string_view::npos;
}

DeviceChoice parse_choice(std::string_view text) {
  if (is_uuid_part(lower(text))) return {std::string(text), -1};
  int ordinal = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
  if (error == std::errc{} && end == text.data() + text.size() && ordinal >= 0) return {std::string(text), ordinal};
  throw UsageError(
      fmt::format("--gpus: '{}' is neither the number of a device nor the beginning of a UUID such as "
                  "GPU-8f6d",
                  text));
}

std::string list_of(std::span<const Uuid> visible) {
  std::string list;
  for (std::size_t i = 0; i < visible.size(); ++i) {
    list += fmt::format("{}{} = {}", list.empty() ? "" : ", ", i, to_string(visible[i]));
  }
  return list;
}

[[noreturn]] void fail(const DeviceChoice& choice, std::string_view problem, std::span<const Uuid> visible) {
  throw UsageError(fmt::format("--gpus: '{}' {} that this process can see: {} (CUDA_VISIBLE_DEVICES may hide others)",
                               choice.text, problem, list_of(visible)));
}

}  // namespace

std::vector<DeviceChoice> parse_gpus(std::string_view text) {
  std::vector<DeviceChoice> choices;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    choices.push_back(parse_choice(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return choices;
}

std::size_t select_device(std::span<const DeviceChoice> choices, int local_rank, std::span<const Uuid> visible) {
  const auto rank = static_cast<std::size_t>(local_rank);
  if (rank >= choices.size()) {
    throw UsageError(fmt::format("--gpus names {} {}, and none for rank {} of this node", choices.size(),
                                 choices.size() == 1 ? "device" : "devices", local_rank));
  }
  const DeviceChoice& choice = choices[rank];
  if (choice.ordinal >= 0) {
    const auto ordinal = static_cast<std::size_t>(choice.ordinal);
    if (ordinal >= visible.size()) fail(choice, "is none of the devices", visible);
    return ordinal;
  }
  const std::string beginning = lower(choice.text);
  const auto fits = [&](const Uuid& uuid) { return lower(to_string(uuid)).starts_with(beginning); };
  const auto found = std::ranges::find_if(visible, fits);
  if (found == visible.end()) fail(choice, "is the UUID of none of the devices", visible);
  if (std::ranges::count_if(visible, fits) > 1) fail(choice, "begins the UUIDs of several devices", visible);
  return static_cast<std::size_t>(found - visible.begin());
}

}  // namespace twinlink::real
