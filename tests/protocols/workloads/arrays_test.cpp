// Arrays that are shared out: boxes, reshapes of all ranks against each other, and what ranks transform.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "protocols/core/blocks.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/arrays/boxes.hpp"
#include "protocols/workloads/arrays/fourier.hpp"
#include "protocols/workloads/arrays/mover.hpp"
#include "protocols/workloads/arrays/reshape.hpp"
#include "protocols/workloads/concurrent_rank.hpp"
#include "protocols/workloads/connections.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::workloads {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> equal(int ranks) { return std::vector<double>(static_cast<std::size_t>(ranks), 1); }

TEST(Boxes, GlobalSizesAreOneToThreeNumbers) {
  EXPECT_EQ(to_string(parse_global("512x8x3")), "512x8x3");
  EXPECT_EQ(parse_global("8x3").lengths, (Index{8, 1, 3}));
  EXPECT_EQ(parse_global("7").lengths, (Index{7, 1, 1}));
  for (const char* wrong : {"", "x", "8x", "8x8x8x8", "8X8", "-1x8", "8 x8"}) {
    EXPECT_THAT(said_by([&] { parse_global(wrong); }), HasSubstr("is no size of an array")) << wrong;
  }
  EXPECT_THAT(said_by([] { parse_global("8x0x8"); }), HasSubstr("no elements"));
  EXPECT_THAT(said_by([] { parse_global("1000000x1000000x10"); }), HasSubstr("2^40"));
}

TEST(Boxes, SlabsAndPencilsCoverTheArrayWhateverTheSizes) {
  for (const char* size : {"24x20x17", "9x9x9", "8x64", "100"}) {
    const Global global = parse_global(size);
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const char* name : {"slab-x", "slab-y", "slab-z", "pencil-x", "pencil-y", "pencil-z"}) {
        const bool pencil = name[0] == 'p';
        if (name[std::strlen(name) - 1] >= 'x' + global.dimensions || (pencil && global.dimensions < 3)) continue;
        const Distribution boxes = named_distribution(name, global, equal(ranks));
        ASSERT_EQ(boxes.boxes.size(), static_cast<std::size_t>(ranks));
        EXPECT_NO_THROW(require_cover(boxes, global)) << size << " " << name << " " << ranks;
      }
    }
  }
}

TEST(Boxes, SharesAreInProportionAndNobodyHasNone) {
  const std::vector<double> shares{1, 2, 2.5, 0.001};
  EXPECT_THAT(boundaries(55, shares, "it"), ElementsAre(0, 10, 30, 54, 55));
  const std::vector<double> steep{0.001, 0.001, 1};
  EXPECT_THAT(boundaries(3, steep, "it"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(said_by([&] { boundaries(2, steep, "slab-x of 2x8x8"); }),
              HasSubstr("slab-x of 2x8x8: 2 planes are not enough for 3 ranks"));
}

TEST(Boxes, OfAFileAreReadLineByLine) {
  const Global global = parse_global("4x6x2");
  const std::string text = "# halves, and one has nothing\n0,0,0 4,3,2\n\n 4,6,2\t4,6,2\n0,3,0 4,6,2 # the rest\n";
  const Distribution boxes = read_boxes(text, "boxes.txt", global, 3);
  EXPECT_EQ(boxes.boxes[2], (Box{{0, 3, 0}, {4, 6, 2}}));
  EXPECT_TRUE(boxes.boxes[1].empty());
  EXPECT_NO_THROW(require_cover(boxes, global));
  EXPECT_THAT(said_by([&] { read_boxes("0,0 4,6\n", "f", global, 1); }), HasSubstr("f:1: error: a line has a lower"));
  EXPECT_THAT(said_by([&] { read_boxes("\n0,0,0 4,6,3\n", "f", global, 1); }),
              HasSubstr("f:2: error: the box (0,0,0) to (4,6,3) reaches beyond 4x6x2"));
  EXPECT_THAT(said_by([&] { read_boxes("0,4,0 4,3,2\n", "f", global, 1); }), HasSubstr("below the lower one"));
  EXPECT_THAT(said_by([&] { read_boxes("0,0,0 4,6,2\n", "f", global, 2); }), HasSubstr("1 boxes for 2 ranks"));
}

TEST(Boxes, ThatOverlapOrLeaveGapsAreRefused) {
  const Global global = parse_global("4x4");
  const auto check = [&](const std::string& text, int ranks) {
    return said_by([&] { require_cover(read_boxes(text, "f", global, ranks), global); });
  };
  EXPECT_THAT(check("0,0 3,4\n2,0 4,4\n", 2),
              HasSubstr("the boxes of ranks 0 and 1 overlap: both have (2,0) to (3,4)"));
  EXPECT_THAT(check("0,0 2,4\n3,0 4,4\n", 2), HasSubstr("leave a gap: 4 of 16 elements are in none"));
}

TEST(Boxes, NamesThatAreNoneAreRefused) {
  const Global global = parse_global("8x8");
  EXPECT_THAT(said_by([&] { named_distribution("slab-z", global, equal(2)); }), HasSubstr("no such dimension"));
  EXPECT_THAT(said_by([&] { named_distribution("pencil-x", global, equal(2)); }), HasSubstr("three dimensions"));
  EXPECT_THAT(said_by([&] { named_distribution("brick", global, equal(2)); }), HasSubstr("there are: slab-x"));
}

/// Does the reshape of all ranks by hand, and looks where each element is then.
void expect_reshaped(const Distribution& from, const Distribution& to, const ReshapeWish& wish) {
  const int ranks = static_cast<int>(from.boxes.size());
  const auto index_of = [](const Index& i) { return (i[0] * 100 + i[1]) * 100 + i[2]; };
  std::vector<std::vector<std::uint64_t>> after;
  std::vector<ReshapePlan> plans;
  for (int r = 0; r < ranks; ++r) {
    plans.push_back(plan_reshape(from, to, r, wish));
    after.emplace_back(to.boxes[static_cast<std::size_t>(r)].elements(), 0);
  }
  const std::uint64_t size = wish.element.count();
  const auto value = [&](const Box& box, std::uint64_t place) {
    return 1 + index_of({box.lower[0] + place / (box.length(1) * box.length(2)),
                         box.lower[1] + place / box.length(2) % box.length(1), box.lower[2] + place % box.length(2)});
  };
  for (int r = 0; r < ranks; ++r) {
    const ReshapePlan& mine = plans[static_cast<std::size_t>(r)];
    for (const Share& out : mine.sends) {
      // Packed, and unpacked at the other end.
      std::vector<std::uint64_t> packed(out.piece.elements(), 0);
      for (const Block& b : out.blocks) {
        for (std::uint64_t i = 0; i < b.length.count() / size; ++i) {
          packed[b.to.count() / size + i] = value(mine.from, b.from.count() / size + i);
        }
      }
      const ReshapePlan& theirs = plans[static_cast<std::size_t>(out.peer)];
      const auto in = std::ranges::find(theirs.receives, r, &Share::peer);
      ASSERT_NE(in, theirs.receives.end()) << r << " to " << out.peer;
      EXPECT_EQ(in->bytes, out.bytes);
      EXPECT_EQ(in->in_one, !wish.in_place && in->blocks.size() == 1);
      for (const Block& b : in->blocks) {
        for (std::uint64_t i = 0; i < b.length.count() / size; ++i) {
          after[static_cast<std::size_t>(out.peer)][b.to.count() / size + i] = packed[b.from.count() / size + i];
        }
      }
    }
    for (const Block& b : mine.own) {
      for (std::uint64_t i = 0; i < b.length.count() / size; ++i) {
        after[static_cast<std::size_t>(r)][b.to.count() / size + i] = value(mine.from, b.from.count() / size + i);
      }
    }
  }
  for (int r = 0; r < ranks; ++r) {
    const Box& box = to.boxes[static_cast<std::size_t>(r)];
    for (std::uint64_t place = 0; place < box.elements(); ++place) {
      ASSERT_EQ(after[static_cast<std::size_t>(r)][place], value(box, place))
          << from.name << " to " << to.name << ", rank " << r << " of " << ranks << ", element " << place;
    }
  }
}

TEST(Reshapes, BringEachElementWhereItBelongs) {
  const Global global = parse_global("9x8x10");
  const std::vector<const char*> names{"slab-x", "slab-y", "slab-z", "pencil-x", "pencil-y", "pencil-z"};
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    for (const char* from : names) {
      for (const char* to : names) {
        for (const std::uint64_t element : {4, 8, 16}) {
          for (const bool in_place : {false, true}) {
            expect_reshaped(named_distribution(from, global, equal(ranks)),
                            named_distribution(to, global, equal(ranks)),
                            {.element = Bytes{element}, .in_place = in_place});
          }
        }
      }
    }
  }
}

TEST(Reshapes, TakeUnevenAndEmptyBoxes) {
  const Global global = parse_global("6x5");
  const Distribution from = read_boxes("0,0 6,2\n0,0 0,0\n0,2 1,5\n1,2 6,5\n", "from", global, 4);
  const Distribution to = read_boxes("2,0 6,5\n0,0 2,4\n0,4 1,5\n1,4 2,5\n", "to", global, 4);
  expect_reshaped(from, to, {.element = 8_B});
  expect_reshaped(to, from, {.element = 8_B});
}

TEST(Reshapes, RowsThatFollowEachOtherAreOneBlock) {
  const Box whole{{0, 0, 0}, {8, 8, 8}};
  EXPECT_EQ(count_blocks(whole, whole, whole), 1U);
  const Box plane{{0, 2, 0}, {8, 4, 8}};
  EXPECT_EQ(count_blocks(plane, whole, plane), 8U);
  const auto blocks = blocks_between(plane, whole, plane, 16_B);
  EXPECT_EQ(blocks.size(), 8U);
  EXPECT_EQ(blocks[1].from, 16_B * (64 + 16));
  EXPECT_EQ(blocks[1].to, 16_B * 16);
}

TEST(Reshapes, OfManyRowsMayTellWholePiecesApartOnly) {
  const Global global = parse_global("8x8x8");
  const auto from = named_distribution("slab-x", global, equal(2));
  const auto to = named_distribution("slab-z", global, equal(2));
  // To itself and to the other one 32 rows, that land as one block each.
  EXPECT_TRUE(plan_reshape(from, to, 0, {.element = 16_B, .most_blocks = 66}).rows_told);
  const ReshapePlan plan = plan_reshape(from, to, 0, {.element = 16_B, .most_blocks = 65});
  EXPECT_FALSE(plan.rows_told);
  EXPECT_EQ(plan.sends.front().blocks.size(), 1U);
  EXPECT_EQ(plan.sends.front().bytes + total_length(plan.own), 16_B * 256);
}

TEST(Fourier, NamesAreFoundAsTheyArePrinted) {
  for (const char* name : {"c2c", "r2c", "c2r"}) EXPECT_EQ(to_string(find_fft_kind(name)), name);
  for (const char* name : {"slab", "pencil"}) EXPECT_EQ(to_string(find_decomposition(name)), name);
  for (const char* name : {"kernel", "copies", "none"}) EXPECT_EQ(to_string(find_row_packing(name)), name);
  EXPECT_EQ(find_fft_kind("r2c"), FftKind::r2c);
  EXPECT_EQ(find_row_packing("copies"), RowPacking::copies);
  EXPECT_EQ(said_by([] { find_row_packing("rows"); }),
            "unknown packing of rows 'rows' (there are: kernel copies none)");
  EXPECT_EQ(said_by([] { find_decomposition("c2c"); }), "unknown decomposition 'c2c' (there are: slab pencil)");
}

TEST(Fourier, EveryAxisIsTransformedOnce) {
  for (const Decomposition decomposition : {Decomposition::slab, Decomposition::pencil}) {
    for (const FftKind kind : {FftKind::c2c, FftKind::r2c}) {
      const Global global = parse_global("8x6x10");
      const FftPlan plan(global, kind, decomposition, equal(4));
      // Lengths of all transforms of rank 1, each for itself.
      std::vector<std::uint64_t> lengths;
      for (std::size_t layout = 0; layout < plan.layouts().size(); ++layout) {
        const auto work = plan.work(layout, 1, true, 0, 1);
        ASSERT_TRUE(work);
        const Box& box = plan.layouts()[layout].boxes[1];
        EXPECT_NO_THROW(require_transform(work->transform, kComplex * box.elements()));
        EXPECT_EQ(work->transform.bytes(), kComplex * box.elements()) << "all that the rank has";
        for (int i = 0; i < work->transform.dimensions; ++i) {
          lengths.push_back(work->transform.lengths[static_cast<std::size_t>(i)]);
        }
      }
      EXPECT_THAT(lengths, testing::UnorderedElementsAre(8, 6, 10));
    }
  }
}

TEST(Fourier, PartsAreAllOfIt) {
  const FftPlan plan(parse_global("9x6x10"), FftKind::c2c, Decomposition::slab, equal(2));
  for (const std::uint64_t parts : {1, 2, 3, 7}) {
    Bytes all{};
    for (std::uint64_t part = 0; part < parts; ++part) {
      if (const auto work = plan.work(0, 0, true, part, parts)) all += work->transform.bytes();
    }
    EXPECT_EQ(all, kComplex * plan.layouts()[0].boxes[0].elements()) << parts;
  }
}

TEST(Fourier, WhatCannotBeIsRefused) {
  const auto make = [](const char* global, FftKind kind, Decomposition decomposition, int ranks) {
    return said_by([&] { FftPlan(parse_global(global), kind, decomposition, equal(ranks)); });
  };
  EXPECT_THAT(make("64", FftKind::c2c, Decomposition::slab, 2), HasSubstr("two or three dimensions"));
  EXPECT_THAT(make("8x8", FftKind::c2c, Decomposition::pencil, 2), HasSubstr("three dimensions"));
  EXPECT_THAT(make("4x8x8", FftKind::c2c, Decomposition::slab, 8), HasSubstr("4 planes are not enough for 8 ranks"));
  EXPECT_THAT(make("8x4x8", FftKind::c2c, Decomposition::slab, 8), HasSubstr("slab-y of 8x4x8"));
  // Of a row of 6 real numbers there are 4 complex ones.
  EXPECT_THAT(make("8x8x6", FftKind::r2c, Decomposition::pencil, 64), HasSubstr("not enough"));
}

TEST(Transforms, WhatMakesNoSenseIsRefused) {
  const Transform good{.lengths = {8}, .batch = 4, .distance = 8};
  EXPECT_NO_THROW(require_transform(good, kComplex * 32));
  EXPECT_THAT(said_by([&] { require_transform(good, kComplex * 31); }), HasSubstr("does not fit"));
  EXPECT_THAT(said_by([] { require_transform({.lengths = {0}}, 64_B); }), HasSubstr("no numbers"));
  EXPECT_THAT(said_by([] { require_transform({.dimensions = 4}, 64_B); }), HasSubstr("1 to 3"));
  EXPECT_THAT(said_by([] {
                require_transform({.dimensions = 2, .lengths = {2, 2}, .stride = 3}, 1_MiB);
              }),
              HasSubstr("one dimension"));
}

/// One of three ranks takes the elements for half as long, so that none of its pieces fits; all other pieces do.
TEST(Reshapes, ThatFailSayWithWhom) {
  const Global global = parse_global("6x5x4");
  const Distribution from = named_distribution("slab-x", global, equal(3));
  const Distribution to = named_distribution("slab-y", global, equal(3));
  const Protocol& staging = find_protocol("staging");
  const Ways ways{&staging, &staging, staging.defaults(), staging.defaults()};
  for (const int odd : {-1, 0, 1, 2}) {
    run_fake_world({.ranks = 3}, [&](MeasuredRank& inner) {
      ConcurrentRank rank(inner);
      const int self = rank.id().value;
      const ReshapePlan plan = plan_reshape(from, to, self, {.element = self == odd ? 4_B : 8_B});
      Connections connections(rank, ways);
      connections.open({RankId{(self + 1) % 3}, RankId{(self + 2) % 3}});
      const auto memory = [&] { return View(rank.allocate(Memory::device, 2_KiB, Locality::near)); };
      const ReshapeMemory of{memory(), memory(), memory(), memory()};
      ReshapeTimes times;
      const Outcome outcome = Mover(rank, connections, 1.0_s).run(plan, RowPacking::kernel, of, times);
      EXPECT_EQ(outcome.ok(), odd < 0) << self << " of " << odd << ": " << outcome.reason;
      const std::string whom = "with rank " + std::to_string(odd) + ": ";
      EXPECT_TRUE(odd < 0 || self == odd || outcome.reason.starts_with(whom)) << outcome.reason;
      for (const View& each : {of.from, of.to, of.packed_out, of.packed_in}) rank.release(each.buffer);
    });
  }
}

}  // namespace
}  // namespace twinlink::workloads
