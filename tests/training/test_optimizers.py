import keras
import numpy as np
import pytest
from keras import ops

from keras_attention.layers import BagOfWords, LearnedPositions, MultiHeadAttention, NTMCell
from keras_attention.training import Adam, Muon, WarmUp
from keras_attention.training.optimizers import fold, is_matrix, orthogonal
from tests.numerics import as_numpy


def updated(optimizer, start, gradients):
    """Return a kernel after some steps."""
    variable = keras.Variable(start, dtype="float32", name="kernel")
    optimizer.build([variable])
    for gradient in gradients:
        optimizer.apply([keras.ops.convert_to_tensor(gradient, "float32")], [variable])
    return as_numpy(variable)


RATE, BETAS, EPSILON = 0.1, (0.9, 0.98), 1e-6


def adam_by_hand(start, gradients, amsgrad):
    """Kingma and Ba (2015) in float64, in Keras' order: ε stands beside √v, not √v̂."""
    weights, momentum, velocity, highest = start, 0, 0, 0
    for t, gradient in enumerate(gradients, start=1):
        momentum = BETAS[0] * momentum + (1 - BETAS[0]) * gradient
        velocity = BETAS[1] * velocity + (1 - BETAS[1]) * gradient**2
        highest = np.maximum(highest, velocity) if amsgrad else velocity
        rate = RATE * np.sqrt(1 - BETAS[1] ** t) / (1 - BETAS[0] ** t)
        weights = weights - rate * momentum / (np.sqrt(highest) + EPSILON)
    return weights


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("make", [Adam, Muon])
def test_a_token_that_repeats_has_the_sum_of_its_gradients(make, amsgrad):
    """Keras on TensorFlow adds their squares in place of squaring their sum."""
    factors = np.random.default_rng(7).normal(size=(3, 1, 4, 2))
    ids = np.array([[[1, 1, 3, 1]], [[3, 2, 2, 1]], [[1, 1, 2, 2]]])
    gradients = np.zeros((3, 5, 2))
    for t in range(3):
        np.add.at(gradients[t], ids[t], factors[t] / factors[t].size)
    start = np.random.default_rng(8).normal(size=(5, 2))
    embedding = keras.layers.Embedding(5, 2)
    model = keras.Sequential([keras.Input((4,), dtype="int32"), embedding])
    embedding.embeddings.assign(start)
    optimizer = make(RATE, beta_2=BETAS[1], epsilon=EPSILON, amsgrad=amsgrad)
    model.compile(optimizer, lambda factors, found: ops.mean(factors * found), jit_compile=False)
    for each in zip(ids, factors, strict=True):
        model.train_on_batch(*each)
    expected = adam_by_hand(start, gradients, amsgrad)
    np.testing.assert_allclose(as_numpy(embedding.embeddings), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("clip", ["clipnorm", "global_clipnorm", "clipvalue"])
def test_what_is_clipped_is_the_sum_of_the_gradients_of_a_token(clip):
    """Keras on TensorFlow clips the row of each token of the batch for itself."""
    embedding = keras.layers.Embedding(5, 2, embeddings_initializer="ones")
    model = keras.Sequential([keras.Input((4,), dtype="int32"), embedding])
    optimizer = Adam(0.0, beta_1=0.0, loss_scale_factor=8.0, **{clip: 0.5})
    model.compile(optimizer, lambda factors, found: ops.sum(factors * found), jit_compile=False)
    model.train_on_batch(np.array([[1, 1, 2, 1]]), np.full((1, 4, 2), 0.4, "float32"))
    gradient = np.zeros((5, 2))
    gradient[1], gradient[2] = 1.2, 0.4  # three times 0.4, and once
    is_value = clip == "clipvalue"
    expected = np.minimum(gradient, 0.5) if is_value else 0.5 * gradient / np.linalg.norm(gradient)
    (first_moment,) = [v for v in optimizer.variables if "momentum" in v.path]
    np.testing.assert_allclose(as_numpy(first_moment), expected, rtol=1e-5)


@pytest.mark.parametrize("jit_compile", [False, keras.backend.backend() != "torch"])
def test_adam_of_a_kernel_is_that_of_keras(jit_compile):
    """Weight decay, clipping, average and schedule included."""
    options = {"weight_decay": 0.1, "global_clipnorm": 0.5, "use_ema": True}
    x, y = np.random.default_rng(9).normal(size=(2, 16, 4)).astype("float32")
    found = []
    for make in (Adam, keras.optimizers.Adam):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
        model.compile(make(WarmUp(0.1, 3), **options), "mse", jit_compile=jit_compile)
        model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        found.append([as_numpy(each) for each in (*model.weights, *model.optimizer.variables)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a kernel of TensorFlow")
def test_on_tensorflow_a_step_of_adam_is_one_operation_for_each_variable():
    import tensorflow as tf

    variables = [keras.Variable(np.ones((3, 4), "float32")) for _ in range(2)]
    optimizer = Adam(0.1)
    optimizer.build(variables)
    step = tf.function(lambda: optimizer.apply([tf.ones((3, 4))] * 2, variables))
    arrays = [
        operation.type
        for operation in step.get_concrete_function().graph.get_operations()
        if any(output.shape == (3, 4) for output in operation.outputs)
        or operation.type.startswith("ResourceApply")
    ]
    assert {*arrays} <= {"Const", "Identity", "IdentityN", "Reshape", "ResourceApplyAdam"}
    assert arrays.count("ResourceApplyAdam") == 2


def polynomial_of_singular_values(matrix):
    """What five Newton–Schulz iterations do, in float64: they act on singular values alone."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    values = values / np.linalg.norm(matrix)
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return left @ np.diag(values) @ right


@pytest.mark.parametrize("shape", [(5, 5), (4, 9), (9, 4)])
def test_orthogonal_changes_the_singular_values_alone(shape):
    matrix = np.random.default_rng(1).normal(size=shape)
    ours = as_numpy(orthogonal(keras.ops.convert_to_tensor(matrix, "float32")))
    np.testing.assert_allclose(ours, polynomial_of_singular_values(matrix), rtol=1e-4, atol=1e-4)
    values = np.linalg.svd(ours, compute_uv=False)
    assert values.min() > 0.65
    assert values.max() < 1.25


def test_a_gradient_of_0_changes_nothing():
    start = np.random.default_rng(2).normal(size=(3, 4))
    np.testing.assert_array_equal(
        updated(Muon(0.1), start, [np.zeros((3, 4))]), start.astype("float32")
    )


def test_steps_of_a_matrix_are_those_by_hand():
    random = np.random.default_rng(3)
    start, *gradients = random.normal(size=(4, 3, 8))
    expected, moment = start, 0
    for gradient in gradients:
        moment = 0.95 * moment + gradient
        step = polynomial_of_singular_values(gradient + 0.95 * moment)
        expected = expected - 0.01 * 0.2 * np.sqrt(8) * step
    ours = updated(Muon(0.01), start, gradients)
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_a_kernel_of_heads_is_learned_as_the_matrix_that_it_is():
    random = np.random.default_rng(4)
    start, gradient = random.normal(size=(2, 6, 2, 3))
    ours = updated(Muon(0.01), start, [gradient])
    flat = updated(Muon(0.01), start.reshape(6, 6), [gradient.reshape(6, 6)])
    np.testing.assert_allclose(ours.reshape(6, 6), flat, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((4, 7), (4, 7)), ((8, 2, 4), (8, 8)), ((2, 4, 8), (8, 8)), ((8, 2, 8), (8, 16))],
)
def test_heads_belong_to_the_side_where_the_matrix_is_squarest(shape, expected):
    assert fold(shape) == expected


def test_biases_norms_and_embeddings_are_left_to_adam():
    random = np.random.default_rng(5)
    start, *gradients = random.normal(size=(4, 5))
    adam = keras.optimizers.Adam(0.01, beta_2=0.98, epsilon=1e-9)
    theirs = updated(adam, start, gradients)
    ours = updated(Muon(0.01, beta_2=0.98, epsilon=1e-9), start, gradients)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)  # PyTorch's Adam rounds otherwise
    embedding, attention = keras.layers.Embedding(7, 4), MultiHeadAttention(2, 2)
    embedding.build()
    attention.build((1, 3, 4), (1, 3, 4))
    assert not any(map(is_matrix, embedding.weights))
    kernels = [each.path.split("/")[-1] for each in attention.weights if is_matrix(each)]
    assert kernels == 4 * ["kernel"]  # query, key, value, output; not their biases, (H, K)
    places, words, start = LearnedPositions(7), BagOfWords(7, 4), NTMCell(3, 5, 4)
    for layer, shape in ((places, (1, 3, 4)), (words, (1, 3)), (start, (1, 4))):
        layer.build(shape)
    tables = [*places.weights, *words.weights, *(w for w in start.weights if w.shape[0] == 1)]
    assert len(tables) > 3
    assert not any(map(is_matrix, tables))  # a vector for each id; a first state


def test_weight_decay_spares_biases_and_norms():
    """A step without a gradient leaves (1 − λ lr) of a kernel and of an embedding."""
    parts = [
        keras.layers.Embedding(7, 4),
        MultiHeadAttention(2, 2),
        keras.layers.LayerNormalization(),
    ]
    for part, shapes in zip(parts, ([(1, 3)], 2 * [(1, 3, 4)], [(1, 3, 4)]), strict=True):
        part.build(*shapes)
    variables = [each for part in parts for each in part.trainable_variables]
    for each in variables:
        each.assign(np.ones(each.shape))
    optimizer = Muon(0.1, weight_decay=0.5)
    optimizer.apply([np.zeros(each.shape, "float32") for each in variables], variables)
    decayed = {"kernel", "embeddings"}
    for each in variables:
        expected = 0.95 if each.path.split("/")[-1] in decayed else 1.0
        np.testing.assert_allclose(as_numpy(each), expected, rtol=1e-6)
    assert len({each.path.split("/")[-1] for each in variables} - decayed) == 3


def test_weight_decay_spares_what_the_user_excludes_as_well():
    layer = keras.layers.SimpleRNN(3, use_bias=True)
    layer.build((None, 2, 3))
    layer.set_weights([np.ones(weights.shape) for weights in layer.get_weights()])
    optimizer = Muon(0.1, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_names=["recurrent"])
    variables = layer.trainable_variables
    optimizer.apply([np.zeros(each.shape, "float32") for each in variables], variables)
    for each, expected in zip(variables, (0.95, 1.0, 1.0), strict=True):
        np.testing.assert_allclose(as_numpy(each), expected, rtol=1e-6)


def test_it_is_saved_with_its_momentum(tmp_path):
    """A model goes on after it is loaded as if it had not been saved."""
    keras.utils.set_random_seed(1)
    x, y = np.random.default_rng(6).normal(size=(2, 16, 4)).astype("float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4)])
    model.compile(Muon(0.01, momentum=0.9), "mse")
    model.fit(x, y, epochs=2, shuffle=False, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.optimizer.get_config()["momentum"] == 0.9
    for each in (model, again):
        each.fit(x, y, epochs=1, shuffle=False, verbose=0)
    for ours, theirs in zip(again.weights, model.weights, strict=True):
        np.testing.assert_allclose(as_numpy(ours), as_numpy(theirs), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("momentum", [-0.1, 1.0])
def test_a_wrong_momentum_is_an_error(momentum):
    with pytest.raises(ValueError, match=f"momentum must be .* got {momentum}"):
        Muon(0.1, momentum=momentum)
