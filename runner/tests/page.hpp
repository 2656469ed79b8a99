#pragma once

#include "fixtures/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace sgemm {

/// Expects that a page of this folder has the text. With SGEMM_WRITE_PAGE set it is written anew: the difference shows
/// what a change does.
inline void expect_page(const std::string& name, const std::string& text) {
  const std::string path = SGEMM_SOURCE_DIR "/runner/tests/" + name;
  if (std::getenv("SGEMM_WRITE_PAGE") != nullptr) {
    std::ofstream(path) << text;
  }
  EXPECT_EQ(text, read(path));
}

}  // namespace sgemm
