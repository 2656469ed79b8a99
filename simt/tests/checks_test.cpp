// Every access to memory checked: each of the wrong ones is found and placed.

#include "complaint.hpp"
#include "guarded_array.hpp"
#include "wrong_accesses.hpp"

#include "simt/checked_arrays.hpp"
#include "simt/executor.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace simt::test {
namespace {

/// The message of the checks about `kernel`; empty where there is none. Arrays are aligned for vectors, and bytes of
/// OUT may have different writers.
std::string complaint(WrongAccess kernel) {
  GuardedArray in(ELEMENTS, 1.0F);
  GuardedArray out(ELEMENTS, 0.0F);
  float* const aligned_in = std::bit_cast<float*>((std::bit_cast<std::uintptr_t>(in.data()) + 15) / 16 * 16);
  simt::GlobalArray bytes_of_out = simt::in_out("OUT", out.data(), ELEMENTS);
  bytes_of_out.unit = 1;
  const simt::CheckedArrays arrays({simt::input("IN", aligned_in, ELEMENTS), bytes_of_out});
  return message_of([&] { kernel(aligned_in, out.data()); });
}

struct Expectation {
  std::string name;
  WrongAccess kernel;
  std::vector<std::string> parts;  ///< of the message
};

void PrintTo(const Expectation& expectation, std::ostream* out) { *out << expectation.name; }

class WrongAccessTest : public testing::TestWithParam<Expectation> {};

TEST_P(WrongAccessTest, IsFoundAndPlaced) {
  for (int repetition = 0; repetition < 2; ++repetition) {  // the executor goes on after an error
    const std::string message = complaint(GetParam().kernel);
    EXPECT_EQ(message.rfind("block (", 0), 0U) << message;
    EXPECT_NE(message.find("wrong_accesses.cu:"), std::string::npos) << message;
    for (const std::string& part : GetParam().parts) {
      EXPECT_NE(message.find(part), std::string::npos) << '\'' << part << "' is not in: " << message;
    }
    EXPECT_EQ(complaint(right_accesses), "");
  }
}

const std::vector<Expectation> EXPECTATIONS{
    {"read_global_beyond_end", read_global_beyond_end, {"thread (10,0,0)", "reads 4 bytes", "outside of all arrays"}},
    {"write_global_before_begin", write_global_before_begin, {"thread (0,0,0)", "writes 4 bytes", "outside of all"}},
    {"write_input", write_input, {"writes 4 bytes", "element 0 of IN, which is an input"}},
    {"write_shared_beyond_end", write_shared_beyond_end, {"thread (63,0,0)", "writes 4 bytes"}},
    {"write_dynamic_beyond_end", write_dynamic_beyond_end, {"thread (63,0,0)", "outside of shared memory"}},
    {"read_uninitialised_shared", read_uninitialised_shared, {"thread (7,0,0)", "values, which nobody has written"}},
    {"read_what_another_thread_wrote",
     read_what_another_thread_wrote,
     {"thread (1,0,0)", "which thread (0,0,0) wrote, and no barrier"}},
    {"overwrite_what_others_still_read",
     overwrite_what_others_still_read,
     {"shared values, which thread (", "no barrier"}},
    {"overwrite_what_the_first_still_reads",
     overwrite_what_the_first_still_reads,
     {"thread (33,0,0)", "writes 4 bytes", "thread (0,0,0) read, and no barrier"}},
    {"overwrite_what_the_last_still_reads",
     overwrite_what_the_last_still_reads,
     {"thread (0,0,0)", "writes 4 bytes", "thread (33,0,0) read, and no barrier"}},
    {"read_what_the_next_phase_announces",
     read_what_the_next_phase_announces,
     {"thread (2,0,0)", "reads 4 bytes", "thread (1,0,0) wrote, and no barrier"}},
    {"read_what_an_earlier_barrier_announced",
     read_what_an_earlier_barrier_announced,
     {"reads 4 bytes", "of dynamic shared memory, which thread (", "wrote, and no barrier"}},
    {"synchronise_half_of_the_readers",
     synchronise_half_of_the_readers,
     {"shared values, which thread (", "no barrier lies in between; it read at "}},
    {"two_threads_write_one_element",
     two_threads_write_one_element,
     {"of OUT, which block (0,0,0), thread (0,0,0) wrote", "no barrier lies in between; it wrote at ",
      "wrong_accesses.cu:"}},
    {"two_blocks_write_one_element",
     two_blocks_write_one_element,
     {"block (0,0,0), thread (0,0,0)", "block (1,0,0), thread (0,0,0)",
      " wrote, and blocks are not ordered; it wrote at "}},
    {"two_threads_write_one_byte",
     two_threads_write_one_byte,
     {"writes 1 bytes", "of OUT, which block (0,0,0), thread (", "wrote, and no barrier"}},
    {"two_blocks_write_one_byte",
     two_blocks_write_one_byte,
     {"writes 1 bytes", "of OUT, which block (", "wrote, and blocks are not ordered"}},
    {"read_element_of_which_others_wrote_bytes",
     read_element_of_which_others_wrote_bytes,
     {"thread (63,0,0)", "reads 4 bytes", "of OUT, which block (0,0,0), thread (0,0,0) wrote, and no barrier"}},
    {"read_what_another_thread_of_a_solid_block_wrote",
     read_what_another_thread_of_a_solid_block_wrote,
     {"thread (7,3,1)", "which thread (3,2,1) wrote"}},
    {"read_copy_before_wait", read_copy_before_wait, {"thread (0,0,0)", "asynchronous copy", "not been waited for"}},
    {"read_copy_of_another_thread_without_barrier",
     read_copy_of_another_thread_without_barrier,
     {"thread (1,0,0)", "which thread (0,0,0) wrote, and no barrier"}},
    {"copy_over_what_others_still_read",
     copy_over_what_others_still_read,
     {"asynchronous copy writes", "read, and no barrier"}},
    {"copy_from_beyond_end", copy_from_beyond_end, {"thread (10,0,0)", "asynchronous copy reads 4 bytes", "outside"}},
    {"misaligned_vector_load", misaligned_vector_load, {"reads 16 bytes", "not aligned"}},
    {"misaligned_vector_store_to_shared", misaligned_vector_store_to_shared, {"writes 16 bytes", "not aligned"}},
};

INSTANTIATE_TEST_SUITE_P(Checks, WrongAccessTest, testing::ValuesIn(EXPECTATIONS),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace simt::test
