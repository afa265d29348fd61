#include "protocols/core/units.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "tests/support/said_by.hpp"

namespace twinlink {
namespace {

using ::testing::HasSubstr;

template <class Parse>
std::string message(Parse parse, std::string_view text) {
  return said_by<UnitError>([&] { return parse(text); });
}

TEST(ParseSize, TakesBinarySuffixesAndUnits) {
  EXPECT_EQ(parse_size("4"), 4_B);
  EXPECT_EQ(parse_size("0"), 0_B);
  EXPECT_EQ(parse_size("256K"), 256_KiB);
  EXPECT_EQ(parse_size("64M"), 64_MiB);
  EXPECT_EQ(parse_size(" 1 G "), 1_GiB);
  EXPECT_EQ(parse_size("1.5K"), 1536_B);
  EXPECT_EQ(parse_size("1kB"), 1000_B);
  EXPECT_EQ(parse_size("12 KiB"), 12_KiB);
}

TEST(ParseSize, SaysWhatIsAllowed) {
  EXPECT_EQ(message(parse_size, "4Q"),
            "'4Q' has the unknown unit 'Q'; allowed: none, K, M, G (binary), B, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
  EXPECT_EQ(message(parse_size, ""), "'' is empty, where a size such as 4, 256K, 64M or 1G is expected");
  EXPECT_THAT(message(parse_size, "64k"), HasSubstr("unknown unit 'k'"));
  EXPECT_THAT(message(parse_size, "K"), HasSubstr("does not begin with a number"));
}

TEST(ParseBytes, TellsDecimalFromBinaryPrefixes) {
  EXPECT_EQ(parse_bytes("6 GB"), Bytes{6'000'000'000});
  EXPECT_EQ(parse_bytes("6 GiB"), 6_GiB);
  EXPECT_EQ(parse_bytes("1 TB"), Bytes{1'000'000'000'000});
  EXPECT_EQ(parse_bytes("5.64 GB"), Bytes{5'640'000'000});
}

TEST(ParseBytes, IsExactUpToItsLimit) {
  EXPECT_EQ(parse_bytes("9223372036854775807 B"), Bytes{std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(parse_bytes("9007199254740993 B"), Bytes{9007199254740993U}) << "a double cannot hold this number";
  EXPECT_THAT(message(parse_bytes, "9223372036854775808 B"), HasSubstr("too large"));
  EXPECT_THAT(message(parse_bytes, "99999999999999999999999 B"), HasSubstr("too large"));
  EXPECT_THAT(message(parse_bytes, "8388608 TiB"), HasSubstr("too large"));
}

TEST(ParseBytes, WantsWholeBytes) {
  EXPECT_EQ(parse_bytes("0.5 KiB"), 512_B);
  EXPECT_EQ(message(parse_bytes, "0.3 KiB"), "'0.3 KiB' is not a whole number of bytes");
  EXPECT_THAT(message(parse_bytes, "1e3 B"), HasSubstr("exponent"));
}

TEST(ParseSeconds, TakesEveryUnit) {
  EXPECT_DOUBLE_EQ(parse_seconds("1.3 us").value(), 1.3e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("20ns").value(), 20e-9);
  EXPECT_DOUBLE_EQ(parse_seconds("5 ms").value(), 5e-3);
  EXPECT_DOUBLE_EQ(parse_seconds("0 s").value(), 0);
  EXPECT_DOUBLE_EQ(parse_seconds("2.5e-3 s").value(), 2.5e-3);
}

TEST(ParseRate, TakesEveryUnit) {
  EXPECT_DOUBLE_EQ(parse_rate("32 GB/s").bytes_per_second(), 32e9);
  EXPECT_DOUBLE_EQ(parse_rate("6010.68 MB/s").bytes_per_second(), 6010.68e6);
  EXPECT_DOUBLE_EQ(parse_rate("1 GiB/s").bytes_per_second(), 1073741824.0);
  EXPECT_DOUBLE_EQ(parse_rate("40 Gbit/s").bytes_per_second(), 5e9);
  EXPECT_DOUBLE_EQ(parse_rate("8 Mbit/s").bytes_per_second(), 1e6);
}

TEST(ParseQuantities, RefuseWhatIsNoQuantity) {
  EXPECT_EQ(message(parse_seconds, "5"), "'5' has no unit; allowed: ns, us, ms, s");
  EXPECT_EQ(message(parse_seconds, "5 GB/s"), "'5 GB/s' has the unknown unit 'GB/s'; allowed: ns, us, ms, s");
  EXPECT_EQ(message(parse_seconds, "-5 us"), "'-5 us' is negative, where a duration such as 1.3 us is expected");
  for (const char* text :
       {"nan us", ".nan", "inf s", "+5 us", "us", ".5 us", "0x10 us", "1_000 us", "5. us", "1,5 us"}) {
    EXPECT_NE(message(parse_seconds, text), "nothing was refused") << text;
  }
  EXPECT_EQ(message(parse_rate, "1e999 GB/s"), "'1e999 GB/s' is out of range");
  EXPECT_EQ(message(parse_rate, "1e290 GB/s"), "nothing was refused");
  EXPECT_EQ(message(parse_rate, "1e308 GB/s"), "'1e308 GB/s' is out of range");
  EXPECT_EQ(message(parse_rate, "1e308 B/s"), "'1e308 B/s' is out of range");
  EXPECT_EQ(message(parse_rate, "1e-10 B/s"), "'1e-10 B/s' is out of range");
  EXPECT_EQ(message(parse_rate, "1e-9 B/s"), "nothing was refused");
  EXPECT_EQ(message(parse_rate, "0 GB/s"), "'0 GB/s' is zero; a rate is positive");
  EXPECT_THAT(message(parse_seconds, "010 us"), HasSubstr("begins with a zero"));
}

TEST(Format, SizesAreReadBackExactly) {
  EXPECT_EQ(format_size(4_B), "4");
  EXPECT_EQ(format_size(0_B), "0");
  EXPECT_EQ(format_size(1000_B), "1000");
  EXPECT_EQ(format_size(1536_B), "1536");
  EXPECT_EQ(format_size(256_KiB), "256K");
  EXPECT_EQ(format_size(2048_MiB), "2G");
  for (const Bytes size : {0_B, 1_B, 1023_B, 1024_B, 3_KiB, 1_MiB, 5_GiB, Bytes{(1ULL << 62) + 1}}) {
    EXPECT_EQ(parse_size(format_size(size)), size);
  }
}

TEST(Format, DurationsHaveThreeDigits) {
  EXPECT_EQ(format_seconds(1.3_us), "1.30 us");
  EXPECT_EQ(format_seconds(9.994_us), "9.99 us");
  EXPECT_EQ(format_seconds(9.996_us), "10.0 us");
  EXPECT_EQ(format_seconds(99.94_us), "99.9 us");
  EXPECT_EQ(format_seconds(99.96_us), "100 us");
  EXPECT_EQ(format_seconds(19.3e3_us), "19.3 ms");
  EXPECT_EQ(format_seconds(123.4_us), "123 us");
  EXPECT_EQ(format_seconds(0.5_ns), "0.50 ns");
  EXPECT_EQ(format_seconds(75.0_s), "75.0 s");
  EXPECT_EQ(format_seconds(Seconds{}), "0 s");
  EXPECT_EQ(format_seconds(Seconds{-2e-6}), "-2.00 us");
}

TEST(Format, RatesChangeTheirUnitAtHundredGigabytes) {
  EXPECT_EQ(format_rate(6010.7_MBps), "6010.7 MB/s");
  EXPECT_EQ(format_rate(99.9_GBps), "99900.0 MB/s");
  EXPECT_EQ(format_rate(100.0_GBps), "100.0 GB/s");
  EXPECT_EQ(format_rate(394.1_GBps), "394.1 GB/s");
}

TEST(Arithmetic, RelatesSizeTimeAndRate) {
  EXPECT_DOUBLE_EQ((8_MiB / Rate{1e9}).value(), 8388608e-9);
  EXPECT_DOUBLE_EQ((Bytes{3'000'000} / 1.0e3_us).megabytes_per_second(), 3000);
  EXPECT_EQ(4_KiB - 1_KiB, 3_KiB);
  EXPECT_LT(1.0_us, 2.0_us);
}

TEST(Errors, NameThePlaceTheCallAndTheReason) {
  const EnvironmentError error("MPI_Isend", "MPI_ERR_RANK: invalid rank");
  EXPECT_THAT(error.what(), ::testing::MatchesRegex("tests/protocols/units_test.cpp:[0-9]+: MPI_Isend: "
                                                    "MPI_ERR_RANK: invalid rank"));
  EXPECT_EQ(error.exit_code(), ExitCode::failed);
  EXPECT_EQ(UsageError("").exit_code(), ExitCode::bad_usage);
  EXPECT_EQ(UnitError("").exit_code(), ExitCode::bad_usage);
  EXPECT_EQ(UnavailableError("").exit_code(), ExitCode::unavailable);
  EXPECT_EQ(to_string(Status::timed_out), "timed out");
}

}  // namespace
}  // namespace twinlink
