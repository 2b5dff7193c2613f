"""Finds translations (built in, and the user's own) and sets the language of the program."""

import gettext
from collections.abc import Mapping, Sequence
from pathlib import Path

from PyQt6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from mosaic_gui.state import language
from mosaic_gui.state.language import tr
from mosaic_gui.state.settings import SYSTEM

ENGLISH = "en"
OWN = Path(__file__).parent.parent / "translations"
FOLDER = "translations"
"""Folder of the user's own translations: a file here replaces the one that comes with the client."""
_TRANSLATOR = "mosaic.translator"


def find_languages(kept: Path | None) -> dict[str, Path]:
    """Compiled translations by code. `kept`: where the client keeps its own things."""
    folders = (OWN, kept / FOLDER) if kept is not None else (OWN,)
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.mo"))}


def names(found: Mapping[str, Path]) -> dict[str, str]:
    """The native name of each language, by code; English is always included."""
    own = {code: QLocale(code).nativeLanguageName() or code for code in sorted(found)}
    return {ENGLISH: "English", **own}


def choose(wanted: str, found: Mapping[str, Path], system: Sequence[str]) -> str:
    """The code of the language to speak.

    Args:
        wanted: the setting.
        system: what the desktop is set to, the best first, e.g. `de-AT`, `de`.
    """
    if wanted != SYSTEM:
        return wanted if wanted in found else ENGLISH
    for code in (code.replace("-", "_") for code in system):
        if code in found:
            return code
        if code.partition("_")[0] == ENGLISH:
            break
    return ENGLISH


def name_of_program(environ: Mapping[str, str]) -> str:
    """Return how the user calls the command line: `mosaic` where it was installed, else as in a checkout."""
    program, root = environ.get("MOSAIC_PROGRAM"), environ.get("MOSAIC_ROOT")
    if program is None or (root is not None and Path(program).parent == Path(root)):
        return language.IN_CHECKOUT
    return Path(program).stem


def speak(app: QCoreApplication, wanted: str, found: Mapping[str, Path]) -> str:
    """Set the language of the program. Return why it is not the wanted one, or an empty text.

    Numbers have a point and no separator where they are typed, in every language: so logs, specs and files have them.
    """
    QLocale.setDefault(QLocale.c())
    code = choose(wanted, found, QLocale.system().uiLanguages())
    try:
        language.use(_read(found[code]) if code in found else language.NONE)
    except (OSError, ValueError) as error:
        language.use(language.NONE)
        return tr(
            "{file} is not a translation: {why}. `./mosaic words` writes it again.",
            file=found[code],
            why=error,
        )
    _speak_in_qt(app, code)
    if wanted not in (SYSTEM, ENGLISH, code):
        return tr("There is no translation for {code} any more: see Settings.", code=wanted)
    return ""


def _read(path: Path) -> gettext.GNUTranslations:
    with path.open("rb") as file:
        return gettext.GNUTranslations(file)


def _speak_in_qt(app: QCoreApplication, code: str) -> None:
    """Set the language of Qt's own texts: menus of fields, buttons of a file dialog."""
    if isinstance(old := app.property(_TRANSLATOR), QTranslator):
        app.removeTranslator(old)
    made = QTranslator(app)
    where = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if made.load(QLocale(code), "qtbase", "_", where):
        app.installTranslator(made)
        app.setProperty(_TRANSLATOR, made)
