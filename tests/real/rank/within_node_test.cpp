#include "real/rank/within_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "protocols/core/errors.hpp"

namespace twinlink::real {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(WithinNodeSwitches, NothingIsSetUnlessItIsAskedFor) {
  for (const MpiLibrary library : {MpiLibrary::open_mpi, MpiLibrary::mvapich2, MpiLibrary::other}) {
    EXPECT_THAT(switches(WithinNode::library, library, {}), IsEmpty());
  }
}

TEST(WithinNodeSwitches, OpenMpiInLoopbackLeavesSharedMemoryOut) {
  constexpr MpiLibrary kLibrary = MpiLibrary::open_mpi;
  EXPECT_THAT(switches(WithinNode::loopback, kLibrary, {.adapter = true}),
              ElementsAre(Pair("OMPI_MCA_btl", "^vader,sm,smcuda"), Pair("UCX_TLS", "^sm")));
  EXPECT_THAT(switches(WithinNode::loopback, kLibrary, {}),
              ElementsAre(Pair("OMPI_MCA_pml", "ob1"), Pair("OMPI_MCA_btl", "self,tcp"),
                          Pair("OMPI_MCA_btl_tcp_disable_family", "6")));
  EXPECT_THAT(switches(WithinNode::loopback, kLibrary, {.network = false}),
              ElementsAre(Pair("OMPI_MCA_pml", "ob1"), Pair("OMPI_MCA_btl", "self,tcp"),
                          Pair("OMPI_MCA_btl_tcp_if_include", "lo")));
  EXPECT_THAT(switches(WithinNode::shared_memory, kLibrary, {}), IsEmpty()) << "its default";
}

TEST(WithinNodeSwitches, Mvapich2HasOneSwitch) {
  EXPECT_THAT(switches(WithinNode::loopback, MpiLibrary::mvapich2, {}), ElementsAre(Pair("MV2_USE_SHARED_MEM", "0")));
  EXPECT_THAT(switches(WithinNode::shared_memory, MpiLibrary::mvapich2, {}),
              ElementsAre(Pair("MV2_USE_SHARED_MEM", "1")));
}

TEST(WithinNodeSwitches, AnotherLibraryIsRefused) {
  EXPECT_THROW(static_cast<void>(switches(WithinNode::loopback, MpiLibrary::other, {})), UsageError);
}

TEST(WithinNode, WhatTheUserHasSetStaysAndIsToldApart) {
  if (mpi_library() != MpiLibrary::open_mpi) GTEST_SKIP() << "the names below are Open MPI's";
  ::setenv("OMPI_MCA_btl", "self,tcp,vader", 1);
  const nlohmann::json facts = choose_within_node(WithinNode::loopback);
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl"), "self,tcp,vader");
  EXPECT_EQ(facts.at("asked"), "loopback");
  EXPECT_EQ(facts.at("switches").at("OMPI_MCA_btl"), "self,tcp,vader");
  EXPECT_EQ(facts.at("kept_as_the_user_set_them"), nlohmann::json::array({"OMPI_MCA_btl"}));
}

TEST(WithinNode, TooSmallASharedMemoryIsNamed) {
  EXPECT_EQ(lack_of_room(8_MiB, 2, 4_MiB), "");
  EXPECT_NE(lack_of_room(8_MiB - 1_B, 2, 4_MiB).find("/dev/shm has 8388607 B free"), std::string::npos);
  EXPECT_NE(lack_of_room(8_MiB - 1_B, 2, 4_MiB).find("takes 8388608 B for 2 ranks"), std::string::npos);
}

TEST(WithinNode, OpenMpi5TakesMoreSharedMemory) {
  EXPECT_EQ(room_of_a_rank(4), 4_MiB);
  EXPECT_EQ(room_of_a_rank(5), 16_MiB);
}

}  // namespace
}  // namespace twinlink::real
