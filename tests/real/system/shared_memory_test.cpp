#include "real/system/shared_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "protocols/core/errors.hpp"

namespace twinlink::real {
namespace {

TEST(SharedMemory, IsTheSameForBothSides) {
  const SharedMemory mine = SharedMemory::create(100_B);
  const SharedMemory theirs = SharedMemory::open(mine.token());
  EXPECT_NE(mine.data(), theirs.data());
  EXPECT_EQ(theirs.data()[99], std::byte{0}) << "it starts as zeros";
  mine.data()[99] = std::byte{42};
  EXPECT_EQ(theirs.data()[99], std::byte{42});
}

TEST(SharedMemory, OutlivesItsCreatorsHandle) {
  auto mine = std::make_unique<SharedMemory>(SharedMemory::create(8_B));
  mine->data()[0] = std::byte{7};
  const SharedMemory theirs = SharedMemory::open(mine->token());
  mine.reset();
  EXPECT_EQ(theirs.data()[0], std::byte{7});
}

TEST(SharedMemory, ThatIsGoneCannotBeOpened) {
  const SharedMemory::Token stale = SharedMemory::create(8_B).token();
  EXPECT_THROW(SharedMemory::open(stale), EnvironmentError);
  // The number of its file may have been used again.
  const SharedMemory other = SharedMemory::create(8_B);
  ASSERT_EQ(other.token().file, stale.file);
  EXPECT_THROW(SharedMemory::open(stale), EnvironmentError);
}

TEST(SharedMemory, ThatIsLargerThanItsTokenSaysOrSmallerIsAnother) {
  // Bytes beyond the end of a file can be mapped, and kill the process that touches them.
  const SharedMemory mine = SharedMemory::create(8_KiB);
  SharedMemory::Token forged = mine.token();
  for (const Bytes size : {8_KiB + 1_MiB, 4_KiB}) {
    forged.size = size.count();
    EXPECT_THAT([&] { SharedMemory::open(forged); },
                testing::ThrowsMessage<EnvironmentError>(testing::HasSubstr("fd/" + std::to_string(forged.file) +
                                                                            ": it is not the memory that was shared")));
  }
}

TEST(SharedMemory, ThatTheSystemRefusesIsNamedAndLeavesNoFile) {
  const int before = SharedMemory::create(8_B).token().file;  // the lowest number that is not in use
  try {
    SharedMemory::create(Bytes{std::uint64_t{1} << 62U});  // more than there are addresses
    FAIL() << "no machine has that much";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("mmap of 4611686018427387904 B of shared memory: Cannot allocate"));
  }
  EXPECT_EQ(SharedMemory::create(8_B).token().file, before);
}

TEST(SharedMemory, OfAKilledProcessIsGone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const SharedMemory memory = SharedMemory::create(1_MiB);
    const SharedMemory::Token token = memory.token();
    if (::write(ends[1], &token, sizeof token) != sizeof token) ::_exit(1);
    ::pause();
  }
  SharedMemory::Token token;
  ASSERT_EQ(::read(ends[0], &token, sizeof token), static_cast<ssize_t>(sizeof token));
  EXPECT_NO_THROW(SharedMemory::open(token));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THROW(SharedMemory::open(token), EnvironmentError);
}

}  // namespace
}  // namespace twinlink::real
