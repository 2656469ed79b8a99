#pragma once

#include "base/words.hpp"
#include "simt/source.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// What a name is asked for: an extent of the problem, a distance between rows or the number of products; a matrix; a
/// matrix of the product P = M * N, as Kirk and Hwu have it; whether B lies transposed; a member of a class of extents
/// and a pointer.
enum class Names { sizes, matrices, of_book, of_layers, members };

/// Longer ones mean nothing.
constexpr std::size_t LONGEST_NAME = 200;

/// "M", "lda", "A", "nt", "rows", as names of this kind mean; empty where the name means nothing of it.
std::string meaning_of(std::string_view name, Names names);

/// What a parameter may be by its type. An order is "transa" or "tb", as in BLAS, an extent that of its class's matrix.
enum class Type { size, scalar, matrix, stream, order, extent };

/// Nothing for what no product takes.
std::optional<Type> type_of(const simt::Parameter& parameter);

/// The types that Code::instance_of() gives to members of a class of one matrix: "float * with extents" and "extent
/// rows".
constexpr std::string_view WITH_EXTENTS = "with extents";
constexpr std::string_view EXTENT_OF_MATRIX = "extent";

bool is_pointer(const simt::Parameter& parameter);

/// Of the function's parameters, those of a type where one is given.
Words names_of(const simt::Function& function, std::optional<Type> type = {});

/// The arguments of a product that a function's parameters may stand for.
struct Reading {
  Words values;             ///< "M", "lda", "&alpha", "torch::from_blob(A, {M, K})", one for each parameter
  std::string requirement;  ///< what a function without some of them can not do, e.g. "beta == 0"; or empty
  std::string ops;          ///< "nt" where B lies transposed; empty for plain operands
  std::string sizes;        ///< problems that the function has, where it has no others; or empty
};

/// Most likely first. Where names do not tell, none is `certain`. Where they do, others than the first are to be tried
/// before a product is called wrong.
struct Readings {
  std::vector<Reading> all;
  bool certain = false;
};

/// What a function's text says of its matrices besides its parameters: of tensors, and of those of a constant size.
struct Extents {
  bool batched = false;
  bool shared_b = false;                     ///< by all products of a batch
  bool a_transposed = false;                 ///< A is K x M
  bool b_transposed = false;                 ///< B is N x K
  std::map<std::string, std::string> fixed;  ///< of M, N and K, those that no parameter has: {"N", "1"}
};

/// Nothing where the parameters are not those of a product in single precision. `summed` is the name of the parameter
/// over which the product is known to be summed, or empty.
Readings readings_of(const simt::Function& function, const std::string& summed = "", const Extents& extents = {});

/// The arguments of a call with these values, of which those for members of a class make one.
Words arguments_of(const simt::Function& function, const Words& values);

/// The first of these readings, or else what is known of each parameter. What is not begins with a question mark.
Reading reading_to_start_from(const simt::Function& function, const std::string& summed, const Extents& extents);

}  // namespace sgemm
