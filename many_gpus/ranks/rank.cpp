#include "ranks/rank.hpp"

#include "base/outcome.hpp"
#include "simt/executor.hpp"
#include "verify/accuracy.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Rank::Rank(int rank, const RankParts& parts, std::function<void()> look, PanelsOf panels_of_rank)
    : rank_(rank),
      patience_(std::move(look)),
      device_(parts.device(rank, patience_)),
      exchange_(parts.exchange(rank, patience_, std::move(panels_of_rank))) {}

RankReply Rank::obey(const RankMessage& message, const RanksReady& ready) {
  RankReply reply;
  bool others_wait =
      message.order == RankOrder::run || message.order == RankOrder::run_fresh || message.order == RankOrder::run_alone;
  patience_.begin(message.seconds);
  try {
    device_->bind();
    switch (message.order) {
      case RankOrder::set_up:
        set_up(message.job);
        break;
      case RankOrder::run:
      case RankOrder::run_fresh:
      case RankOrder::run_alone:
        restore(message.order == RankOrder::run_fresh);
        others_wait = false;
        if (!ready(true, patience_)) {
          throw WaitEnded(Outcome::failed, "another rank was not ready");
        }
        reply.in_transfer = true;
        run(message.order, reply);
        reply.in_transfer = false;
        break;
      case RankOrder::check:
        reply.verdict = check();
        break;
      case RankOrder::tear_down:
        tear_down();
        break;
    }
  } catch (const WaitEnded& ended) {
    reply.cause_elsewhere = true;
    reply.stop(ended.outcome(), ended.what());
  } catch (const CaseStopped& stopped) {
    reply.stop(stopped.outcome(), stopped.what());
  } catch (const simt::Stopped& stopped) {
    reply.cause_elsewhere = true;
    reply.stop(Outcome::skipped, stopped.what());
  } catch (const std::bad_alloc&) {
    reply.stop(Outcome::skipped, "not enough host memory");
  } catch (const std::exception& error) {
    reply.stop(Outcome::failed, error.what());
  }
  if (others_wait) {
    try {
      ready(false, patience_);
    } catch (const WaitEnded&) {  // the reply has its reason
    }
  }
  return reply;
}

std::shared_ptr<float> Rank::make_window(MatrixName which, const Window& window) {
  std::shared_ptr<float> memory = device_->allocate(window.rows * window.columns);
  // Some rows at a time: the host need not hold what a GPU does.
  constexpr std::int64_t MOST_FLOATS = std::int64_t{1} << 26U;
  const std::int64_t most_rows = std::max<std::int64_t>(1, MOST_FLOATS / std::max<std::int64_t>(window.columns, 1));
  for (std::int64_t row = 0; row < window.rows; row += most_rows) {
    Window rows = window;
    rows.row += row;
    rows.rows = std::min(most_rows, window.rows - row);
    device_->upload(memory.get() + row * window.columns, make_part(job_.shape, which, rows, job_.data, job_.seed));
  }
  return memory;
}

void Rank::set_up(const RankJob& job) {
  tear_down();
  job_ = job;
  const Shape& shape = job.shape;
  const Range rows = job.grid.c_rows(shape, rank_);
  const Range columns = job.grid.c_columns(shape, rank_);
  extents_ = panels_of(shape, job.grid, rank_);
  a_ = make_window(MatrixName::a, {rows.begin, 0, rows.size(), shape.k});
  b_ = make_window(MatrixName::b, {0, columns.begin, shape.k, columns.size()});
  if (shape.beta != 0.0F) {
    c0_ = make_window(MatrixName::c, {rows.begin, columns.begin, rows.size(), columns.size()});
  }
  if (job.verify && !rows.empty() && !columns.empty()) {
    reference_ = Reference::compute(packed(block(), a_.get(), b_.get(), c0_.get()),
                                    device_->target() == Target::for_gpu ? Platform::gpu : Platform::cpu, job.seed, {},
                                    roundings_of(job.data));
  }
  c_ = device_->allocate(rows.size() * columns.size());
  transfers_ = transfers_of(shape, job.grid, rank_, job.first_rows);
  panel_a_ = device_->allocate(rows.size() * shape.k);
  panel_b_ = device_->allocate(shape.k * columns.size());
  panels_ = {panel_a_.get(), panel_b_.get()};
  fill_panels();
  if (!job.alone) {
    a_.reset();
    b_.reset();
  }
  make_products();
}

void Rank::fill_panels() {
  const Shape& shape = job_.shape;
  const Range of_a = job_.grid.a_depth(shape, rank_);
  const Range of_b = job_.grid.b_depth(shape, rank_);
  device_->fill_with_nan(panels_.a, extents_.rows * of_a.begin);
  device_->fill_with_nan(panels_.a + extents_.a_at(of_a.end), extents_.rows * (shape.k - of_a.end));
  device_->fill_with_nan(panels_.b, extents_.columns * of_b.begin);
  device_->fill_with_nan(panels_.b + extents_.b_at(of_b.end), extents_.columns * (shape.k - of_b.end));
  if (a_) {
    device_->copy(panels_.a + extents_.a_at(of_a.begin), of_a.size(), a_.get() + of_a.begin, shape.k, extents_.rows,
                  of_a.size());
    device_->copy(panels_.b + extents_.b_at(of_b.begin), extents_.columns, b_.get() + extents_.b_at(of_b.begin),
                  extents_.columns, of_b.size(), extents_.columns);
  }
  device_->synchronize();
}

void Rank::make_products() {
  if (extents_.rows == 0 || extents_.columns == 0) {
    return;
  }
  const Kernel& local = kernels()[static_cast<std::size_t>(job_.local_kernel)];
  const Build& build = local.build(device_->target());
  if (!build) {
    throw CaseStopped(Outcome::not_supported, fmt::format("{} was not built for this device", local.id()));
  }
  const Schedule schedule = make_schedule(job_.shape, job_.grid, rank_, job_.first_rows);
  const std::vector<Problem> problems = problems_of(schedule, job_.shape, extents_, panels_, c_.get());
  if (local.is_reproducible()) {
    products_.push_back(whole_product(build, schedule.pieces.size()));
  }
  for (std::size_t i = 0; i < problems.size() && !local.is_reproducible(); ++i) {
    products_.push_back({problems[i], device_->prepare(build, problems[i]), schedule.steps[i].pieces});
  }
  if (job_.alone) {
    const Problem whole = packed(block(), a_.get(), b_.get(), c_.get());
    alone_.push_back({whole, device_->prepare(build, whole), 0});
  }
}

LocalProduct Rank::whole_product(const Build& build, std::size_t pieces) {
  whole_a_ = device_->allocate(extents_.rows * job_.shape.k);
  const Problem whole = packed(block(), whole_a_.get(), panels_.b, c_.get());
  Prepared prepared = device_->prepare(build, whole);
  prepared.configuration.launch = [this, launch = std::move(prepared.configuration.launch)](
                                      const Problem& p, void* workspace, cudaStream_t stream) {
    for (int column = 0; column < job_.grid.columns; ++column) {
      const Range k = job_.grid.a_depth(job_.shape, job_.grid.rank(job_.grid.row(rank_), column));
      device_->copy(whole_a_.get() + k.begin, p.k, panels_.a + extents_.a_at(k.begin), k.size(), p.m, k.size());
    }
    launch(p, workspace, stream);
  };
  return {whole, prepared, pieces};
}

void Rank::tear_down() {
  products_.clear();
  alone_.clear();
  transfers_ = {};
  reference_.reset();
  for (std::shared_ptr<float>* memory : {&a_, &b_, &c0_, &panel_a_, &panel_b_, &c_, &whole_a_}) {
    memory->reset();
  }
}

void Rank::restore(bool fresh) {
  if (fresh) {
    fill_panels();
  }
  if (c0_) {
    device_->copy(c_.get(), extents_.columns, c0_.get(), extents_.columns, extents_.rows, extents_.columns);
  } else {
    device_->fill_with_nan(c_.get(), extents_.rows * extents_.columns);
  }
  device_->get_ready(job_.cold_l2);
}

void Rank::run(RankOrder order, RankReply& reply) {
  const bool alone = order == RankOrder::run_alone;
  reply.begin_us = now_us();
  multiply(alone ? alone_ : products_, panels_, alone ? Transfers{} : transfers_, *exchange_, device_->stream());
  device_->synchronize();
  reply.end_us = now_us();
  exchange_->finish();
}

Verdict Rank::check() const {
  if (!reference_) {
    return {};
  }
  Verdict verdict = reference_->check(c_.get(), extents_.columns, job_.accuracy);
  if (verdict.wrong > 0) {
    verdict.first_wrong_row += job_.grid.c_rows(job_.shape, rank_).begin;
    verdict.first_wrong_col += job_.grid.c_columns(job_.shape, rank_).begin;
  }
  return verdict;
}

}  // namespace sgemm
