#include "tessera/arch/architecture.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <limits>

#include "spec/reader.hpp"
#include "support/paths.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using namespace tessera::arch;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A[m,k] W[k,n] Z[m,n] with 8, 4 and 16 bits, and a second Einsum with two tensors.
workload::Workload two_einsums() {
    return workload::read_workload(spec::expand_document(
        spec::read_text("workload:\n"
                        "  rank_sizes: {M: 4, K: 8, N: 16}\n"
                        "  bits_per_value: {A: 8, W: 4, Z | Y: 16}\n"
                        "  einsums: ['Z[m, n] = A[m, k] * W[k, n]', 'Y[m, n] = Z[m, n]']\n"
                        "renames:\n"
                        "  einsums:\n"
                        "  - name: default\n"
                        "    tensor_accesses:\n"
                        "    - {name: output, source: Outputs}\n"
                        "    - {name: weight, source: W}\n"
                        "    - {name: input, source: ~(output | weight)}\n",
                        "w.yaml"),
        {}));
}

Architecture read(const std::string& nodes, const spec::Defines& defines = {},
                  const std::string& variables = "") {
    return Architecture(spec::read_text(variables + "arch:\n  nodes:\n" + nodes, "a.yaml"),
                        defines);
}

Path path(const Architecture& architecture, int einsum = 0, const std::string& compute = "MAC",
          Compat compat = Compat::none) {
    return architecture.path(two_einsums(), einsum, compute, compat);
}

const std::string dram =
    "  - !Memory\n"
    "    name: DRAM\n"
    "    size: inf\n"
    "    actions:\n"
    "    - {name: read, energy: 2, throughput: 10}\n"
    "    - {name: write, energy: 3, throughput: inf}\n"
    "    tensors: {keep: ~Intermediates, may_keep: All}\n";

const std::string mac =
    "  - !Compute\n"
    "    name: MAC\n"
    "    actions: [{name: compute, energy: 1, throughput: 4}]\n";

std::string memory(const std::string& name, const std::string& fields) {
    return "  - !Memory {name: " + name +
           ", size: 64, actions: [{name: read, energy: 1, "
           "throughput: 1}, {name: write, energy: 1, throughput: 1}], " +
           fields + "}\n";
}

std::string container(const std::string& name, const std::string& dims) {
    return "  - !Container {name: " + name + ", spatial: [" + dims + "]}\n";
}

double run(const LatencyProgram& program, const std::vector<double>& calls, double hops = 0,
           double traffic = 0) {
    std::vector<double> stack;
    using Op = LatencyProgram::Op;
    for (const LatencyProgram::Step& step : program.steps) {
        if (step.op == Op::constant) {
            stack.push_back(step.value);
        } else if (step.op == Op::n_calls) {
            stack.push_back(calls.at(static_cast<std::size_t>(step.action)));
        } else if (step.op == Op::max_hops || step.op == Op::max_link_traffic) {
            stack.push_back(step.op == Op::max_hops ? hops : traffic);
        } else if (step.op == Op::ceil || step.op == Op::floor) {
            stack.back() = step.op == Op::ceil ? std::ceil(stack.back()) : std::floor(stack.back());
        } else {
            const double b = stack.back();
            stack.pop_back();
            double& a = stack.back();
            a = step.op == Op::add   ? a + b
                : step.op == Op::sub ? a - b
                : step.op == Op::mul ? a * b
                : step.op == Op::div ? a / b
                : step.op == Op::max ? std::max(a, b)
                                     : std::min(a, b);
        }
    }
    return stack.back();
}

std::string error_of(const std::string& nodes, int einsum = 0, const std::string& variables = "") {
    try {
        path(read(nodes, {}, variables), einsum);
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

void check_error(const std::string& nodes, const std::string& part) {
    const std::string message = error_of(nodes);
    BOOST_TEST(message.find(part) != std::string::npos, message);
}

const PathLevel& level(const Path& p, const std::string& name) {
    return p.levels.at(static_cast<std::size_t>(p.find_level(name)));
}

const Leak& leak(const Path& p, const std::string& name) {
    for (const Leak& candidate : p.leaks) {
        if (candidate.component == name) {
            return candidate;
        }
    }
    throw Bug("no leak of " + name);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_small_path_is_evaluated) {
    const Path p = path(read(dram + memory("GLB", "leak_power: 5, tensors: {keep: ~DRAM}") +
                             container("PE", "{name: X, fanout: 4}, {name: Y, fanout: 3}") + mac));
    BOOST_TEST(p.levels.size() == 4);
    BOOST_TEST((p.levels[0].size_bits == infinity));
    BOOST_TEST(level(p, "GLB").size_bits == 64);
    BOOST_TEST(level(p, "MAC").cumulative_fanout == 12);
    BOOST_TEST(level(p, "GLB").cumulative_fanout == 1);
    BOOST_TEST(!level(p, "PE").has_latency);
    BOOST_TEST(run(p.levels[0].latency, {100, 50}) == 10);
    BOOST_TEST(run(p.compute().latency, {100}) == 25);
    // One bit per action: values per action is one over the width.
    BOOST_TEST(p.levels[0].actions[0].values_per_action[0] == 1.0 / 8);
    BOOST_TEST(p.levels[0].actions[0].values_per_action[1] == 1.0 / 4);
    BOOST_TEST(leak(p, "GLB").leak_power_w == 5);
    BOOST_TEST(p.first_memory() == 0);
}

BOOST_AUTO_TEST_CASE(keep_expressions_see_memories_above) {
    const Path p =
        path(read(dram + memory("GLB", "tensors: {keep: ~DRAM, may_keep: ~Above}") + mac));
    spec::Symbols extra = p.symbols.child();
    extra.set("DRAM", spec::TensorSet{0b011});
    extra.set("Above", spec::TensorSet{0b011});
    BOOST_TEST(evaluate_tensors(level(p, "DRAM").keep, extra) == 0b011);
    BOOST_TEST(evaluate_tensors(level(p, "GLB").keep, extra) == 0b100);
    BOOST_TEST(evaluate_tensors(level(p, "GLB").may_keep, extra) == 0b100);
    BOOST_TEST(evaluate_tensors(level(p, "GLB").back, extra) == 0);
    // may_keep: Nothing when keep is given, else All.
    const Path q =
        path(read(dram + memory("L1", "tensors: {keep: A}") + memory("L2", "enabled: True") + mac));
    BOOST_TEST(evaluate_tensors(level(q, "L1").may_keep, q.symbols) == 0);
    BOOST_TEST(evaluate_tensors(level(q, "L2").may_keep, q.symbols) == 0b111);
    BOOST_TEST(evaluate_tensors(level(q, "L2").keep, q.symbols) == 0);
}

BOOST_AUTO_TEST_CASE(scales_multiply) {
    const Path p = path(read(
        dram +
        "  - !Memory\n"
        "    name: GLB\n"
        "    size: 64\n"
        "    energy_scale: 2\n"
        "    throughput_scale: 4\n"
        "    n_parallel_instances: 3\n"
        "    leak_power: 7\n"
        "    leak_power_scale: 0.5\n"
        "    actions_scale: 5\n"
        "    actions:\n"
        "    - {name: read, energy: 1, energy_scale: 10, throughput: 2, throughput_scale: 0.5}\n"
        "    - {name: write, energy: 3, latency: 0.25}\n" +
        mac));
    const PathLevel& glb = level(p, "GLB");
    BOOST_TEST(glb.actions[0].energy_j == 20);
    BOOST_TEST(glb.actions[0].throughput_per_s == 12);
    BOOST_TEST(glb.actions[1].energy_j == 6);
    BOOST_TEST(glb.actions[1].throughput_per_s == 48);
    BOOST_TEST(glb.actions_scale == 5);
    BOOST_TEST(leak(p, "GLB").leak_power_w == 10.5);
    BOOST_TEST(run(glb.latency, {12, 48}) == 2);
}

BOOST_AUTO_TEST_CASE(latency_scale_is_the_inverse_of_throughput_scale) {
    const Path p = path(read(dram + memory("GLB", "latency_scale: 4") + mac));
    BOOST_TEST(level(p, "GLB").actions[0].throughput_per_s == 0.25);
}

BOOST_AUTO_TEST_CASE(a_dummy_costs_nothing) {
    const Path p = path(read(dram + "  - !Memory {name: GLB, component_class: Dummy, size: 8}\n"
                                    "  - !Compute {name: MAC, component_class: Dummy}\n"));
    BOOST_TEST(level(p, "GLB").actions.size() == 2);
    BOOST_TEST(level(p, "GLB").actions[1].energy_j == 0);
    BOOST_TEST(run(level(p, "GLB").latency, {100, 100}) == 0);
    BOOST_TEST(leak(p, "MAC").leak_power_w == 0);
    // What is written all the same counts.
    const Path q =
        path(read(dram +
                  "  - !Memory {name: GLB, component_class: Dummy, size: 8, leak_power: 3,"
                  " actions: [{name: read, energy: 2}]}\n" +
                  mac));
    BOOST_TEST(leak(q, "GLB").leak_power_w == 3);
    BOOST_TEST(level(q, "GLB").actions[0].energy_j == 2);
    BOOST_TEST((level(q, "GLB").actions[0].throughput_per_s == infinity));
}

BOOST_AUTO_TEST_CASE(values_per_action_has_three_sources) {
    const Path p =
        path(read(dram +
                  "  - !Memory\n"
                  "    name: GLB\n"
                  "    size: 64\n"
                  "    bits_per_value: {A: 32}\n"
                  "    bits_per_action: 64\n"
                  "    values_per_action: {W: 5}\n"
                  "    actions:\n"
                  "    - {name: read, energy: 1, throughput: 1, bits_per_action: 128}\n"
                  "    - {name: write, energy: 1, throughput: 1, values_per_action: {W | Z: 9}}\n" +
                  mac));
    const PathLevel& glb = level(p, "GLB");
    BOOST_TEST(glb.bits_per_value == (std::vector<double>{32, 4, 16}),
               boost::test_tools::per_element());
    BOOST_TEST(glb.actions[0].values_per_action == (std::vector<double>{4, 5, 8}),
               boost::test_tools::per_element());
    BOOST_TEST(glb.actions[1].values_per_action == (std::vector<double>{2, 9, 9}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(latency_expressions_see_actions_variables_and_own_fields) {
    const auto latency = [](const std::string& text) {
        const Path p =
            path(read(dram + memory("GLB", "actions_scale: 2, total_latency: '" + text + "'") + mac,
                      {}, "variables: {BANKS: 32}\n"));
        return run(level(p, "GLB").latency, {64, 128});
    };
    BOOST_TEST(latency("sum(a.n_calls for a in actions) / BANKS") == 6);
    BOOST_TEST(latency("max(a.n_calls / a.throughput for a in actions) + 1") == 129);
    BOOST_TEST(latency("ceil(actions[\"read\"].n_calls / 5) * actions_scale") == 26);
    BOOST_TEST(latency("0") == 0);
    BOOST_CHECK_THROW(latency("-1"), UserError);
    BOOST_CHECK_THROW(latency("All"), UserError);
    BOOST_CHECK_THROW(latency("max_hops"), UserError);
}

BOOST_AUTO_TEST_CASE(networks_have_hops_and_link_traffic) {
    const std::string network =
        "  - !Network\n"
        "    name: NoC\n"
        "    topology: all_to_all\n"
        "    bits_per_action: 4\n"
        "    actions: [{name: hop, energy: 1, latency: 3, throughput: 2}]\n";
    const Path p = path(read(dram + network + mac));
    const PathLevel& noc = level(p, "NoC");
    BOOST_TEST((noc.topology == Topology::all_to_all));
    BOOST_TEST(run(noc.latency, {100}, 5, 8) == 15);
    BOOST_TEST(run(noc.latency, {100}, 5, 80) == 40);
    BOOST_TEST(noc.actions_per_value == (std::vector<double>{2, 1, 4}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(toll_directions_cover_all_tensors) {
    const auto toll = [](const std::string& direction) {
        return dram + "  - !Toll {name: T, direction: " + direction +
               ", actions: [{name: read, energy: 1, throughput: 1}]}\n" + mac;
    };
    const Path p = path(read(toll("{input: down, Other: up}")));
    BOOST_TEST((level(p, "T").direction[0] == Direction::down));
    BOOST_TEST((level(p, "T").direction[1] == Direction::up));
    BOOST_TEST(
        (level(path(read(toll("up_and_down"))), "T").direction[2] == Direction::up_and_down));
    check_error(toll("{input: down}"), "no direction is given for tensor 'W'");
    check_error(toll("sideways"), "unknown direction: 'sideways'");
    check_error(toll("{A: up, input: down}"), "is in two keys");
}

BOOST_AUTO_TEST_CASE(spatial_dimensions_and_reuse) {
    const Path p = path(read(
        dram +
        container("PE",
                  "{name: X, fanout: 4, reuse: input, min_usage: 0.5, usage_scale: 2},"
                  "{name: Y, fanout: 2, may_reuse: ~output, power_gateable: True},"
                  "{name: Z, fanout: 1 + 1, loop_bounds: [{expression: ~m, operator: ==, value: 1},"
                  "{expression: input.rank_variables, operator: product<=, value: 4}]}") +
        mac));
    const std::vector<PathDim>& dims = level(p, "PE").spatial;
    BOOST_TEST(dims[0].reuse == 0b001);
    BOOST_TEST(dims[0].may_reuse == 0b001);
    BOOST_TEST(dims[0].min_usage == 0.5);
    BOOST_TEST(dims[0].usage_scale == 2);
    BOOST_TEST(dims[1].may_reuse == 0b011);
    BOOST_TEST(dims[1].reuse == 0);
    BOOST_TEST(dims[1].power_gateable);
    BOOST_TEST(dims[2].may_reuse == 0b111);
    BOOST_TEST(dims[2].loop_bounds[0].variables == 0b101);
    BOOST_TEST((dims[2].loop_bounds[0].op == LoopBound::Op::equal));
    BOOST_TEST(!dims[2].loop_bounds[0].product);
    BOOST_TEST(dims[2].loop_bounds[1].variables == 0b011);
    BOOST_TEST(dims[2].loop_bounds[1].product);
    BOOST_TEST((dims[2].loop_bounds[1].op == LoopBound::Op::less_equal));
}

BOOST_AUTO_TEST_CASE(what_may_pass_a_memory_by_need_not_be_kept) {
    const auto glb = [](const std::string& fields) {
        return path(read(dram + memory("GLB", "on_overflow: bypass, " + fields) + mac));
    };
    const Path both = glb("tensors: {keep: A, may_keep: W if DRAM.actions_scale == 1 else A}");
    BOOST_TEST(evaluate_tensors(level(both, "GLB").keep, both.symbols) == 0);
    BOOST_TEST(evaluate_tensors(level(both, "GLB").may_keep, both.symbols) == 0b011);
    BOOST_TEST(level(both, "GLB").bypass_on_overflow);
    const Path kept = glb("tensors: {keep: A}");
    BOOST_TEST(evaluate_tensors(level(kept, "GLB").keep, kept.symbols) == 0);
    BOOST_TEST(evaluate_tensors(level(kept, "GLB").may_keep, kept.symbols) == 0b001);
    const Path free = glb("enabled: True");
    BOOST_TEST(evaluate_tensors(level(free, "GLB").may_keep, free.symbols) == 0b111);
    const Path off = path(read(dram + memory("GLB", "on_overflow: invalid") + mac));
    BOOST_TEST(!level(off, "GLB").bypass_on_overflow);

    check_error(dram + memory("GLB", "on_overflow: bypas") + mac, "did you mean 'bypass'?");
    check_error(memory("GLB", "on_overflow: bypass") + mac,
                "nothing can pass by the outermost memory 'GLB'");
    check_error(dram + memory("GLB", "on_overflow: bypass, tensors: {keep: A, may_keep: B}") + mac,
                "unknown name 'B'");
}

BOOST_AUTO_TEST_CASE(unknown_set_names_are_errors_unless_compatible) {
    const Architecture architecture =
        read(dram + container("PE", "{name: X, fanout: 4, may_reuse: AWeight}") + mac);
    BOOST_CHECK_THROW(path(architecture), spec::UnknownName);
    // The text stays a text, and A is part of it.
    BOOST_TEST(level(path(architecture, 0, "MAC", Compat::accelforge), "PE").spatial[0].may_reuse ==
               0b011);
    check_error(dram + memory("GLB", "tensors: {keep: wieght}") + mac, "did you mean 'weight'?");
}

BOOST_AUTO_TEST_CASE(computes_are_chosen_by_condition_and_position) {
    const Architecture architecture = read(
        dram + "  - !Compute {name: Scalar, enabled: len(All) == 2, component_class: Dummy}\n" +
        memory("Register", "enabled: len(All) == 3") +
        "  - !Compute {name: MAC, enabled: len(All) == 3, component_class: Dummy}\n");
    BOOST_TEST(architecture.compute_names().size() == 2);
    BOOST_TEST(architecture.component_names().size() == 4);
    BOOST_TEST(path(architecture, 0, "Scalar").levels.size() == 2);
    BOOST_TEST(!path(architecture, 0, "Scalar").compute().enabled);
    BOOST_TEST(path(architecture, 1, "Scalar").compute().enabled);
    BOOST_TEST(path(architecture, 0, "MAC").levels.size() == 3);
    BOOST_TEST(!level(path(architecture, 1, "MAC"), "Register").enabled);
}

BOOST_AUTO_TEST_CASE(forks_are_side_branches) {
    const std::string nodes =
        dram +
        "  - !Fork\n"
        "    forked_power_gateable: True\n"
        "    non_forked_power_gateable: True\n"
        "    nodes:\n"
        "    - !Container {name: Lanes, spatial: [{name: X, fanout: 2}]}\n"
        "    - !Compute {name: Vector, leak_power: 1, actions: [{name: compute, energy: 1, "
        "throughput: 1}]}\n"
        "  - !Hierarchical\n"
        "    nodes:\n"
        "    - !Container {name: PE, spatial: [{name: X, fanout: 8, power_gateable: True}]}\n"
        "  - !Compute {name: MAC, leak_power: 1, actions: [{name: compute, energy: 1, throughput: "
        "1}]}\n";
    const Architecture architecture = read(nodes);
    const Path main_path = path(architecture, 0, "MAC");
    BOOST_TEST(main_path.levels.size() == 3);
    BOOST_TEST(leak(main_path, "Vector").off);
    BOOST_TEST(leak(main_path, "Vector").leak_power_w == 2);
    BOOST_TEST(!leak(main_path, "MAC").off);
    BOOST_TEST(leak(main_path, "MAC").leak_power_w == 8);
    BOOST_REQUIRE(leak(main_path, "MAC").gates.size() == 1);
    BOOST_TEST(leak(main_path, "MAC").gates[0].level == main_path.find_level("PE"));
    const Path side_path = path(architecture, 0, "Vector");
    BOOST_TEST(side_path.levels.size() == 3);
    BOOST_TEST(!leak(side_path, "Vector").off);
    BOOST_TEST(leak(side_path, "MAC").off);
    BOOST_TEST(leak(side_path, "MAC").gates[0].level == -1);
}

BOOST_AUTO_TEST_CASE(own_dimensions_do_not_multiply_own_leak) {
    const Path p =
        path(read(dram + memory("GLB", "leak_power: 3, spatial: [{name: X, fanout: 4}]") +
                  memory("L1", "leak_power: 3") + mac));
    BOOST_TEST(leak(p, "GLB").leak_power_w == 3);
    BOOST_TEST(leak(p, "L1").leak_power_w == 12);
}

BOOST_AUTO_TEST_CASE(arrays_place_their_memories) {
    const std::string nodes = dram +
                              "  - !Array\n"
                              "    name: Grid\n"
                              "    spatial: [{name: X, fanout: 4}, {name: Y, fanout: 2}]\n"
                              "    nodes:\n"
                              "    - !Memory {name: Row, component_class: Dummy, size: 8, spatial: "
                              "[{name: X, fanout: 2}]}\n"
                              "    - !Network {name: NoC, component_class: Dummy}\n" +
                              mac;
    const Path p = path(read(nodes));
    BOOST_TEST(p.levels.size() == 5);
    const PathLevel& row = level(p, "Row");
    BOOST_TEST(row.spatial.empty());
    BOOST_TEST(row.distributed());
    BOOST_TEST(row.physical[0].fanout == 2);
    BOOST_TEST(row.physical[0].stride == 2);
    BOOST_TEST((p.levels[3].kind == LevelKind::array));
    BOOST_TEST(p.levels[3].cumulative_fanout == 8);
    BOOST_TEST(row.cumulative_fanout == 1);
    check_error(
        dram +
            "  - !Array {name: G, spatial: [{name: X, fanout: 2}], nodes: [!Memory {name: R, "
            "component_class: Dummy, size: 8, spatial: [{name: X, fanout: 4}]}]}\n" +
            mac,
        "more instances than array 'G' has places");
}

BOOST_AUTO_TEST_CASE(fields_refer_to_other_components_and_sets) {
    const std::string glb = memory("GLB", "tensors: {keep: A if DRAM.actions_scale == 1 else W}");
    const std::string l1 =
        "  - !Memory {name: L1, size: GLB.size // 4 + weight.bits_per_value, component_class: "
        "Dummy}\n";
    const Path p = path(read(dram + glb + l1 + mac));
    BOOST_TEST(level(p, "L1").size_bits == 20);
    BOOST_TEST(evaluate_tensors(level(p, "GLB").keep, p.symbols) == 1);
    BOOST_TEST(spec::Expression::parse_text("L1.size", {}).number(p.symbols) == 20);
    check_error(dram +
                    "  - !Memory {name: L1, size: L2.size, component_class: Dummy}\n"
                    "  - !Memory {name: L2, size: L1.size, component_class: Dummy}\n" +
                    mac,
                "is defined by itself");
}

BOOST_AUTO_TEST_CASE(variables_are_overridden) {
    const std::string nodes =
        dram + "  - !Memory {name: L1, size: KIB * 8, component_class: Dummy}\n" + mac;
    const std::string variables = "variables: {KIB: 4}\n";
    BOOST_TEST(level(path(read(nodes, {}, variables)), "L1").size_bits == 32);
    BOOST_TEST(level(path(read(nodes, {{"KIB", "2 * 8"}}, variables)), "L1").size_bits == 128);
}

BOOST_AUTO_TEST_CASE(structural_errors_are_named) {
    check_error(dram + dram + mac, "two nodes have this name: 'DRAM'");
    check_error(mac, "no memory stands before compute 'MAC'");
    check_error(dram, "the architecture has no compute");
    check_error("  - {name: X}\n", "the node has no kind");
    check_error("  - !Memroy {name: X}\n", "did you mean '!Memory'?");
    check_error(dram + memory("All", "area: 0") + mac, "the name of a set");
    check_error(dram + memory("A", "area: 0") + mac, "the name of a tensor");
    check_error(dram + memory("G", "tensors: {kep: All}") + mac, "did you mean 'keep'?");
    check_error(dram + container("PE", "{name: X, fanout: 0}") + mac,
                "expected an integer from 1 to 2147483647");
    check_error(dram + container("PE", "{name: X, fanout: 2.5}") + mac, "not an integer");
    check_error(dram + container("PE", "{name: X, fanout: 2, min_usage: 1.5}") + mac,
                "out of range");
    check_error(dram + "  - !Memory {name: G, size: 8}\n" + mac,
                "the action 'read' of 'G' is missing");
    check_error(dram + "  - !Memory {name: G, size: 8, actions: [{name: reed, energy: 1}]}\n" + mac,
                "did you mean 'read'?");
    check_error(dram + "  - !Compute {name: MAC, actions: [{name: compute, throughput: 1}]}\n",
                "the energy (J) of action 'compute' of 'MAC' is missing");
    check_error(dram + "  - !Memory {name: G, size: -1, component_class: Dummy}\n" + mac,
                "a.yaml:10:29: arch.nodes[1].size: out of range: '-1' (expected a number or inf "
                "from 0 to 1e+24)");
}

BOOST_AUTO_TEST_CASE(all_reference_architectures_are_read) {
    int n = 0;
    const workload::Workload workload = workload::load_workload(
        tessera::test::test_folder() + "/reference/accelforge/workload/ex_matmuls.yaml", {});
    for (const auto& entry : std::filesystem::directory_iterator(tessera::test::test_folder() +
                                                                 "/reference/accelforge/arch")) {
        BOOST_TEST_CONTEXT(entry.path()) {
            const Architecture architecture = load_architecture(entry.path().string(), {});
            BOOST_TEST(architecture.name() == entry.path().stem().string());
            for (const std::string& compute : architecture.compute_names()) {
                const Path p = architecture.path(workload, 0, compute, Compat::none);
                BOOST_TEST(p.compute().name == compute);
                BOOST_TEST(p.leaks.size() == architecture.component_names().size());
            }
            ++n;
        }
    }
    BOOST_TEST(n == 71);
}
