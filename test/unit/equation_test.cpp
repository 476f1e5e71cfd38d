// Equations: what the text of an Einsum says is kept, printed, and read back as
// the same Einsum; its operators are its operations where the file gives none.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "base/data_path.hpp"
#include "io/equation.hpp"
#include "spec/reader.hpp"
#include "spec/warnings.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/spec/directives.hpp"
#include "tessera/workload/workload.hpp"
#include "workload/customary_renames.hpp"

using namespace tessera;
using spec::Node;
using workload::Workload;

namespace {

Workload read_after(const std::string& head, const std::string& einsums) {
    return workload::read_workload(
        spec::expand_document(spec::read_text(head + einsums, "w.yaml"), {}));
}

Workload read(const std::string& einsums) {
    const bool two = einsums.find("n]") != std::string::npos;
    return read_after(std::string("workload:\n  rank_sizes: {M: 4") + (two ? ", N: 8" : "") +
                          "}\n  bits_per_value: {All: 8}\n  einsums:\n",
                      einsums);
}

Workload of_text(const std::string& text) {
    return read("  - \"" + text + "\"\n");
}

struct Case {
    std::string text;        ///< as io::equation() prints it
    std::string operations;  ///< what is derived
};

const std::vector<Case> understood = {
    {"Z[m] = A[m] + B[m]", "add"},
    {"Z[m] = A[m] - B[m]", "subtract"},
    {"Z[m] = A[m] / B[m]", "divide"},
    {"Z[m] = max(A[m], B[m])", "max"},
    {"Z[m] = min(A[m], B[m], C[m])", "2 min"},
    {"Z[m] = exp(A[m] - B[m])", "exp + subtract"},
    {"Z[m] = A[m] + B[m] + C[m]", "2 add"},
    {"Z[m] = A[m] + A[m]", "add"},
    {"Z[m] = A[m] ** 2", "power"},
    {"Z[m] = A[m] ^ B[m]", "power"},
    {"Z[m] = -A[m]", "negate"},
    {"Z[m] = relu(A[m])", "max"},
    {"Z[m] = A[m] + 1", "add"},
    {"Z[m] = 1 / A[m]", "divide"},
    {"Z[m] = A[m] - alpha", "subtract"},
    {"Z[m] = 1 / (1 + exp(-A[m]))", "add + divide + exp + negate"},
    // A product that is added to something.
    {"Z[m] = A[m] * B[m] + C[m]", "mac"},
    {"Z[m] = A[m] * B[m] + C[m] * D[m]", "mac + multiply"},
    {"Z[m] = (A[m] + B[m]) * C[m]", "add + multiply"},
    {"Z[m] = add(A[m] * B[m], C[m], D[m])", "add + mac"},
    {"Z[m] = 1e-3 * A[m] + B[m]", "mac"},
    // Reductions: what adds up is an operation, too.
    {"Z[m] = sum(A[m, n])", "add"},
    {"Z[m] = max(A[m, n])", "max"},
    {"Z[m] = A[m, n] + B[m, n]", "2 add"},
    {"Z[m] = max(A[m, n], B[m, n])", "2 max"},
    {"Z[m] = sum(exp(A[m, n] - B[m]))", "add + exp + subtract"},
    {"Z[m] = exp(A[m, n])", "add + exp"},
    {"Z[m] = (A[m, n] + B[m]) * C[n]", "add + mac"},
    // Products alone, and nothing, say nothing.
    {"Z[m] = A[m] * B[m]", ""},
    {"Z[m] = A[m, n] * B[n]", ""},
    {"Z[m] = sum(A[m, n] * B[n])", ""},
    {"Z[m] = 2 * A[m]", ""},
    {"Z[m] = A[m]", ""},
    {"Z[m] = sum(A[m])", ""},
};

struct Doubt {
    std::string text, said;
};

const std::vector<Doubt> doubted = {
    {"Z[m] = expp(A[m])", "the function 'expp' is unknown"},
    {"Z[m] = A[m] B[m]", "is not expected here"},
    {"Z[m] = (A[m] + B[m]", "')' is missing"},
    {"Z[m] = A[m] + * B[m]", "an operand is missing before '*'"},
    {"Z[m] = A[m] + ", "an operand is missing before the end"},
    {"Z[m] = sum(A[m, n]) / B[m]", "after a reduction"},
    {"Z[m] = log(sum(A[m, n]))", "after a reduction"},
};

/// Everything of an Einsum but where it stands.
std::string told(const Workload& w, int einsum) {
    const workload::Einsum& one = w.einsums[static_cast<std::size_t>(einsum)];
    std::string text = io::equation(w, einsum) + "; " + workload::operations_text(one.operations) +
                       (one.equation.gives_operations ? " derived" : "") + "; " +
                       spec::number_text(one.n_instances) + ";";
    std::vector<std::string> parts;
    for (const workload::TensorAccess& access : one.accesses) {
        const workload::Tensor& tensor = w.tensors[static_cast<std::size_t>(access.tensor)];
        parts.push_back(tensor.name + (access.output ? " out " : " ") +
                        std::to_string(static_cast<int>(access.state)) + " " +
                        spec::number_text(tensor.bits_per_value) + " " +
                        spec::number_text(tensor.size_values) + " " +
                        std::to_string(tensor.persistent));
    }
    for (const workload::Rename& rename : one.renames) {
        std::string names;
        for (const int t : rename.tensors) {
            names += " " + w.tensors[static_cast<std::size_t>(t)].name;
        }
        for (const int v : rename.rank_variables) {
            names += " " + w.rank_variables[static_cast<std::size_t>(v)].name;
        }
        parts.push_back(rename.name + names);
    }
    for (const int v : one.rank_variables) {
        const workload::RankVariable& variable = w.rank_variables[static_cast<std::size_t>(v)];
        parts.push_back(variable.name + "=" + std::to_string(variable.bound));
    }
    std::sort(parts.begin(), parts.end());
    for (const std::string& part : parts) {
        text += " " + part + ";";
    }
    return text;
}

void check_equal(const Workload& a, const Workload& b, const std::string& name) {
    BOOST_REQUIRE(a.einsums.size() == b.einsums.size());
    for (std::size_t e = 0; e < a.einsums.size(); ++e) {
        BOOST_TEST(told(a, static_cast<int>(e)) == told(b, static_cast<int>(e)), name);
    }
}

/// Einsums in file order, lists in the list flattened.
void collect(Node& node, std::vector<Node*>& einsums) {
    for (Node& item : node.items) {
        if (item.is_sequence()) {
            collect(item, einsums);
        } else {
            einsums.push_back(&item);
        }
    }
}

/// As printed, for the reader: copies are said by a key, further outputs by
/// accesses.
std::string printed(const Workload& w, std::size_t einsum) {
    std::string text = io::equation(w, static_cast<int>(einsum));
    const std::string copy = " (copy)";
    if (text.ends_with(copy)) {
        text.resize(text.size() - copy.size());
    }
    return text;
}

/// Puts what is printed in the place of what is written. \returns how many
/// Einsums were changed
std::size_t rewrite(Node& root, const Workload& w) {
    std::vector<Node*> einsums;
    collect(*root.find("workload")->find("einsums"), einsums);
    BOOST_REQUIRE(einsums.size() == w.einsums.size());
    std::size_t n = 0;
    for (std::size_t e = 0; e < einsums.size(); ++e) {
        Node& node = *einsums[e];
        const auto& accesses = w.einsums[e].accesses;
        const bool one_output = std::count_if(accesses.begin(), accesses.end(),
                                              [](const auto& a) { return a.output; }) == 1;
        if (!one_output) {
            continue;
        }
        if (node.is_scalar()) {
            node.text = printed(w, e);
        } else if (Node* const text = node.find("einsum")) {
            text->text = printed(w, e);
        } else {
            node.erase("tensor_accesses");
            node.insert("einsum", {}, Node::scalar(printed(w, e), {}, true));
        }
        ++n;
    }
    return n;
}

std::string random_text(std::mt19937& random, int depth) {
    static const std::vector<std::string> operators = {" + ", " - ", " * ", " / ", " ** "};
    static const std::vector<std::string> functions = {"max", "min", "exp", "sqrt", "sum", "gelu"};
    static const std::vector<std::string> operands = {"A[m, n]", "B[m]",  "C[N: m + 2*n]",
                                                      "2",       "1.5e3", "alpha"};
    const auto any = [&](const std::vector<std::string>& of) { return of[random() % of.size()]; };
    if (depth == 0) {
        return any(operands);
    }
    switch (random() % 5) {
        case 0:
            return any(functions) + "(" + random_text(random, depth - 1) + ")";
        case 1:
            return "(" + random_text(random, depth - 1) + any(operators) +
                   random_text(random, depth - 1) + ")";
        case 2:
            return "-" + random_text(random, depth - 1);
        default:
            return random_text(random, depth - 1) + any(operators) + random_text(random, depth - 1);
    }
}

arch::Architecture machine(const std::string& lists) {
    return arch::Architecture(
        spec::read_text("arch:\n  nodes:\n  - !Memory\n    name: DRAM\n    size: inf\n"
                        "    component_class: Dummy\n    tensors: {keep: All}\n"
                        "  - !Fork\n    nodes:\n    - !Compute\n      name: Vector\n"
                        "      actions: [{name: compute, energy: 5, throughput: 1}]\n" +
                            lists +
                            "  - !Compute\n    name: Array\n"
                            "    actions: [{name: compute, energy: 3, throughput: 1}]\n",
                        "a.yaml"),
        {});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(equations)

BOOST_AUTO_TEST_CASE(are_printed_as_written_and_say_their_operations) {
    for (const Case& one : understood) {
        const spec::HeardWarnings heard;
        const Workload w = of_text(one.text);
        BOOST_TEST(io::equation(w, 0) == one.text);
        BOOST_TEST(workload::operations_text(w.einsums[0].operations) == one.operations, one.text);
        BOOST_TEST(w.einsums[0].equation.gives_operations == !one.operations.empty(), one.text);
        BOOST_TEST(heard.lines().empty(), one.text);
    }
}

BOOST_AUTO_TEST_CASE(that_are_not_understood_are_one_compute_with_a_warning) {
    for (const Doubt& one : doubted) {
        const spec::HeardWarnings heard;
        const Workload w = of_text(one.text);
        BOOST_TEST(w.einsums[0].operations.empty(), one.text);
        BOOST_REQUIRE(heard.lines().size() == 1u);
        BOOST_TEST(heard.lines()[0].find(one.said) != std::string::npos, heard.lines()[0]);
        BOOST_TEST(heard.lines()[0].find("w.yaml:5:") == 0u, heard.lines()[0]);
    }
    const spec::HeardWarnings heard;
    read("  - {einsum: \"Z[m] = gelu(A[m])\", operation: exp}\n");  // it says what
                                                                    // is done
    BOOST_TEST(heard.lines().empty());
    of_text("2 * Z[m] = A[m]");
    BOOST_REQUIRE(heard.lines().size() == 1u);
    BOOST_TEST(heard.lines()[0].find("'2 *'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_the_file_gives_goes_before) {
    const Workload w = read("  - {einsum: \"Z[m] = A[m] + B[m]\", operation: mac}\n");
    BOOST_TEST(workload::operations_text(w.einsums[0].operations) == "mac");
    BOOST_TEST(!w.einsums[0].equation.gives_operations);
    BOOST_TEST(io::equation(w, 0) == "Z[m] = A[m] + B[m]");
    const Workload copy = read("  - {einsum: \"Z[m] = A[m]\", is_copy_operation: True}\n");
    BOOST_TEST(io::equation(copy, 0) == "Z[m] = A[m] (copy)");
}

// Blanks and line ends of a folded text are no part of it.
BOOST_AUTO_TEST_CASE(of_several_lines) {
    const Workload w = read("  - einsum: >-\n      Z[m]  =  A[m]\n      +   B[m]\n");
    BOOST_TEST(io::equation(w, 0) == "Z[m] = A[m] + B[m]");
}

BOOST_AUTO_TEST_CASE(of_einsums_without_text) {
    const std::string accesses =
        "tensor_accesses: [{name: A, projection: [m]}, "
        "{name: B, projection: [m]}, "
        "{name: Z, projection: [m], output: True}]";
    const auto print = [&](const std::string& operation) {
        return io::equation(read("  - {name: Z, " + accesses + operation + "}\n"), 0);
    };
    BOOST_TEST(print("") == "Z[m] = A[m] * B[m]");
    BOOST_TEST(print(", operation: add") == "Z[m] = A[m] + B[m]");
    BOOST_TEST(print(", operation: subtract") == "Z[m] = A[m] - B[m]");
    BOOST_TEST(print(", operation: max") == "Z[m] = max(A[m], B[m])");
    BOOST_TEST(print(", operation: {mac: 2, add: 1}") == "Z[m] = A[m], B[m]");
}

// Drawings draw equal branches once: those whose operators differ are not equal.
BOOST_AUTO_TEST_CASE(have_a_form_without_names) {
    const Workload w = read(
        "  - \"X[m] = A[m] + B[m] * C[m]\"\n  - \"Y[m] = D[m] + X[m] * C[m]\"\n"
        "  - \"Z[m] = A[m] - B[m] * C[m]\"\n");
    BOOST_TEST(io::equation_form(w, 0) == "[] + [] * []");
    BOOST_TEST(io::equation_form(w, 1) == io::equation_form(w, 0));
    BOOST_TEST(io::equation_form(w, 2) == "[] - [] * []");
}

BOOST_AUTO_TEST_CASE(of_running_states_name_the_state) {
    const std::string states =
        "workload:\n  iterative_ranks: [M]\n  rank_sizes: {M: 4, N: 8}\n"
        "  bits_per_value: {All: 8}\n  einsums:\n";
    const std::vector<std::string> texts = {
        "R[M: m + 1, n] = max(R[m, n], A[m, n])", "T[m, n] = S[m, n] + A[m, n]",
        "S[M: m + 1, n] = T[m, n] * R[M: m + 1, n]", "Z[n] = R[M: last, n] / S[M: last, n]"};
    std::string einsums;
    for (const std::string& text : texts) {
        einsums += "  - \"" + text + "\"\n";
    }
    const Workload w = read_after(states, einsums);
    for (std::size_t e = 0; e < texts.size(); ++e) {
        BOOST_TEST(io::equation(w, static_cast<int>(e)) == texts[e]);
    }
    BOOST_TEST(workload::operations_text(w.einsums[0].operations) == "max");
    BOOST_TEST(workload::operations_text(w.einsums[3].operations) == "divide");
}

BOOST_AUTO_TEST_CASE(of_all_shipped_workloads_are_read_back) {
    std::size_t changed = 0;
    for (const std::string& name : list_data("problem-shapes")) {
        const std::string path = find_data("problem-shapes", name).string();
        const std::vector<std::string> declared = spec::declared_variables(spec::load_tree(path));
        for (const spec::Defines& defines :
             {spec::Defines{}, {{"FULL", "1"}}, {{"CASCADE", "3"}}, {{"DECODE", "1"}}}) {
            if (!defines.empty() && std::find(declared.begin(), declared.end(),
                                              defines.begin()->first) == declared.end()) {
                continue;
            }
            const spec::HeardWarnings heard;
            spec::Document document = spec::load_document({path}, defines);
            const Workload before = workload::read_workload(document);
            changed += rewrite(document.root, before);
            check_equal(before, workload::read_workload(document), name);
            BOOST_TEST(heard.lines().empty(), name);
        }
    }
    BOOST_TEST(changed > 300u);
}

BOOST_AUTO_TEST_CASE(of_random_texts_are_read_back) {
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        const std::string text =
            "Z[m] = A[m, n] + " + random_text(random, static_cast<int>(random() % 5));
        const Workload w = of_text(text);
        BOOST_TEST(io::equation(w, 0) == text);
        check_equal(w, of_text(io::equation(w, 0)), text);
    }
}

// Who lists no operations does everything as before; who does, does as if the
// file gave them.
BOOST_AUTO_TEST_CASE(count_where_a_compute_lists_operations) {
    const Workload written = of_text("Z[m] = exp(A[m] - B[m])");
    const Workload given = read(
        "  - {einsum: \"Z[m] = A[m] * B[m]\", operation: "
        "{exp: 1, subtract: 1}}\n");
    const auto compute = [](const arch::Architecture& a, const Workload& w, const char* name) {
        return a.path(w, 0, name, arch::Compat::none).compute();
    };
    const arch::Architecture none = machine("");
    BOOST_TEST(compute(none, written, "Vector").actions[0].energy_j == 5);
    BOOST_TEST(compute(none, given, "Vector").actions[0].energy_j == 10);
    const arch::Architecture listed = machine("      operations: [exp, subtract]\n");
    for (const char* name : {"Vector", "Array"}) {
        BOOST_TEST(compute(listed, written, name).actions[0].energy_j ==
                   compute(listed, given, name).actions[0].energy_j);
    }
    const arch::Architecture lacks = machine("      operations: [subtract]\n");
    BOOST_TEST(!compute(lacks, written, "Vector").enabled);
    BOOST_TEST(lacks.path(written, 0, "Vector", arch::Compat::none).refusal() ==
               "'Vector' has no operation exp");
}

BOOST_AUTO_TEST_SUITE_END()
