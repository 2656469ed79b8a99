#pragma once

namespace sgemm {

/// What a launcher's process does (judge/launcher.hpp): loads a file's object and launches, as long as the judge asks.
void serve_as_launcher();

}  // namespace sgemm
