#include "validate/nodes/dates.hpp"

#include <regex>
#include <vector>

namespace twinlink::validate {

std::optional<std::chrono::sys_days> day_of(const std::string& date) {
  static const std::regex form(R"(^(\d{4})-(\d\d)-(\d\d))");
  std::smatch match;
  if (!std::regex_search(date, match, form)) return std::nullopt;
  const auto number = [&](std::size_t group) { return static_cast<unsigned>(std::stoul(match[group].str())); };
  const std::chrono::year_month_day day{std::chrono::year{static_cast<int>(number(1))}, std::chrono::month{number(2)},
                                        std::chrono::day{number(3)}};
  return day.ok() ? std::optional(std::chrono::sys_days{day}) : std::nullopt;
}

std::string date_in(const std::filesystem::path& path) {
  static const std::regex form(R"((20\d\d-\d\d-\d\d(T[0-2]\d[:-]?[0-5]\d)?))");
  std::vector<std::string> parts;
  for (const auto& part : path) parts.push_back(part.string());
  for (const std::string& part : std::vector<std::string>(parts.rbegin(), parts.rend())) {
    std::smatch match;
    if (std::regex_search(part, match, form) && day_of(match[1].str())) return match[1].str();
  }
  return {};
}

}  // namespace twinlink::validate
