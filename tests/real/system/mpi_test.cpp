// Three MPI processes; each runs every test, at the same time as the others.
#include "real/system/mpi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "protocols/core/errors.hpp"
#include "real/system/pattern.hpp"
#include "tests/real/system/mpi_session.hpp"

namespace twinlink::real {

const Mpi* mpi = nullptr;

namespace {

/// The bytes that arrive when `length` bytes are sent with counts of at most `largest`.
Bytes send_to_self(Bytes length, Bytes room, std::uint64_t largest) {
  std::vector<std::byte> from(length.count());
  std::vector<std::byte> to(room.count());
  write_pattern(from, Payload{1}, 0);
  const MessageType out(length, largest);
  const MessageType in(room, largest);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  check_mpi(MPI_Irecv(to.data(), in.count(), in.type(), mpi->rank(), 1, mpi->data(), &request), "MPI_Irecv");
  check_mpi(MPI_Send(from.data(), out.count(), out.type(), mpi->rank(), 1, mpi->data()), "MPI_Send");
  check_mpi(MPI_Wait(&request, &status), "MPI_Wait");
  EXPECT_FALSE(find_difference(std::span(to).first(length.count()), Payload{1}, 0));
  return received(status);
}

TEST(MessageType, CarriesMessagesBeyondTheLargestCount) {
  constexpr std::uint64_t kLargest = 1000;
  for (const Bytes length : {0_B, 1_B, 999_B, 1000_B, 1001_B, 2000_B, 2999_B, 123'456_B}) {
    EXPECT_EQ(send_to_self(length, length, kLargest), length);
  }
}

TEST(MessageType, TheLengthOfAShorterMessageIsKnown) {
  EXPECT_EQ(send_to_self(1234_B, 5000_B, 1000), 1234_B);
  EXPECT_EQ(send_to_self(12_B, 5000_B, 1000), 12_B);
}

TEST(MpiError, NamesPlaceCallAndReason) {
  try {
    check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, 99, 0, mpi->data()), "MPI_Send");
    ADD_FAILURE() << "there is no rank 99";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(),
                testing::ContainsRegex("tests/real/system/mpi_test.cpp:[0-9]+: MPI_Send: .*MPI_ERR_RANK"));
  }
}

TEST(AllGather, KeepsTextsWholeAndInTheOrderOfTheRanks) {
  const std::vector<std::string> texts{"a\nb", "", "c"};
  EXPECT_EQ(mpi->all_gather(texts[static_cast<std::size_t>(mpi->rank())]), texts);
  EXPECT_EQ(mpi->all_gather(""), std::vector<std::string>(3));
  EXPECT_EQ(mpi->all_gather_values(10 * mpi->rank()), (std::vector<int>{0, 10, 20}));
}

TEST(Barrier, LetsNobodyGoBeforeAllHaveCome) {
  for (int late = 0; late < mpi->size(); ++late) {
    int came = 0;
    MPI_Request told = MPI_REQUEST_NULL;
    if (mpi->rank() == late) {
      for (int peer = 0; peer < mpi->size(); ++peer) {
        check_mpi(MPI_Send(&late, 1, MPI_INT, peer, 2, mpi->data()), "MPI_Send");
      }
    }
    check_mpi(MPI_Irecv(&came, 1, MPI_INT, late, 2, mpi->data(), &told), "MPI_Irecv");
    mpi->barrier();
    int there = 0;
    check_mpi(MPI_Test(&told, &there, MPI_STATUS_IGNORE), "MPI_Test");
    EXPECT_TRUE(there) << "what rank " << late << " has sent before";
    check_mpi(MPI_Wait(&told, MPI_STATUS_IGNORE), "MPI_Wait");
  }
}

/// Open MPI's single copies write beyond the end of what is too short for a message.
TEST(Mpi, SwitchesSingleCopiesOffUnlessTheUserHasSetThem) {
  EXPECT_TRUE(Mpi::has_begun());
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl_vader_single_copy_mechanism"), "none");
  EXPECT_STREQ(std::getenv("OMPI_MCA_smsc"), "^cma,knem");
}

TEST(LibraryVersion, IsOneLine) {
  EXPECT_FALSE(mpi_library_version().empty());
  EXPECT_EQ(mpi_library_version().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace twinlink::real

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  ::setenv("OMPI_MCA_smsc", "^cma,knem", 1);
  const twinlink::real::Mpi session(twinlink::Seconds{60});
  twinlink::real::mpi = &session;
  return RUN_ALL_TESTS();
}
