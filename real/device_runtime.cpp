#include "real/device_runtime.hpp"

#include <fmt/format.h>

namespace twinlink::real {

std::string to_string(const Uuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", std::to_integer<unsigned>(uuid[i]));
  }
  return text;
}

}  // namespace twinlink::real
