"""Which files are searched where git does not tell."""

from layout.tree import ROOT, tracked, walked


def test_what_is_ignored_is_left_out(tmp_path):
    (tmp_path / ".gitignore").write_text("made/\n*.so\n/out/\n.venv*/\n")
    for name in (
        "a.py",
        "b.so",
        "made/c.py",
        "out/d.py",
        "x/out/e.py",
        "x/made/f.py",
        "y/made",
        ".venv-1/g.py",
        ".ci/run",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(walked(tmp_path)) == [".ci/run", ".gitignore", "a.py", "x/out/e.py", "y/made"]


def test_nothing_of_the_project_is_missed():
    assert set(tracked()) <= set(walked(ROOT))
