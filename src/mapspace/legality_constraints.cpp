// What the architecture's mapper constraints and the limits of the mapspace demand of one Einsum.
#include <algorithm>
#include <map>

#include "legality_internal.hpp"

namespace tessera::mapspace::legality {

using arch::LevelKind;
using arch::TensorMask;
using workload::Relevancy;

namespace {

class Constraints {
 public:
  Constraints(Checker& checker, const Leaf& leaf) : checker_(checker), leaf_(leaf) {
    stored_.assign(leaf.path.levels.size(), 0);
    for (const Node& node : leaf.nodes) {
      if (node.holder()) {
        stored_[node.level] |= TensorMask{1} << node.tensor;
      }
    }
  }
  void check();

 private:
  void enabled();
  void storage();
  void storage_of(int l, TensorMask above, const spec::Symbols& symbols);
  void orders(const spec::Symbols& symbols);
  bool fits(const std::vector<TensorMask>& option, int level) const;
  void hierarchy();
  bool loop_between(std::size_t i, std::size_t j) const;
  void outermost();
  void dimensions();
  void loop_bound(int l, int d, const arch::LoopBound& bound);
  void refetches();
  void refetch(const char* code, const Node& holder, std::size_t begin, std::size_t end);
  void limits();

  std::string einsum() const { return "Einsum " + quoted(leaf_.view().name); }
  std::string names(TensorMask mask) const {
    std::string text;
    for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
      if (mask >> t & 1) {
        text += (text.empty() ? "" : ", ") + quoted(leaf_.view().tensors[t].name);
      }
    }
    return text.empty() ? "nothing" : text;
  }
  Violation& add(const char* code, const std::string& text, const Node* node = nullptr) {
    return checker_.add(code, Severity::constraint, text, &leaf_, node);
  }
  const Node* holder_in(int level, TensorMask tensors) const {
    for (const Node& node : leaf_.nodes) {
      if (node.holder() && node.level == level && (tensors >> node.tensor & 1)) {
        return &node;
      }
    }
    return nullptr;
  }

  Checker& checker_;
  const Leaf& leaf_;
  std::vector<TensorMask> stored_;  ///< per level
};

void Constraints::enabled() {
  for (std::size_t l = 0; l < leaf_.path.levels.size(); ++l) {
    const arch::PathLevel& level = leaf_.path.levels[l];
    const bool used = stored_[l] || l + 1 == leaf_.path.levels.size();
    if (used && !level.enabled) {
      Violation& v = add("disabled", quoted(level.name) + " is not enabled for " + einsum());
      v.level = level.name;
      v.where = level.where;
    }
  }
}

void Constraints::storage_of(int l, TensorMask above, const spec::Symbols& symbols) {
  const arch::PathLevel& level = leaf_.path.levels[l];
  const TensorMask all = leaf_.view().all();
  const auto set = [&](const spec::Expression& e, TensorMask otherwise) {
    return e.empty() ? otherwise : arch::evaluate_tensors(e, symbols) & all;
  };
  const TensorMask back = set(level.back, 0);
  TensorMask keep = set(level.keep, 0) | back;
  TensorMask may_keep = set(level.may_keep, level.keep.empty() ? all : 0);
  if (checker_.options && checker_.options->unfused && l == leaf_.path.first_memory()) {
    keep = all;
  }
  if (level.kind == LevelKind::toll) {
    keep &= above;
    may_keep &= above;
  }
  if (leaf_.view().is_copy_operation) {
    keep &= ~above;  // a copy only has outermost holders
  }
  const auto report = [&](const char* code, TensorMask wrong, const std::string& text,
                          const spec::Expression& e) {
    if (!wrong) {
      return;
    }
    Violation& v = add(code, einsum() + ": " + quoted(level.name) + " holds " + names(stored_[l]) +
                                 ", " + text + " " + names(wrong) +
                                 (e.empty() ? "" : " (" + std::string(code) + ": " + e.text() + ")"),
                       holder_in(l, wrong));
    v.level = level.name;
    v.tensor = leaf_.view().tensors[__builtin_ctzll(wrong)].name;
    v.where = e.empty() ? level.where : e.position();
  };
  report("keep", keep & ~stored_[l], "but must keep", level.keep);
  report("may_keep", stored_[l] & ~keep & ~may_keep & ~(level.kind == LevelKind::toll ? 0 : back),
         "but may not keep", level.may_keep.empty() ? level.keep : level.may_keep);
  report("back", back & above, "and a level above it holds, although it must be their outermost holder,",
         level.back);
}

void Constraints::storage() {
  spec::Symbols symbols = leaf_.path.symbols.child();
  TensorMask above = 0;
  symbols.set("Above", spec::Value(spec::TensorSet{0}));
  for (std::size_t l = 0; l < leaf_.path.levels.size(); ++l) {
    const arch::PathLevel& level = leaf_.path.levels[l];
    if (!level.holds_tensors()) {
      continue;
    }
    if (level.enabled) {
      storage_of(static_cast<int>(l), above, symbols);
    }
    above |= stored_[l];
    symbols.set(level.name, spec::Value(spec::TensorSet{stored_[l]}));
    symbols.set("Above", spec::Value(spec::TensorSet{above}));
  }
  orders(symbols);
}

// All holders of the level stand in the option's order; tensors it does not name stand anywhere.
bool Constraints::fits(const std::vector<TensorMask>& option, int level) const {
  std::size_t place = 0;
  for (const Node& node : leaf_.nodes) {
    if (node.kind != Kind::storage || node.level != level) {
      continue;
    }
    for (std::size_t p = 0; p < option.size(); ++p) {
      if (option[p] >> node.tensor & 1) {
        if (p < place) {
          return false;
        }
        place = p;
        break;
      }
    }
  }
  return true;
}

void Constraints::orders(const spec::Symbols& symbols) {
  for (int l = 0; l < static_cast<int>(leaf_.path.levels.size()); ++l) {
    const arch::PathLevel& level = leaf_.path.levels[l];
    // No loop stands between holders of the outermost memory, so their order means nothing.
    if (level.kind != LevelKind::memory || l == leaf_.path.first_memory()) {
      continue;
    }
    bool any = false, fit = false;
    std::string text;
    for (const auto& option : level.tensor_order_options) {
      std::vector<TensorMask> places;
      text += text.empty() ? "[" : " or [";
      for (const spec::Expression& expression : option) {
        text += (places.empty() ? "" : ", ") + expression.text();
        places.push_back(arch::evaluate_tensors(expression, symbols) & leaf_.view().all());
      }
      text += "]";
      const bool names_any = std::any_of(places.begin(), places.end(), [](TensorMask m) { return m; });
      any |= names_any;
      fit |= names_any && fits(places, l);
    }
    if (any && !fit) {
      Violation& v = add("tensor_order", einsum() + ": the holders in " + quoted(level.name) +
                                             " stand in none of the orders " + text,
                         holder_in(l, ~TensorMask{0}));
      v.level = level.name;
      v.where = level.where;
    }
  }
}

void Constraints::hierarchy() {
  const bool everywhere = !checker_.options || checker_.options->force_memory_hierarchy_order;
  const auto persistent = [&](const Node& node) {
    return node.first && leaf_.tensor(node).persistent;
  };
  for (std::size_t i = 0; i < leaf_.nodes.size(); ++i) {
    for (std::size_t j = i + 1; j < leaf_.nodes.size(); ++j) {
      const Node& upper = leaf_.nodes[i];
      const Node& lower = leaf_.nodes[j];
      if (upper.kind != Kind::storage || lower.kind != Kind::storage || upper.level <= lower.level ||
          upper.tensor == lower.tensor || !loop_between(i, j)) {
        continue;
      }
      const bool ordered = everywhere && !persistent(upper) && !persistent(lower) &&
                           leaf_.level(upper).force_memory_hierarchy_order &&
                           leaf_.level(lower).force_memory_hierarchy_order;
      const bool fused = checker_.options && upper.first && leaf_.tensor(upper).fusable;
      if (ordered || fused) {
        add("hierarchy",
            einsum() + ": " + quoted(leaf_.level(upper).name) + " holding " +
                quoted(leaf_.tensor(upper).name) + " stands above " +
                quoted(leaf_.level(lower).name) + " holding " + quoted(leaf_.tensor(lower).name) +
                ", which is the outer memory of the two" +
                (ordered ? " (force_memory_hierarchy_order)" : " (outermost holder of a shared tensor)"),
            &lower).where = leaf_.level(upper).where;
      }
    }
  }
}

// Without a loop between them the order of two holders means nothing.
bool Constraints::loop_between(std::size_t i, std::size_t j) const {
  return std::any_of(leaf_.nodes.begin() + static_cast<std::ptrdiff_t>(i),
                     leaf_.nodes.begin() + static_cast<std::ptrdiff_t>(j),
                     [](const Node& node) { return node.loop() && node.trips > 1; });
}

// In this mapspace no loop stands above the outermost memory or a persistent tensor.
void Constraints::outermost() {
  if (!checker_.options) {
    return;
  }
  const Node* loop = nullptr;
  for (const Node& node : leaf_.nodes) {
    if (node.kind == Kind::temporal && node.trips > 1 && !loop) {
      loop = &node;
    }
    const bool top = node.holder() && (node.level == leaf_.path.first_memory() ||
                                       (node.first && leaf_.tensor(node).persistent));
    if (top && loop) {
      add("outermost", einsum() + ": the " + loop_text(leaf_, *loop) + " stands above " +
                           quoted(leaf_.level(node).name) + " holding " +
                           quoted(leaf_.tensor(node).name) +
                           ", which in this mapspace stands above all loops",
          &node);
    }
  }
}

void Constraints::loop_bound(int l, int d, const arch::LoopBound& bound) {
  const arch::PathDim& dim = leaf_.path.levels[l].spatial[d];
  double product = 1;
  std::string text;
  const Node* last = nullptr;
  const auto holds = [&](double trips) {
    switch (bound.op) {
      case arch::LoopBound::Op::eq: return trips == bound.value;
      case arch::LoopBound::Op::le: return trips <= bound.value;
      case arch::LoopBound::Op::ge: return trips >= bound.value;
      case arch::LoopBound::Op::lt: return trips < bound.value;
      case arch::LoopBound::Op::gt: return trips > bound.value;
    }
    return false;
  };
  static const char* const signs[] = {"==", "<=", ">=", "<", ">"};
  const auto report = [&](const std::string& what, double trips) {
    // A loop that is not written has one trip; it may also be one that another rule forbids.
    const bool absent = last == nullptr;
    Violation& v = checker_.add(
        "loop_bounds", absent ? Severity::warning : Severity::constraint,
        einsum() + ": " + what + " in " + quoted(leaf_.path.levels[l].name) + " along " +
            quoted(dim.name) + " makes " + number(trips) + " trips, required " +
            signs[static_cast<int>(bound.op)] + " " + number(bound.value),
        &leaf_, last);
    v.level = leaf_.path.levels[l].name;
    v.found = trips;
    v.limit = bound.value;
    v.where = bound.where;
  };
  for (std::size_t var = 0; var < leaf_.view().rank_variables.size(); ++var) {
    if (!(bound.variables >> var & 1)) {
      continue;
    }
    double trips = 1;
    if (!bound.product) {
      last = nullptr;
    }
    for (const Node& node : leaf_.nodes) {
      if (node.kind == Kind::spatial && node.level == l && node.dim == d &&
          node.variable == static_cast<int>(var)) {
        trips *= static_cast<double>(node.trips);
        last = &node;
      }
    }
    const std::string& name = leaf_.view().rank_variables[var].name;
    product *= trips;
    text += (text.empty() ? "" : " * ") + name;
    if (!bound.product && !holds(trips)) {
      report("the spatial loop over " + quoted(name), trips);
    }
  }
  if (bound.product && !text.empty() && !holds(product)) {
    report("the product of the spatial loops over " + text, product);
  }
}

void Constraints::dimensions() {
  for (int l = 0; l < static_cast<int>(leaf_.path.levels.size()); ++l) {
    for (int d = 0; d < static_cast<int>(leaf_.path.levels[l].spatial.size()); ++d) {
      const arch::PathDim& dim = leaf_.path.levels[l].spatial[d];
      double used = 1;
      for (const Node& node : leaf_.nodes) {
        if (node.kind != Kind::spatial || node.level != l || node.dim != d || node.trips == 1) {
          continue;
        }
        used *= static_cast<double>(node.trips);
        for (std::size_t t = 0; t < leaf_.view().tensors.size(); ++t) {
          const workload::LocalTensor& tensor = leaf_.view().tensors[t];
          if ((dim.reuse >> t & 1) && tensor.relevancy[node.variable] != Relevancy::irrelevant) {
            Violation& v = add("reuse",
                               einsum() + ": the " + loop_text(leaf_, node) + " makes " +
                                   std::to_string(node.trips) + " trips in " +
                                   quoted(leaf_.path.levels[l].name) + " along " + quoted(dim.name) +
                                   ", required 1: it indexes " + quoted(tensor.name) +
                                   ", which all instances must share (reuse)",
                               &node);
            v.tensor = tensor.name;
            v.found = static_cast<double>(node.trips);
            v.limit = 1;
            v.where = dim.where;
          }
        }
      }
      for (const arch::LoopBound& bound : dim.loop_bounds) {
        loop_bound(l, d, bound);
      }
      const double usage = used / static_cast<double>(dim.fanout) * dim.usage_scale;
      if (usage < dim.min_usage && !leaf_.view().is_copy_operation) {
        Violation& v = checker_.add("min_usage", Severity::warning,
                                    einsum() + " uses " + number(usage) + " of " +
                                        quoted(leaf_.path.levels[l].name) + " along " +
                                        quoted(dim.name) + ", wanted at least " +
                                        number(dim.min_usage),
                                    &leaf_);
        v.level = leaf_.path.levels[l].name;
        v.found = usage;
        v.limit = dim.min_usage;
        v.where = dim.where;
      }
    }
  }
}

void Constraints::refetch(const char* code, const Node& holder, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin + 1; i < end && i < leaf_.nodes.size(); ++i) {
    const Node& loop = leaf_.nodes[i];
    if (loop.kind == Kind::temporal && loop.trips > 1 &&
        leaf_.tensor(holder).relevancy[loop.variable] != Relevancy::relevant) {
      Violation& v = add(code,
                         einsum() + ": the " + loop_text(leaf_, loop) + " makes " +
                             std::to_string(loop.trips) + " trips, required 1: each would move tensor " +
                             quoted(leaf_.tensor(holder).name) + " of " +
                             quoted(leaf_.level(holder).name) + " again (" +
                             (code == std::string("no_refetch") ? "no_refetch_from_above"
                                                                : "no_resend_to_below") + ")",
                         &holder);
      v.found = static_cast<double>(loop.trips);
      v.limit = 1;
      v.where = leaf_.level(holder).where;
    }
  }
}

void Constraints::refetches() {
  for (std::size_t i = 0; i < leaf_.nodes.size(); ++i) {
    const Node& holder = leaf_.nodes[i];
    if (holder.kind != Kind::storage) {
      continue;
    }
    const arch::PathLevel& level = leaf_.level(holder);
    if (level.no_refetch_from_above >> holder.tensor & 1) {
      refetch("no_refetch", holder, static_cast<std::size_t>(leaf_.first_holder(holder.tensor)), i);
    }
    if (level.no_resend_to_below >> holder.tensor & 1) {
      std::size_t next = i + 1;
      while (next < leaf_.nodes.size() &&
             !(leaf_.nodes[next].holder() && leaf_.nodes[next].tensor == holder.tensor)) {
        ++next;
      }
      refetch("no_resend", holder, i, next);
    }
  }
}

// A loop that is null or ends at tile shape 1 is not counted: no template counts its innermost loop.
void Constraints::limits() {
  if (!checker_.options) {
    return;
  }
  const MapSpaceOptions& options = *checker_.options;
  std::size_t fused_end = 0;
  for (std::size_t i = 0; i < leaf_.nodes.size(); ++i) {
    if (leaf_.nodes[i].holder() && leaf_.nodes[i].first && leaf_.tensor(leaf_.nodes[i]).fusable) {
      fused_end = i;
    }
  }
  int total = 0;
  std::map<int, int> per_variable;
  std::map<std::pair<int, int>, int> per_dim;
  for (std::size_t i = 0; i < leaf_.nodes.size(); ++i) {
    const Node& node = leaf_.nodes[i];
    if (!node.loop() || node.trips == 1 || node.tile == 1) {
      continue;
    }
    if (i < fused_end) {
      ++total;
      ++per_variable[node.variable];
    }
    if (node.kind == Kind::spatial) {
      ++per_dim[{node.level, node.dim}];
    }
  }
  const auto exceeds = [&](const char* code, int count, int limit, const std::string& what) {
    if (limit != MapSpaceOptions::unlimited && count > limit) {
      Violation& v = add(code, einsum() + " has " + std::to_string(count) + " " + what +
                                   ", allowed " + std::to_string(limit));
      v.found = count;
      v.limit = limit;
    }
  };
  exceeds("max_fused_loops", total, options.max_fused_loops, "fused loops");
  for (const auto& [variable, count] : per_variable) {
    exceeds("max_fused_loops_per_rank_variable", count, options.max_fused_loops_per_rank_variable,
            "fused loops over " + quoted(leaf_.view().rank_variables[variable].name));
  }
  for (const auto& [dim, count] : per_dim) {
    const arch::PathLevel& level = leaf_.path.levels[dim.first];
    exceeds("max_loops_per_spatial_dimension", count, options.max_loops_per_spatial_dimension,
            "loops in " + quoted(level.name) + " along " + quoted(level.spatial[dim.second].name));
  }
}

void Constraints::check() {
  enabled();
  storage();
  hierarchy();
  outermost();
  dimensions();
  refetches();
  limits();
}

}  // namespace

void Checker::check_constraints(const Leaf& leaf) {
  Constraints(*this, leaf).check();
}

}  // namespace tessera::mapspace::legality
