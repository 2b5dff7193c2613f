"""Checks for the system libraries that Qt needs, and names the package of a missing one."""

import ctypes.util
import os
import re

from mosaic_gui.errors import LibraryMissing

PACKAGES = {
    "libEGL": "libegl1",
    "libGL": "libgl1",
    "libxkbcommon": "libxkbcommon0",
    "libdbus-1": "libdbus-1-3",
    "libfontconfig": "libfontconfig1",
    "libfreetype": "libfreetype6",
    "libglib-2.0": "libglib2.0-0",
    "libgthread-2.0": "libglib2.0-0",
    "libX11": "libx11-6",
    "libX11-xcb": "libx11-xcb1",
    "libgssapi_krb5": "libgssapi-krb5-2",
    "libxkbcommon-x11": "libxkbcommon-x11-0",
    "libxcb-cursor": "libxcb-cursor0",
    "libxcb-icccm": "libxcb-icccm4",
    "libxcb-image": "libxcb-image0",
    "libxcb-keysyms": "libxcb-keysyms1",
    "libxcb-render-util": "libxcb-render-util0",
    "libxcb-shape": "libxcb-shape0",
    "libxcb-xinerama": "libxcb-xinerama0",
}
"""Library to the package of Debian and Ubuntu that has it."""
X11_LIBRARIES = (
    "xkbcommon-x11",
    "xcb-cursor",
    "xcb-icccm",
    "xcb-image",
    "xcb-keysyms",
    "xcb-render-util",
    "xcb-shape",
)
"""What the platform `xcb` loads when the program is running already, where a failure ends it with an abort."""


def explain_import(error: ImportError) -> LibraryMissing:
    """The error of a Qt module that cannot be loaded, with what to install."""
    found = re.search(r"(lib[\w.+-]+?)\.so", str(error))
    package = PACKAGES.get(found[1]) if found else None
    todo = f"Install it: `apt-get install {package}`." if package else "Install what it names."
    return LibraryMissing(f"Qt cannot be loaded: {error}. {todo}")


def check_platform() -> None:
    """Check whether a window can be opened here, before Qt fails with an abort.

    Raises:
        LibraryMissing: a library or a display is missing; the message says what to do.
    """
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if platform and platform != "xcb":
        return
    if os.environ.get("WAYLAND_DISPLAY") and not platform:
        return
    if not os.environ.get("DISPLAY"):
        raise LibraryMissing(
            "There is no display here (DISPLAY is not set). On a machine without a screen: `xvfb-run -a ./mosaic gui`, "
            "or `./mosaic gui --screenshot DIR`, which needs none."
        )
    missing = [name for name in X11_LIBRARIES if ctypes.util.find_library(name) is None]
    if missing:
        packages = " ".join(PACKAGES[f"lib{name}"] for name in missing)
        raise LibraryMissing(
            f"Qt needs libraries of the system to open a window: lib{', lib'.join(missing)}. Install them: "
            f"`apt-get install {packages}`."
        )
