"""The pages that a person sees on the way: what an app asks for, and what went wrong. No script runs on them, and no frame holds them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from uuid import UUID

from starlette.responses import Response

from askbus.access.model import Scope
from askbus.access.reads import Me, Project
from askbus.oauth.model import TICKED, Client, runs_workspace
from askbus.oauth.reads import host_of
from askbus.oauth.redirects import form_target, is_local
from askbus_gateway.oauth.addresses import CONSENT

WORDS = {
    Scope.DATA_READ: ("Read records, saved results and activity", "data:read"),
    Scope.DATA_REFRESH: ("Run saved queries anew", "data:refresh"),
    Scope.CHARTS_PREVIEW: ("Draw previews of charts", "charts:preview"),
    Scope.DATASETS_WRITE: ("Save datasets", "datasets:write"),
    Scope.QUESTIONS_ASK: ("Ask people questions, and read the answers", "questions:ask"),
    Scope.ACTIONS_PROPOSE: ("Propose changes, which a person confirms or rejects", "actions:propose"),
}

ON_THE_WAY = {"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "unsafe-none"}
"""Said by every answer on the way: an app in the browser opens it in a window of its own, and wants to hear from that when it is back."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="same-origin">
<title>{title} · askbus</title>
<link rel="icon" href="/console/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/console/console.css">
<link rel="stylesheet" href="/console/consent.css">
</head>
<body>
<main class="alone consent"><img src="/console/mark.svg" alt="" class="mark">
{body}
</main>
</body>
</html>
"""


@dataclass(frozen=True)
class Request:
    """What the page shows: which app asks whom for what, and what its ticket is. `foreign` are words that it asked for and that no app
    may have; `denied` are scopes that this person's own role does not allow."""

    client: Client
    redirect_uri: str
    me: Me
    scopes: Sequence[Scope]
    denied: Sequence[Scope]
    ticket: str
    foreign: Sequence[str] = ()
    ticked: Collection[Scope] = TICKED
    chosen: Collection[UUID] = ()
    whole: bool = False
    problem: str | None = None


def page(title: str, body: str, status: int, *, leads_to: str | None = None) -> Response:
    """A page of ours. `leads_to` is where the answer to its form may send the browser on to."""
    target = "" if leads_to is None else f" {form_target(leads_to)}"
    policy = f"default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'{target}"
    headers = {**ON_THE_WAY, "Content-Security-Policy": policy, "X-Frame-Options": "DENY"}
    return Response(PAGE.format(title=escape(title), body=body), status, headers, media_type="text/html")


def trouble(why: str, status: int = 400, *, back: str | None = None) -> Response:
    """What went wrong, for the person. `back` is a checked address that tells the app so: whether to go there is theirs to say."""
    body = f'<h1>This app cannot be connected</h1>\n<p class="problem" role="alert">{escape(why)}</p>\n'
    if back is not None:
        body += f'<p><a rel="noreferrer" href="{escape(back)}">Return to {escape(host_of(back))}</a></p>\n'
    return page("Not connected", body + '<p class="quiet"><a href="/">Go to askbus</a></p>', status)


def consent(asked: Request) -> Response:
    """The question to the person. Everything that the app said of itself is marked so.

    Where the app may work is never chosen beforehand: one click, which somebody may be tricked into, allows nothing.
    """
    client, me = asked.client, asked.me
    problem = f'<p class="problem" role="alert">{escape(asked.problem)}</p>' if asked.problem else ""
    body = f"""<h1>Connect an app?</h1>
<p><strong class="app">{escape(client.name)}</strong> wants to act for you in <strong>{escape(me.workspace)}</strong>.</p>
{_about(client, asked.redirect_uri)}
{problem}
<form method="post" action="{CONSENT}" autocomplete="off">
<input type="hidden" name="ticket" value="{escape(asked.ticket)}">
<fieldset><legend>What it may do</legend>
{"".join(_scope(scope, checked=scope in asked.ticked) for scope in asked.scopes)}
{_withheld(asked)}
</fieldset>
{_where(asked)}
<p class="quiet">You are {escape(me.name)} ({escape(me.email)}), {escape(me.principal.role.value)} in {escape(me.workspace)}. The app
never does more than you may, and you can remove it at any time. To connect another workspace, switch to it in askbus first.</p>
<div class="buttons"><button class="primary" name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Do not allow</button></div>
</form>"""
    return page("Connect an app", body, 200 if asked.problem is None else 400, leads_to=asked.redirect_uri)


def _about(client: Client, redirect_uri: str) -> str:
    said = "This is what it calls itself; nobody checked it."
    if client.url is not None:
        said = f"It is described at {host_of(client.url)}; its name is what it calls itself, and nobody checked it."
    local = ", an app on this computer. Go on only if you started this yourself, just now." if is_local(redirect_uri) else ""
    return f"""<dl class="about"><dt>Name</dt><dd>Unverified. {escape(said)}</dd>
<dt>Returns to</dt><dd><code>{escape(host_of(redirect_uri))}</code>{local}</dd></dl>"""


def _scope(scope: Scope, *, checked: bool) -> str:
    words, name = WORDS[scope]
    mark = " checked" if checked else ""
    return (
        f'<label class="choice"><input type="checkbox" name="scope" value="{name}"{mark}> '
        f"<span>{words} <code>{name}</code></span></label>\n"
    )


def _withheld(asked: Request) -> str:
    lines = [f"Your role does not allow {WORDS[scope][1]}." for scope in asked.denied]
    if asked.foreign:
        lines.append(f"It also asked for what no app may have here: {', '.join(asked.foreign)}.")
    return "".join(f'<p class="quiet">{escape(line)}</p>\n' for line in lines)


def _where(asked: Request) -> str:
    if not runs_workspace(asked.me.principal):
        boxes = "".join(_project(each, asked) for each in asked.me.projects)
        return f"<fieldset><legend>In which projects</legend>\n{boxes}</fieldset>"
    whole = " checked" if asked.whole else ""
    named = " checked" if asked.chosen and not asked.whole else ""
    boxes = "".join(_project(each, asked) for each in asked.me.projects)
    return f"""<fieldset><legend>Where</legend>
<label class="choice"><input type="radio" name="where" value="workspace" required{whole}>
<span>In the whole workspace, projects of later included</span></label>
<label class="choice"><input type="radio" name="where" value="projects" required{named}> <span>In these projects only:</span></label>
<div class="inner">
{boxes}</div></fieldset>"""


def _project(project: Project, asked: Request) -> str:
    mark = " checked" if project.id in asked.chosen else ""
    return (
        f'<label class="choice"><input type="checkbox" name="project" value="{project.id}"{mark}> '
        f"<span>{escape(project.name)}</span></label>\n"
    )
