"""The contestants do the same work: the same tokens, parameters, losses and translations."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from examples.benchmarks import keras_models
from examples.benchmarks.batches import Condition

SIZES = {
    "rnn": {"units": 16, "vocabulary": 211},
    "transformer": {
        "units": 16,
        "vocabulary": 211,
        "num_layers": 1,
        "num_heads": 2,
        "feed_forward_dim": 32,
    },
}
RIVALS = [("rnn", "PlainKeras"), ("rnn", "PyTorch"), ("transformer", "KerasHub")]
RIVALS += [("transformer", "PyTorch")]


@pytest.fixture(scope="module")
def pool(short_pairs):
    """Return the ids of 96 pairs."""
    from keras_attention.text import Vocabulary

    return [
        Vocabulary.learn((getattr(pair, side) for pair in short_pairs), 211).ids(
            getattr(pair, side) for pair in short_pairs[:96]
        )
        for side in ("context", "target")
    ]


def conditions_of_a_pass(pool):
    """Return a turn in which each pair comes once, in batches of 48 as they come."""
    return {"a pass": Condition(np.arange(len(pool[0])), 48, len(pool[0]) // 48)}


@pytest.fixture(scope="module")
def ours(pool):
    """Return for each model what this package's contestant counts, and its first two losses."""
    from keras_attention.corpora import Batches

    steps = len(Batches(*pool, 48))
    conditions = {"a pass": conditions_of_a_pass(pool)["a pass"]._replace(steps=steps)}
    found = {}
    for kind, sizes in SIZES.items():
        contestant = keras_models.ThisPackage(kind, sizes, pool, conditions)
        losses = [contestant.train("a pass") for _ in range(2)]
        found[kind] = contestant.count("a pass"), losses
    return found


def rival(kind, name, pool, conditions=None):
    """Make a rival, for batches as they come unless others are given."""
    conditions = conditions or conditions_of_a_pass(pool)
    if name == "PyTorch":
        pytest.importorskip("torch", reason="needs the extra torch")
        from examples.benchmarks.torch_models import PyTorch

        return PyTorch(kind, SIZES[kind], pool, conditions)
    if name == "KerasHub":
        pytest.importorskip("keras_hub")
    return getattr(keras_models, name)(kind, SIZES[kind], pool, conditions)


@pytest.mark.parametrize(("kind", "name"), RIVALS)
def test_a_rival_has_the_same_tokens_and_parameters_and_learns_alike(kind, name, pool, ours):
    counts, losses = ours[kind]
    contestant = rival(kind, name, pool)
    theirs = contestant.count("a pass")
    assert theirs["sentences"] == counts["sentences"] == 96
    assert theirs["target_tokens"] == counts["target_tokens"] == (pool[1] != 0).sum() - 96
    assert theirs["useful_operations"] == pytest.approx(counts["useful_operations"])
    assert theirs["parameters"] == counts["parameters"]

    # An untrained model guesses among all words, and what is learned from one pass is much alike
    their_losses = [contestant.train("a pass") for _ in range(2)]
    assert their_losses[0] == pytest.approx(np.log(211), rel=0.15)
    assert their_losses == pytest.approx(losses, rel=0.1)
    assert their_losses[1] < their_losses[0]
    assert losses[1] < losses[0]


@pytest.mark.parametrize(("kind", "name"), [("rnn", "ThisPackage"), *RIVALS])
def test_on_the_same_batches_all_have_the_same_places(kind, name, pool):
    from examples.benchmarks import batches

    conditions = {"a pass": Condition(np.arange(96), 24, 4, batches.SORTED)}
    counts = rival(kind, name, pool, conditions).count("a pass")
    turn = [
        batches.padded_to_longest(*pool, rows)
        for rows in batches.rows_of_a_turn(*pool, conditions["a pass"])
    ]
    assert counts["target_places"] == sum(labels.size for *_, labels in turn)
    assert counts["shapes"] == len({(c.shape, labels.shape) for c, _, labels in turn})


def test_the_recipe_is_what_train_trains(pool):
    from keras_attention.runs import Settings

    settings = Settings(model="transformer")
    conditions = {"a pass": Condition(np.arange(96), 48, 3)}
    recipe = keras_models.Recipe("transformer", SIZES["transformer"], pool, conditions)
    assert type(recipe.model.optimizer).__name__.lower() == settings.optimizer == "muon"
    assert recipe.model.optimizer.weight_decay == settings.weight_decay > 0
    assert recipe.model.get_layer("encoder").get_layer("encoder_layer_1").self_attention.norm_first
    for inputs, labels in recipe.datasets["a pass"].take(3).as_numpy_iterator():
        rows, longest = len(labels), max(each.shape[1] for each in inputs.values())
        assert rows * longest <= settings.batch_tokens < (rows + 16) * longest + 16 * longest
    assert recipe.train("a pass") == pytest.approx(np.log(211), rel=0.2)


def test_plain_keras_learns_the_same_from_its_own_loss_and_this_package_s(pool):
    own, ours = (rival("rnn", name, pool) for name in ("PlainKeras", "PlainKerasWithOurLoss"))
    for _ in range(2):
        assert own.train("a pass") == pytest.approx(ours.train("a pass"), rel=1e-4)
    reported = [
        {name.strip("_"): float(value) for name, value in each.model.get_metrics_result().items()}
        for each in (own, ours)
    ]
    assert reported[0] == pytest.approx(reported[1], rel=0.02)


def test_pytorch_in_bfloat16_has_nearly_the_same_loss(pool):
    pytest.importorskip("torch", reason="needs the extra torch")
    from examples.benchmarks.torch_models import PyTorch

    conditions = conditions_of_a_pass(pool)
    for kind, sizes in SIZES.items():
        exact, short = (
            PyTorch(kind, sizes, pool, conditions, bfloat16=bfloat16).train("a pass")
            for bfloat16 in (False, True)
        )
        assert short != exact
        assert short == pytest.approx(exact, rel=0.02)


def test_pytorch_has_the_cross_entropy_of_its_own_loss_smoothed_and_not():
    torch = pytest.importorskip("torch", reason="needs the extra torch")
    from examples.benchmarks.torch_models import losses_of

    logits = torch.randn(7, 13, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([3, 0, 12, 1, 0, 5, 7])
    for smoothing in (0.0, 0.1):
        found = [loss.item() for loss in losses_of(logits, labels, smoothing)]
        expected = [
            torch.nn.CrossEntropyLoss(ignore_index=0, label_smoothing=each)(logits, labels).item()
            for each in (smoothing, 0.0)
        ]
        assert found == pytest.approx(expected)


def test_the_choices_train_on_the_same_pairs_and_learn_alike(pool, ours):

    from examples.benchmarks import batches

    condition = conditions_of_a_pass(pool)["a pass"]._replace(steps=2)
    ways = (batches.TO_SHAPES, batches.TO_THE_LONGEST, batches.BY_TOKENS, batches.IN_MEMORY)
    conditions = {way: condition._replace(batched=way) for way in ways}
    common = {"kind": "rnn", "sizes": SIZES["rnn"], "pool": pool, "conditions": conditions}
    short = keras_models.ThisPackage(**common, dtype_policy="mixed_bfloat16")
    plain = keras_models.ThisPackage(**common, jit_compile=False)
    decoder = short.model.get_layer("decoder")
    assert decoder.get_layer("logits").compute_dtype == "bfloat16"
    assert not plain.model.jit_compile
    losses = [each.train(batches.TO_SHAPES) for each in (short, plain)]
    assert losses == pytest.approx([ours["rnn"][1][0]] * 2, rel=0.05)

    counts = {way: plain.count(way) for way in ways}
    assert counts[batches.IN_MEMORY] == counts[batches.TO_SHAPES]
    assert counts[batches.TO_THE_LONGEST]["sentences"] == 96
    longest = np.maximum(*((ids != 0).sum(1) for ids in pool))
    # Whole multiples of 16 with about as many tokens as 48 sentences have
    for inputs, _ in plain.datasets[batches.BY_TOKENS].take(2).as_numpy_iterator():
        assert len(inputs["context"]) % 16 == 0
        assert max(each.size for each in inputs.values()) <= 48 * longest.mean()
    assert plain.deliver(batches.IN_MEMORY, 4) == 2 * counts[batches.IN_MEMORY]["target_tokens"]


@pytest.fixture(scope="module")
def translators(tmp_path_factory):
    """Return folders of untrained Transformers that differ in all that a conversion must know."""
    import keras

    from keras_attention import models
    from keras_attention.text import SPECIAL_WORDS, Vocabulary
    from keras_attention.translation.translator import Translator

    words = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el")]
    vocabularies = Vocabulary([*SPECIAL_WORDS, *words[:83]]), Vocabulary([*SPECIAL_WORDS, *words])
    folders = {}
    # With these seeds an untrained model says something to every sentence.
    for name, seed, options in (
        ("post-norm", 0, {"tied": True}),
        ("pre-norm", 8, {"norm_first": True, "scale_embedding": False, "positions": "learned"}),
    ):
        keras.utils.set_random_seed(7)
        sizes = {"units": 24, "num_layers": 2, "num_heads": 3, "feed_forward_dim": 29}
        model = models.build_transformer(*map(len, vocabularies), **sizes, **options)
        random = np.random.default_rng(seed)
        for weights in model.trainable_weights:  # norms and biases that count
            weights.assign(weights + random.normal(scale=0.3, size=weights.shape))
        folders[name] = tmp_path_factory.mktemp("run") / "run"
        Translator(model, *vocabularies).save(folders[name])
    return folders, [" ".join(words[n : n + 1 + n % 7]) for n in range(60)]


@pytest.mark.parametrize("name", ["post-norm", "pre-norm"])
def test_ctranslate2_translates_as_the_package_does(name, translators, tmp_path):
    pytest.importorskip("ctranslate2")
    from examples.benchmarks.ctranslate2_model import Converter, CTranslate2
    from examples.benchmarks.decoders import ThisPackage

    folders, sentences = translators
    package = ThisPackage(folders[name], sentences)
    ids = package.inputs()
    Converter().convert(folders[name], tmp_path / "converted")
    rival = CTranslate2(tmp_path / "converted", "float32", ids)
    assert len(ids) == 60
    greedy = package.decode(60, None, 1, 11)
    assert rival.decode(60, None, 1, 11) == rival.decode(60, 1, 1, 11) == greedy
    assert len(set(map(tuple, greedy))) > 4  # not one answer for all
    # The two searches keep what has ended in different ways
    searched = zip(rival.decode(60, None, 3, 11), package.decode(60, None, 3, 11), strict=True)
    assert sum(theirs == ours for theirs, ours in searched) > 45


def test_the_loop_over_the_prefix_translates_as_the_package_does(translators):
    from examples.benchmarks.decoders import ThisPackage

    folders, sentences = translators
    package = ThisPackage(folders["post-norm"], sentences)
    assert package.loop(13, 5, 9) == package.decode(13, None, 1, 9) == package.decode(13, 1, 1, 9)


def test_what_is_no_transformer_is_not_converted(tmp_path):
    pytest.importorskip("ctranslate2")
    from examples.benchmarks.ctranslate2_model import Converter
    from keras_attention import models
    from keras_attention.text import SPECIAL_WORDS, Vocabulary
    from keras_attention.translation.translator import Translator

    vocabularies = [Vocabulary(SPECIAL_WORDS)] * 2
    Translator(models.build_rnn_attention(4, 4, units=2), *vocabularies).save(tmp_path / "run")
    with pytest.raises(ValueError, match="needs a Transformer"):
        Converter().convert(tmp_path / "run", tmp_path / "converted")
    assert not (tmp_path / "converted").exists()


def test_a_model_that_never_ends_writes_as_many_tokens_as_it_is_asked_for():
    from examples.benchmarks.endless import Endless

    endless = Endless("rnn", SIZES["rnn"])
    assert endless.decode(5, 13, 3) == 3 * 13
    assert np.isfinite(endless.train(5, 7, 3))


def test_a_model_that_never_ends_does_so_with_a_beam():
    from examples.benchmarks.endless import Endless

    assert Endless("rnn", SIZES["rnn"]).decode(5, 13, 3, 2) == 3 * 13


@pytest.mark.extra("jax")
@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_a_compiled_step_takes_the_memory_that_it_must_keep_and_at_most_four_times_as_much(kind):
    from examples.benchmarks import footprint
    from examples.benchmarks.workers import started

    arguments = {"kind": kind, "sizes": SIZES[kind]}
    with started({kind: ("endless", "Compiler", arguments)}) as workers:
        for call in ((8, 8, 64), (128, 8, 64), (8, 128, 64)):
            for work in ("train", "decode"):
                least = footprint.of_step(work, kind, SIZES[kind], *call)
                assert 0.95 < workers[kind].ask(work, *call) / least < 4, (work, call)


@pytest.mark.parametrize("name", ["ThisPackage", "KerasHub", "PyTorch"])
def test_no_contestant_drops_anything_in_training(name, pool):
    contestant = rival("transformer", name, pool)
    context, target = (ids[:5] for ids in pool)
    if name == "PyTorch":
        import torch

        ids = [torch.from_numpy(each).to(contestant.on).long() for each in (context, target)]
        one, other = (contestant.model.train()(*ids).detach().cpu().numpy() for _ in range(2))
    else:
        import keras

        inputs = {"context": context, "target": target}
        one, other = (
            keras.ops.convert_to_numpy(contestant.model(inputs, training=True)) for _ in range(2)
        )
    np.testing.assert_allclose(one, other, atol=1e-5)
