"""Makes the Python that runs this import minidynamo from the folder python/ of this checkout."""

import pathlib
import sysconfig

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "python"
pathlib.Path(sysconfig.get_paths()["purelib"], "minidynamo.pth").write_text(f"{SOURCES}\n")
