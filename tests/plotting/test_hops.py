import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from keras_attention.plotting import plot_hops

SENTENCES = ["Mary went home.", "John got $5_.", "Mary left.", "John went to the garden.", "So."]
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(5), size=3)
ASKED = {"question": "Where is John?", "answer": "garden"}


def texts(axes):
    return [text.get_text() for text in axes.figure.texts]


def test_sentences_are_rows_and_hops_columns(tmp_path):
    axes = plot_hops(SENTENCES, WEIGHTS, **ASKED, path=tmp_path / "hops.png")
    assert (tmp_path / "hops.png").read_bytes().startswith(b"\x89PNG")
    np.testing.assert_allclose(axes.images[0].get_array(), WEIGHTS.T)
    assert axes.images[0].get_clim() == (0, 1)
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert rows == [f"{number}  {text}" for number, text in enumerate(SENTENCES, start=1)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["hop 1", "hop 2", "hop 3"]
    assert texts(axes) == ["Where is John?  → garden"]
    assert not axes.patches


def test_facts_are_outlined_and_written_in_bold(tmp_path):
    axes = plot_hops(SENTENCES, WEIGHTS, **ASKED, facts=(1, 3), path=tmp_path / "hops.png")
    assert [patch.get_y() for patch in axes.patches] == [0.5, 2.5]
    weights = [label.get_fontweight() for label in axes.get_yticklabels()]
    assert [row for row, weight in enumerate(weights) if weight == "bold"] == [1, 3]
    assert texts(axes)[1] == "outlined: the facts that the answer follows from"


def test_a_wrong_answer_has_the_right_one_beside_it(tmp_path):
    for expected, end in (("garden", "→ garden"), ("home", "→ garden (right: home)")):
        axes = plot_hops(SENTENCES, WEIGHTS, **ASKED, expected=expected, path=tmp_path / "h.svg")
        assert texts(axes)[0].endswith(end)


def test_nothing_overlaps_nor_leaves_the_figure(tmp_path):
    for rows, hops in ((1, 1), (5, 3), (29, 7)):
        axes = plot_hops(
            [f"{SENTENCES[3]} {row}" for row in range(rows)],
            np.full((hops, rows), 1 / rows),
            question="Where was the football before the kitchen?",
            answer="garden",
            facts=(rows - 1,),
            path=tmp_path / "hops.png",
        )
        canvas = FigureCanvasAgg(axes.figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        boxes = [label.get_window_extent(renderer) for label in axes.get_yticklabels()]
        boxes += [text.get_window_extent(renderer) for text in axes.figure.texts]
        boxes += [label.get_window_extent(renderer) for label in axes.get_xticklabels()]
        boxes.append(axes.get_window_extent(renderer))
        for number, box in enumerate(boxes):
            assert not any(box.overlaps(other.shrunk(0.98, 0.98)) for other in boxes[:number])
        assert min(box.x0 for box in boxes) >= -1


def test_a_long_question_and_answer_leave_the_cells_as_they_are(tmp_path):
    cells = []
    for times in (1, 9):
        asked = {"question": "Where is John? " * times, "answer": "garden " * times}
        axes = plot_hops(SENTENCES, WEIGHTS, **asked, path=tmp_path / "hops.png")
        cells.append(axes.get_window_extent())
    assert cells[1].width == pytest.approx(cells[0].width, rel=0.05)
    assert cells[1].height == pytest.approx(cells[0].height, rel=0.05)
    renderer = FigureCanvasAgg(axes.figure).get_renderer()
    said = axes.figure.texts[0].get_window_extent(renderer)
    assert said.x1 < axes.figure.bbox.x1


def test_the_smallest_story_has_room(tmp_path):
    axes = plot_hops(["a"], [[1]], question="a", answer="c", facts=[0], path=tmp_path / "a.png")
    assert axes.get_window_extent().width / axes.figure.dpi > 0.3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": WEIGHTS.T}, r"weights must have shape \(T, S\) = \(5, 5\), got \(5, 3\)"),
        ({"weights": -WEIGHTS}, "weights must not be negative"),
        (
            {"sentences": [], "weights": np.ones((3, 0))},
            r"one hop and one sentence, .* got .*\(3, 0\)",
        ),
        ({"facts": (5,)}, r"positions of sentences, got weights \(3, 5\) and facts \[5\]"),
        ({"path": "hops.docx"}, "path must end in one of"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path, change, message):
    arguments = {"sentences": SENTENCES, "weights": WEIGHTS, **ASKED, **change}
    arguments["path"] = tmp_path / change.get("path", "x.png")
    with pytest.raises(ValueError, match=message):
        plot_hops(**arguments)
    assert list(tmp_path.iterdir()) == []
