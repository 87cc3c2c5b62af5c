"""For which types kernels are compiled is written down: `python -m tests.kernel_versions`."""

from stratalog.kernels.cache import file_prefix
from stratalog.kernels.compiling import in_order
from stratalog.kernels.every import all_kernels
from stratalog.kernels.forms import called_by
from stratalog.kernels.versions import _parts, _read_type, write_type, written_versions


def test_every_kernel_has_a_version_and_no_other_name_has():
    assert set(written_versions()) == {file_prefix(place) for place in all_kernels()}


def test_types_are_read_as_they_are_written():
    for versions in written_versions().values():
        for version in versions:
            read = [_read_type(part) for part in _parts(version)]
            assert "; ".join(map(write_type, read)) == version


def test_a_kernel_comes_after_those_that_it_calls():
    seen = set()
    for place in in_order(all_kernels()):
        assert seen.issuperset(called_by(place))
        seen.add(place)


def test_rules_without_closures_need_no_kernel_of_closures():
    needed = in_order([("stratalog.kernels.plan.interpreter", "evaluate_all_rows")])
    modules = {module.removeprefix("stratalog.kernels.") for module, _ in needed}
    assert {module for module in modules if module.startswith("closure.")} == {"closure.steps"}
    assert ("stratalog.kernels.closure.steps", "no_closure") in needed
