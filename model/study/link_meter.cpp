#include "model/study/link_meter.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinlink::model {

void LinkMeter::round(bool begins, Seconds now) {
  if (begins && begun_++ % ranks_ == 0) {
    before_ = read();
    start_ = now;
  }
  if (!begins && ++ended_ % ranks_ == 0) {
    after_ = read();
    end_ = now;
  }
}

std::vector<LinkShare> LinkMeter::last_round() const {
  std::map<std::string_view, const LinkUse*> before;
  for (const LinkUse& link : before_) before[link.name] = &link;
  std::vector<LinkShare> all;
  for (const LinkUse& link : after_) {
    const auto known = before.find(link.name);
    const LinkUse since = known == before.end() ? LinkUse{} : *known->second;
    const double bytes = link.carried - since.carried;
    if (bytes <= 0) continue;
    const double possible = link.rate.bytes_per_second() * (end_ - start_).value();
    all.push_back({link.name, bytes, possible > 0 ? bytes / possible : 0});
  }
  std::ranges::stable_sort(all, std::greater(), [](const LinkShare& link) {
    return std::round(link.utilisation * 1e6);  // not in the order of rounding errors
  });
  return all;
}

void print_links(const std::vector<LinkShare>& links, std::ostream& out) {
  constexpr std::size_t kMost = 10;
  out << fmt::format("# {:>15} {:>8}  {}\n", "bytes", "of rate", "link");
  for (std::size_t i = 0; i < std::min(links.size(), kMost); ++i) {
    const LinkShare& link = links[i];
    out << fmt::format("# {:>15.0f} {:>6.1f} %  {}\n", link.bytes, link.utilisation * 100, link.name);
  }
  if (links.size() > kMost) out << fmt::format("# and {} more\n", links.size() - kMost);
  out << std::flush;
}

nlohmann::json to_json(const std::vector<LinkShare>& links) {
  nlohmann::json all = nlohmann::json::array();
  for (const LinkShare& link : links) {
    all.push_back({{"link", link.name}, {"bytes", link.bytes}, {"utilisation", link.utilisation}});
  }
  return all;
}

}  // namespace twinlink::model
