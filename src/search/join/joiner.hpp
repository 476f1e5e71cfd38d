// The ways in which templates join, remembered per thread.
//
// A state is what later Einsums see of those before: open fused loops and live tensors. Trip counts
// are kept beside it. The orders in which Einsums run share the states (JoinStates); what follows a
// state depends on the order (Joiner).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/space_data.hpp"

namespace tessera::search {

/// One way to run an Einsum inside the open loops of a state.
struct Way {
    mapspace::detail::JoinPlan plan;
    int next = -1;  ///< state afterwards
};

/// Trip counts that the open loops demand of the template's fused loops, by fused loop; 0: free.
void demanded_trips(const TemplateData& t, const Pattern& pattern,
                    const mapspace::detail::JoinPlan& plan,
                    const std::vector<std::int64_t>& open_trips, std::vector<std::int64_t>& out);

/// What is known whatever order the Einsums run in: after the same Einsums, in whichever order, the
/// same can follow.
class JoinStates {
public:
    explicit JoinStates(const OpenSpace::Data& space);

    struct State {
        std::vector<char> done;  ///< per Einsum of the workload
        mapspace::detail::StateStructure structure;
        /// By Einsum that runs next, and its structure.
        std::map<std::pair<int, int>, std::vector<Way>> ways;
    };

    /// The state before the first Einsum is 0.
    const State& operator[](int state) const {
        return *states_[static_cast<std::size_t>(state)];
    }
    /// Ways to run a pmapping of the structure after the state. `einsum`: of the workload;
    /// `needed_later`: after it has run.
    const std::vector<Way>& ways(int state, int einsum, int structure,
                                 const std::vector<char>& needed_later);
    /// The same, one after the other until `use` returns true; not remembered.
    template <class Use>
    void for_each_way(int state, int einsum, int structure, const std::vector<char>& needed_later,
                      const Use& use);
    /// Structures of an Einsum that hold the live tensors where they are: no other joins. All users
    /// of a tensor hold it in one memory below the same loops.
    const std::vector<int>& fitting(int state, int einsum);
    /// Whether each of the other Einsums has one. Without this one dead end after the other is
    /// looked into.
    bool can_be_met(int state);

private:
    int intern(const std::vector<char>& done, const mapspace::detail::StateStructure& structure);

    const OpenSpace::Data& space_;  // in the order of the workload
    bool reference_;
    std::vector<std::unique_ptr<State>> states_;
    std::map<std::pair<std::vector<char>, mapspace::detail::StateStructure>, int> index_;
    /// By Einsum, and tensor, memory and loops above, tensor after tensor.
    std::vector<std::map<std::vector<int>, std::vector<int>>> fitting_;
};

/// Einsums that run in one order.
class Joiner {
public:
    /// `space`: of the order. `states`: of the same problem.
    Joiner(const OpenSpace::Data& space, JoinStates& states) : space_(space), states_(states) {}

    /// Ways to run a pmapping of the structure as the state's next Einsum.
    const std::vector<Way>& ways(int state, int structure);

    /// A pattern of a template and one of its ways.
    struct Option {
        std::uint32_t tmpl = 0;
        std::uint32_t pattern = 0;
        std::uint32_t way = 0;
    };
    /// Whether the Einsums that follow can be joined on, as far as structures tell.
    bool completes(int state);

    /// All options of a template in a state after which the others can follow, in a fixed order.
    void options(int state, std::uint32_t tmpl, std::vector<Option>& out);
    /// Those of all templates, remembered.
    const std::vector<Option>& all_options(int state);
    /// One template's part of all_options().
    std::span<const Option> remembered_options(int state, std::uint32_t tmpl);

private:
    /// Ways after which the others can follow, by structure of the Einsum that runs next.
    const std::vector<std::vector<std::uint32_t>>& leading(int state);

    struct Known {
        std::optional<std::vector<std::vector<std::uint32_t>>> leading;
        std::unique_ptr<std::vector<Option>> options;
        std::vector<std::uint32_t> ends;  // by template, in `options`
        enum class Completes : std::uint8_t { unknown, yes, no } completes = Completes::unknown;
        int next = -1;  // place of the Einsum that runs next
    };
    Known& known(int state);

    const OpenSpace::Data& space_;
    JoinStates& states_;
    std::vector<std::unique_ptr<Known>> known_;  // by state
};

}  // namespace tessera::search
