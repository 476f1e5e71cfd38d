// The lists of layouts against the types they describe. A failing case means: a type that plugins
// see has changed; bring its list in include/tessera/plugin/ up to date.
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <set>

#include "tessera/plugin/registry.hpp"

using namespace tessera;

namespace {

/// Becomes whatever an aggregate wants its members to be initialised with.
struct Anything {
    template <class T>
    operator T() const;  // NOLINT: it is meant to be implicit
};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires {
        T{(static_cast<void>(I), Anything())...};
    };
}

/// Number of members of an aggregate.
template <class T, std::size_t N = 0>
constexpr int members() {
    if constexpr (!takes<T>(std::make_index_sequence<N + 1>())) {
        return static_cast<int>(N);
    } else {
        return members<T, N + 1>();
    }
}

template <class Role>
void check_lists() {
    plugin::Contract<Role>::Types::for_each([]<class T>() {
        using Layout = plugin::Layout<T>;
        constexpr plugin::LayoutList list = Layout::list();
        BOOST_TEST(list.types_right, Layout::name << ": a listed type is not the member's type");
        if constexpr (std::is_aggregate_v<T>) {
            BOOST_TEST(list.members == members<T>(), Layout::name << ": " << list.members
                                                                  << " members are listed, it has "
                                                                  << members<T>());
        }
    });
}

/// Slot of a virtual function (Itanium ABI): how all supported compilers store such pointers.
template <class Function>
std::size_t slot(Function function) {
    std::uintptr_t parts[2];
    static_assert(sizeof function == sizeof parts);
    std::memcpy(parts, &function, sizeof parts);
    return (parts[0] - 1) / sizeof(void*);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_member_of_a_type_that_plugins_see_is_listed) {
    check_lists<model::CostModel>();
    check_lists<search::SearchStrategy>();
    check_lists<mapper::Mapper>();
}

BOOST_AUTO_TEST_CASE(different_types_have_different_fingerprints) {
    std::set<std::uint64_t> hashes;
    std::set<std::string> names;
    const auto add = [&](const auto& entries) {
        for (const plugin::LayoutEntry& entry : entries) {
            hashes.insert(entry.hash);
            names.insert(std::string(entry.name));
        }
    };
    add(plugin::Contract<model::CostModel>::Types::entries());
    add(plugin::Contract<search::SearchStrategy>::Types::entries());
    add(plugin::Contract<mapper::Mapper>::Types::entries());
    BOOST_TEST(hashes.size() == names.size());
    BOOST_TEST(names.size() > 40u);
}

// After the two destructors, in the order of the lists.
BOOST_AUTO_TEST_CASE(virtual_functions_are_listed_in_their_order) {
    using search::SearchStrategy;
    BOOST_TEST(slot(&SearchStrategy::name) == 2u);
    BOOST_TEST(slot(&SearchStrategy::start) == 3u);
    BOOST_TEST(slot(&SearchStrategy::ask) == 4u);
    BOOST_TEST(slot(&SearchStrategy::tell) == 5u);
    BOOST_TEST(slot(&SearchStrategy::exhausted) == 6u);
    BOOST_TEST(slot(&SearchStrategy::ends) == 7u);
    BOOST_TEST(slot(&SearchStrategy::save) == 8u);
    BOOST_TEST(slot(&SearchStrategy::restore) == 9u);
    BOOST_TEST(plugin::Layout<SearchStrategy>::list().members == 8);
    using search::Space;
    BOOST_TEST(slot(&Space::n_einsums) == 2u);
    BOOST_TEST(slot(&Space::n_templates) == 3u);
    BOOST_TEST(slot(&Space::tmpl) == 4u);
    BOOST_TEST(slot(&Space::enumerate) == 5u);
    BOOST_TEST(plugin::Layout<Space>::list().members == 4);
    using model::CostModel;
    using Whole =
        model::Report (CostModel::*)(const model::Problem&, const mapping::Mapping&) const;
    using Alone = model::EinsumReport (CostModel::*)(const model::Problem&, const arch::Path&,
                                                     std::span<const mapping::PmappingNode>) const;
    BOOST_TEST(slot(&CostModel::name) == 2u);
    BOOST_TEST(slot(static_cast<Whole>(&CostModel::evaluate)) == 3u);
    BOOST_TEST(slot(static_cast<Alone>(&CostModel::evaluate)) == 4u);
    BOOST_TEST(slot(&CostModel::has_formulas) == 5u);
    BOOST_TEST(slot(&CostModel::formulate) == 6u);
    BOOST_TEST(plugin::Layout<CostModel>::list().members == 5);
    BOOST_TEST(slot(&mapper::Mapper::name) == 2u);
    BOOST_TEST(slot(&mapper::Mapper::map) == 3u);
    BOOST_TEST(plugin::Layout<mapper::Mapper>::list().members == 2);
}
