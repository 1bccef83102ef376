"""Makes the Python that runs this import minidynamo from the folder python/ of this checkout, and adds its command."""

import pathlib
import sys
import sysconfig

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "python"
PLACES = sysconfig.get_paths()
pathlib.Path(PLACES["purelib"], "minidynamo.pth").write_text(f"{SOURCES}\n")
command = pathlib.Path(PLACES["scripts"], "minidynamo")  # as an installed package has it
command.write_text(f"#!{sys.executable}\nimport sys\n\nfrom minidynamo.__main__ import main\n\nsys.exit(main())\n")
command.chmod(0o755)
