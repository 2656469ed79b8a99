#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace sgemm {

/// Objects that no call uses, by device. Threads may take and put some at the same time.
template <class Object>
class Idle {
 public:
  /// The last one that was put for a device and that `fits(object)`. The others are of a context that is not current,
  /// and may be again, or that a reset of the device has destroyed.
  template <class Fits>
  std::optional<Object> take(int device, const Fits& fits) {
    const std::lock_guard lock(mutex_);
    std::vector<Object>& objects = objects_[device];
    for (auto last = objects.end(); last != objects.begin();) {
      if (fits(*--last)) {
        std::optional<Object> taken(std::move(*last));
        objects.erase(last);
        return taken;
      }
    }
    return std::nullopt;
  }

  void put(int device, Object object) {
    const std::lock_guard lock(mutex_);
    objects_[device].push_back(std::move(object));
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<Object>> objects_;
};

}  // namespace sgemm
