// Whatever a plugin throws, in each of its calls and on any thread, is one error that names the
// plugin, the component and the call: the right one, where a mapper, a strategy and a model are at
// work together.
#include <boost/test/unit_test.hpp>

#include "abi/program.hpp"

using namespace tessera::abi_test;

namespace {

struct Case {
    const char* options;    ///< who takes part
    const char* component;  ///< who throws
    const char* role;
    const char* in;    ///< the call, as the knob names it
    const char* text;  ///< and as the message does
};

const Case cases[] = {
    {"--model throwing_model --mapper timeloop", "throwing_model", "cost model", "name",
     "failed in name()"},
    {"--model throwing_model", "throwing_model", "cost model", "has_formulas",
     "failed in has_formulas()"},
    {"--model throwing_model", "throwing_model", "cost model", "formulate",
     "failed in formulate()"},
    {"--model throwing_model", "throwing_model", "cost model", "evaluate", "failed in evaluate()"},
    {"--model throwing_model --mapper random --max-evals 100", "throwing_model", "cost model",
     "formulate", "failed in formulate()"},
    {"--model throwing_model --mapper throwing_mapper", "throwing_model", "cost model", "formulate",
     "failed in formulate()"},
    {"--model throwing_model --mapper throwing_strategy", "throwing_model", "cost model",
     "evaluate", "failed in evaluate()"},
    {"--model throwing_model", "throwing_model", "cost model", "create", "could not be created"},
    {"--mapper throwing_strategy", "throwing_strategy", "search strategy", "start",
     "failed in start()"},
    {"--mapper throwing_strategy", "throwing_strategy", "search strategy", "ask",
     "failed in ask()"},
    {"--mapper throwing_strategy", "throwing_strategy", "search strategy", "tell",
     "failed in tell()"},
    {"--mapper throwing_strategy", "throwing_strategy", "search strategy", "exhausted",
     "failed in exhausted()"},
    {"--mapper throwing_strategy", "throwing_strategy", "search strategy", "ends",
     "failed in ends()"},
    {"--mapper throwing_strategy", "throwing_strategy", "search strategy", "create",
     "could not be created"},
    {"--mapper throwing_mapper", "throwing_mapper", "mapper", "map", "failed in map()"},
    {"--mapper throwing_mapper", "throwing_mapper", "mapper", "create", "could not be created"},
};

Ran thrown(const Case& c, const std::string& what) {
    return run(tool() + " map -a eyeriss -w matmuls -D N_EINSUMS=1 -q --threads 3 --plugin " +
               plugin("throws") + " " + c.options + " --knob " + c.component + ".in=" + c.in +
               " --knob " + c.component + ".what=" + what);
}

std::string name_of(const Case& c) {
    return std::string("tessera: ") + c.role + " '" + c.component + "' of " + plugin("throws") +
           " " + c.text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_call_that_throws_is_named) {
    const std::pair<const char*, const char*> thrown_and_told[] = {
        {"error", ": out of ideas\n"},
        {"number", ": an exception of unknown type\n"},
        {"memory", ": std::bad_alloc\n"}};
    for (const Case& c : cases) {
        for (const auto& [what, told] : thrown_and_told) {
            const Ran ran = thrown(c, what);
            BOOST_TEST(ran.code == 3, c.options << " in " << c.in << ": " << ran.code);
            BOOST_TEST(ran.err == name_of(c) + told);
            BOOST_TEST(ran.out == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_bug_of_a_plugin_is_the_plugins) {
    for (const Case& c : {cases[2], cases[9], cases[14]}) {
        const Ran ran = thrown(c, "bug");
        BOOST_TEST(ran.code == 3);
        BOOST_TEST(ran.err.starts_with(name_of(c) + ": internal error: of the plugin"));
    }
}

// What a plugin throws where C++ lets nobody catch it.
BOOST_AUTO_TEST_CASE(the_end_of_the_process_is_explained) {
    const Case uncaught[] = {
        {"--model throwing_model", "throwing_model", "cost model", "destructor",
         "failed in its destructor, where nobody can catch it: out of ideas\n"},
        {"--mapper throwing_strategy", "throwing_strategy", "search strategy", "destructor",
         "failed in its destructor, where nobody can catch it: out of ideas\n"},
        {"--mapper throwing_mapper", "throwing_mapper", "mapper", "destructor",
         "failed in its destructor, where nobody can catch it: out of ideas\n"},
        {"--mapper throwing_mapper", "throwing_mapper", "mapper", "thread",
         "failed in map(), where nobody can catch it: out of ideas\n"}};
    for (const Case& c : uncaught) {
        const Ran ran = thrown(c, "error");
        BOOST_TEST(ran.code == 3, c.in << " of " << c.component << ": " << ran.code);
        BOOST_TEST(ran.err == name_of(c));
    }
}
