from surehold.planning.plans import CERTIFICATE_NAMES
from surehold.theory.certificates import CERTIFICATES


def test_the_names_a_plan_may_carry_are_those_of_the_registry():
    assert tuple(CERTIFICATES) == CERTIFICATE_NAMES
