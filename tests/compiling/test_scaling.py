import pytest

from keras_attention.compiling.hlo import Collective
from keras_attention.compiling.scaling import estimate
from keras_attention.compiling.topologies import Generation, Topology
from keras_attention.compiling.tpu import Compiled

# 100 TFLOP/s, 500 GB/s to the memory, 200 GB/s to other chips
GENERATION = Generation(("2x2",), 16, 100, 500, 200)


def slice_of(chips, devices=None, generation=GENERATION):
    return Topology("made:up", [None] * (devices or chips), "made up", chips, 1, generation)


def compiled(flops, arguments, summed):
    return Compiled(
        "rnn",
        "training",
        arguments=arguments,
        output=arguments,
        matrix_flops=flops,
        collectives=(Collective("all-reduce", 1, 1, summed),),
    )


def test_a_step_is_what_takes_longer_and_the_talk():
    # 8e12 operations on 4 chips at a tenth of the peak: 0.2 s. 2e10 bytes in and out at 5e11: 0.08.
    # Of 1e9 bytes, 3/4 are sent and received twice: 3e9 bytes at 2e11 are 0.015 s.
    found = estimate(compiled(8e12, 2e10, 1e9), slice_of(4), utilization=0.1)
    assert found.computing == pytest.approx(0.2)
    assert found.memory == pytest.approx(0.08)
    assert found.summing == pytest.approx(0.015)
    assert found.seconds == pytest.approx(0.215)
    faster = estimate(compiled(8e12, 2e10, 1e9), slice_of(4), utilization=1.0)
    assert faster.seconds == pytest.approx(0.08 + 0.015)  # now the memory takes longer


def test_one_chip_talks_to_nobody():
    generation = GENERATION._replace(link=None)
    found = estimate(compiled(1e12, 1e9, 1e9), slice_of(1, generation=generation), utilization=0.5)
    assert found.summing == 0
    assert found.computing == pytest.approx(0.02)


def test_a_chip_of_two_devices_holds_and_says_twice_as_much():
    one = estimate(compiled(1e12, 1e9, 1e9), slice_of(4), utilization=0.5)
    two = estimate(compiled(1e12, 1e9, 1e9), slice_of(4, devices=8), utilization=0.5)
    assert two.memory == pytest.approx(2 * one.memory)
    assert two.summing == pytest.approx(2 * one.summing)
    assert two.computing == one.computing


@pytest.mark.parametrize("utilization", [0, 1.01, -1, float("nan")])
def test_a_utilization_that_is_no_fraction_is_an_error(utilization):
    with pytest.raises(ValueError, match="utilization must be above 0 and at most 1, got"):
        estimate(compiled(1, 1, 1), slice_of(4), utilization)


@pytest.mark.parametrize("generation", [None, GENERATION._replace(link=None)])
def test_unknown_links_are_an_error(generation):
    with pytest.raises(ValueError, match=r"for several chips, its links.* got made:up"):
        estimate(compiled(1, 1, 1), slice_of(4, generation=generation), 0.1)
