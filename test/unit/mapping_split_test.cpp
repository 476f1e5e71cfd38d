#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tessera/mapping/pmapping.hpp"
#include "tessera/model/cost_model.hpp"
#include "unit/mapping_fixture.hpp"

using namespace tessera;
using namespace tessera::mapping;
using mapping_test::Fixture;
using mapping_test::mapping_of;

namespace {

// The three Einsums one after the other, each in a tree of its own below `top`.
std::string tree(const std::string& top, const std::string& k, const std::string& qk,
                 const std::string& a) {
    std::string text = "mapping:\n  nodes:\n" + top + "  - !Sequential\n    nodes:\n";
    const std::string names[] = {"K", "QK", "A"};
    const std::string bodies[] = {k, qk, a};
    for (int i = 0; i < 3; ++i) {
        text += "    - !Nested\n      nodes:\n" + bodies[i] +
                "      - !Compute {einsum: " + names[i] + ", component: MAC}\n";
    }
    return text;
}

std::string loops(const std::string& variables) {
    std::string text;
    for (const char variable : variables) {
        text += std::string("      - !Temporal {rank_variable: ") + variable + ", tile_shape: 1}\n";
    }
    return text;
}

const std::string all = "  - !Storage {tensors: [I, W, K, Q, S, O], component: Main}\n";

std::vector<EinsumMapping> split_of(const std::string& text,
                                    arch::Compat compat = arch::Compat::none) {
    const Fixture fixture;
    return split(mapping_of(text), fixture.workload, fixture.architecture, compat);
}

template <class Exception>
void refused(const std::string& text, const std::string& part,
             arch::Compat compat = arch::Compat::none) {
    try {
        split_of(text, compat);
        BOOST_ERROR("accepted: " << text);
    } catch (const Exception& error) {
        BOOST_TEST(std::string(error.what()).find(part) != std::string::npos, error.what());
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_chain_has_its_einsums_tensors_only) {
    const auto einsums = split_of(tree(all, loops("mde"), loops("mpe"), loops("mpd")));
    BOOST_TEST(einsums.size() == 3U);
    BOOST_TEST(einsums[1].path.einsum.name == "QK");
    BOOST_TEST(einsums[1].nodes.size() == 7U);  // K, Q, S, three loops, compute
    const Pmapping& nodes = einsums[1].nodes;
    for (int i = 0; i < 3; ++i) {
        BOOST_TEST((nodes[i].kind == NodeKind::storage));
        BOOST_TEST(nodes[i].backing);
        BOOST_TEST(nodes[i].origin == 1);  // the root is 0
    }
    BOOST_TEST((nodes[6].kind == NodeKind::compute));
}

BOOST_AUTO_TEST_CASE(origins_are_pre_order_indices) {
    const auto einsums = split_of(tree(all, loops("mde"), loops("mpe"), loops("mpd")));
    // 0 root, 1 storage, 2 sequential, 3 nested, 4-6 loops, 7 compute, 8 nested, ...
    BOOST_TEST(einsums[0].nodes[3].origin == 4);
    BOOST_TEST(einsums[0].nodes[6].origin == 7);
    BOOST_TEST(einsums[1].nodes[3].origin == 9);
}

BOOST_AUTO_TEST_CASE(a_loop_drives_another_variable_in_each_einsum) {
    const std::string shared =
        "  - !Temporal {rank_variable: {K: m, QK: p, A: p}, tile_shape: {K: 1, QK: 1, A: 2}}\n";
    const auto einsums = split_of(tree(all + shared, loops("de"), loops("me"), loops("mpd")));
    for (const EinsumMapping& one : einsums) {
        const auto loop =
            std::find_if(one.nodes.begin(), one.nodes.end(),
                         [](const PmappingNode& n) { return n.kind == NodeKind::temporal; });
        const std::string variable = one.path.einsum.rank_variables[loop->rank_variable].name;
        BOOST_TEST(variable == (one.path.einsum.name == "K" ? "m" : "p"));
        BOOST_TEST(loop->tile == (one.path.einsum.name == "A" ? 2 : 1));
    }
}

BOOST_AUTO_TEST_CASE(a_list_of_variables_works_if_each_einsum_has_one) {
    const auto einsums = split_of(
        tree(all, "      - !Temporal {rank_variable: [d, p], tile_shape: 1}\n" + loops("me"),
             loops("mpe"), loops("mpd")));
    BOOST_TEST(einsums[0].path.einsum.rank_variables[einsums[0].nodes[3].rank_variable].name ==
               "d");
    refused<UserError>(tree(all + "  - !Temporal {rank_variable: [m, p], tile_shape: 1}\n",
                            loops("de"), loops("mpe"), loops("mpd")),
                       "names two rank variables of Einsum 'QK'");
}

BOOST_AUTO_TEST_CASE(a_holder_may_serve_some_einsums_only) {
    const std::string own = "  - !Storage {tensors: [I], component: Buffer, einsums: [A]}\n";
    const auto einsums = split_of(tree(all + own, loops("mde"), loops("mpe"), loops("mpd")));
    BOOST_TEST(einsums[0].nodes.size() == 7U);
    BOOST_TEST(einsums[2].nodes.size() == 8U);
    BOOST_TEST(!einsums[2].nodes[3].backing);
}

BOOST_AUTO_TEST_CASE(the_outermost_loop_of_a_variable_may_be_imperfect) {
    const std::string k =
        "      - !Temporal {rank_variable: m, tile_shape: 4}\n"
        "      - !Temporal {rank_variable: m, tile_shape: 2}\n" +
        loops("mde");
    const Pmapping nodes = split_of(tree(all, k, loops("mpe"), loops("mpd")))[0].nodes;
    BOOST_TEST(nodes[3].imperfect);
    BOOST_TEST(nodes[4].imperfect);
    BOOST_TEST(!nodes[5].imperfect);
    BOOST_TEST(nodes[6].imperfect);  // the only loop over d
}

BOOST_AUTO_TEST_CASE(unknown_names_are_user_errors_with_the_nearest) {
    const std::string k = loops("mde"), qk = loops("mpe"), a = loops("mpd");
    refused<UserError>(tree(all + "  - !Storage {tensors: [QQ], component: Main}\n", k, qk, a),
                       "unknown tensor: 'QQ'");
    refused<UserError>(tree(all + "  - !Storage {tensors: [I], component: Bufer}\n", k, qk, a),
                       "did you mean 'Buffer'?");
    refused<UserError>(tree(all, loops("mdez"), qk, a), "m.yaml:11:9: unknown rank variable: 'z'");
    refused<UserError>(
        tree(all + "  - !Temporal {rank_variable: {KK: m}, tile_shape: 1}\n", k, qk, a),
        "unknown Einsum: 'KK'");
    refused<UserError>(
        tree(
            all,
            "      - !Spatial {rank_variable: m, tile_shape: 1, name: XX, component: Buffer}\n" + k,
            qk, a),
        "unknown spatial dimension of 'Buffer': 'XX'");
}

BOOST_AUTO_TEST_CASE(the_reference_ignores_unknown_tensors) {
    const std::string text = tree(all + "  - !Storage {tensors: [QQ], component: Main}\n",
                                  loops("mde"), loops("mpe"), loops("mpd"));
    BOOST_TEST(split_of(text, arch::Compat::accelforge).size() == 3U);
}

BOOST_AUTO_TEST_CASE(what_cannot_run_is_an_illegal_mapping) {
    const std::string k = loops("mde"), qk = loops("mpe"), a = loops("mpd");
    refused<IllegalMapping>(tree(all, loops("md"), qk, a), "lacks a loop over 'e' (6 values)");
    refused<IllegalMapping>(
        tree("  - !Storage {tensors: [W, K, Q, S, O], component: Main}\n", k, qk, a),
        "tensor 'I' of Einsum 'K' is stored nowhere");
    refused<IllegalMapping>(tree(all + all, k, qk, a), "twice in 'Main'");
    refused<IllegalMapping>(tree("  - !Toll {tensors: [K], component: Link}\n" + all, k, qk, a),
                            "toll 'Link' is the outermost holder of tensor 'K'");
    refused<IllegalMapping>(
        tree(all + "  - !Temporal {rank_variable: d, tile_shape: 1}\n", k, qk, a),
        "Einsum 'QK' stands inside a loop over 'd', which it does not have");
}

BOOST_AUTO_TEST_CASE(every_einsum_needs_a_branch) {
    refused<IllegalMapping>("mapping:\n  nodes:\n" + all +
                                "  - !Temporal {rank_variable: m, tile_shape: 1}\n"
                                "  - !Temporal {rank_variable: d, tile_shape: 1}\n"
                                "  - !Temporal {rank_variable: e, tile_shape: 1}\n"
                                "  - !Compute {einsum: K, component: MAC}\n",
                            "no branch for Einsum 'QK'");
}

BOOST_AUTO_TEST_CASE(holders_name_components_of_their_kind) {
    const std::string k = loops("mde"), qk = loops("mpe"), a = loops("mpd");
    refused<UserError>(tree(all + "  - !Storage {tensors: [I], component: Link}\n", k, qk, a),
                       "write !Toll");
    refused<UserError>(tree(all + "  - !Toll {tensors: [I], component: Buffer}\n", k, qk, a),
                       "write !Storage");
}

BOOST_AUTO_TEST_CASE(paths_are_built_once_and_only_of_their_own_problem) {
    const Fixture one, other;
    model::Problem problem{&one.workload, &one.architecture};
    BOOST_TEST(problem.paths_or_new() != problem.paths_or_new());
    problem.paths = problem.paths_or_new();
    BOOST_TEST(problem.paths_or_new() == problem.paths);
    const arch::Path& path = problem.paths->of(1, "MAC");
    BOOST_TEST(&path == &problem.paths->of(1, "MAC"));
    BOOST_TEST(path.einsum.name == "QK");
    BOOST_TEST(problem.paths->of(0, "MAC").einsum.name == "K");

    const auto foreign = [&](model::Problem changed) {
        BOOST_TEST(changed.paths_or_new() != problem.paths);
    };
    foreign({&other.workload, &one.architecture, arch::Compat::none, problem.paths});
    foreign({&one.workload, &other.architecture, arch::Compat::none, problem.paths});
    foreign({&one.workload, &one.architecture, arch::Compat::accelforge, problem.paths});
}
