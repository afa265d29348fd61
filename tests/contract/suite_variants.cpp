// Every protocol with every choice of its options and every preset: the bytes arrive whatever the settings are.
#include <array>
#include <memory>

#include "protocols/core/choices.hpp"
#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

struct Variant {
  std::string name;
  Settings settings;
};

std::vector<std::string> choices_of(const Option& option) {
  std::vector<std::string> choices;
  std::string_view values = option.values;
  if (values.find('|') == std::string_view::npos) return choices;
  if (values.ends_with(kOfList)) values.remove_suffix(kOfList.size());
  for (std::size_t begin = 0; begin <= values.size();) {
    const std::size_t end = std::min(values.find('|', begin), values.size());
    choices.emplace_back(values.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

std::vector<Variant> variants_of(const Protocol& protocol) {
  std::vector<Variant> variants{{"defaults", protocol.defaults()}};
  for (const Preset& preset : protocol.presets()) variants.push_back({std::string(preset.name), preset.settings});
  for (const Option& option : protocol.options()) {
    for (const std::string& choice : choices_of(option)) {
      Settings settings = protocol.defaults();
      set_option(protocol, settings, option.name, choice);
      variants.push_back({std::string(option.name) + "=" + choice, settings});
      if (settings.chunk_or_whole() != Bytes{}) continue;
      settings.chunk = 3000_B;
      variants.push_back({variants.back().name + " in chunks", settings});
    }
  }
  return variants;
}

/// A channel, or nothing where this variant says that it cannot run here. Both ends get the same answer.
std::unique_ptr<Channel> try_connect(Rank& rank, RankId peer, const Protocol& protocol, const Settings& settings) {
  try {
    return protocol.connect(rank, peer, settings);
  } catch (const UnavailableError&) {
    return nullptr;
  }
}

TEST(Variants, MessagesOfAllSizesArriveBothWaysWithAllSettings) {
  constexpr std::array kSizes{0_B, 1_B, 2999_B, 3000_B, 100'000_B};
  on_every_pair([&](MeasuredRank& rank, RankId peer) {
    for (const Protocol* protocol : all_protocols()) {
      if (!protocol->supports(rank.path_to(peer)).usable()) continue;
      for (const Variant& variant : variants_of(*protocol)) {
        auto channel = try_connect(rank, peer, *protocol, variant.settings);
        if (!channel) continue;
        const Scratch out(rank, protocol->message_memory(), 120'000_B);
        const Scratch in(rank, protocol->message_memory(), 120'000_B);
        std::vector<View> outgoing;
        std::vector<View> incoming;
        Bytes offset{};
        for (const Bytes size : kSizes) {
          outgoing.push_back(out.slice(offset, size));
          incoming.push_back(in.slice(offset, size));
          rank.fill(outgoing.back(), Payload{500 + static_cast<std::uint64_t>(rank.id().value) + size.count()});
          rank.fill(incoming.back(), kSentinel);
          offset += size;
        }
        meet(rank, peer);
        for (int round = 0; round < 2; ++round) {
          const Outcome outcome = channel->exchange(outgoing, incoming);
          EXPECT_TRUE(outcome.ok()) << protocol->name() << ", " << variant.name << ": " << outcome.reason;
          if (!outcome.ok()) return;
        }
        for (const View& view : incoming) {
          const Payload expected{500 + static_cast<std::uint64_t>(peer.value) + view.length.count()};
          const Verdict verdict = rank.check(view, expected);
          EXPECT_TRUE(verdict.intact()) << protocol->name() << ", " << variant.name << ", " << view.length.count()
                                        << " B: " << to_string(verdict);
        }
        meet(rank, peer);
        channel.reset();
        meet(rank, peer);  // now the peer has none of the buffers open any more
      }
    }
  });
}

TEST(Variants, UnknownOptionsAndValuesAreRefused) {
  on_every_pair([](Rank& rank, RankId peer) {
    for (const Protocol* protocol : all_protocols()) {
      if (!protocol->supports(rank.path_to(peer)).usable()) continue;
      Settings settings = protocol->defaults();
      settings.options["no-such-option"] = "1";
      EXPECT_THROW(static_cast<void>(protocol->connect(rank, peer, settings)), UsageError) << protocol->name();
      for (const Option& option : protocol->options()) {
        Settings wrong = protocol->defaults();
        wrong.options[std::string(option.name)] = "-";
        EXPECT_THROW(static_cast<void>(protocol->connect(rank, peer, wrong)), UsageError) << option.name;
      }
    }
  });
}

}  // namespace
}  // namespace twinlink::contract
