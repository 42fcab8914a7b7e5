"""Reading programs: small ones written by hand, and real ones of JAX on the CPU."""

import pytest

from keras_attention.compiling import hlo

# As a TPU's compiler writes it: operands without types, layouts with tiles
TPU = """HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[3,5]{1,0})->f32[3,5]}

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[]{:T(128)} parameter(0)
  %b = f32[]{:T(128)} parameter(1)
  ROOT %add.1 = f32[]{:T(128)} add(%a, %b)
}

%body (p.1: (s32[], f32[3,5])) -> (s32[], f32[3,5]) {
  %p.1 = (s32[]{:T(128)}, f32[3,5]{1,0:T(8,128)S(1)}) parameter(0)
  %x = f32[3,5]{1,0:T(8,128)S(1)} get-tuple-element(%p.1), index=1
  %i = s32[]{:T(128)} get-tuple-element(%p.1), index=0
  %all-reduce.1 = f32[3,5]{1,0:T(8,128)S(1)} all-reduce(%x), channel_id=1, to_apply=%sum
  ROOT %tuple.1 = (s32[]{:T(128)}, f32[3,5]{1,0:T(8,128)S(1)}) tuple(%i, %all-reduce.1)
}

%condition (p.2: (s32[], f32[3,5])) -> pred[] {
  %constant.1 = s32[]{:T(128)} constant(7)
  %p.2 = (s32[]{:T(128)}, f32[3,5]{1,0:T(8,128)S(1)}) parameter(0)
  %j = s32[]{:T(128)} get-tuple-element(%p.2), index=0
  ROOT %lt.1 = pred[]{:T(512)} compare(%j, %constant.1), direction=LT, metadata={op_name="while"}
}

ENTRY %main (q: f32[3,5], r: bf16[11]) -> f32[12,5] {
  %q = f32[3,5]{1,0:T(8,128)} parameter(0)
  %r = bf16[11]{0:T(256)} parameter(1)
  %zero = s32[]{:T(128)} constant(0)
  %start = (s32[]{:T(128)}, f32[3,5]{1,0:T(8,128)}) tuple(%zero, %q)
  %while.1 = (s32[]{:T(128)}, f32[3,5]{1,0:T(8,128)}) while(%start), condition=%condition, body=%body
  %y = f32[3,5]{1,0:T(8,128)} get-tuple-element(%while.1), index=1
  %several = (f32[3,5]{1,0:T(8,128)}, /*index=1*/bf16[11]{0:T(256)}) all-reduce(%y, %r), channel_id=2, to_apply=%sum
  %z = f32[3,5]{1,0:T(8,128)} get-tuple-element(%several), index=0
  %begun = (f32[3,5]{1,0:T(8,128)}, f32[12,5]{1,0:T(8,128)}) all-gather-start(%z), channel_id=3, dimensions={0}
  ROOT %done = f32[12,5]{1,0:T(8,128)} all-gather-done(%begun)
}
"""  # noqa: E501


def changed(before, after):
    assert before in TPU
    return TPU.replace(before, after)


def of_one_instruction(line):
    return f"HloModule one\n\nENTRY %main (x: f32[3]) -> f32[3] {{\n  {line}\n}}\n"


def test_collectives_are_counted_with_what_each_device_puts_in():
    reduced, gathered = hlo.collectives(TPU)
    # 7 times 3·5 numbers of 4 bytes in the loop; behind it once more, with 11 numbers of 2 bytes
    assert reduced == ("all-reduce", 2, 7 + 1, 7 * 60 + 60 + 22)
    # begun and done is one, and what goes in is a quarter of what comes out
    assert gathered == ("all-gather", 1, 1, 60)


def test_a_collective_in_the_condition_of_a_loop_is_met_as_often_as_the_loop_goes_round():
    there = "%stop = s32[]{:T(128)} all-reduce(%j), to_apply=%sum\n  ROOT %lt.1"
    (reduced, _) = hlo.collectives(changed("ROOT %lt.1", there))
    assert reduced.count == 3
    assert reduced.runs == 7 + 7 + 1


def test_a_loop_goes_round_as_often_as_xla_says_or_as_its_counter_is_held_to():
    assert hlo.loops(TPU) == [7]
    said = 'body=%body, backend_config={"known_trip_count":{"n":"13"}}'
    assert hlo.loops(changed("body=%body", said)) == [13]
    assert hlo.loops(changed("direction=LT", "direction=EQ")) == [None]


def test_a_loop_of_unknown_length_counts_once():
    (reduced, _) = hlo.collectives(changed("direction=LT", "direction=EQ"))
    assert reduced.runs == 2


def test_a_program_of_one_chip_has_no_collectives():
    assert hlo.collectives(of_one_instruction("ROOT %x = f32[3]{0} parameter(0)")) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("%a = (f32[3], token[]) infeed(%token)", ["infeed"]),
        ("%a = token[] outfeed(%x, %token), outfeed_shape=f32[3]{0}", ["outfeed"]),
        ("%a = (f32[3], u32[], token[]) send(%x, %token), channel_id=1", ["send"]),
        ("%a = (f32[3], token[]) recv-done(%r), channel_id=1", ["recv-done"]),
        (
            '%a = f32[3] custom-call(%x), custom_call_target="xla_ffi_python_cpu_callback"',
            ["xla_ffi_python_cpu_callback"],
        ),
        ('%a = f32[3] custom-call(%x), custom_call_target="MoveToHost"', ["MoveToHost"]),
        ('%a = (f32[3], s32[3]) custom-call(%x), custom_call_target="TopK"', []),
        ("%send.1 = f32[3] add(%infeed, %recv)", []),  # names are no opcodes
    ],
)
def test_what_needs_the_host_is_found(line, found):
    assert hlo.host_calls(of_one_instruction(line)) == found


def test_sizes_that_are_known_only_when_the_program_runs_are_found():
    assert hlo.dynamic_shapes(TPU) == []
    line = "ROOT %a = f32[<=3,5]{1,0} set-dimension-size(%x, %n), dimensions={0}"
    assert hlo.dynamic_shapes(of_one_instruction(line)) == ["f32[<=3,5]"]


@pytest.mark.parametrize(
    ("type", "size"),
    [
        ("f32[]", 4),
        ("bf16[3,5]{1,0:T(8,128)(2,1)S(1)}", 30),
        ("pred[7]", 7),
        ("s4[3]", 2),
        ("c64[2]", 16),
        ("f8e4m3fn[13]", 13),
        ("(f32[2]{0}, /*index=1*/u8[3]{0}, token[])", 11),
        ("f32[<=3,2]", 24),
    ],
)
def test_the_bytes_of_a_type(type, size):
    assert hlo.size_of(type) == size


def test_what_is_no_program_is_refused():
    with pytest.raises(ValueError, match=r"text must be HLO with an ENTRY computation, got 'horse"):
        hlo.host_calls("horse")


@pytest.fixture
def text_of():
    """Return a function that compiles another for the CPU with JAX and returns the program."""
    jax = pytest.importorskip("jax", reason="needs the extra jax")
    return lambda function, *arguments: jax.jit(function).lower(*arguments).compile().as_text()


def test_a_callback_of_jax_is_found(text_of):
    import jax
    import numpy as np

    def shouts(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1

    x = np.ones(3, "float32")
    (call,) = hlo.host_calls(text_of(shouts, x))
    assert "callback" in call
    assert hlo.host_calls(text_of(lambda x: x + 1, x)) == []


def test_the_loops_of_jax_are_found(text_of):
    import jax
    import numpy as np

    def loops(x):
        x, _ = jax.lax.scan(lambda x, _: (x @ x, None), x, None, length=11)
        return jax.lax.while_loop(lambda x: x.sum() < 5, lambda x: x @ x, x)

    found = hlo.loops(text_of(loops, np.ones((3, 3), "float32")))
    assert sorted(found, key=str) == [11, None]
