// Strict reading of a JSON object: every member is asked for by name and type, and none is left over.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace twinlink::bench {

/// Every error is an InputError "origin: error: member 'points[3].time_us' is missing".
class Members {
 public:
  /// `json` must outlive this. `where` is the object's own place: empty at the top, else "points[3]".
  Members(const nlohmann::json& json, std::string origin, std::string where = {});

  [[nodiscard]] std::string text(std::string_view name);
  [[nodiscard]] double number(std::string_view name);
  /// A whole number from 0 to `most`.
  [[nodiscard]] std::uint64_t count(std::string_view name, std::uint64_t most = UINT64_MAX);
  [[nodiscard]] bool flag(std::string_view name);
  [[nodiscard]] bool is_null(std::string_view name);
  [[nodiscard]] const nlohmann::json& object(std::string_view name);
  [[nodiscard]] const nlohmann::json& array(std::string_view name);
  [[nodiscard]] Members members(std::string_view name);
  /// An object whose members are all texts.
  [[nodiscard]] std::map<std::string, std::string> texts(std::string_view name);
  [[nodiscard]] std::vector<std::string> text_list(std::string_view name);

  /// Was the member given? Says nothing of its type.
  [[nodiscard]] bool has(std::string_view name) const;
  /// Throws if a member was not asked for.
  void done() const;

  /// The full name of a member: "points[3].time_us".
  [[nodiscard]] std::string path(std::string_view name) const;
  [[nodiscard]] const std::string& origin() const { return origin_; }
  /// Throws: "member 'NAME' " and what is wrong with it.
  [[noreturn]] void fail(std::string_view name, std::string_view what) const;

 private:
  const nlohmann::json& find(std::string_view name);

  const nlohmann::json& json_;
  std::string origin_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
};

/// Checks the members "schema" and "kind", with which every file of ours begins.
void check_schema(Members& members, std::string_view kind, int schema);

}  // namespace twinlink::bench
