// GPUDirect v3: which steps a message takes on either side of the limits, and what is refused.
#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/protocols/scripted_rank.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const Protocol& v3() { return find_protocol("gpudirect-v3"); }

/// Writes down the verbs with the kind of memory and the size.
class VerbRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;

  void register_memory(Buffer) override { verbs.emplace_back("register"); }
  void deregister_memory(Buffer) override { verbs.emplace_back("deregister"); }
  Buffer allocate(Memory kind, Bytes size, Locality locality) override {
    ++allocated;
    return inner().allocate(kind, size, locality);
  }
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    verbs.push_back("copy to " + describe(to));
    return inner().start_copy(to, from, blocks, stream, engine);
  }
  Op send(RankId peer, Tag tag, View from) override {
    tags.push_back(tag.value);
    verbs.push_back("send " + describe(from));
    return inner().send(peer, tag, from);
  }
  Op receive(RankId peer, Tag tag, View to) override {
    tags.push_back(tag.value);
    verbs.push_back("receive " + describe(to));
    return inner().receive(peer, tag, to);
  }

  std::vector<std::string> verbs{};
  std::vector<int> tags{};  ///< of messages
  int allocated = 0;

 private:
  static std::string describe(const View& view) {
    return std::string(to_string(view.buffer.memory)) + " " + std::to_string(view.length.count());
  }
};

class GpuDirectV3Test : public testing::Test {
 protected:
  GpuDirectV3Test() {
    lonely_.path().device_memory_on_network = Answer::granted();
    settings.options["registration_cache"] = "off";
    settings.options["send_limit"] = "100";
    settings.options["receive_limit"] = "200";
  }
  [[nodiscard]] static View message(Bytes size) { return View({.id = 99, .memory = Memory::device, .size = size}); }
  void connect() { channel = v3().connect(rank, RankId{1}, settings); }
  void send(Bytes size) { EXPECT_TRUE(channel->send(message(size)).ok()); }
  void receive(Bytes size) { EXPECT_TRUE(channel->receive(message(size)).ok()); }
  std::string refusal() {
    return said_by<Error>([this] { connect(); });
  }

  ScriptedRank lonely_;
  VerbRank rank{lonely_};
  Settings settings{.chunk = 150_B, .depth = 1};
  std::unique_ptr<Channel> channel;
};

TEST_F(GpuDirectV3Test, UpToTheLimitOfASideTheAdapterReachesDeviceMemory) {
  const auto of = [&](Bytes chunk, bool sends, Bytes size) {
    settings.chunk = chunk;
    connect();
    rank.verbs.clear();
    sends ? send(size) : receive(size);
    std::string all;
    for (const std::string& verb : rank.verbs) all += (all.empty() ? "" : ", ") + verb;
    return all;
  };
  constexpr bool kSends = true;
  constexpr bool kReceives = false;
  EXPECT_EQ(of(150_B, kSends, 100_B), "register, send device 100, deregister");
  EXPECT_EQ(rank.allocated, 0) << "no staging buffer";
  EXPECT_EQ(of(150_B, kSends, 101_B), "copy to pinned 101, send pinned 101");
  // In the sender's chunks, and registered once for the message.
  EXPECT_EQ(of(80_B, kReceives, 200_B),
            "register, receive device 80, receive device 80, receive device 40, deregister");
  EXPECT_EQ(of(150_B, kReceives, 201_B),
            "receive pinned 150, copy to device 150, receive pinned 51, copy to device 51");
  EXPECT_EQ(of(0_B, kReceives, 1000_B), "receive pinned 1000, copy to device 1000") << "zero stages all of it";
  // Up to the smaller limit nothing is cut.
  EXPECT_EQ(of(10_B, kSends, 100_B), "register, send device 100, deregister");
  EXPECT_EQ(of(10_B, kReceives, 100_B), "register, receive device 100, deregister");
  settings.options["send_limit"] = "0";
  EXPECT_EQ(of(150_B, kSends, 1_B), "copy to pinned 1, send pinned 1");
}

TEST_F(GpuDirectV3Test, BothEndsCutAlikeAtEverySize) {
  // With either limit the smaller one, and sizes around both.
  for (const auto& [send_limit, receive_limit] : {std::pair{"100", "200"}, {"200", "100"}, {"0", "50"}, {"50", "0"}}) {
    settings.options["send_limit"] = send_limit;
    settings.options["receive_limit"] = receive_limit;
    settings.chunk = 30_B;
    connect();
    for (const Bytes size : {0_B, 1_B, 30_B, 31_B, 50_B, 51_B, 100_B, 101_B, 200_B, 201_B, 1000_B}) {
      std::vector<std::string> sent;
      std::vector<std::string> received;
      rank.verbs.clear();
      rank.tags.clear();
      send(size);
      for (const std::string& verb : rank.verbs) {
        if (verb.starts_with("send")) sent.push_back(verb.substr(verb.rfind(' ')));
      }
      rank.verbs.clear();
      receive(size);
      for (const std::string& verb : rank.verbs) {
        if (verb.starts_with("receive")) received.push_back(verb.substr(verb.rfind(' ')));
      }
      EXPECT_EQ(sent, received) << size.count() << " B, limits " << send_limit << " and " << receive_limit;
      const auto pieces = static_cast<int>(sent.size());
      const Tag tag = pieces < 2 ? tags::kData : Tag{tags::kPieces.value + pieces};
      EXPECT_EQ(rank.tags, std::vector(2 * sent.size(), tag.value)) << "both ends tell how many they are";
    }
  }
}

TEST_F(GpuDirectV3Test, DirectAndStagedMessagesShareAWindow) {
  settings.depth = 3;
  connect();
  const std::array window{message(50_B), message(400_B), message(60_B)};
  EXPECT_TRUE(channel->exchange(window, {}).ok());
  EXPECT_THAT(rank.verbs,
              testing::IsSupersetOf({"send device 50", "send pinned 150", "send pinned 100", "send device 60"}));
}

TEST_F(GpuDirectV3Test, MessagesThatGoAsTheyLieAreAllPostedAtOnceWhateverTheDepth) {
  connect();
  EXPECT_TRUE(channel->exchange(std::array{message(50_B), message(60_B), message(100_B)}, {}).ok());
  EXPECT_THAT(rank.verbs, ElementsAre("register", "send device 50", "register", "send device 60", "register",
                                      "send device 100", "deregister", "deregister", "deregister"));
  rank.verbs.clear();
  EXPECT_TRUE(channel->exchange(std::array{message(50_B), message(101_B)}, {}).ok());
  EXPECT_THAT(rank.verbs,
              ElementsAre("register", "send device 50", "deregister", "copy to pinned 101", "send pinned 101"))
      << "one has a buffer, of which there is one";
}

TEST_F(GpuDirectV3Test, SaysWhichWayTheLastMessageTookOnEitherSide) {
  connect();
  EXPECT_THAT(channel->path_taken(), AllOf(HasSubstr("up to 100"), HasSubstr("up to 200")));
  send(100_B);
  EXPECT_THAT(channel->path_taken(), AllOf(HasSubstr("sender direct"), HasSubstr("receiver direct")));
  receive(150_B);
  EXPECT_THAT(channel->path_taken(), AllOf(HasSubstr("sender staged"), HasSubstr("receiver direct")));
  send(201_B);
  EXPECT_THAT(channel->path_taken(), AllOf(HasSubstr("sender staged"), HasSubstr("receiver staged")));
  EXPECT_THAT(channel->path_taken(), Not(HasSubstr("hypothetical")));
  lonely_.path().hypothetical = "Fermi cannot";
  EXPECT_THAT(channel->path_taken(), HasSubstr("hypothetical: Fermi cannot"));
}

TEST_F(GpuDirectV3Test, CountsWhatTheRegistrationCacheDid) {
  settings.options["registration_cache"] = "on";
  connect();
  for (int i = 0; i < 3; ++i) send(50_B);
  const auto counters = channel->counters();
  ASSERT_EQ(counters.size(), 3U);
  EXPECT_EQ(counters[0].name, "registration cache hits");
  EXPECT_EQ(counters[0].value, 2U);
  EXPECT_EQ(counters[1].name, "registration cache misses");
  EXPECT_EQ(counters[1].value, 1U);
  EXPECT_EQ(counters[2].name, "registration cache evictions");
  EXPECT_EQ(counters[2].value, 0U);
}

TEST_F(GpuDirectV3Test, AFailedMessageLeavesNothingRegistered) {
  settings.timeout = 0.5_us;  // half of what any operation takes
  connect();
  EXPECT_EQ(channel->send(message(50_B)).status, Status::timed_out);
  EXPECT_THAT(rank.verbs, ElementsAre("register", "send device 50", "deregister"));
}

TEST_F(GpuDirectV3Test, RefusesACacheOfNothingAndSaysWhatToDo) {
  settings.options["registration_cache_size"] = "0";
  EXPECT_THAT(refusal(), HasSubstr("registration_cache_size is 0, but must be 1 or more; registration_cache=off"));
}

TEST_F(GpuDirectV3Test, RefusesWhatIsNoSizeNoChoiceAndNoOption) {
  Settings any;
  EXPECT_THROW(set_option(v3(), any, "send_limit", "8X"), UsageError);
  EXPECT_THROW(set_option(v3(), any, "send_limit", "-1"), UsageError);
  EXPECT_THROW(set_option(v3(), any, "registration_cache", "yes"), UsageError);
  EXPECT_THROW(set_option(v3(), any, "registration_cache_size", "many"), UsageError);
  EXPECT_THROW(set_option(v3(), any, "limit", "8K"), UsageError);
  settings.options["receive_limit"] = "far";
  EXPECT_THAT(refusal(), HasSubstr("receive_limit"));
}

TEST_F(GpuDirectV3Test, RefusesAPathWithItsReason) {
  lonely_.path().device_memory_on_network = Answer::refused("the MPI library is not CUDA-aware");
  EXPECT_THAT(refusal(), HasSubstr("'gpudirect-v3' cannot run here: the MPI library is not CUDA-aware"));
}

TEST(GpuDirectV3Presets, AreTheLimitsOfTheLibraries) {
  const Settings& mvapich2 = find_preset(v3(), "mvapich2").settings;
  EXPECT_EQ(OptionReader(v3(), mvapich2).size("send_limit"), 8_KiB);
  EXPECT_EQ(OptionReader(v3(), mvapich2).size("receive_limit"), 128_KiB);
  EXPECT_EQ(mvapich2.chunk, 256_KiB);
  const Settings& openib = find_preset(v3(), "openmpi-openib").settings;
  EXPECT_EQ(OptionReader(v3(), openib).size("send_limit"), 29'999_B) << "direct below 30,000 B";
  EXPECT_EQ(OptionReader(v3(), openib).size("receive_limit"), 29'999_B);
  EXPECT_EQ(openib.chunk, 128_KiB);
  // Whoever sets nothing runs the first preset: the options' own defaults say the same.
  EXPECT_EQ(OptionReader(v3(), {}).size("send_limit"), 8_KiB);
  EXPECT_EQ(OptionReader(v3(), {}).size("receive_limit"), 128_KiB);
}

TEST(GpuDirectV3Aliases, AreTheNamesOfMvapich2) {
  Settings settings;
  set_option(v3(), settings, "MV2_GPUDIRECT_LIMIT", "16K");
  set_option(v3(), settings, "MV2_USE_GPUDIRECT_RECEIVE_LIMIT", "64K");
  set_option(v3(), settings, "MV2_CUDA_BLOCK_SIZE", "512K");
  EXPECT_EQ(OptionReader(v3(), settings).size("send_limit"), 16_KiB);
  EXPECT_EQ(OptionReader(v3(), settings).size("receive_limit"), 64_KiB);
  EXPECT_EQ(settings.chunk, 512_KiB);
}

}  // namespace
}  // namespace twinlink
