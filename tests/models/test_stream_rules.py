"""Who may be told of which change: by table."""

from uuid import UUID, uuid4

import pytest

from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.feed.model import Change
from askbus_gateway.sse.rules import MACHINE_ONLY, RULES, Viewer, everywhere, followed, visible

WORKSPACE, NORTH, SOUTH, MIA, MAX = uuid4(), uuid4(), uuid4(), uuid4(), uuid4()
MEMBER = Viewer(MIA, WORKSPACE, frozenset({NORTH}))
OWNER = Viewer(MIA, WORKSPACE, frozenset({NORTH}), everywhere=True)


def change(entity: str, *, project: UUID | None = NORTH, user: UUID | None = None, workspace: UUID = WORKSPACE) -> Change:
    return Change(1, 1, f"{entity}.moved", entity, uuid4(), "open", workspace, project, user)


def principal(*scopes: Scope, kind: PrincipalKind = PrincipalKind.TOKEN, **more: object) -> Principal:
    fields = {"id": uuid4(), "user_id": MIA, "workspace_id": WORKSPACE, "role": Role.MEMBER, **more}
    return Principal.model_validate({"kind": kind, "scopes": frozenset(scopes), **fields})


@pytest.mark.requirement("S2", "S11", "I6")
@pytest.mark.parametrize(
    ("moved", "member", "owner"),
    [
        (change("question"), True, True),
        (change("question", user=MIA), True, True),
        (change("question", user=MAX), False, False),
        (change("question", project=SOUTH), False, True),
        (change("question", project=SOUTH, user=MIA), False, True),
        (change("question", project=None), False, False),
        (change("question", workspace=uuid4()), False, False),
        (change("question", user=MIA, workspace=uuid4()), False, False),
        (change("action"), True, True),
        (change("action", project=SOUTH), False, True),
        (change("standing_approval"), True, True),
        (change("standing_approval", project=SOUTH), False, True),
        (change("thread", user=MIA), True, True),
        (change("thread", user=MAX), False, False),
        (change("thread"), False, False),
        (change("turn", user=MIA), True, True),
        (change("record"), True, True),
        (change("record", project=SOUTH), False, True),
        (change("record", project=None), True, True),
        (change("record", project=None, workspace=uuid4()), False, False),
        (change("turn", user=MAX), False, False),
        (change("turn", project=SOUTH, user=MIA), False, True),
        *((change(entity, project=None), False, True) for entity in ("webhook", "workspace", "project", "member", "invitation")),
        *((change(entity, user=MIA), False, False) for entity in sorted(MACHINE_ONLY)),
        (change("secret"), False, False),
    ],
    ids=lambda value: value.entity if isinstance(value, Change) else str(value),
)
def test_a_change_reaches_just_those_whom_its_rule_names(moved: Change, member: bool, owner: bool) -> None:
    """A member sees their projects, an owner every one, a person alone what is personal; without a rule nobody sees anything."""
    assert (visible(moved, MEMBER), visible(moved, OWNER)) == (member, owner)


@pytest.mark.requirement("I4", "S2")
def test_a_token_follows_what_its_scopes_let_it_read() -> None:
    """As the reads of these entities ask for; a session follows everything, but for the chat where it may not chat."""
    assert followed(principal(), None) == frozenset()
    assert followed(principal(Scope.DATA_READ), None) == {"record"}
    assert followed(principal(Scope.QUESTIONS_ASK), None) == {"question"}
    assert followed(principal(Scope.QUESTIONS_ANSWER), None) == {"question"}
    assert followed(principal(Scope.ACTIONS_PROPOSE, Scope.CHAT), None) == {"action", "thread", "turn"}
    managed = {"webhook", "workspace", "project", "member", "invitation"}
    assert followed(principal(kind=PrincipalKind.SESSION), None) == {"question", "action", "standing_approval"} | managed
    assert followed(principal(*Scope, kind=PrincipalKind.SESSION), None) == RULES.keys()
    assert followed(principal(*Scope, kind=PrincipalKind.SESSION), frozenset({"action", "turn"})) == {"action", "turn"}


@pytest.mark.requirement("I1", "I3")
def test_only_who_runs_the_workspace_is_everywhere() -> None:
    """And not with a token that was made for some projects."""
    assert [role for role in Role if everywhere(principal(role=role))] == [Role.OWNER, Role.ADMIN]
    assert not everywhere(principal(role=Role.OWNER, projects=(NORTH,)))


@pytest.mark.requirement("S11")
def test_an_entity_is_ruled_or_for_machines_and_never_both() -> None:
    """Exactly one rule each."""
    assert RULES.keys() & MACHINE_ONLY == set()
