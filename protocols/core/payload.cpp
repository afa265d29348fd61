#include "protocols/core/payload.hpp"

#include <cassert>

namespace twinlink {

std::string to_string(const Verdict& verdict) {
  const std::string offset = std::to_string(verdict.first_bad.count());
  switch (verdict.kind) {
    case Verdict::Kind::intact:
      return "intact";
    case Verdict::Kind::dropped:
      return "dropped at byte " + offset;
    case Verdict::Kind::scrambled:
      return "scrambled at byte " + offset;
  }
  assert(false);
  return "";
}

}  // namespace twinlink
