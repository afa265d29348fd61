#include "tests/explore/explored_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "protocols/fibers/fiber.hpp"
#include "protocols/gpu/run.hpp"
#include "tests/explore/explored_contents.hpp"

namespace twinlink::explore {
namespace {

using gpu::LineFormat;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t kStack = std::size_t{256} << 10U;
constexpr std::uint64_t kWord = gpu::kElementBytes;
constexpr std::uint64_t kLl128Words = gpu::kLl128Data / kWord;

/// Seen at once.
struct Store {
  int memory = 0;                                                ///< whose
  std::vector<std::pair<std::uint64_t, std::uint64_t>> words{};  ///< place and value
  std::uint64_t fences = 0;                                      ///< before it
  std::optional<std::uint64_t> step{};                           ///< the slot that it fills
};

/// A rank's own buffers.
struct Own {
  Words input{};
  Words output{};
  Words expected{};  ///< of the output, where blocks go to experts
  Words numbers{};
};

class World;

class Block {
 public:
  Block(World& world, int rank, int role, const gpu::Program& program)
      : world_(world), rank_(rank), role_(role), p_(program) {}

  [[nodiscard]] std::int32_t channel() const { return 0; }
  [[nodiscard]] std::int32_t role() const { return role_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] gpu::ChannelPosition position() const;
  [[nodiscard]] static std::int32_t rank_at(std::int32_t place) { return place; }
  [[nodiscard]] std::uint64_t sent(std::int32_t) const { return launched_ * each(); }
  [[nodiscard]] std::uint64_t received(std::int32_t) const { return launched_ * each(); }
  bool await_credit(std::int32_t link, std::uint64_t step);
  bool await_slot(std::int32_t link, std::uint64_t step);
  bool move(const gpu::Move& move);
  bool barrier(bool good) { return good; }
  void fence();
  void signal(std::int32_t link, std::uint64_t tail);
  void give_credit(std::int32_t link, std::uint64_t credit);
  void clear(std::int32_t) {}
  bool put(std::int32_t link, std::uint64_t at, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t listed(std::int32_t index) const;
  void tell(std::int32_t link, std::uint64_t step, std::uint64_t bytes);
  std::uint64_t told(std::int32_t link, std::uint64_t step);

  // For the explorer.
  void start() {
    fiber_.begin([](void* block) { static_cast<Block*>(block)->run(); }, this);
    fiber_.go_on();
  }
  [[nodiscard]] bool ended() const { return fiber_.ended(); }
  [[nodiscard]] std::uint64_t launched() const { return launched_; }
  [[nodiscard]] bool can_go_on() const { return !ended() && ready_(); }
  void go_on() {
    ++reads_;
    fiber_.go_on();
  }

  std::vector<Store> pending{};
  std::uint64_t slots_read[4] = {};  ///< by peer
  void add_to(std::string& key) const;

 private:
  void run();
  /// Slots, or signals, of a launch over a link.
  [[nodiscard]] std::uint64_t each() const { return gpu::has_experts(p_) ? gpu::number(p_.experts) : 1; }
  bool read_message();
  /// False: the world ends, and so does the block.
  bool read_when(std::function<bool()> ready);
  std::uint64_t seen(std::uint64_t value) {
    digest_ = (digest_ ^ value) * 0x100000001b3U;
    return value;
  }
  void store(int memory, std::vector<std::pair<std::uint64_t, std::uint64_t>> words,
             std::optional<std::uint64_t> step) {
    pending.push_back({memory, std::move(words), fences_, step});
  }
  void put(std::int32_t link, std::uint64_t step, std::uint64_t at, const Words& value);
  Words take(std::int32_t link, std::uint64_t step, std::uint64_t at, std::uint64_t count);
  std::uint64_t read_word(std::uint64_t place);
  [[nodiscard]] int peer(std::int32_t link) const;

  World& world_;
  int rank_;
  int role_;
  gpu::Program p_;
  std::vector<std::byte> stack_ = std::vector<std::byte>(kStack);
  Fiber fiber_{stack_};
  std::function<bool()> ready_{};
  std::uint64_t fences_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t launched_ = 0;  ///< and ended
  std::uint64_t digest_ = 0;
};

/// All ranks, and their memory: for each peer that stores into it a FIFO, in words.
class World {
 public:
  World(const gpu::Program& program, const Slips& with, int times)
      : p(program), slips(with), launches(gpu::number(is_put() ? 2 : times)) {
    memory.assign(gpu::number(p.ranks), Words(window() + (is_put() ? launches * (p.bytes + p.received) / kWord : 0)));
    for (int rank = 0; rank < p.ranks; ++rank) {
      gpu::Program own = p;
      own.rank = rank;
      if (gpu::is_of_two(p) && rank == 1) std::swap(own.bytes, own.received);
      Own& buffers = own_buffers.emplace_back();
      if (gpu::has_experts(p)) {
        ExpertBlocks blocks_of = expert_blocks(p, rank);
        own.bytes = blocks_of.sent * kWord;
        own.received = blocks_of.received.size() * kWord;
        buffers.expected = std::move(blocks_of.received);
        buffers.numbers = std::move(blocks_of.numbers);
      }
      const std::uint64_t messages = is_put() ? launches : 1;
      for (std::uint64_t i = 0; i < messages * own.bytes / kWord; ++i) buffers.input.push_back(value_of(rank, i));
      buffers.output = in_place() ? buffers.input : Words(messages * own.received / kWord);
      if (p.operation == gpu::Operation::all_to_all) buffers.output = buffers.input;
      for (int role = 0; role < roles(); ++role) blocks.push_back(std::make_unique<Block>(*this, rank, role, own));
    }
    for (const auto& block : blocks) block->start();
  }

  ~World() {
    stopping = true;
    for (const auto& block : blocks) {
      while (!block->ended()) block->go_on();
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  gpu::Program p;
  Slips slips;
  std::uint64_t launches;
  bool stopping = false;
  std::vector<Words> memory;
  std::vector<Own> own_buffers{};
  std::vector<std::unique_ptr<Block>> blocks;  ///< by rank, and there by role
  std::string violation{};

  [[nodiscard]] int roles() const { return gpu::blocks_of(p); }
  [[nodiscard]] bool is_put() const { return p.operation == gpu::Operation::put; }
  [[nodiscard]] bool in_place() const {
    return !gpu::is_of_two(p) && !gpu::has_experts(p) && p.operation != gpu::Operation::all_to_all;
  }
  /// Where messages lie that are put, behind all that is raised.
  [[nodiscard]] std::uint64_t window() const { return room() * gpu::number(p.ranks); }
  /// The first word of a launch's message there.
  [[nodiscard]] std::uint64_t window_of(std::uint64_t launch, std::uint64_t words) const {
    return window() + (slips.same_place ? 0 : launch * words);
  }
  [[nodiscard]] std::uint64_t slot_words() const {
    switch (p.format) {
      case LineFormat::simple:
        return p.slot / kWord + (gpu::has_experts(p) ? 1 : 0);
      case LineFormat::ll:
        return 2 * (p.slot / kWord);
      case LineFormat::ll128:
        return gpu::turns(p.slot, gpu::kLl128Data) * (kLl128Words + 1);
    }
    return 0;
  }
  [[nodiscard]] std::uint64_t room() const { return 2 + p.slots * slot_words(); }
  // Places in a rank's memory of what `peer` raises and fills.
  [[nodiscard]] std::uint64_t tail_of(int peer) const { return gpu::number(peer) * room(); }
  [[nodiscard]] std::uint64_t credit_of(int peer) const { return tail_of(peer) + 1; }
  [[nodiscard]] std::uint64_t slot_of(int peer, std::uint64_t step) const {
    return tail_of(peer) + 2 + step % p.slots * slot_words();
  }

  /// Steps that may come next, in words: the number of a block, or of a store that is seen.
  struct Choice {
    std::size_t block = 0;
    std::optional<std::size_t> store{};
  };
  [[nodiscard]] std::vector<Choice> choices() const {
    std::vector<Choice> all;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const Block& block = *blocks[b];
      if (block.can_go_on()) all.push_back({b, std::nullopt});
      for (std::size_t i = 0; i < block.pending.size(); ++i) {
        if (may_be_seen(block.pending, i)) all.push_back({b, i});
      }
    }
    return all;
  }
  void take(const Choice& choice) {
    Block& block = *blocks[choice.block];
    if (!choice.store) return block.go_on();
    const Store store = block.pending[*choice.store];
    block.pending.erase(block.pending.begin() + static_cast<std::ptrdiff_t>(*choice.store));
    if (store.step && *store.step >= p.slots) {
      // One block of the rank receives what this one sends.
      std::uint64_t read = 0;
      for (int role = 0; role < roles(); ++role) {
        read = std::max(read, blocks[gpu::number(store.memory * roles() + role)]->slots_read[block.rank()]);
      }
      if (read < *store.step + 1 - p.slots) violation = "a slot is filled that was not read";
    }
    for (const auto& [place, value] : store.words) memory[gpu::number(store.memory)][place] = value;
  }
  [[nodiscard]] bool ended() const {
    return std::ranges::all_of(blocks, [](const auto& block) { return block->ended(); });
  }
  [[nodiscard]] std::string key() const {
    std::string key;
    for (const Words& words : memory)
      key.append(static_cast<const char*>(static_cast<const void*>(words.data())), words.size() * kWord);
    for (const auto& block : blocks) block->add_to(key);
    return key;
  }
  [[nodiscard]] std::string fault() const;

 private:
  static bool may_be_seen(const std::vector<Store>& pending, std::size_t index) {
    const Store& store = pending[index];
    for (std::size_t i = 0; i < index; ++i) {
      if (pending[i].fences < store.fences) return false;
      if (pending[i].memory != store.memory) continue;
      for (const auto& [place, value] : pending[i].words) {
        if (std::ranges::find(store.words, place, [](const auto& word) { return word.first; }) != store.words.end())
          return false;
      }
    }
    return true;
  }
};

/// Of a tree links are ranks: one behind the other, or all below rank 0.
gpu::ChannelPosition Block::position() const {
  gpu::ChannelPosition position{.place = rank_, .before = gpu::kBefore, .behind = gpu::kBehind};
  if (!gpu::is_tree(p_)) return position;
  const bool fans = world_.slips.fan;
  if (rank_ > 0) position.above = fans ? 0 : rank_ - 1;
  std::size_t below = 0;
  for (int rank = rank_ + 1; rank < p_.ranks && (fans ? rank_ == 0 : below == 0); ++rank)
    position.below[below++] = rank;
  return position;
}

int Block::peer(std::int32_t link) const {
  if (gpu::is_tree(p_)) return link;
  if (gpu::is_of_two(p_)) return 1 - rank_;
  if (gpu::is_pat(p_)) {
    const std::int32_t doublings = gpu::doublings_of(p_);
    const int places = 1 << (link % doublings);
    return (rank_ + (link < doublings ? places : p_.ranks - places)) % p_.ranks;
  }
  if (p_.operation == gpu::Operation::all_to_all || gpu::has_experts(p_)) return (rank_ + link + 1) % p_.ranks;
  return (rank_ + (link == gpu::kBehind ? 1 : p_.ranks - 1)) % p_.ranks;
}

bool Block::read_when(std::function<bool()> ready) {
  ready_ = std::move(ready);
  if (!world_.stopping) fiber_.pause();
  return !world_.stopping;
}

/// Launches of a rank follow each other.
void Block::run() {
  while (launched_ < world_.launches) {
    if (!gpu::run(*this, p_) || !read_message()) return;
    ++launched_;
    const auto at_end = [this] {
      return std::ranges::all_of(world_.blocks, [this](const auto& other) {
        return other == nullptr || other->rank() != rank_ || other->launched() >= launched_;
      });
    };
    if (launched_ < world_.launches && !read_when(at_end)) return;
  }
}

/// Whoever waited for the launch reads what was put, one word after the other.
bool Block::read_message() {
  if (!world_.is_put() || (gpu::has_roles(p_) ? role_ != gpu::kReceives : p_.received == 0)) return true;
  const std::uint64_t words = p_.received / kWord;
  const std::uint64_t begin = world_.window_of(launched_, words);
  for (std::uint64_t i = 0; i < words; ++i) {
    if (!read_when([] { return true; })) return false;
    world_.own_buffers[gpu::number(rank_)].output[launched_ * words + i] = read_word(begin + i);
  }
  return true;
}

bool Block::put(std::int32_t link, std::uint64_t at, std::uint64_t bytes) {
  const std::uint64_t words = p_.bytes / kWord;
  const std::uint64_t begin = world_.window_of(launched_, words);
  for (std::uint64_t i = at / kWord; i < (at + bytes) / kWord; ++i) {
    store(peer(link), {{begin + i, world_.own_buffers[gpu::number(rank_)].input[launched_ * words + i]}}, std::nullopt);
  }
  return true;
}

std::uint64_t Block::listed(std::int32_t index) const {
  return world_.own_buffers[gpu::number(rank_)].numbers[gpu::number(index)];
}

void Block::tell(std::int32_t link, std::uint64_t step, std::uint64_t bytes) {
  store(peer(link), {{world_.slot_of(rank_, step) + p_.slot / kWord, bytes}}, step);
}

std::uint64_t Block::told(std::int32_t link, std::uint64_t step) {
  if (!read_when([] { return true; })) return 0;
  return read_word(world_.slot_of(peer(link), step) + p_.slot / kWord);
}

std::uint64_t Block::read_word(std::uint64_t place) { return seen(world_.memory[gpu::number(rank_)][place]); }

bool Block::await_credit(std::int32_t link, std::uint64_t step) {
  if (step < p_.slots || world_.slips.free_credit) return true;
  const std::uint64_t place = world_.credit_of(peer(link));
  return read_when(
      [this, place, least = step + 1 - p_.slots] { return world_.memory[gpu::number(rank_)][place] >= least; });
}

bool Block::await_slot(std::int32_t link, std::uint64_t step) {
  const std::uint64_t place = world_.tail_of(peer(link));
  return read_when([this, place, step] { return world_.memory[gpu::number(rank_)][place] > step; });
}

void Block::fence() {
  if (!world_.slips.no_fence) ++fences_;
}

void Block::signal(std::int32_t link, std::uint64_t tail) {
  store(peer(link), {{world_.tail_of(rank_), tail}}, std::nullopt);
}

void Block::give_credit(std::int32_t link, std::uint64_t credit) {
  store(peer(link), {{world_.credit_of(rank_), credit}}, std::nullopt);
}

/// Into the slot, in the stores that its format has; of simple at any place there.
void Block::put(std::int32_t link, std::uint64_t step, std::uint64_t at, const Words& value) {
  const int to = peer(link);
  const std::uint64_t slot = world_.slot_of(rank_, step) + at / kWord;
  if (p_.format == LineFormat::ll128) {
    for (std::uint64_t line = 0; line * kLl128Words < value.size(); ++line) {
      const std::uint64_t begin = slot + line * (kLl128Words + 1);
      std::vector<std::pair<std::uint64_t, std::uint64_t>> words;
      for (std::uint64_t w = 0; w < kLl128Words && line * kLl128Words + w < value.size(); ++w) {
        words.emplace_back(begin + w, value[line * kLl128Words + w]);
      }
      words.emplace_back(begin + kLl128Words, step + 1);
      if (!world_.slips.torn_lines) {
        store(to, std::move(words), step);
        continue;
      }
      for (const auto& word : words) store(to, {word}, step);
    }
    return;
  }
  for (std::uint64_t i = 0; i < value.size(); ++i) {
    if (p_.format == LineFormat::simple) {
      store(to, {{slot + i, value[i]}}, step);
      continue;
    }
    for (std::uint64_t half = 0; half < 2; ++half) {
      const std::uint64_t data = value[i] >> (32 * half) & 0xFFFFFFFFU;
      const std::uint64_t place = slot + 2 * i + half;
      if (world_.slips.torn_halves) store(to, {{place, (step + 1) << 32U}}, step);
      store(to, {{place, (step + 1) << 32U | data}}, step);
    }
  }
}

Words Block::take(std::int32_t link, std::uint64_t step, std::uint64_t at, std::uint64_t count) {
  const std::uint64_t slot = world_.slot_of(peer(link), step) + at / kWord;
  const Words& memory = world_.memory[gpu::number(rank_)];
  Words value;
  if (p_.format == LineFormat::ll128) {
    for (std::uint64_t line = 0; line * kLl128Words < count; ++line) {
      const std::uint64_t begin = slot + line * (kLl128Words + 1);
      if (!read_when([&memory, begin, step] { return memory[begin + kLl128Words] == step + 1; })) return {};
      for (std::uint64_t w = 0; w < kLl128Words && line * kLl128Words + w < count; ++w) {
        value.push_back(read_word(begin + w));
      }
    }
    return value;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (p_.format == LineFormat::simple) {
      if (!read_when([] { return true; })) return {};
      value.push_back(read_word(slot + i));
      continue;
    }
    std::uint64_t whole = 0;
    for (std::uint64_t half = 0; half < 2; ++half) {
      const std::uint64_t place = slot + 2 * i + half;
      if (!read_when([&memory, place, step] { return memory[place] >> 32U == step + 1; })) return {};
      whole |= (read_word(place) & 0xFFFFFFFFU) << (32 * half);
    }
    value.push_back(whole);
  }
  return value;
}

bool Block::move(const gpu::Move& move) {
  const std::uint64_t count = move.bytes / kWord;
  Own& buffers = world_.own_buffers[gpu::number(rank_)];
  Words& output = buffers.output;
  const Words& own = world_.in_place() ? output : buffers.input;
  const auto own_word = [&](std::uint64_t i) { return own[move.in_at / kWord + i]; };
  Words value(count);
  if (move.from != gpu::kNoLink) {
    value = take(move.from, move.from_step, move.from_at, count);
    if (world_.stopping) return false;
    slots_read[peer(move.from)] = move.from_step + 1;
    for (std::uint64_t i = 0; move.in != gpu::Region::none && i < count; ++i) value[i] += own_word(i);
  } else {
    for (std::uint64_t i = 0; i < count; ++i) value[i] = own_word(i);
  }
  for (std::uint64_t i = 0; move.out != gpu::Region::none && i < count; ++i) output[move.out_at / kWord + i] = value[i];
  if (move.into != gpu::kNoLink) put(move.into, move.into_step, move.into_at, value);
  return true;
}

void Block::add_to(std::string& key) const {
  const auto add = [&](std::uint64_t word) {
    key.append(static_cast<const char*>(static_cast<const void*>(&word)), kWord);
  };
  add(reads_);
  add(digest_);
  add(pending.size());
  // Stores that may be seen in any order are alike in any order: those of one epoch, in the order of their places.
  std::vector<const Store*> sorted;
  for (const Store& store : pending) sorted.push_back(&store);
  std::ranges::stable_sort(sorted, {},
                           [](const Store* s) { return std::tuple(s->fences, s->memory, s->words.front().first); });
  for (const Store* store : sorted) {
    add(store->fences);
    add(gpu::number(store->memory));
    for (const auto& [place, value] : store->words) {
      add(place);
      add(value);
    }
  }
}

/// What is wrong with what the ranks have in the end.
std::string World::fault() const {
  for (int rank = 0; rank < p.ranks; ++rank) {
    const Own& own = own_buffers[gpu::number(rank)];
    for (std::uint64_t i = 0; i < own.output.size(); ++i) {
      const auto expected = gpu::has_experts(p) ? std::optional(own.expected[i]) : expected_value(p, rank, i);
      if (expected && own.output[i] != *expected) {
        return "rank " + std::to_string(rank) + ", element " + std::to_string(i) + " is wrong";
      }
    }
  }
  return {};
}

/// Depth first. To go back is to begin anew and repeat what led there.
class Search {
 public:
  Search(const gpu::Program& program, const Slips& slips, int launches, std::uint64_t most)
      : p_(program), slips_(slips), launches_(launches), most_(most) {}

  BlocksResult run() {
    world_.emplace(p_, slips_, launches_);
    enter();
    while (!levels_.empty() && result_.finding.empty() && result_.states < most_) {
      Level& level = levels_.back();
      if (level.next == level.choices.size()) {
        levels_.pop_back();
        stale_ = true;
        continue;
      }
      if (stale_) repeat();
      world_->take(level.choices[level.next++]);
      enter();
    }
    result_.complete = levels_.empty() && result_.finding.empty();
    return result_;
  }

 private:
  struct Level {
    std::vector<World::Choice> choices{};
    std::size_t next = 0;
  };

  void enter() {
    if (!world_->violation.empty()) return find(world_->violation);
    if (world_->ended()) {
      ++result_.executions;
      stale_ = true;
      if (const std::string fault = world_->fault(); !fault.empty()) find(fault);
      return;
    }
    if (!visited_.insert(world_->key()).second) {
      stale_ = true;
      return;
    }
    ++result_.states;
    levels_.push_back({world_->choices()});
    if (levels_.back().choices.empty()) find("nobody can go on");
  }

  void repeat() {
    world_.emplace(p_, slips_, launches_);
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i) world_->take(levels_[i].choices[levels_[i].next - 1]);
    stale_ = false;
  }

  void find(const std::string& what) {
    result_.finding = what + " after";
    for (const Level& level : levels_) {
      if (level.next == 0) continue;
      const World::Choice& choice = level.choices[level.next - 1];
      result_.finding += " " + std::to_string(choice.block) + (choice.store ? " is seen" : " reads") + ",";
    }
  }

  gpu::Program p_;
  Slips slips_;
  int launches_;
  std::uint64_t most_;
  std::optional<World> world_;
  bool stale_ = false;
  std::vector<Level> levels_;
  std::unordered_set<std::string> visited_;
  BlocksResult result_;
};

}  // namespace

BlocksResult explore_blocks(gpu::Program program, const Slips& slips, int launches, std::uint64_t most_states) {
  program.channels = 1;
  return Search(program, slips, launches, most_states).run();
}

}  // namespace twinlink::explore
