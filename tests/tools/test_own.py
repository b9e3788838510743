"""What a deployment's own tool must be, and what whoever wrote it is told where it is not."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic import BaseModel, RootModel

from askbus.cli import main
from askbus.runtime.settings import SettingsError
from askbus.tools.catalogue import CATALOGUE, check_arguments
from askbus.tools.offered import offered, own_tools
from askbus.tools.own import BadTool, Call, OwnTool, Scope, ToolSpec, tool

pytestmark = pytest.mark.requirement("C30")

HEAD = """
from pydantic import BaseModel
from askbus.tools.own import Call, Scope, tool
class Word(BaseModel):
    word: str
"""
GOOD = (
    HEAD
    + """
@tool(scope=Scope.DATA_READ, repeatable=True)
def say(call: Call, word: Word) -> Word:
    "Says it."
    return word
"""
)


class Word(BaseModel):
    word: str


class Words(RootModel[list[str]]):
    """A list at the top."""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to import from, forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_an_own_tool_is_offered_behind_the_built_in_ones(modules: Path) -> None:
    """Its name, description and models come from the function, and so does the check of its arguments."""
    (modules / "sayings.py").write_text(GOOD)
    specs = offered(["sayings"], pictures=False)
    assert specs[:-1] == CATALOGUE
    assert (specs[-1].name, specs[-1].description, specs[-1].scope) == ("say", "Says it.", Scope.DATA_READ)
    assert check_arguments("say", {"word": "hello"}, specs) is None
    assert "word" in (check_arguments("say", {}, specs) or "")


WRONG = {
    "missing": ("nowhere_to_be_found", None, "Is it installed, or on PYTHONPATH?"),
    "broken": ("broken", "import nothing_of_this_name", "nothing_of_this_name"),
    "empty": ("empty", "x = 1", "has no tools"),
    "clash": ("clash", GOOD.replace("def say", "def query_records"), "the name of a built-in tool"),
    "silent": ("silent", GOOD.replace('    "Says it."\n', ""), "say what it does"),
    "untyped": ("untyped", GOOD.replace("word: Word)", "word)"), "its second parameter"),
    "no_output": ("no_output", GOOD.replace(" -> Word", ""), "what it returns"),
    "lonely": ("lonely", GOOD.replace("call: Call, ", ""), "two parameters"),
}
"""The module, its text, and what is said of it."""


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_used_is_named_when_a_process_starts(modules: Path, case: str) -> None:
    """One line that says which module, which tool and what to do."""
    name, text, said = WRONG[case]
    if text is not None:
        (modules / f"{name}.py").write_text(text)
    with pytest.raises(SettingsError, match=f"ASKBUS_TOOLS: .*{name}") as refused:
        own_tools([name])
    assert said in str(refused.value)


def test_two_modules_may_not_use_the_same_name(modules: Path) -> None:
    """The later one is told whose name it took."""
    (modules / "first.py").write_text(GOOD)
    (modules / "second.py").write_text(GOOD)
    with pytest.raises(SettingsError, match="second calls a tool say, which is the name of a tool of first"):
        own_tools(["first", "second"])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (ToolSpec("say it", "Says it.", Word, Word, Scope.CHAT, True), "is no name for a tool"),
        (ToolSpec("s" * 65, "Says it.", Word, Word, Scope.CHAT, True), "is no name for a tool"),
        (ToolSpec("say", "Says it.", Words, Word, Scope.CHAT, True), "its input must be an object"),
        (ToolSpec("say", "Says it.", Word, Words, Scope.CHAT, True), "its output must be an object"),
        (ToolSpec("say", "Says it. " * 300, Word, Word, Scope.CHAT, True), "more than 2000 characters"),
    ],
)
def test_a_tool_that_a_provider_would_refuse_is_refused_here(spec: ToolSpec, said: str) -> None:
    """Where its author sees it, and not in the middle of a conversation."""
    with pytest.raises(BadTool, match=said):
        OwnTool(spec, lambda _call, word: word)


def test_a_function_that_is_only_named_is_imported_where_it_runs(modules: Path) -> None:
    """What it needs stays out of the processes that only tell of the tool."""
    (modules / "specs.py").write_text(
        HEAD + "from askbus.tools.own import OwnTool, ToolSpec\n"
        "say = OwnTool(ToolSpec('say', 'Says it.', Word, Word, Scope.DATA_READ, True), 'functions:say')\n"
        "gone = OwnTool(ToolSpec('gone', 'Is not there.', Word, Word, Scope.DATA_READ, True), 'functions:gone')\n"
    )
    (modules / "functions.py").write_text("def say(call, word):\n    return word\n")
    say, gone = own_tools(["specs"])
    assert "functions" not in sys.modules
    assert say.load().__name__ == "say"
    assert "functions" in sys.modules
    with pytest.raises(BadTool, match="functions:gone cannot be imported"):
        gone.load()


def test_a_decorated_function_is_still_called_by_its_own_tests() -> None:
    """With a call and an input, like any function."""

    @tool(scope=Scope.CHAT, repeatable=False)
    def say(call: Call, word: Word) -> Word:
        """Says it."""
        return word

    assert say.spec.direct is False
    assert say(None, Word(word="hello")) == Word(word="hello")  # type: ignore[arg-type]  # it does not look at the call


def test_the_command_that_starts_everything_names_a_wrong_tool_first(tmp_path: Path) -> None:
    """Before a server or a service is started, and without a folder left behind."""
    done = CliRunner(env={"ASKBUS_TOOLS": "nowhere_to_be_found"}).invoke(main, ["up", "--data", str(tmp_path / "data")])
    assert done.exit_code == 1
    assert "ASKBUS_TOOLS: nowhere_to_be_found cannot be imported" in done.output
    assert not (tmp_path / "data").exists()
