import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from recovery.errors import DataError, ParameterError
from recovery.instances.ensembles import ENSEMBLES, Correlated, Gaussian, Mixture, StandardCorrelated, StudentT
from recovery.instances.files import File, read_columns

DRAWN = sorted(set(ENSEMBLES) - {"file"})
UNIT = ["gaussian", "rademacher", "uniform", "student_t", "correlated"]
LEVEL = 1e-4


@given(st.sampled_from(DRAWN), st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**31))
def test_every_ensemble_draws_a_finite_matrix_of_its_shape_from_the_stream_alone(name, n, d, seed):
    ensemble = ENSEMBLES[name]()
    X = ensemble.draw(np.random.default_rng(seed), n, d)
    assert X.shape == (n, d)
    assert np.isfinite(X).all()
    assert (ensemble.draw(np.random.default_rng(seed), n, d) == X).all()


@pytest.mark.parametrize("name", UNIT)
def test_entries_have_mean_zero_and_variance_one_over_n(name):
    n, d, draws = 20, 5, 400
    rng = np.random.default_rng(1)
    squares = np.array([np.square(ENSEMBLES[name]().draw(rng, n, d)).sum() / d for _ in range(draws)])
    spread = squares.std() / np.sqrt(draws)
    assert abs(squares.mean() - 1.0) <= stats.norm.isf(LEVEL / 2) * max(spread, 1e-15)


def test_cubic_gaussian_has_the_sixth_moment_of_the_normal_law():
    n, draws = 10, 4000
    rng = np.random.default_rng(2)
    squares = np.square(ENSEMBLES["cubic_gaussian"]().draw(rng, draws, n) * draws**1.5)
    error = abs(squares.mean() - 15.0)
    assert error <= stats.norm.isf(LEVEL / 2) * squares.std() / np.sqrt(squares.size)


@pytest.mark.parametrize("name", ["haar", "whitened_cubic"])
@pytest.mark.parametrize(("n", "d"), [(12, 5), (5, 12), (7, 7)])
def test_whitened_ensembles_have_orthonormal_columns_or_rows(name, n, d):
    X = ENSEMBLES[name]().draw(np.random.default_rng(3), n, d)
    gram = X.T @ X if n >= d else X @ X.T
    assert np.abs(gram - np.eye(min(n, d))).max() < 1e-12


def test_gaussian_entries_pass_a_kolmogorov_smirnov_test():
    X = Gaussian().draw(np.random.default_rng(4), 50, 40)
    assert stats.kstest(X.ravel() * np.sqrt(50), "norm").pvalue > LEVEL


def test_correlated_rows_have_the_toeplitz_covariance():
    n, d = 20000, 4
    X = StandardCorrelated(rho=0.7).draw(np.random.default_rng(5), n, d)
    np.testing.assert_allclose(X, np.sqrt(n) * Correlated(rho=0.7).draw(np.random.default_rng(5), n, d))
    expected = 0.7 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    assert np.abs(X.T @ X / n - expected).max() <= stats.norm.isf(LEVEL / 32) * np.sqrt(2 / n)


def test_student_t_entries_have_their_law_at_variance_one_over_n():
    X = StudentT(df=3.0).draw(np.random.default_rng(6), 100, 100)
    assert stats.kstest(X.ravel() * np.sqrt(100 * 3.0), "t", args=(3.0,)).pvalue > LEVEL


def test_mixture_meets_the_same_means_at_every_sigma():
    low, high = (Mixture(means="sphere", sigma=s).draw(np.random.default_rng(7), 10, 4) for s in (0.0, 1.0))
    means = Mixture(means="sphere").draw_means(np.random.default_rng(7), 4)
    assert np.array_equal(low[:5], np.tile(means[0], (5, 1)))
    assert np.array_equal(low[5:], np.tile(means[1], (5, 1)))
    assert np.abs(high - low).max() > 0.1


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy"])
def test_a_file_gives_back_its_matrix(tmp_path, suffix):
    X = np.random.default_rng(8).standard_normal((6, 3))
    path = save(tmp_path / f"data{suffix}", X)
    assert np.array_equal(File(str(path)).draw(np.random.default_rng(0), 6, 3), X)
    rows = File(str(path)).draw(np.random.default_rng(0), 4, 2)
    assert all((X[:, :2] == row).all(axis=1).any() for row in rows)
    with pytest.raises(ParameterError, match="6 rows and 3 columns"):
        File(str(path)).draw(np.random.default_rng(0), 7, 3)


def test_a_csv_without_a_header_keeps_its_first_row(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("1,2\n3,4\n")
    assert np.array_equal(read_columns(path).X, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "x,y\n1,2\n3,\n", r"row 2, column 2 \(y\)"),
        ("a.csv", "x,y\n1,hello\n", "holds text, e.g. 'hello'"),
        ("a.csv", "", "cannot be read as csv"),
        ("a.npy", "not an array", "cannot be read as npy"),
        ("a.parquet", "not parquet", "cannot be read as parquet"),
        ("a.xlsx", "", "unknown file type"),
    ],
)
def test_bad_files_are_refused_with_the_reason(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_columns(path)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_numbers_whose_squares_are_none_are_refused(tmp_path, unit):
    path = save(tmp_path / "data.csv", unit * np.eye(2))
    with pytest.raises(DataError, match="the largest entry of 'x0' is"):
        read_columns(path)


def test_missing_and_edited_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        File(str(tmp_path / "nowhere.csv"))
    path = save(tmp_path / "data.csv", np.eye(2))
    digest = File(str(path)).digest
    save(path, 2 * np.eye(2))
    assert File(str(path)).digest != digest
    with pytest.raises(DataError, match="the file changed"):
        File(str(path), digest="0" * 64).draw(np.random.default_rng(0), 2, 2)


def save(path, X):
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path
