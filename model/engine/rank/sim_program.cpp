#include "model/engine/rank/sim_program.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "model/engine/rank/sim_puts.hpp"
#include "model/engine/rank/sim_world.hpp"
#include "platforms/costs/kernel_costs.hpp"
#include "protocols/fibers/fiber.hpp"
#include "protocols/gpu/nvls.hpp"
#include "protocols/gpu/run.hpp"

namespace twinlink::model {
namespace {

using gpu::LineFormat;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStack = std::size_t{512} << 10U;
#else
constexpr std::size_t kStack = std::size_t{64} << 10U;
#endif

/// Not cleared: pages that no block reaches are never there.
BlockStack take_stack(ProgramWorld& world) {
  if (world.free_stacks.empty()) return BlockStack(new std::byte[kStack]);
  BlockStack stack = std::move(world.free_stacks.back());
  world.free_stacks.pop_back();
  return stack;
}

}  // namespace

/// The Block of protocols/gpu/primitives.hpp, and of nvls.hpp.
class SimBlock final : public FlowListener,
                       public QueuedEvent,
                       public NumberWaiter,
                       public std::enable_shared_from_this<SimBlock> {
 public:
  SimBlock(SimProgram& program, std::int32_t number)
      : programs_(program.world_.programs),
        host_(program),
        p_(program.program_),
        channel_(number % p_.channels),
        role_(number / p_.channels),
        last_(program.last_),
        stack_(take_stack(programs_)),
        fiber_({stack_.get(), kStack}) {}
  /// An event may hold it longer than its program is there.
  ~SimBlock() override { programs_.free_stacks.push_back(std::move(stack_)); }

  void begin() {
    fiber_.begin([](void* block) { static_cast<SimBlock*>(block)->run(); }, this);
    go_on();
  }
  /// Whatever it waits for.
  void give_up() {
    if (fiber_.ended()) return;
    for (const FlowId& flow : flows_) host_.world_.loop.network().drop(flow);
    go_on();
  }
  void happen() override {
    if (!sleeps_ || fiber_.ended()) return;
    go_on();
  }
  void flow_has_ended() override {
    if (--flowing_ == 0) go_on();
  }
  void wake_at(Seconds when) override { host_.event_queue_.add(when, shared_from_this()); }

  // ---- for programs
  // ---------------------------------------------------------------------------------------------------

  [[nodiscard]] std::int32_t channel() const { return channel_; }
  [[nodiscard]] std::int32_t role() const { return role_; }
  [[nodiscard]] const gpu::ChannelPosition& position() const { return host_.parts_.positions[index()]; }
  [[nodiscard]] std::int32_t rank_at(std::int32_t place) const {
    const std::vector<std::int32_t>& orders = host_.parts_.orders;
    return orders.empty() ? place : orders[index() * gpu::number(p_.ranks) + gpu::number(place)];
  }
  [[nodiscard]] std::uint64_t sent(std::int32_t link) const { return of(link).sent[index()]; }
  [[nodiscard]] std::uint64_t received(std::int32_t link) const { return of(link).received[index()]; }

  bool await_credit(std::int32_t link, std::uint64_t step) {
    return step < p_.slots || await(mine(link).credit, step + 1 - p_.slots, of(link).way_in);
  }
  bool await_slot(std::int32_t link, std::uint64_t step) { return await(mine(link).filled, step + 1, of(link).way_in); }
  bool barrier(bool good) { return good; }
  void fence() {}
  void signal(std::int32_t link, std::uint64_t tail) {
    if (of(link).by_adapter) return host_.puts_over(link, channel_).tell(theirs(link).filled, tail, by_now());
    theirs(link).filled.raise(seen_behind_fence(link), tail, by_now());
  }
  void give_credit(std::int32_t link, std::uint64_t credit) {
    theirs(link).credit.raise(now() + host_.costs_.ll.value + of(link).way_out, credit, by_now());
  }
  /// What is cleared tells no later program of slots that an earlier one has filled.
  void clear(std::int32_t link) {
    const std::uint64_t room = p_.format == LineFormat::simple ? gpu::kSlotsAt : gpu::fifo_room(p_);
    start(host_.parts_.own, room / 2);
    if (!await_flows("clear", room)) return;
    const Part& part = of(link).mine;
    auto& fifos = host_.world_.programs.fifos;
    const auto end = fifos.lower_bound({part.allocation->serial, fifo_at(part) + room});
    for (auto fifo = fifos.lower_bound({part.allocation->serial, fifo_at(part)}); fifo != end; ++fifo) {
      fifo->second.clear();
    }
  }

  bool put(std::int32_t link, std::uint64_t at, std::uint64_t bytes) {
    start(of(link).out, bytes);
    start(host_.parts_.own, (bytes + 1) / 2);
    if (!await_flows("put", bytes)) return false;
    if (bytes == 0) return true;
    const Part& window = of(link).window;
    const Part& input = host_.parts_.input;
    window.allocation->content.write(window.offset + Bytes{at},
                                     input.allocation->content.slice(input.offset + Bytes{at}, Bytes{bytes}));
    return true;
  }
  [[nodiscard]] std::uint64_t listed(std::int32_t index) const {
    return host_.parts_.numbers[static_cast<std::size_t>(index)];
  }
  void tell(std::int32_t link, std::uint64_t step, std::uint64_t bytes) { theirs(link).told[step] = bytes; }
  [[nodiscard]] std::uint64_t told(std::int32_t link, std::uint64_t step) {
    const auto said = mine(link).told.extract(step);
    return said.empty() ? 0 : said.mapped();
  }

  bool move(const gpu::Move& move) {
    const bool lines = p_.format != LineFormat::simple;
    const bool receives = move.from != gpu::kNoLink;
    const bool sends = move.into != gpu::kNoLink;
    if (receives && lines && !await(mine(move.from).begun, move.from_step + 1, of(move.from).way_in)) return false;
    start_flows(move);
    if (sends && lines) theirs(move.into).begun.raise(now() + until_seen(move.into), move.into_step + 1, by_now());
    if (!await_flows("slot", move.bytes)) return false;
    if (receives && lines && !await(mine(move.from).filled, move.from_step + 1, of(move.from).way_in)) return false;
    write(move);
    if (sends && lines) theirs(move.into).filled.raise(now() + until_seen(move.into), move.into_step + 1, by_now());
    return true;
  }

  // ---- for those that the switch adds up
  // -------------------------------------------------------------------------------

  /// What this rank has taken out of slots it may fill again. Link 0 counts for all.
  bool await_room(std::uint64_t round) {
    const std::uint64_t step = sent(0) + round;
    return step < p_.slots || await(mine(0).credit, step + 1 - p_.slots, {});
  }
  /// The counter takes the way; the fence waits for no peer.
  bool offer(std::uint64_t round, const gpu::SwitchRound& what) {
    const std::uint64_t step = sent(0) + round;
    if (!copy_within(what)) return false;
    for (std::int32_t link = 0; link < links(); ++link) {
      const gpu::Share part = what.of(place_of(link));
      if (part.length > 0) {
        const Part& fifo = of(link).mine;
        const Part& input = host_.parts_.input;
        fifo.allocation->content.write(
            slot_at(fifo, step), input.allocation->content.slice(input.offset + Bytes{part.begin}, Bytes{part.length}));
      }
      theirs(link).begun.raise(now() + host_.costs_.simple.value + of(link).way_out, step + 1, by_now());
    }
    return true;
  }
  bool await_offers(std::uint64_t round) {
    return await_all([&](std::int32_t link) -> RaisedNumber& { return mine(link).begun; }, sent(0) + round);
  }
  /// Without a tree between nodes the sum is read and spread as one, and spread() has nothing to carry any more.
  bool add(std::uint64_t round, gpu::Share chunk) {
    if (!rest(host_.parts_.way_sum, "request to the switch")) return false;
    start(host_.parts_.sums, chunk.length);
    if (!gpu::has_rail_trees(p_)) start(host_.parts_.spread, chunk.length);
    if (!await_flows("sum by the switch", chunk.length)) return false;
    keep_sum(sent(0) + round, chunk);
    return true;
  }
  bool spread(std::uint64_t round, gpu::Share chunk) {
    const std::uint64_t step = sent(0) + round;
    if (gpu::has_rail_trees(p_)) start(host_.parts_.spread, chunk.length);
    if (!await_flows("sum to all", chunk.length)) return false;
    store_sum(step, chunk);
    for (std::int32_t link = 0; link < links(); ++link) {
      theirs(link).filled.raise(seen_behind_fence(link), step + 1, by_now());
    }
    return true;
  }
  bool await_sums(std::uint64_t round) {
    return await_all([&](std::int32_t link) -> RaisedNumber& { return mine(link).filled; }, sent(0) + round);
  }
  bool take(std::uint64_t round, const gpu::SwitchRound& what) {
    const std::uint64_t step = sent(0) + round;
    if (!copy_within(what)) return false;
    for (std::int32_t link = 0; link < links(); ++link) {
      const gpu::Share part = what.of(place_of(link));
      if (part.length == 0) continue;
      const Part& fifo = of(link).mine;
      const Part& output = host_.parts_.output;
      output.allocation->content.write(output.offset + Bytes{part.begin},
                                       fifo.allocation->content.slice(slot_at(fifo, step), Bytes{part.length}));
    }
    mine(0).credit.raise(now(), step + 1, by_now());
    return true;
  }

 private:
  void run() {
    try {
      if (host_.given_up_ || !rest(host_.parts_.fetch, "text of the kernel")) return;
      if (gpu::is_switched(p_)) {
        static_cast<void>(gpu::switch_all_reduce(*this, p_));
      } else {
        static_cast<void>(gpu::run(*this, p_));
      }
    } catch (...) {
      host_.world_.loop.abort();
    }
  }
  void go_on() {
    const std::shared_ptr<SimBlock> alive = shared_from_this();
    sleeps_ = false;
    fiber_.go_on();
    if (fiber_.ended()) host_.block_ended(by_now());
  }
  /// False: given up.
  bool pause() {
    if (!host_.given_up_) fiber_.pause();
    return !host_.given_up_;
  }

  [[nodiscard]] Seconds now() const { return host_.world_.now(); }
  /// Of what the block tells others now.
  [[nodiscard]] Cause by_now() const { return {host_.rank_, now(), last_.step, last_.launch, channel_}; }
  /// Time has passed since `by`, which the last step has taken.
  void passed(const Cause& by, std::string_view what, std::uint64_t bytes) {
    if (!host_.world_.programs.observer || reached(now(), by.at)) return;
    BlockStep step{.channel = channel_, .what = what, .size = Bytes{bytes}, .ended = now()};
    for (const FlowId& flow : flows_) step.flows.push_back(flow.number);
    last_.step = host_.world_.programs.tell(by, std::move(step));
  }
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(channel_); }
  [[nodiscard]] const SimProgram::Link& of(std::int32_t link) const {
    return host_.parts_.links[static_cast<std::size_t>(link)];
  }
  [[nodiscard]] std::uint64_t fifo_at(const Part& part) const {
    return part.offset.count() + index() * gpu::fifo_room(p_);
  }
  [[nodiscard]] SimFifo& fifo(const Part& part) const {
    return host_.world_.programs.fifos[{part.allocation->serial, fifo_at(part)}];
  }
  [[nodiscard]] SimFifo& mine(std::int32_t link) const { return fifo(of(link).mine); }
  [[nodiscard]] SimFifo& theirs(std::int32_t link) const { return fifo(of(link).theirs); }
  [[nodiscard]] Bytes slot_at(const Part& part, std::uint64_t step) const {
    return Bytes{fifo_at(part) + gpu::kSlotsAt + step % p_.slots * gpu::slot_room(p_)};
  }

  /// When the peer's block may see a counter that a fence lets go now.
  [[nodiscard]] Seconds seen_behind_fence(std::int32_t link) const {
    return now() + host_.costs_.simple.value + of(link).way_out * crossings(LineFormat::simple);
  }
  /// From a line's store until the peer's block has it, which may read it over a way of its own.
  [[nodiscard]] Seconds until_seen(std::int32_t link) const {
    return host_.costs_.hop_of(p_.format) + of(link).way_out;
  }

  bool await(RaisedNumber& number, std::uint64_t least, Seconds reading) {
    for (bool waited = false;; waited = true) {
      const Seconds when = number.when(least, now());
      if (reached(when + reading, now())) {
        if (waited) passed(number.cause(), "hop", 0);
        return !host_.given_up_;
      }
      if (when == kNever) {
        number.await(this, least);
      } else {
        wake_at(when + reading);
      }
      sleeps_ = true;
      const bool good = pause();
      number.await(nullptr, 0);
      if (!good) return false;
    }
  }

  [[nodiscard]] bool is_of_library_tree() const { return host_.parts_.library && gpu::is_tree(p_); }
  /// Of the threads of NCCL's block those that have this one's role.
  [[nodiscard]] double threads() const {
    return is_of_library_tree() && position().above != gpu::kNoLink ? gpu::tree_threads(p_.format, role_) : 1;
  }
  /// NCCL's block passes a piece once, whatever the ranks below: it stores to all of them what it has in its registers,
  /// and adds what it loads from all (2.28's src/device/prims_*.h); a load more from the GPU's own cache, 0.2 us, is
  /// little beside the 2 us that its threads take for what they have in flight at a time. So they take time for one
  /// rank below alone. Here others have moves of their own, whose bytes take links and memory.
  [[nodiscard]] bool is_beside(const gpu::Move& move) const {
    if (!is_of_library_tree()) return false;
    const bool sends_copy = move.from == gpu::kNoLink && move.into != position().above;
    const bool adds_alone = move.into == gpu::kNoLink && move.from != position().above;
    return sends_copy || adds_alone;
  }

  /// `bytes` over all ways side by side, by a share of the threads; none: they are no limit.
  void start(const std::vector<FlowRoute>& routes, std::uint64_t bytes, std::optional<double> threads = 1) {
    if (bytes == 0) return;
    for (const FlowRoute& whole : routes) {
      std::optional<FlowRoute> other;  // a copy is not for nothing
      if (threads != 1 && whole.limit) {
        other = whole;
        other->limit.reset();
        if (threads) other->limit = Rate{whole.limit->bytes_per_second() * *threads};
      }
      const FlowRoute& route = other ? *other : whole;
      const auto part = static_cast<std::uint64_t>(static_cast<double>(bytes) * route.share);
      ++flowing_;
      flows_.push_back(host_.world_.loop.network().start(route, Bytes{std::max<std::uint64_t>(part, 1)}, *this));
    }
  }
  void start_flows(const gpu::Move& move) {
    const bool beside = is_beside(move);
    const std::optional<double> threads = beside ? std::nullopt : std::optional(this->threads());
    const std::uint64_t stored = gpu::stored(p_.format, move.bytes);
    std::uint64_t own = 0;  // bytes that the GPU's memory gives or takes; a copy within it is worth twice its bytes
    const bool sends = move.into != gpu::kNoLink;
    if (sends && !of(move.into).by_adapter) {
      start(move.from == gpu::kNoLink ? of(move.into).out : of(move.into).passing, stored, threads);
    }
    if (move.from != gpu::kNoLink) {
      if (of(move.from).in.empty()) own += stored;
      start(of(move.from).in, stored, threads);
    }
    // What is beside has been read for the pass, and its sum is written by it.
    if (move.in != gpu::Region::none && !beside) own += move.bytes;
    if (move.out != gpu::Region::none && !beside) own += move.bytes;
    // What taking a message out costs is in the rate of blocks, which messages tell.
    const bool alone = !sends && !gpu::is_of_two(p_);
    start(alone ? host_.parts_.own_alone : host_.parts_.own, (own + 1) / 2, threads);
  }
  bool await_flows(std::string_view what, std::uint64_t bytes) {
    const Cause began = by_now();
    while (flowing_ > 0) {
      if (!pause()) return false;
    }
    passed(began, what, bytes);
    flows_.clear();
    return !host_.given_up_;
  }

  [[nodiscard]] const Part& region(gpu::Region region) const {
    return region == gpu::Region::input ? host_.parts_.input : host_.parts_.output;
  }
  [[nodiscard]] Content own_content(const gpu::Move& move) const {
    const Part& part = region(move.in);
    return part.allocation->content.slice(part.offset + Bytes{move.in_at}, Bytes{move.bytes});
  }
  void write(const gpu::Move& move) const {
    if (move.bytes == 0) return;
    Content value{Bytes{move.bytes}};
    if (move.from == gpu::kNoLink) {
      value = own_content(move);
    } else {
      const Part& fifo = of(move.from).mine;
      value = fifo.allocation->content.slice(slot_at(fifo, move.from_step) + Bytes{move.from_at}, Bytes{move.bytes});
      if (move.in != gpu::Region::none) value.add(own_content(move));
    }
    if (move.out != gpu::Region::none) {
      const Part& part = region(move.out);
      part.allocation->content.write(part.offset + Bytes{move.out_at}, value);
    }
    if (move.into != gpu::kNoLink) {
      const Part& fifo = of(move.into).theirs;
      const Bytes at = slot_at(fifo, move.into_step) + Bytes{move.into_at};
      if (of(move.into).by_adapter) {
        host_.puts_over(move.into, channel_).add({.bytes = move.bytes, .content = value, .at = at, .by = by_now()});
      } else {
        fifo.allocation->content.write(at, value);
      }
    }
  }

  /// Those to whom the switch leads.
  [[nodiscard]] std::int32_t links() const { return gpu::group_of(p_) - 1; }
  /// The place in the node of whom a link leads to.
  [[nodiscard]] std::int32_t place_of(std::int32_t link) const {
    return (gpu::place_in_node(p_) + link + 1) % gpu::group_of(p_);
  }
  /// What all peers have of a round, from one place to another.
  bool copy_within(const gpu::SwitchRound& what) {
    const std::uint64_t bytes = what.all.length - what.of(gpu::place_in_node(p_)).length;
    start(host_.parts_.own, bytes);
    return await_flows("copy", bytes);
  }
  bool await_all(const auto& number, std::uint64_t step) {
    for (std::int32_t link = 0; link < links(); ++link) {
      if (!await(number(link), step + 1, {})) return false;
    }
    return true;
  }
  /// Nothing but time passes. False: given up.
  bool rest(Seconds duration, std::string_view what) {
    const Cause began = by_now();
    const Seconds until = now() + duration;
    while (!reached(until, now())) {
      wake_at(until);
      sleeps_ = true;
      if (!pause()) return false;
    }
    passed(began, what, 0);
    return true;
  }
  [[nodiscard]] std::span<const SimProgram::Link> behind_switch() const {
    return std::span(host_.parts_.links).first(gpu::number(links()));
  }
  /// The switch has added up what all that it joins have offered.
  void keep_sum(std::uint64_t step, gpu::Share chunk) const {
    if (chunk.length == 0) return;
    const Part& input = host_.parts_.input;
    const Part& output = host_.parts_.output;
    Content sum = input.allocation->content.slice(input.offset + Bytes{chunk.begin}, Bytes{chunk.length});
    for (const SimProgram::Link& link : behind_switch()) {
      sum.add(link.theirs.allocation->content.slice(slot_at(link.theirs, step), Bytes{chunk.length}));
    }
    output.allocation->content.write(output.offset + Bytes{chunk.begin}, sum);
  }
  /// And puts the sum where each of them finds it.
  void store_sum(std::uint64_t step, gpu::Share chunk) const {
    if (chunk.length == 0) return;
    const Part& output = host_.parts_.output;
    const Content sum = output.allocation->content.slice(output.offset + Bytes{chunk.begin}, Bytes{chunk.length});
    for (const SimProgram::Link& link : behind_switch()) {
      link.theirs.allocation->content.write(slot_at(link.theirs, step), sum);
    }
  }

  ProgramWorld& programs_;
  SimProgram& host_;
  const gpu::Program& p_;
  std::int32_t channel_;
  std::int32_t role_;
  Cause last_;  ///< its step
  BlockStack stack_;
  Fiber fiber_;
  bool sleeps_ = false;  ///< until it is woken
  std::size_t flowing_ = 0;
  std::vector<FlowId> flows_;
};

// ---- numbers --------------------------------------------------------------------------------------------------------

void RaisedNumber::raise(Seconds seen_at, std::uint64_t value, const Cause& by) {
  raised_.push_back({seen_at, value, by});
  if (waiter_ == nullptr || value < awaited_) return;
  waiter_->wake_at(seen_at);
  waiter_ = nullptr;
}

Seconds RaisedNumber::when(std::uint64_t least, Seconds now) {
  if (seen_ >= least) return Seconds{};
  while (!raised_.empty() && raised_.front().value < least) raised_.pop_front();
  if (raised_.empty()) return kNever;
  if (reached(raised_.front().seen_at, now)) seen_ = raised_.front().value;
  return raised_.front().seen_at;
}

void RaisedNumber::await(NumberWaiter* waiter, std::uint64_t least) {
  waiter_ = waiter;
  awaited_ = least;
}

std::uint64_t ProgramWorld::tell(const Cause& by, BlockStep step) {
  if (!observer) return 0;
  step.number = ++numbers;
  step.before = by.step;
  step.launch = by.launch;
  step.rank = by.rank;
  step.began = by.at;
  observer(step);
  return step.number;
}

// ---- programs -------------------------------------------------------------------------------------------------------

SimProgram::SimProgram(SimWorld& world, EventQueue& event_queue, RankId rank, const gpu::Program& program, Parts parts,
                       const BlockCosts& costs)
    : world_(world),
      event_queue_(event_queue),
      rank_(rank),
      launch_(++world.programs.numbers),
      last_{.rank = rank, .launch = launch_},
      program_(program),
      parts_(std::move(parts)),
      costs_(costs) {}

SimProgram::~SimProgram() = default;

/// The next run of a graph begins.
class SimProgram::NextRun final : public QueuedEvent {
 public:
  NextRun(SimProgram& program, std::function<void()> ended) : program_(program), ended_(std::move(ended)) {}
  void happen() override {
    if (program_.given_up_) return ended_();
    const BlockStep gap{.channel = program_.last_.channel, .what = "next of the graph", .ended = program_.world_.now()};
    program_.last_.step = program_.world_.programs.tell(program_.last_, gap);
    program_.begin_blocks();
  }

 private:
  SimProgram& program_;
  std::function<void()> ended_;
};

void SimProgram::begin(std::function<void()> ended) {
  ended_ = std::move(ended);
  begun_ = true;
  begin_blocks();
}

SimProgram::Puts& SimProgram::puts_over(std::int32_t link, std::int32_t channel) {
  std::unique_ptr<Puts>& puts = puts_[{link, channel}];
  if (!puts) puts = std::make_unique<Puts>(*this, parts_.links[static_cast<std::size_t>(link)]);
  return *puts;
}

void SimProgram::begin_blocks() {
  blocks_.clear();
  // One more than there are blocks, so that the last one ends behind this.
  running_ = gpu::number(gpu::blocks_of(program_)) + 1;
  for (std::int32_t number = 0; number < gpu::blocks_of(program_); ++number) {
    blocks_.push_back(std::make_shared<SimBlock>(*this, number));
  }
  for (const auto& block : blocks_) block->begin();
  block_ended(last_);
}

void SimProgram::give_up() {
  given_up_ = true;
  if (!begun_) return;
  const std::vector<std::shared_ptr<SimBlock>> blocks = blocks_;
  for (const auto& block : blocks) block->give_up();
  for (const auto& [place, puts] : puts_) puts->give_up();
}

void SimProgram::block_ended(const Cause& by) {
  last_ = by;
  if (--running_ > 0) return;
  if (++ran_ == parts_.times || given_up_) return ended_();
  for (Link& link : parts_.links) {
    for (std::size_t channel = 0; channel < link.sent.size(); ++channel) {
      link.sent[channel] += link.sent_each[channel];
      link.received[channel] += link.received_each[channel];
    }
  }
  event_queue_.add(world_.now() + parts_.gap, std::make_shared<NextRun>(*this, ended_));
}

}  // namespace twinlink::model
