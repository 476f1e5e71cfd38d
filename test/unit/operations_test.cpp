// What Einsums do at their points, on which compute, and running states of iterative ranks: what
// the readers make of them.
#include <boost/test/unit_test.hpp>

#include "spec/reader.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"

using namespace tessera;
using workload::StateAccess;

namespace {

workload::Workload read(const std::string& einsums) {
    return workload::read_workload(spec::expand_document(
        spec::read_text(
            std::string("workload:\n") +
                (einsums.find("[m") == std::string::npos ? "" : "  iterative_ranks: [M]\n") +
                "  rank_sizes: {M: 4, N: 2, P: 8}\n  bits_per_value: {All: 16}\n"
                "  einsums:\n" +
                einsums,
            "w.yaml"),
        {}));
}

std::string error_of(const std::string& einsums) {
    try {
        read(einsums);
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

arch::Architecture machine(const std::string& operations) {
    return arch::Architecture(
        spec::read_text("arch:\n  nodes:\n  - !Memory\n    name: DRAM\n    size: inf\n"
                        "    component_class: Dummy\n    tensors: {keep: All}\n"
                        "  - !Compute\n    name: Unit\n    energy_scale: 2\n"
                        "    n_parallel_instances: 4\n"
                        "    actions: [{name: compute, energy: 3, throughput: 10}]\n" +
                            operations,
                        "a.yaml"),
        {});
}

bool has(const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos;
}

const std::string update =
    "  - {einsum: \"R[M: m + 1, p] = max(R[m, p], A[m, p])\", operation: max}\n";
const std::string reader = "  - \"Z[m, p] = R[M: m + 1, p]\"\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(operations)

BOOST_AUTO_TEST_CASE(a_point_costs_the_sum_of_its_operations) {
    const auto w = read("  - {einsum: \"Y[p] = A[n, p]\", operation: {mac: 6, add: 2}}\n");
    BOOST_TEST(workload::operations_text(w.einsums[0].operations) == "6 mac + 2 add");
    const auto action = [&](const std::string& operations) {
        return machine(operations).path(w, 0, "Unit", arch::Compat::none).compute().actions[0];
    };
    // Eight times `compute`: 2 * 3 J, 4 * 10 per second.
    BOOST_TEST(action("").energy_j == 48);
    BOOST_TEST(action("").throughput_per_s == 5);
    // The scales of the component hold for its operations, too.
    const auto own = action("    operations: {mac: , add: {energy: 1, throughput: 5}}\n");
    BOOST_TEST(own.energy_j == 6 * 6 + 2 * 2);
    BOOST_TEST(std::abs(own.throughput_per_s - 1 / (6 / 40.0 + 2 / 20.0)) < 1e-12);
    // Without `operation` a point is one `compute`, whatever the compute lists.
    const auto plain = read("  - \"Y[p] = A[n, p]\"\n");
    const auto path = machine("    operations: [add]\n").path(plain, 0, "Unit", arch::Compat::none);
    BOOST_TEST(path.compute().enabled);
    BOOST_TEST(path.compute().actions[0].energy_j == 6);
}

BOOST_AUTO_TEST_CASE(a_compute_that_lacks_an_operation_is_not_enabled) {
    const auto w = read("  - {einsum: \"Y[p] = A[n, p]\", operation: {exp: 1, add: 1}}\n");
    const auto path =
        machine("    operations: [mac, add]\n").path(w, 0, "Unit", arch::Compat::none);
    BOOST_TEST(!path.compute().enabled);
    BOOST_TEST(path.refusal() == "'Unit' has no operation exp");
}

BOOST_AUTO_TEST_CASE(unknown_kinds_are_named_with_the_nearest) {
    const std::string einsum = error_of("  - {einsum: \"Y[p] = A[p]\", operation: devide}\n");
    BOOST_TEST(has(einsum, "devide"));
    BOOST_TEST(has(einsum, "divide"));
    BOOST_TEST(has(einsum, "w.yaml:5"));
    BOOST_TEST(has(error_of("  - {einsum: \"Y[p] = A[p]\", operation: {mac: 0}}\n"), "mac"));
    try {
        machine("    operations: {mac: , sqtr: }\n");
        BOOST_ERROR("no error");
    } catch (const UserError& error) {
        BOOST_TEST(has(error.what(), "sqtr"));
        BOOST_TEST(has(error.what(), "sqrt"));
    }
}

BOOST_AUTO_TEST_CASE(accesses_of_a_running_state) {
    const auto w = read("  - \"T[m, p] = S[m, p] * A[m, p]\"\n" + update +
                        "  - einsum: \"S[M: m + 1, p] = T[m, p] + R[M: m + 1, p]\"\n" +
                        "  - \"Z[p] = R[M: last, p] / S[M: last, p]\"\n");
    const auto access = [&](int einsum, const char* tensor) {
        const workload::EinsumView view = workload::view(w, einsum);
        return view.tensors.at(static_cast<std::size_t>(view.find_tensor(tensor)));
    };
    BOOST_TEST(bool(access(0, "S").state == StateAccess::previous));
    BOOST_TEST(bool(access(1, "R").state == StateAccess::update));
    BOOST_TEST(access(1, "R").output);
    BOOST_TEST(bool(access(2, "S").state == StateAccess::write));
    BOOST_TEST(bool(access(2, "R").state == StateAccess::next));
    BOOST_TEST(bool(access(3, "S").state == StateAccess::last));
    BOOST_TEST(bool(access(2, "T").state == StateAccess::none));
    // One state is kept at a time, and the last one is read once.
    BOOST_TEST(access(1, "R").size_values == 8);
    const workload::EinsumView last = workload::view(w, 3);
    BOOST_TEST(last.rank_variables.at(0).name == "m");
    BOOST_TEST(last.rank_variables.at(0).only_last);
    const workload::Tensor& s = w.tensors.at(static_cast<std::size_t>(w.find_tensor("S")));
    BOOST_TEST(s.previous_readers == std::vector<int>{0}, boost::test_tools::per_element());
    BOOST_TEST(s.consumers == std::vector<int>{3}, boost::test_tools::per_element());
    BOOST_TEST(s.intermediate());
}

BOOST_AUTO_TEST_CASE(what_reads_a_state_out_of_order_is_refused) {
    BOOST_TEST(error_of(update + reader) == "no error");
    // The older state is gone.
    BOOST_TEST(has(error_of(update + "  - \"Z[m, p] = R[m, p]\"\n"), "after Einsum 'R' has made"));
    // The new one is not there yet.
    BOOST_TEST(has(error_of(reader + update), "before Einsum 'R' produces it"));
    BOOST_TEST(
        has(error_of(update + "  - \"Z[m, p] = R[m, p] * R[M: m + 1, p]\"\n"), "two states"));
    BOOST_TEST(has(error_of(update), "no other Einsum reads"));
    BOOST_TEST(has(error_of(update + "  - \"Z[m, p] = R[M: m + 2, p]\"\n"), "no such index"));
    BOOST_TEST(has(error_of(update + "  - \"Z[m, p] = R[M: 2 * m, p]\"\n"), "no such index"));
    BOOST_TEST(has(error_of("  - \"Z[m, p] = A[M: m + 1, p]\"\n"), "no running state"));
    BOOST_TEST(has(error_of(update + "  - \"Z[m, p] = R[M: last, p] * A[m, p]\"\n"), "last state"));
    BOOST_TEST(has(error_of("  - \"Z[m] = A[m, p] * A[m, P: n]\"\n"), "occurs twice"));
}

BOOST_AUTO_TEST_SUITE_END()
