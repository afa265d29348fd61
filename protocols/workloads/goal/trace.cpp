#include "protocols/workloads/goal/trace.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "protocols/core/errors.hpp"

namespace twinlink::workloads::goal {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Token {
  enum class Kind { word, number, sign, line_end, end };
  Kind kind = Kind::end;
  std::string_view text{};
  int line = 1;
};

/// "10b" is a number and a word. Comments are blanks.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Token next() {
    skip_blanks();
    if (at_ == text_.size()) return {Token::Kind::end, {}, line_};
    const char c = text_[at_];
    if (c == '\n') return {Token::Kind::line_end, take(1), line_++};
    std::size_t length = 1;
    if (is_digit(c)) {
      while (is_digit(at(length))) ++length;
      return {Token::Kind::number, take(length), line_};
    }
    if (is_letter(c)) {
      while (is_letter(at(length)) || is_digit(at(length)) || at(length) == '_') ++length;
      return {Token::Kind::word, take(length), line_};
    }
    return {Token::Kind::sign, take(1), line_};
  }

 private:
  [[nodiscard]] char at(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  std::string_view take(std::size_t length) {
    at_ += length;
    return text_.substr(at_ - length, length);
  }
  void skip_blanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_, 2);
      if (rest == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest == "/*") {
        const std::size_t end = std::min(text_.find("*/", at_ + 2), text_.size());
        for (; at_ < end; ++at_) line_ += text_[at_] == '\n' ? 1 : 0;
        at_ = std::min(at_ + 2, text_.size());
      } else if (rest.front() == ' ' || rest.front() == '\t' || rest.front() == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

/// What one line does wrong; the rest of the line is skipped.
struct Mistake {
  int line;
  std::string what;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : scanner_(text), findings_(file) {
    trace_.file = file;
    advance();
  }

  Trace read() {
    while (token_.kind != Token::Kind::end) {
      try {
        read_line();
      } catch (const Mistake& mistake) {
        findings_.add(mistake.line, mistake.what);
        while (token_.kind != Token::Kind::end && token_.kind != Token::Kind::line_end) advance();
      }
    }
    if (rank_) findings_.add(token_.line, "rank " + std::to_string(*rank_) + " has no '}'");
    if (trace_.ranks.empty() && findings_.none()) findings_.add(1, "there is no 'num_ranks N'");
    findings_.raise();
    return std::move(trace_);
  }

 private:
  struct Wish {
    std::string_view what;
    std::string_view on;
    bool at_start;
    int line;
  };

  void advance() { token_ = scanner_.next(); }
  [[nodiscard]] bool is(std::string_view text) const {
    return token_.text == text && (token_.kind == Token::Kind::word || token_.kind == Token::Kind::sign);
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    advance();
    return true;
  }
  [[noreturn]] void expected(const std::string& what) const {
    const bool ends = token_.kind == Token::Kind::end || token_.kind == Token::Kind::line_end;
    constexpr std::size_t kShown = 40;
    throw Mistake{token_.line,
                  "expected " + what +
                      (ends ? ", and the line ends" : ", not '" + std::string(token_.text.substr(0, kShown)) + "'")};
  }
  void expect(const std::string& text) {
    if (!accept(text)) expected("'" + text + "'");
  }
  void expect_line_end(const std::string& or_else) {
    if (token_.kind != Token::Kind::line_end && token_.kind != Token::Kind::end) expected(or_else + "the line's end");
  }

  std::uint64_t number(const std::string& what, std::uint64_t most) {
    if (token_.kind != Token::Kind::number) expected(what + ", a whole number");
    std::uint64_t value = 0;
    const char* const end = token_.text.data() + token_.text.size();
    const auto result = std::from_chars(token_.text.data(), end, value);
    if (result.ec != std::errc{} || value > most) {
      throw Mistake{token_.line, what + " is beyond " + std::to_string(most)};
    }
    advance();
    return value;
  }

  /// "-1", where a recv takes any.
  bool accept_any(const Task& task) {
    if (task.kind != Task::Kind::receive || !accept("-")) return false;
    if (token_.text != "1") expected("'-1'");
    advance();
    return true;
  }

  void read_line() {
    if (token_.kind == Token::Kind::line_end) return advance();
    if (is("num_ranks")) return read_ranks();
    if (is("group")) return read_group();
    if (is("rank")) return open_rank();
    if (is("}")) return close_rank();
    const int line = token_.line;
    if (!rank_) throw Mistake{line, "expected 'num_ranks N', 'group N {', 'rank N {' or a comment"};
    if (read_task({}, line)) return;
    if (token_.kind != Token::Kind::word) expected("a label, send, recv, calc or '}'");
    const std::string_view label = token_.text;
    advance();
    if (accept(":")) {
      if (!read_task(label, line)) expected("send, recv, calc or a collective");
      return;
    }
    const bool at_start = is("irequires");
    if (!accept("requires") && !accept("irequires")) expected("':', 'requires' or 'irequires'");
    if (token_.kind != Token::Kind::word) expected("a label");
    wishes_.push_back({label, token_.text, at_start, line});
    advance();
    expect_line_end("");
  }

  bool read_task(std::string_view label, int line) {
    if (accept("send")) return read_message(Task::Kind::send, label, line), true;
    if (accept("recv")) return read_message(Task::Kind::receive, label, line), true;
    if (accept("calc")) return read_calc(label, line), true;
    std::string name(token_.text);
    std::ranges::replace(name, '_', '-');
    const auto* const found = std::ranges::find(kCollectives, name);
    if (token_.kind != Token::Kind::word || found == kCollectives.end()) return false;
    advance();
    return read_collective(static_cast<std::uint8_t>(found - kCollectives.begin()), label, line), true;
  }

  void read_ranks() {
    const int line = token_.line;
    advance();
    const std::uint64_t count = number("the number of ranks", kMostRanks);
    if (!trace_.ranks.empty()) throw Mistake{line, "'num_ranks' stands here twice"};
    if (count < 1) throw Mistake{line, "a job has one rank at least"};
    trace_.line = line;
    trace_.ranks.resize(count);
    seen_.resize(count);
  }

  /// "group 0 { 0-3 8 }", counted from 0 on.
  void read_group() {
    const int line = token_.line;
    advance();
    const std::uint64_t number = this->number("a group", kMostRanks);
    expect("{");
    std::vector<int> members;
    while (!accept("}")) {
      const std::uint64_t first = this->number("a rank", kMostRanks);
      const std::uint64_t last = accept("-") ? this->number("a rank", kMostRanks) : first;
      if (last < first || last >= trace_.ranks.size()) {
        throw Mistake{line, "a group has ranks that are not there, or back to front; 'num_ranks N' stands before it"};
      }
      if (members.size() + (last - first) >= trace_.ranks.size()) throw Mistake{line, "a group has a rank twice"};
      for (std::uint64_t rank = first; rank <= last; ++rank) members.push_back(static_cast<int>(rank));
    }
    std::ranges::sort(members);
    if (std::ranges::adjacent_find(members) != members.end()) throw Mistake{line, "a group has a rank twice"};
    if (members.size() < 2) throw Mistake{line, "a group has two ranks at least"};
    if (rank_) throw Mistake{line, "groups stand before the ranks"};
    if (number != trace_.groups.size()) {
      throw Mistake{line, "groups are counted: the next one is " + std::to_string(trace_.groups.size())};
    }
    trace_.groups.push_back(std::move(members));
    expect_line_end("");
  }

  void open_rank() {
    const int line = token_.line;
    advance();
    const std::uint64_t rank = number("a rank", kMostRanks);
    expect("{");
    if (rank_) throw Mistake{line, "rank " + std::to_string(*rank_) + " has no '}' before this one"};
    // Its tasks are read in any case, for what else is wrong.
    rank_ = rank;
    current_ = {};
    labels_ = {};  // clear() would take the time of the largest rank
    wishes_.clear();
    if (trace_.ranks.empty()) throw Mistake{line, "'num_ranks N' must stand before the first rank"};
    if (rank >= trace_.ranks.size()) {
      throw Mistake{line, "there is no rank " + std::to_string(rank) + " of " + std::to_string(trace_.ranks.size())};
    }
    if (seen_[rank]) throw Mistake{line, "rank " + std::to_string(rank) + " stands here twice"};
    seen_[rank] = true;
  }

  void close_rank() {
    if (!rank_) throw Mistake{token_.line, "a '}' without 'rank N {'"};
    advance();
    for (const Wish& wish : wishes_) {
      const auto what = labels_.find(wish.what);
      const auto on = labels_.find(wish.on);
      for (const auto& [found, label] : {std::pair{what, wish.what}, std::pair{on, wish.on}}) {
        if (found == labels_.end()) {
          findings_.add(wish.line, "there is no '" + std::string(label) + "' in rank " + std::to_string(*rank_));
        }
      }
      if (what == labels_.end() || on == labels_.end()) continue;
      if (what->second == on->second) {
        findings_.add(wish.line, "a cycle: '" + std::string(wish.what) + "' would wait for itself");
        continue;
      }
      current_.needs.push_back({what->second, on->second, wish.at_start, wish.line});
    }
    if (*rank_ < trace_.ranks.size()) trace_.ranks[*rank_] = std::move(current_);
    rank_.reset();
  }

  void read_message(Task::Kind kind, std::string_view label, int line) {
    Task task{.kind = kind, .line = line};
    task.amount = number("the size", kLargestMessage.count());
    expect("b");
    expect(kind == Task::Kind::send ? "to" : "from");
    const bool any = accept_any(task);
    const std::uint64_t peer = any ? 0 : number("the peer's rank", std::numeric_limits<std::uint32_t>::max());
    read_rest(task, true);
    if (peer >= trace_.ranks.size()) {
      throw Mistake{line, "there is no rank " + std::to_string(peer) + " of " + std::to_string(trace_.ranks.size())};
    }
    task.peer = any ? kAnyRank : static_cast<int>(peer);
    add(task, label);
  }

  void read_collective(std::uint8_t what, std::string_view label, int line) {
    Task task{.kind = Task::Kind::collective, .what = what, .line = line};
    task.amount = number("the size", kLargestMessage.count());
    expect("b");
    expect("in");
    const std::uint64_t group = number("the group", kMostRanks);
    expect_line_end("");
    if (group >= trace_.groups.size()) throw Mistake{line, "there is no group " + std::to_string(group)};
    if (!rank_ || !std::ranges::binary_search(trace_.groups[group], static_cast<int>(*rank_))) {
      throw Mistake{line, "the rank is no member of group " + std::to_string(group)};
    }
    task.peer = static_cast<int>(group);
    add(task, label);
  }

  void read_calc(std::string_view label, int line) {
    Task task{.line = line};
    task.amount = number("the time in ns", kLongestCalc);
    read_rest(task, false);
    add(task, label);
  }

  /// Each at most once.
  void read_rest(Task& task, bool may_have_tag) {
    bool tag = !may_have_tag;
    bool cpu = false;
    bool nic = false;
    while (true) {
      if (!tag && accept("tag")) {
        tag = true;
        task.tag = accept_any(task) ? kAnyTag : number("the tag", kMostTag);
      } else if (!cpu && accept("cpu")) {
        cpu = true;
        task.cpu = static_cast<int>(number("the cpu", kMostCpu));
      } else if (!nic && accept("nic")) {
        nic = true;
        task.nic = static_cast<int>(number("the nic", kMostCpu));
      } else {
        return expect_line_end(may_have_tag ? "tag, cpu, nic or " : "cpu or ");
      }
    }
  }

  void add(const Task& task, std::string_view label) {
    const auto index = static_cast<std::uint32_t>(current_.tasks.size());
    if (!label.empty()) {
      const auto [before, added] = labels_.emplace(label, index);
      if (!added) {
        throw Mistake{task.line, "the label '" + std::string(label) + "' stands in line " +
                                     std::to_string(current_.tasks[before->second].line) + " already"};
      }
    }
    current_.tasks.push_back(task);
  }

  Scanner scanner_;
  Findings findings_;
  Trace trace_;
  Token token_{};
  std::optional<std::uint64_t> rank_{};  ///< that is open
  RankTrace current_{};
  std::unordered_map<std::string_view, std::uint32_t> labels_{};
  std::vector<Wish> wishes_{};
  std::vector<bool> seen_{};
};

/// Of the comments that the text begins with; others may say something else.
std::map<std::string, Seconds> recorded_in(std::string_view text) {
  constexpr std::string_view kComment = "// ";
  constexpr std::string_view kOf = " ns of ";
  std::map<std::string, Seconds> all;
  while (text.starts_with("//")) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::string_view begin = line.substr(0, kComment.size() + kRecordedTime.size());
    if (!line.starts_with(kComment) || !begin.ends_with(kRecordedTime)) continue;
    line.remove_prefix(begin.size());
    std::uint64_t ns = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), ns);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (error != std::errc{} || ns > kLongestCalc || !line.starts_with(kOf)) continue;
    all.emplace(line.substr(kOf.size()), Seconds{static_cast<double>(ns) * 1e-9});
  }
  return all;
}

}  // namespace

void Findings::add(int line, const std::string& what) {
  if (++count_ > kMost) return;
  text_ += (text_.empty() ? "" : "\n") + file_ + ":" + std::to_string(line) + ": error: " + what;
}

void Findings::raise() const {
  if (count_ == 0) return;
  if (count_ <= kMost) throw InputError(text_);
  throw InputError(text_ + "\n" + file_ + ": error: and " + std::to_string(count_ - kMost) + " more");
}

Trace read_trace(std::string_view text, const std::string& file) {
  Trace trace = Reader(text, file).read();
  trace.recorded = recorded_in(text);
  return trace;
}

}  // namespace twinlink::workloads::goal
