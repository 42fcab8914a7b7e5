"""What the tests of the lab share."""

import pytest


def assert_is_drawn(path):
    """Require a picture that is not blank."""
    from matplotlib.image import imread

    pixels = imread(path)
    assert min(pixels.shape[:2]) > 50, path
    assert pixels[..., :3].std() > 0.01, f"{path} is blank"


@pytest.fixture
def performed_quickly(tmp_path):
    """Return a function that performs an experiment quickly, and checks what it left."""
    from keras_attention import lab

    def performed(name, **options):
        experiment = lab.EXPERIMENTS[name]
        report = lab.perform(
            name, experiment, tmp_path / name, quick=True, verbose=0, seed=1, **options
        )
        assert report == lab.Report.load(tmp_path / name)
        assert report.figures
        assert len({figure.name for figure in report.figures}) == len(report.figures)
        assert any(figure.bar for figure in report.figures)
        assert report.pictures
        for picture in report.pictures:
            assert_is_drawn(tmp_path / name / picture)
        return report

    return performed
