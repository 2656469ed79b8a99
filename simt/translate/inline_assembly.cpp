// Inline assembly as C++: operands become variables (PTX's registers), and instructions calls of functions in
// simt/ptx_instructions.hpp. PTX ISA 9.0; the constraints are those of "Inline PTX Assembly in CUDA".

#include "simt/source.hpp"

#include "translate/translator.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace simt {
namespace {

/// The instruction is none of those that are known here.
struct Unknown {};

/// The statement is not understood.
struct NotUnderstood {
  std::string what;
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Of an instruction, or of the names that are declared.
std::vector<std::string> operands_of(std::string_view text) {
  return trimmed(text).empty() ? std::vector<std::string>() : split_arguments(text);
}

const std::map<std::string_view, std::string>& known_types() {
  static const std::map<std::string_view, std::string> types{
      {"b8", "std::uint8_t"},   {"u8", "std::uint8_t"},     {"s8", "std::int8_t"},       {"b16", "std::uint16_t"},
      {"u16", "std::uint16_t"}, {"s16", "std::int16_t"},    {"f16", "std::uint16_t"},    {"bf16", "std::uint16_t"},
      {"b32", "std::uint32_t"}, {"u32", "std::uint32_t"},   {"s32", "std::int32_t"},     {"f32", "float"},
      {"b64", "std::uint64_t"}, {"u64", "std::uint64_t"},   {"s64", "std::int64_t"},     {"f64", "double"},
      {"pred", "bool"},         {"f16x2", "std::uint32_t"}, {"bf16x2", "std::uint32_t"}, {"tf32", "std::uint32_t"}};
  return types;
}

/// What a statement is to the outside: an output, an input or both.
struct Operand {
  std::string type;
  bool written = false;
  bool read = false;
  std::string expression;
};

std::string register_of(std::size_t operand) { return "simt_" + std::to_string(operand); }

/// What an asm statement's instructions may name.
struct Names {
  std::vector<Operand> operands;
  std::set<std::string> declared;  ///< by .reg, without percent signs
};

std::string_view without_percent(std::string_view name) {
  return name.substr(std::min(name.find_first_not_of('%'), name.size()));
}

/// The instructions that are known, and what they are in C++. All others are refused, and so is each modifier that is
/// not here.
///
/// The parts of a name stand between points: "a,b" is one of them, "(a,b)" one of them or none. I is a type of
/// integers, F of floats, P of predicates and A any one, S is shared memory, G that of a cluster, M where and how
/// memory is accessed, L* hints to caches, and * whatever comes.
///
/// In C++, <0> is what the first "a,b" was, <?a> whether there is an "a", and T the first type. $1 is operand 1; $T1,
/// $U1, $u1, $l1 and $h1 as a T, as the second type, and with 32, 64 and 16 unsigned bits, $f1 as a float, $i1 as a
/// signed number, $W1 as a T without its sign, $n1 as a number, $s1 a shared address, $g1 and $p1 the pointer to a
/// generic one, or to one in the space that the name says, $m1 a box of a tensor map, $t1 as it is written. $[u1] are
/// the registers of operand 1 as numbers of 32 bits, $[2u1] two of them, $[nu1] as many as .v4 or .x4 in the name says,
/// and $#1 says how many there are. "@T" sets operand 0, as does "@" with the type of what follows; "|" sets it and,
/// behind a bar, a predicate; "*u,4" its four registers to the elements of an array, and "*u,n" as many as the name
/// says. <strong> stands behind the names of accesses that may be strong ones. "..." allows more operands. Where
/// operands do not fit, the rows below are tried.
constexpr std::string_view FORMS = R"(
mov.A => @T ptx::packed<T>($[2r1])
mov.A => ptx::unpack<T>($1, $[2r0])
mov.A => @T $T1
ld.(weak,volatile,relaxed,acquire).(cta,cluster,gpu,sys).(global,S,G).(ca,cg,cs,lu,cv,nc).L*.(v2,v4).A =>
  *T,n ptx::load<strong><ptx::Vector<T, $#0>>($p1).values
# CUTLASS has the space first.
ld.global,S,G.relaxed,acquire.cta,cluster,gpu,sys.L*.(v2,v4).A => *T,n ptx::load_strong<ptx::Vector<T, $#0>>($p1).values
ldu.(global).(v2,v4).A => *T,n ptx::load<ptx::Vector<T, $#0>>($p1).values
st.(weak,volatile,relaxed,release).(cta,cluster,gpu,sys).(global,S,G).(wb,cg,cs,wt).L*.(v2,v4).A =>
  ptx::store<strong>($p0, ptx::Vector<T, $#1>{{$[nT1]}})
st.global,S,G.relaxed,release.cta,cluster,gpu,sys.L*.(v2,v4).A => ptx::store_strong($p0, ptx::Vector<T, $#1>{{$[nT1]}})
selp.A => @T $3 ? $T1 : $T2
bra.(uni) => goto simt_label_$t0
cvta.to.S.I => @T ptx::to_shared($1)
cvta.S.I => @T ptx::from_shared($1)
cvta.(to).global.I => @T $T1
cvt.I.I => @T static_cast<T>($U1)
cvt.rn.F.I => @T static_cast<T>($U1)
cvt.(rn).(ftz).F.F => @T static_cast<T>($U1)
cvt.rni,rmi,rpi,rzi.(ftz).F.F => @T static_cast<T>(ptx::<0>($U1))
cvt.rni,rmi,rpi,rzi.(ftz).I.F => @T ptx::to_integer<T>(ptx::<0>($U1))
cvt.rna.tf32.f32 => @ ptx::to_tf32(ptx::as<float>($1))
cvt.rn.f16,bf16.f32 => @ ptx::to_<0>(ptx::as<float>($1))
cvt.rn.f16x2,bf16x2.f32 => @ ptx::packed_<0>(ptx::as<float>($1), ptx::as<float>($2))
cvt.(ftz).f32.f16,bf16 => @ ptx::from_<0>($h1)

add.I => @T static_cast<T>(1U * $W1 + $W2)
sub.I => @T static_cast<T>(1U * $W1 - $W2)
mul.lo.I => @T static_cast<T>(1U * $W1 * $W2)
mad.lo.I => @T static_cast<T>(1U * $W1 * $W2 + $W3)
mul.hi.u32,s32 => @ static_cast<std::uint32_t>(ptx::wide(ptx::as<ptx::<0>>($1)) * ptx::as<ptx::<0>>($2) >> 32)
mul.wide.I => @ ptx::wide($T1) * $T2
mad.wide.I => @ ptx::wide($T1) * $T2 + ptx::as<decltype(ptx::wide($T1))>($3)
div.I => @T static_cast<T>($T1 / $T2)
rem.I => @T static_cast<T>($T1 % $T2)
and.I,P => @T static_cast<T>($T1 & $T2)
or.I,P => @T static_cast<T>($T1 | $T2)
xor.I,P => @T static_cast<T>($T1 ^ $T2)
not.I => @T static_cast<T>(~$T1)
not.P => @T !$T1
neg.I => @T static_cast<T>(-$T1)
neg.(ftz).F => @T -$T1
abs.(ftz).I,F => @T ptx::abs<T>($T1)
min,max.(ftz).I,F => @T ptx::<0><T>($T1, $T2)
shl,shr.I => @T ptx::<0>($T1, $u2)
lop3.b32 => @ ptx::lop3($u1, $u2, $u3, $4)
prmt.b32 => @ __byte_perm($u1, $u2, $u3)
bfe.I => @T ptx::bfe($T1, $u2, $u3)
bfi.I => @T ptx::bfi($T1, $T2, $u3, $u4)
popc.I => @ static_cast<std::uint32_t>(std::popcount($W1))
clz.I => @ static_cast<std::uint32_t>(std::countl_zero($W1))
brev.b32 => @ __brev($u1)
dp4a.u32,s32.u32,s32 => @ simt::sum_of_byte_products<ptx::Byte<ptx::<0>>, ptx::Byte<ptx::<1>>>($u1, $u2, $u3)
add.(rn).(ftz).F => @T $T1 + $T2
sub.(rn).(ftz).F => @T $T1 - $T2
mul.(rn).(ftz).F => @T $T1 * $T2
div.(rn,approx,full).(ftz).F => @T $T1 / $T2
fma,mad.(rn).(ftz).F => @T ptx::fma($T1, $T2, $T3)
rcp.rn,approx.(ftz).F => @T 1.0 / $T1
sqrt.rn,approx.(ftz).F => @T __builtin_sqrt($T1)
rsqrt.approx.(ftz).F => @T 1.0 / __builtin_sqrt($T1)
ex2.approx.(ftz).F => @T __builtin_exp2($T1)
lg2.approx.(ftz).F => @T __builtin_log2($T1)
sin,cos,tanh.approx.(ftz).F => @T __builtin_<0>($T1)
# With NaN, comparisons do not hold, those of "u" do.
setp.eq.(ftz).A => @bool $T1 == $T2
setp.ne.(ftz).A => @bool $T1 < $T2 || $T1 > $T2
setp.lt,lo.(ftz).A => @bool $T1 < $T2
setp.le,ls.(ftz).A => @bool $T1 <= $T2
setp.gt,hi.(ftz).A => @bool $T1 > $T2
setp.ge,hs.(ftz).A => @bool $T1 >= $T2
setp.equ.(ftz).A => @bool !($T1 < $T2 || $T1 > $T2)
setp.neu.(ftz).A => @bool $T1 != $T2
setp.ltu.(ftz).A => @bool !($T1 >= $T2)
setp.leu.(ftz).A => @bool !($T1 > $T2)
setp.gtu.(ftz).A => @bool !($T1 <= $T2)
setp.geu.(ftz).A => @bool !($T1 < $T2)
setp.num.(ftz).A => @bool $T1 == $T1 && $T2 == $T2
setp.nan.(ftz).A => @bool $T1 != $T1 || $T2 != $T2

cp.async.ca,cg.S.global.L* => ptx::cp_async($s0, $g1, $2, $2, site)
cp.async.ca,cg.S.global.L* => ptx::cp_async($s0, $g1, $2, ptx::source_bytes($3, $2), site)
cp.async.commit_group => simt::commit_copies()
cp.async.wait_group => simt::wait_for_copies($n0)
cp.async.wait_all => simt::commit_copies(); simt::wait_for_copies(0)
cp.async.mbarrier.arrive.noinc.S.b64 => simt::mbarrier_arrive_after_copies($s0, site)
cp.async.mbarrier.arrive.S.b64 => simt::mbarrier_announce_copies($s0, site)
# Of a cluster, to the own block.
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L* => simt::bulk_copy($s0, $g1, $n2, $s3, site)
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L* => simt::bulk_copy($s0, $g1, $n2, $s3, site)
# Complete when they have started.
cp.async.bulk.global.shared::cta.bulk_group.L* => ptx::bulk_copy_to_global($g0, $s1, $n2, site)
cp.async.bulk.tensor.1d,2d,3d,4d,5d.shared::cluster,shared::cta.global.(tile).mbarrier::complete_tx::bytes.L* =>
  simt::tensor_load($s0, $m1, $s2, site)
cp.async.bulk.tensor.1d,2d,3d,4d,5d.global.shared::cta.(tile).bulk_group.L* => simt::tensor_store($m0, $s1, site)
cp.async.bulk.prefetch.tensor.1d,2d,3d,4d,5d.L2.global.(tile).L* => simt::tensor_prefetch($m0, site)
cp.async.bulk.commit_group =>
cp.async.bulk.wait_group.(read) => ...
cp.async.bulk.prefetch.L2.global.L* => ...
red.M.add,min,max,and,or,xor,inc,dec.L*.u32,b32,s32,f32 => simt::atomic(ptx::op_<0>, ptx::type_<1>, $p0, $u1, 0, site)
red.M.add,min,max,and,or,xor.L*.u64,b64,s64,f64 => simt::atomic(ptx::op_<0>, ptx::type_<1>, $p0, $l1, 0, site)
atom.M.add,min,max,and,or,xor,inc,dec,exch.L*.u32,b32,s32,f32 => @ ptx::atom(ptx::op_<0>, ptx::type_<1>, $p1, site, $u2)
atom.M.add,min,max,and,or,xor,exch.L*.u64,b64,s64,f64 => @ ptx::atom(ptx::op_<0>, ptx::type_<1>, $p1, site, $l2)
atom.M.cas.L*.u32,b32,s32 => @ ptx::atom(ptx::op_cas, ptx::type_<0>, $p1, site, $u3, $u2)
atom.M.cas.L*.u64,b64,s64 => @ ptx::atom(ptx::op_cas, ptx::type_<0>, $p1, site, $l3, $l2)
mbarrier.init.S.b64 => simt::mbarrier_init($s0, $n1, site)
mbarrier.arrive.(release).(cta,cluster).S.b64 => simt::mbarrier_arrive($s1, site)
mbarrier.arrive.(release).(cta,cluster).S.b64 =>
  for (auto simt_left = $n2; simt_left > 0; --simt_left) simt::mbarrier_arrive($s1, site)
mbarrier.arrive.expect_tx.(release).(cta,cluster).S.b64 => simt::mbarrier_arrive_expecting($s1, $n2, site)
mbarrier.try_wait,test_wait.parity.(acquire).(cta,cluster).S.b64 => @bool ptx::mbarrier_ended($s1, $n2, site)...

bar.warp.sync => simt::warp_barrier($n0, site)
bar,barrier.(cta).sync.(aligned) => simt::barrier($n0, blockDim.x * blockDim.y * blockDim.z, site)
bar,barrier.(cta).sync.(aligned) => simt::barrier($n0, $n1, site)
bar,barrier.(cta).arrive.(aligned) => simt::barrier_arrive($n0, $n1, site)
barrier.cluster.arrive.(release,relaxed).(aligned) => simt::cluster_arrive(site)
barrier.cluster.wait.(acquire).(aligned) => simt::cluster_wait(site)
mapa.shared::cluster.u32 => @ ptx::in_cluster($u1, $u2, site)
shfl.sync.up,down,bfly,idx.b32 => | ptx::shuffle(ptx::Shuffle::<0>, $u1, $u2, $u3, $u4, site
elect.sync => | ptx::elect($u1, site
activemask.b32 => @ __activemask()
redux.sync.add,min,max.u32,s32 => @ __reduce_<0>_sync($u2, ptx::as<ptx::<1>>($1))
redux.sync.and,or,xor.b32 => @ __reduce_<0>_sync($u2, $u1)
vote.sync.ballot.b32 => @ __ballot_sync($u2, $1 ? 1 : 0, site)
vote.sync.any,all.P => @ __<0>_sync($u2, $1 ? 1 : 0, site) != 0
nanosleep.u32 => simt::sleep(site)...
mma.sync.aligned.m8n8k16.row.col.(satfinite).s32.s8.s8.s32 =>
  *i,2 ptx::mma({8, 8, 16}, {$[1u1]}, {$[1u2]}, ptx::Integers{$[2i3]}, <?satfinite>, site)
mma.sync.aligned.m16n8k16.row.col.(satfinite).s32.s8.s8.s32 =>
  *i,4 ptx::mma({16, 8, 16}, {$[2u1]}, {$[1u2]}, ptx::Integers{$[4i3]}, <?satfinite>, site)
mma.sync.aligned.m16n8k32.row.col.(satfinite).s32.s8.s8.s32 =>
  *i,4 ptx::mma({16, 8, 32}, {$[4u1]}, {$[2u2]}, ptx::Integers{$[4i3]}, <?satfinite>, site)
mma.sync.aligned.m16n8k4,m16n8k8.row.col.f32.tf32.tf32.f32 =>
  *f,4 ptx::mma(simt::MmaFormat::tf32, ptx::<0>, {$[u1]}, {$[u2]}, ptx::Floats{$[f3]}, site)
mma.sync.aligned.m16n8k8,m16n8k16.row.col.f32.f16.f16.f32 =>
  *f,4 ptx::mma(simt::MmaFormat::fp16, ptx::<0>, {$[u1]}, {$[u2]}, ptx::Floats{$[f3]}, site)
mma.sync.aligned.m16n8k8,m16n8k16.row.col.f32.bf16.bf16.f32 =>
  *f,4 ptx::mma(simt::MmaFormat::bf16, ptx::<0>, {$[u1]}, {$[u2]}, ptx::Floats{$[f3]}, site)
mma.sync.aligned.m16n8k8,m16n8k16.row.col.f16.f16.f16.f16 =>
  *u,2 ptx::mma(simt::MmaFormat::fp16, ptx::<0>, {$[u1]}, {$[u2]}, ptx::PackedHalves{$[u3]}, site)
ldmatrix.sync.aligned.m8n8.x1,x2,x4.(trans).S.b16 => *u,n ptx::ldmatrix<ptx::<0>>($s1, <?trans>, site)
stmatrix.sync.aligned.m8n8.x1,x2,x4.(trans).S.b16 => ptx::stmatrix<ptx::<0>>($s0, {$[nu1]}, <?trans>, site)
wgmma.fence,commit_group.sync.aligned =>
wgmma.wait_group.sync.aligned => ...
wgmma.mma_async.sync.aligned.* => !wgmma
createpolicy.* => @ std::uint64_t{}...
membar.gl,sys => simt::fence()
fence.sc,acq_rel.cluster,gpu,sys => simt::fence()
membar.cta => simt::fence(true)
fence.sc,acq_rel.cta => simt::fence(true)
# Hints, and orders that the executor keeps anyway.
prefetch,prefetchu,membar,fence,griddepcontrol,setmaxnreg.* => ...
)";

struct Row {
  std::vector<std::string> form;
  std::string text;
};

const std::vector<Row>& table() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    std::istringstream lines{std::string(FORMS)};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(' ')) {
        all.back().text = trimmed(line);
      } else if (const std::size_t arrow = line.find(" =>"); arrow != line.npos && line[0] != '#') {
        std::string form = line.substr(0, arrow);
        if (const std::size_t access = form.find(".M."); access != form.npos) {
          form.replace(access, 3, ".(relaxed,release,acquire,acq_rel).(cta,cluster,gpu,sys).(global,S,G).");
        }
        all.push_back({split(form, '.'), trimmed(std::string_view(line).substr(arrow + 3))});
      }
    }
    return all;
  }();
  return rows;
}

/// One instruction: "cp.async.cg.shared.global" with its operands.
class PtxInstruction {
 public:
  PtxInstruction(std::string_view text, const Names& names) : names_(names) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    parts_ = split(text.substr(0, end), '.');  // "::" is part of "shared::cta"
    // Of a matrix that is loaded, the shape may stand behind the number.
    if (const auto shape = std::ranges::find(parts_, "m8n8"); shape != parts_.end() && shape - parts_.begin() > 3) {
      std::rotate(parts_.begin() + 3, shape, shape + 1);
    }
    arguments_ = operands_of(text.substr(end));
    if (has("L2::cache_hint") && !arguments_.empty()) {
      arguments_.pop_back();
    }
  }

  std::string translation() {
    for (const Row& row : table()) {
      if (!matches(row.form)) {
        continue;
      }
      if (const std::optional<std::string> filled = row.text == "!wgmma" ? wgmma() : filled_in(row.text)) {
        const std::string& name = parts_.front();
        const bool releases = (name == "st" || name == "red" || name == "atom") && (has("release") || has("acq_rel"));
        return (releases ? "simt::fence(); " : "") + *filled;
      }
    }
    throw Unknown{};
  }

 private:
  bool has(std::string_view part) const { return std::ranges::find(parts_, part) != parts_.end(); }

  /// Whether it is one of "a,I"; notes its type.
  bool is_one_of(std::string_view alternatives, const std::string& part) {
    for (const std::string& one : split(alternatives, ',')) {
      const bool shared = one == "S" && (part == "shared" || part == "shared::cta");
      const bool is_type = one == "A" || (one == "P" && part == "pred") || (one == "F" && part.starts_with('f')) ||
                           (one == "I" && std::string_view("bus").find(part[0]) != std::string_view::npos);
      const bool is_half = part.find("16x2") != part.npos || part.ends_with("f16");
      if (is_type && known_types().contains(part) && (one == "A" || !is_half)) {
        types_.push_back(known_types().at(part));
        return true;
      }
      if (shared || one == part || (one == "G" && part == "shared::cluster")) {
        return true;
      }
    }
    return false;
  }

  bool matches(const std::vector<std::string>& form) {
    types_.clear();
    chosen_.clear();
    std::size_t at = 0;
    const auto is_hint = [&] { return parts_[at].starts_with("L1::") || parts_[at].starts_with("L2::"); };
    for (std::string_view expected : form) {
      const bool optional = expected.starts_with('(');
      if (optional) {
        expected = expected.substr(1, expected.size() - 2);
      }
      if (expected == "L*" || expected == "*") {
        while (at < parts_.size() && (expected == "*" || is_hint())) {
          ++at;
        }
      } else if (at < parts_.size() && !parts_[at].empty() && is_one_of(expected, parts_[at])) {
        if (!optional && expected.find(',') != expected.npos) {
          chosen_.push_back(parts_[at]);
        }
        ++at;
      } else if (!optional) {
        return false;
      }
    }
    return at == parts_.size();
  }

  /// The text of a row with what stands for operands, types and parts filled in; nothing where the operands do not fit.
  std::optional<std::string> filled_in(std::string text) const {
    const bool more = text.ends_with("...");
    text.erase(text.size() - (more ? 3 : 0));
    std::string head;
    if (text.starts_with('@') || text.starts_with('|') || text.starts_with('*')) {
      head = text.substr(0, text.find(' '));
      text.erase(0, head.size() + 1);
    }
    std::size_t operands = head.empty() ? 0 : 1;
    static const std::regex PLACE(
        R"(\$\[([\dn]?)(\w)(\d)\]|\$([A-Za-z#]?)(\d)|<([01]|strong|\?\w+)>|\b(site|T)\b|\bptx::)");
    std::string result;
    std::string rest = text;
    for (std::smatch place; std::regex_search(rest, place, PLACE); rest = place.suffix()) {
      const std::string what = place.str();
      result += place.prefix();
      if (!what.starts_with('$')) {
        result += what == "site"           ? "simt_site"
                  : what == "T"            ? types_.at(0)
                  : what == "ptx::"        ? "simt::ptx::"
                  : what == "<strong>"     ? (is_strong() ? "_strong" : "")
                  : what.starts_with("<?") ? (has(what.substr(2, what.size() - 3)) ? "true" : "false")
                                           : chosen_.at(static_cast<std::size_t>(what[1] - '0'));
        continue;
      }
      const std::size_t number = std::stoul(place.str(3) + place.str(5));
      operands = std::max(operands, number + 1);
      if (number >= arguments_.size()) {
        return std::nullopt;
      }
      if (!what.starts_with("$[")) {
        result += operand_as(place.length(4) > 0 ? place.str(4)[0] : ' ', number);
        continue;
      }
      const std::vector<std::string> list = registers(number);
      if (place.length(1) > 0 && list.size() != count_of(place.str(1))) {
        return std::nullopt;
      }
      for (const std::string& each : list) {
        result += (&each == &list.front() ? "" : ", ") + as(type_of(place.str(2)[0]), each);
      }
    }
    result += rest;
    if (more ? arguments_.size() < operands : arguments_.size() != operands) {
      return std::nullopt;
    }
    return head.empty()     ? result
           : head[0] == '|' ? assign_with_predicate(result)
           : head[0] == '*' ? spread(head, result)
                            : set(head == "@T" ? types_.at(0) : head.substr(1), value(0), result);
  }

  /// Of a letter; empty for one that leaves operands as they are.
  std::string type_of(char letter) const {
    static const std::map<char, std::string> types{
        {'u', "std::uint32_t"}, {'l', "std::uint64_t"}, {'h', "std::uint16_t"}, {'i', "std::int32_t"}, {'f', "float"}};
    const auto known = types.find(letter);
    return known != types.end() ? known->second
           : letter == 'T'      ? types_.at(0)
           : letter == 'U'      ? types_.at(1)
           : letter == 'W'      ? "std::make_unsigned_t<" + types_.at(0) + ">"
                                : "";
  }

  std::string operand_as(char how, std::size_t index) const {
    return how == 'n'   ? "static_cast<unsigned>(" + value(index) + ")"
           : how == 's' ? shared(index)
           : how == 'g' ? "simt::ptx::generic_pointer(" + address(index) + ")"
           : how == 'p' ? pointer(index)
           : how == 'm' ? box(index)
           : how == 't' ? argument(index)
           : how == '#' ? std::to_string(registers(index).size())
                        : as(type_of(how), value(index));
  }

  const std::string& argument(std::size_t index) const {
    if (index >= arguments_.size()) {
      throw Unknown{};
    }
    return arguments_[index];
  }

  /// The C++ expression of a register or an immediate operand.
  std::string expression(const std::string& text) const {
    if (const std::string name(without_percent(text)); names_.declared.contains(name)) {
      return "simt_" + name;
    }
    if (text.starts_with('%') && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1])) != 0) {
      const std::size_t number = std::stoul(text.substr(1));
      if (number >= names_.operands.size()) {
        throw Unknown{};
      }
      return register_of(number);
    }
    if (text.starts_with('%')) {
      return special(std::string(without_percent(text)));
    }
    if (text == "_") {
      return "simt_unused";
    }
    if (text.starts_with("0f") || text.starts_with("0F")) {
      return "simt::ptx::as<float>(0x" + text.substr(2) + "U)";
    }
    if (text.starts_with("0d") || text.starts_with("0D")) {
      return "simt::ptx::as<double>(0x" + text.substr(2) + "ULL)";
    }
    if (text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) == 0 && text[0] != '-')) {
      throw Unknown{};
    }
    return text;
  }

  static std::string special(const std::string& name) {
    static const std::map<std::string, std::string> registers{
        {"laneid", "simt::lane()"},
        {"warpid", "((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) / 32U"},
        {"lanemask_lt", "((1U << simt::lane()) - 1U)"},
        {"smid", "0U"},
        {"cluster_ctarank", "simt::cluster_rank()"},
        {"cluster_nctaid.", "simt::cluster_extents().@"},
        {"clusterid.", "(blockIdx.@ / simt::cluster_extents().@)"},
        {"tid.", "threadIdx.@"},
        {"ctaid.", "blockIdx.@"},
        {"ntid.", "blockDim.@"},
        {"nctaid.", "gridDim.@"},
        {"clock", "static_cast<unsigned>(clock64())"},
        {"clock64", "static_cast<std::uint64_t>(clock64())"},
        {"globaltimer", "static_cast<std::uint64_t>(clock64())"}};
    const std::size_t point = name.find('.');
    const std::string axis = point == name.npos ? "" : name.substr(point + 1);
    const auto found = registers.find(name.substr(0, name.size() - axis.size()));
    if (found == registers.end() || (point != name.npos && axis != "x" && axis != "y" && axis != "z")) {
      throw NotUnderstood{"the register %" + name};
    }
    return std::regex_replace(found->second, std::regex("@"), axis);
  }

  std::string value(std::size_t index) const {
    const std::string& text = argument(index);
    return text.starts_with('!') ? "!" + expression(text.substr(1)) : expression(text);
  }
  static std::string as(const std::string& type, const std::string& expression) {
    return type.empty() ? expression : "simt::ptx::as<" + type + ">(" + expression + ")";
  }
  static std::string set(const std::string& type, const std::string& to, const std::string& result) {
    return "simt::ptx::set" + (type.empty() ? "" : "<" + type + ">") + "(" + to + ", " + result + ")";
  }

  /// Of "a|p": what `call` gives goes to a, and to the predicate whether it holds, which is `call`'s last argument.
  std::string assign_with_predicate(const std::string& call) const {
    const std::string& both = argument(0);
    const std::size_t bar = both.find('|');
    const std::string predicate = bar == both.npos ? "_" : trimmed(std::string_view(both).substr(bar + 1));
    return "bool simt_holds; simt::ptx::set<std::uint32_t>(" + expression(trimmed(both.substr(0, bar))) + ", " + call +
           ", simt_holds)); " +
           (predicate == "_" ? "" : "simt::ptx::set<bool>(" + expression(predicate) + ", simt_holds)");
  }

  /// "{a, b}" as the registers; one alone without brackets.
  std::vector<std::string> registers(std::size_t index) const { return registers(argument(index)); }
  std::vector<std::string> registers(std::string_view text) const {
    if (text.starts_with('{') && text.ends_with('}')) {
      text = text.substr(1, text.size() - 2);
    }
    std::vector<std::string> result;
    for (const std::string& part : operands_of(text)) {
      result.push_back(expression(part));
    }
    return result;
  }

  /// A number, or for "n" that of registers that the instruction's name says: of ".v4" and ".x4", 4.
  std::size_t count_of(const std::string& number) const {
    return number != "n" ? std::stoul(number) : has("v4") || has("x4") ? 4 : has("v2") || has("x2") ? 2 : 1;
  }

  /// The registers of argument 0 with the elements of `array`; "*u,2" tells their type and, behind a comma, number.
  std::optional<std::string> spread(const std::string& head, const std::string& array) const {
    const std::vector<std::string> targets = registers(0);
    const std::size_t comma = std::min(head.find(','), head.size());
    if (comma < head.size() && targets.size() != count_of(head.substr(comma + 1))) {
      return std::nullopt;
    }
    std::string text = "{ const auto simt_array = " + array + ";";
    for (std::size_t i = 0; i < targets.size(); ++i) {
      text += " " + set(type_of(head[1]), targets[i], "simt_array[" + std::to_string(i) + "]") + ";";
    }
    return text + " }";
  }

  /// What stands between an operand's brackets.
  std::string inside_of(std::size_t index) const {
    const std::string& text = argument(index);
    if (!text.starts_with('[') || !text.ends_with(']')) {
      throw Unknown{};
    }
    return trimmed(std::string_view(text).substr(1, text.size() - 2));
  }

  /// Of "[map, {x, y}]", with as many coordinates as the name says.
  std::string box(std::size_t index) const {
    const std::vector<std::string> parts = operands_of(inside_of(index));
    if (parts.size() != 2) {
      throw Unknown{};
    }
    const std::vector<std::string> at = registers(parts[1]);
    if (!has(std::to_string(at.size()) + "d")) {
      throw Unknown{};
    }
    std::string coordinates;
    for (const std::string& each : at) {
      coordinates += as("std::int32_t", each) + ", ";
    }
    return "simt::TensorBox{simt::ptx::generic_pointer(" + expression(parts[0]) + "), {" + coordinates + "}, " +
           std::to_string(at.size()) + "}";
  }

  /// Of "[register+4]", without the brackets.
  std::string address(std::size_t index) const {
    const std::string inside = inside_of(index);
    const std::size_t sign = inside.find_first_of("+-", 1);
    if (sign == inside.npos) {
      return expression(inside);
    }
    const std::string offset = trimmed(std::string_view(inside).substr(sign + 1));
    return expression(trimmed(std::string_view(inside).substr(0, sign))) + " " + inside[sign] + " " +
           expression(offset);
  }
  std::string shared(std::size_t index) const { return "static_cast<unsigned>(" + address(index) + ")"; }
  bool is_shared() const { return has("shared") || has("shared::cta"); }
  /// A pointer, as the mnemonic's state space says.
  std::string pointer(std::size_t index) const {
    return is_shared()              ? "simt::ptx::shared_pointer(" + shared(index) + ")"
           : has("shared::cluster") ? "simt::ptx::cluster_pointer(" + shared(index) + ", simt_site)"
                                    : "simt::ptx::generic_pointer(" + address(index) + ")";
  }

  bool is_strong() const { return has("volatile") || has("relaxed") || has("acquire") || has("release"); }

  /// wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {d}, a, b, add, 1, 1, 0, 0, whose result is there at once.
  std::optional<std::string> wgmma() const {
    const std::size_t results = registers(0).size();
    const bool half = parts_.size() == 8 && (parts_[6] == "f16" || parts_[6] == "bf16") && parts_[7] == parts_[6];
    if (!half || parts_[5] != "f32" || results == 0 || results % 4 != 0 || results > 128 ||
        parts_[4] != "m64n" + std::to_string(2 * results) + "k16") {
      return std::nullopt;
    }
    const bool a_in_registers = argument(1).starts_with('{');
    // Signs of A and B, and whether they are transposed: perhaps parameters of a template.
    const std::vector<std::string> flags = split(a_in_registers ? "1,1,0" : "1,1,0,0", ',');
    std::string plain;
    for (std::size_t i = 0; i < flags.size(); ++i) {
      plain += (i == 0 ? "" : " && ") + value(4 + i) + " == " + flags[i];
    }
    return "simt::ptx::require_plain(" + plain + "); " +
           *filled_in("*f ptx::wgmma(simt::MmaFormat::" + std::string(parts_[6] == "f16" ? "fp16" : "bf16") +
                      ", std::array<float, $#0>{$[f0]}, " +
                      (a_in_registers ? "ptx::WgmmaPart{{$[u1]}}" : "ptx::wgmma_rows($l1)") + ", $l2, $3, site)...");
  }

  const Names& names_;
  std::vector<std::string> parts_;
  std::vector<std::string> arguments_;
  std::vector<std::string> types_;   ///< that the form's letters stand for
  std::vector<std::string> chosen_;  ///< of its alternatives
};

/// ".reg .b32 a, b" as "std::uint32_t simt_a, simt_b".
std::string declaration(const std::string& text, std::set<std::string>& declared) {
  static const std::regex DECLARATION(R"(\.reg\s+\.(\w+)\s([^<]*))");
  std::smatch parts;
  if (!std::regex_match(text, parts, DECLARATION) || !known_types().contains(parts.str(1))) {
    throw Unknown{};
  }
  std::string names;
  for (const std::string& name : operands_of(parts.str(2))) {
    names += (names.empty() ? " simt_" : ", simt_") + *declared.emplace(without_percent(name)).first;
  }
  return "[[maybe_unused]] " + known_types().at(parts.str(1)) + names + ";";
}

/// "@!%p add.u32 ...": whether the guard is negated, its predicate, and the instruction.
const std::regex GUARDED(R"(@(!?)%*(\S*)\s*(.*))");

/// One statement up to its semicolon, with its labels and guards.
std::string statement(std::string text, Names& names) {
  static const std::regex LABEL(R"(([A-Za-z0-9_$]+)\s*:(?!:)\s*)");
  std::string result;
  for (std::smatch label; std::regex_search(text, label, LABEL, std::regex_constants::match_continuous);
       text = label.suffix()) {
    result += "simt_label_" + label.str(1) + ":; ";
  }
  if (text.empty()) {
    return result;
  }
  if (text.starts_with(".reg")) {
    return result + declaration(text, names.declared) + " ";
  }
  if (std::smatch guarded; std::regex_match(text, guarded, GUARDED)) {
    if (!names.declared.contains(guarded.str(2))) {
      throw Unknown{};
    }
    result += "if (" + guarded.str(1) + "simt_" + guarded.str(2) + ") ";
    text = guarded.str(3);
  }
  return result + "{ " + PtxInstruction(text, names).translation() + "; } ";
}

/// What stands in front of the first blank, or in front of the semicolon.
std::string mnemonic_of(const std::string& text) {
  const std::string unguarded = std::regex_replace(text, GUARDED, "$3");
  return unguarded.substr(0, unguarded.find_first_of(" \t"));
}

std::string refusal(const std::string& what, const std::string& place) {
  return "simt::not_supported(\"" + escaped(what + " (" + place + ")") + "\")";
}

std::string instructions(const std::string& text, Names& names, const std::string& place) {
  static const std::regex COMMENT(R"(//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/|\n)");
  std::string result;
  std::string one;
  int list = 0;  // open brackets of operands, in which a brace is no block's
  for (const char c : std::regex_replace(text, COMMENT, " ") + ";") {
    const bool ends = c == ';' || (c == '}' && list == 0);
    if (c == '{' && trimmed(one).empty()) {
      result += "{ ";
      continue;
    }
    list += c == '{' ? 1 : c == '}' && !ends ? -1 : 0;
    if (!ends) {
      one += c;
      continue;
    }
    one = trimmed(one);
    try {
      result += one.empty() ? "" : statement(one, names);
    } catch (const Unknown&) {
      result += refusal("the instruction " + mnemonic_of(one), place) + "; ";
    }
    result += c == '}' ? "} " : "";
    one.clear();
  }
  return result;
}

class Parser {
 public:
  Parser(std::span<const Token> tokens, const std::string& place) : tokens_(tokens), place_(place) {}

  std::string run() {
    std::string assembly;
    for (; at_ < tokens_.size() && colons() == 0; ++at_) {
      if (tokens_[at_].kind != TokenKind::string) {
        throw NotUnderstood{"a name in the text of inline assembly, " + std::string(tokens_[at_].text)};
      }
      assembly += text_of_literal(tokens_[at_].text);
    }
    int section = 0;  // outputs, inputs, what else is changed
    while (at_ < tokens_.size() && section < 3) {
      if (colons() > 0) {
        section += colons();
        ++at_;
      } else {
        read_operand(section == 1);
      }
    }
    std::string before;
    std::string after;
    for (std::size_t i = 0; i < names_.operands.size(); ++i) {
      const Operand& operand = names_.operands[i];
      before += "[[maybe_unused]] " + operand.type + " " + register_of(i);
      before += operand.read ? " = simt::ptx::in<" + operand.type + ">(" + operand.expression + "); " : "{}; ";
      if (operand.written) {
        after += "simt::ptx::out(" + operand.expression + ", " + register_of(i) + "); ";
      }
    }
    return "[&]([[maybe_unused]] simt::Site simt_site = simt::Site::current()) __attribute__((always_inline)) { "
           "[[maybe_unused]] std::uint64_t simt_unused; " +
           before + instructions(assembly, names_, place_) + after + "}()";
  }

 private:
  int colons() const { return tokens_[at_].is(":") ? 1 : tokens_[at_].is("::") ? 2 : 0; }

  void read_operand(bool output) {
    static const std::map<std::string, std::string> types{{"h", "std::uint16_t"}, {"r", "std::uint32_t"},
                                                          {"l", "std::uint64_t"}, {"f", "float"},
                                                          {"d", "double"},        {"n", "long long"}};
    if (tokens_[at_].kind != TokenKind::string) {
      throw NotUnderstood{"an operand of inline assembly without a constraint"};
    }
    std::string constraint = text_of_literal(tokens_[at_++].text);
    const bool read = !output || constraint.starts_with('+');
    std::erase_if(constraint, [](char c) { return c == '=' || c == '+' || c == '&'; });
    if (at_ == tokens_.size() || !tokens_[at_].is("(")) {
      throw NotUnderstood{"an operand of inline assembly without an expression in parentheses"};
    }
    const auto length = static_cast<std::size_t>(tokens_[at_].partner);
    const auto type = types.find(constraint);
    if (type == types.end()) {
      throw NotUnderstood{"the constraint " + constraint + " of an operand of inline assembly"};
    }
    names_.operands.push_back({type->second, output, read, text_of(tokens_.subspan(at_ + 1, length - 1))});
    at_ += length + 1;
    at_ += at_ < tokens_.size() && tokens_[at_].is(",") ? 1 : 0;
  }

  const std::span<const Token> tokens_;
  const std::string& place_;
  std::size_t at_ = 0;
  Names names_;
};

}  // namespace

std::string translate_assembly(std::span<const Token> tokens, const std::string& place) {
  try {
    return Parser(tokens, place).run();
  } catch (const NotUnderstood& error) {
    return refusal(error.what, place);
  }
}

}  // namespace simt
