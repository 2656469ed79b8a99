// Calls of frameworks that are redirected to the drop-in after they were loaded, and who computes them.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sgemm/drop_in.h>

#include <array>
#include <atomic>
#include <locale>
#include <string>
#include <thread>
#include <vector>

#include "fake_cublas.hpp"
#include "fake_sgemm.hpp"

namespace {

constexpr int kProducts = 4;  // of framework_products()

void* loaded(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

template <class Function>
Function* function_of(void* library, const char* name) {
  auto* const function = reinterpret_cast<Function*>(dlsym(library, name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

struct DropIn {
  void* library = loaded(DROP_IN);
#define FUNCTION(name) \
  decltype(&sgemm_drop_in_##name) name = function_of<decltype(sgemm_drop_in_##name)>(library, "sgemm_drop_in_" #name)
  FUNCTION(attach);
  FUNCTION(detach);
  FUNCTION(set_accuracy);
  FUNCTION(enter);
  FUNCTION(leave);
  FUNCTION(set_tasks);
  FUNCTION(set_task_accuracy);
  FUNCTION(accuracy);
  FUNCTION(set_log);
  FUNCTION(table);
  FUNCTION(clear_table);
#undef FUNCTION

  std::string whole_table() const {
    std::vector<char> text(table(nullptr, 0) + 1);
    table(text.data(), text.size());
    return text.data();
  }
};

const DropIn& drop_in() {
  static const DropIn it;
  return it;
}

class RedirectionTest : public testing::Test {
 protected:
  void SetUp() override {
    *fake_sgemm() = {};
    fake_cublas() = {};
    drop_in().set_log(1);
    drop_in().clear_table();
  }
  void TearDown() override {
    for (const char* const name : kFrameworks) {
      drop_in().detach((std::string(name) + ".so").c_str());
    }
    drop_in().set_accuracy(SGEMM_DROP_IN_UNSET);
    drop_in().set_tasks(nullptr);
  }

  static bool call(const std::string& framework, const char* function = "framework_products") {
    return function_of<bool()>(loaded(FRAMEWORKS "/" + framework + ".so"), function)();
  }

  /// Expects that the library computed so many calls, and cuBLAS so many, since this was called last.
  static void expect_computed(int products, int cublas_products) {
    EXPECT_EQ(fake_sgemm()->products, products);
    EXPECT_EQ(fake_cublas().products(), cublas_products);
    fake_sgemm()->products = 0;
    fake_cublas().calls.clear();
  }

  static void attach_framework() {
    ASSERT_TRUE(call("libframework"));
    ASSERT_EQ(drop_in().attach("libframework.so"), 2);
  }

  /// The accuracy that the next product has in the library.
  static int accuracy_of_product() {
    fake_sgemm()->products = 0;
    EXPECT_TRUE(call("libframework"));
    return fake_sgemm()->products == 0 ? SGEMM_DROP_IN_OFF : static_cast<int>(fake_sgemm()->accuracy);
  }

  static constexpr std::array kFrameworks = {"libframework", "libframework_now", "libframework_no_plt"};
};

TEST_F(RedirectionTest, CallsOfALoadedFrameworkAreRedirectedAndBack) {
  for (const std::string framework : kFrameworks) {
    SCOPED_TRACE(framework);
    EXPECT_TRUE(call(framework));
    expect_computed(0, kProducts);

    EXPECT_EQ(drop_in().attach((framework + ".so").c_str()), 2);  // cublasSgemm and cublasSgemmBatched
    EXPECT_TRUE(call(framework));
    expect_computed(kProducts, 0);
    EXPECT_TRUE(call(framework, "framework_product_by_pointer"));
    expect_computed(1, 0);
    EXPECT_TRUE(call(framework, "framework_batch_by_address"));
    expect_computed(1, 0);

    drop_in().detach((framework + ".so").c_str());
    EXPECT_TRUE(call(framework));
    EXPECT_TRUE(call(framework, "framework_product_by_pointer"));
    expect_computed(0, kProducts + 1);
  }
}

TEST_F(RedirectionTest, OtherFrameworksKeepCublas) {
  ASSERT_EQ(drop_in().attach("libframework.so"), 2);
  EXPECT_TRUE(call("libframework_now"));
  expect_computed(0, kProducts);
}

TEST_F(RedirectionTest, WhatCallsNoCublasHasNothingToRedirect) {
  EXPECT_EQ(drop_in().attach("libnone.so"), 0);
  EXPECT_EQ(drop_in().attach("libc.so.6"), 0);
  EXPECT_EQ(drop_in().attach(""), 0);
  EXPECT_EQ(drop_in().attach(nullptr), 0);
  drop_in().detach(nullptr);
}

TEST_F(RedirectionTest, ToRedirectTwiceIsToRedirectOnce) {
  ASSERT_TRUE(call("libframework"));
  EXPECT_EQ(drop_in().attach("libframework.so"), 2);
  EXPECT_EQ(drop_in().attach("libframework.so"), 2);
  drop_in().detach("libframework.so");
  drop_in().detach("libframework.so");
  fake_cublas().calls.clear();
  EXPECT_TRUE(call("libframework"));
  expect_computed(0, kProducts);
}

TEST_F(RedirectionTest, ARedirectedFrameworkStaysLoaded) {
  const char* const path = FRAMEWORKS "/libother_framework.so";
  void* const framework = loaded(path);
  ASSERT_EQ(drop_in().attach("libother_framework.so"), 2);
  dlclose(framework);
  void* const again = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(again, nullptr);
  dlclose(again);
  drop_in().detach("libother_framework.so");
  EXPECT_EQ(dlopen(path, RTLD_LAZY | RTLD_NOLOAD), nullptr);
}

TEST_F(RedirectionTest, ThreadsThatCallMeanwhileFindOneOrTheOther) {
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;
  std::thread caller([&] {
    while (!stop) {
      EXPECT_TRUE(call("libframework_now"));
      calls += kProducts;
    }
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(drop_in().attach("libframework_now.so"), 2);
    std::this_thread::yield();
    drop_in().detach("libframework_now.so");
  }
  stop = true;
  caller.join();
  EXPECT_EQ(fake_sgemm()->products + fake_cublas().products(), calls);
}

TEST_F(RedirectionTest, TheInnermostAccuracyHolds) {
  attach_framework();
  EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_COMPONENTWISE);
  drop_in().set_accuracy(SGEMM_ACCURACY_NORMWISE);
  EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_NORMWISE);
  const int64_t outer = drop_in().enter(SGEMM_ACCURACY_ROWWISE);
  EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_ROWWISE);
  const int64_t inner = drop_in().enter(SGEMM_ACCURACY_FP32);
  EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_FP32);
  std::thread([] { EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_NORMWISE); }).join();
  drop_in().leave(inner);
  EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_ROWWISE);
  const int64_t off = drop_in().enter(SGEMM_DROP_IN_OFF);
  EXPECT_EQ(accuracy_of_product(), SGEMM_DROP_IN_OFF);
  drop_in().leave(off);
  drop_in().leave(outer);
  EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_NORMWISE);
  drop_in().set_accuracy(SGEMM_DROP_IN_OFF);  // in which a thread may ask for the library
  EXPECT_EQ(accuracy_of_product(), SGEMM_DROP_IN_OFF);
  EXPECT_EQ(drop_in().accuracy(), SGEMM_DROP_IN_OFF);
  const int64_t before = drop_in().enter(SGEMM_ACCURACY_NORMWISE);
  EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_NORMWISE);
  drop_in().leave(before);
  EXPECT_EQ(accuracy_of_product(), SGEMM_DROP_IN_OFF);
  drop_in().set_accuracy(SGEMM_DROP_IN_UNSET);
  EXPECT_EQ(accuracy_of_product(), SGEMM_ACCURACY_COMPONENTWISE);
}

thread_local int task_of_thread = -1;

TEST_F(RedirectionTest, ATaskHasAnAccuracyOnAllThreadsThatWorkForIt) {
  drop_in().set_accuracy(SGEMM_ACCURACY_NORMWISE);
  drop_in().set_tasks([] { return task_of_thread; });
  drop_in().set_task_accuracy(7, SGEMM_ACCURACY_ROWWISE);
  drop_in().set_task_accuracy(8, SGEMM_DROP_IN_OFF);
  for (const auto& [task, accuracy] : {std::pair{-1, SGEMM_ACCURACY_NORMWISE + 0},
                                       {7, SGEMM_ACCURACY_ROWWISE},
                                       {8, SGEMM_DROP_IN_OFF},
                                       {9, SGEMM_ACCURACY_NORMWISE}}) {
    std::thread([task = task, accuracy = accuracy] {
      task_of_thread = task;
      EXPECT_EQ(drop_in().accuracy(), accuracy) << task;
    }).join();
  }
  drop_in().set_task_accuracy(7, SGEMM_DROP_IN_UNSET);
  drop_in().set_task_accuracy(8, SGEMM_DROP_IN_UNSET);
  task_of_thread = 7;
  EXPECT_EQ(drop_in().accuracy(), SGEMM_ACCURACY_NORMWISE);
  task_of_thread = -1;
}

/// A thread that leaves a task by an exception has not left what it entered there.
TEST_F(RedirectionTest, WhatAThreadEntersForATaskEndsWithTheTask) {
  drop_in().set_tasks([] { return task_of_thread; });
  const int64_t outside = drop_in().enter(SGEMM_ACCURACY_ROWWISE);
  task_of_thread = 3;
  EXPECT_EQ(drop_in().accuracy(), SGEMM_ACCURACY_COMPONENTWISE);
  const int64_t inside = drop_in().enter(SGEMM_ACCURACY_FP32);
  EXPECT_EQ(drop_in().accuracy(), SGEMM_ACCURACY_FP32);
  task_of_thread = 4;
  EXPECT_EQ(drop_in().accuracy(), SGEMM_ACCURACY_COMPONENTWISE);
  task_of_thread = 3;
  drop_in().leave(inside);
  task_of_thread = -1;
  EXPECT_EQ(drop_in().accuracy(), SGEMM_ACCURACY_ROWWISE);
  drop_in().leave(outside);
  EXPECT_EQ(drop_in().accuracy(), SGEMM_ACCURACY_COMPONENTWISE);
}

/// As a program's language may have numbers.
struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  std::string do_grouping() const override { return "\1"; }
};

TEST_F(RedirectionTest, TheTableCountsCallsAndTimesThemIfAsked) {
  attach_framework();
  ASSERT_TRUE(call("libframework"));
  const std::string three = "\t10\t20\tcublasSgemm\tNT\t2\t2\t2\t1\t11_bf16x6\tpredicted\n";
  const std::string one = "\t10\t20\tcublasSgemm\tNT\t2\t1\t2\t1\t11_bf16x6\tpredicted\n";
  EXPECT_EQ(drop_in().whole_table(), "1\t0\t0" + one + "3\t0\t0" + three);
  std::array<char, 9> part{};
  EXPECT_EQ(drop_in().table(part.data(), part.size()), drop_in().whole_table().size());
  EXPECT_STREQ(part.data(), "1\t0\t0\t10");

  drop_in().clear_table();
  EXPECT_EQ(drop_in().whole_table(), "");
  drop_in().set_log(2);
  ASSERT_TRUE(call("libframework"));
  const std::locale before = std::locale::global(std::locale(std::locale(), new Commas));
  EXPECT_EQ(drop_in().whole_table(), "1\t1\t5000" + one + "3\t3\t100" + three);
  std::locale::global(before);
  drop_in().set_log(1);
  fake_sgemm()->status = SGEMM_STATUS_NOT_SUPPORTED;
  fake_sgemm()->meanwhile = [] { drop_in().clear_table(); };
  ASSERT_TRUE(call("libframework"));
  EXPECT_EQ(drop_in().whole_table().find("11_bf16x6\t"), std::string::npos) << drop_in().whole_table();
  drop_in().set_log(0);
  drop_in().clear_table();
  ASSERT_TRUE(call("libframework"));
  EXPECT_EQ(drop_in().whole_table(), "");
}

}  // namespace
