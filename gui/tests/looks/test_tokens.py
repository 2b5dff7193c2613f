import pytest

from mosaic_gui.theme.tokens import THEMES, Tokens, contrast, mixed

TONES = ("ok", "warn", "bad", "accent", "neutral")


@pytest.fixture(params=sorted(THEMES))
def tokens(request: pytest.FixtureRequest) -> Tokens:
    """Each theme."""
    return THEMES[request.param]


def test_contrast_is_measured_as_the_standard_says() -> None:
    """Black on white is 21, a colour on itself 1."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#336699", "#336699") == pytest.approx(1)


def test_text_is_readable_on_every_ground(tokens: Tokens) -> None:
    """Text has a contrast of 7, what is read second 4.5, wherever it stands."""
    for ground in (tokens.ground, tokens.surface, tokens.raised, tokens.hover, tokens.selection):
        assert contrast(tokens.text, ground) >= 7, ground
    for ground in (tokens.ground, tokens.surface, tokens.raised):
        assert contrast(tokens.muted, ground) >= 4.5, ground
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5


@pytest.mark.parametrize("tone", TONES)
def test_badges_are_readable(tokens: Tokens, tone: str) -> None:
    """A badge's word stands out from its own tint and from the panel."""
    colour = tokens.tone(tone)
    assert contrast(colour, tokens.surface) >= 4.5
    assert contrast(colour, mixed(colour, tokens.surface, 0.16)) >= 3.7


def test_curves_stand_out_and_apart(tokens: Tokens) -> None:
    """Every curve has a contrast of 3 to the chart, and no two are alike."""
    assert len(set(tokens.series)) == 8
    for colour in tokens.series:
        assert contrast(colour, tokens.surface) >= 3, colour


def test_edges_of_fields_are_seen(tokens: Tokens) -> None:
    """Where one can type is seen without colour vision."""
    assert contrast(tokens.edge, tokens.surface) >= 2.9
