// Errors of the library become the classes of tessera/_errors.py.
#include "bindings.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::python {

namespace {

void raise(const char* name, const py::tuple& arguments) {
    const py::object type = py::module_::import("tessera._errors").attr(name);
    const py::object error = type(*arguments);
    PyErr_SetObject(type.ptr(), error.ptr());
}

void raise(const char* name, const Error& error) {
    raise(name, py::make_tuple(error.what()));
}

/// Unknown parts of the position are None.
void raise_user_error(const UserError& error) {
    const Position where = error.position().value_or(Position{});
    const auto known = [](int number) { return number > 0 ? py::cast(number) : py::none(); };
    const py::object file = where.file.empty() ? py::none() : py::cast(where.file);
    raise("UserError", py::make_tuple(error.what(), file, known(where.line), known(where.column)));
}

void translate(std::exception_ptr thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const UserError& error) {
        raise_user_error(error);
    } catch (const IllegalMapping& error) {
        raise("IllegalMapping", error);
    } catch (const NoLegalMapping& error) {
        raise("NoLegalMapping", error);
    } catch (const LimitReached& error) {
        raise("LimitReached", error);
    } catch (const PluginError& error) {
        raise("PluginError", error);
    } catch (const base::Stopped&) {
        raise("Stopped", py::make_tuple("the search is stopped"));
    } catch (const Error& error) {
        raise("Bug", error);
    }
}

}  // namespace

void bind_errors(py::module_&) {
    py::register_exception_translator(&translate);
}

}  // namespace tessera::python
