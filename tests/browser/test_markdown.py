"""The console's Markdown, case by case, in the browser that shows it."""

import pytest
from playwright.async_api import Page
from tests.browser.visits import Visits

CASES = {
    "plain": "<p>plain</p>",
    "one\ntwo\n\nthree": "<p>one\ntwo</p><p>three</p>",
    "hard  \nbreak\\\nagain": "<p>hard<br>break<br>again</p>",
    "# One\n### Three ###\n####### seven": "<h3>One</h3><h5>Three</h5><p>####### seven</p>",
    "Title\n===\ntext": "<h3>Title</h3><p>text</p>",
    "***\n- - -": "<hr><hr>",
    "*a* _b_ **c** __d__ ***e*** ~~f~~": (
        "<p><em>a</em> <em>b</em> <strong>c</strong> <strong>d</strong> <em><strong>e</strong></em> <del>f</del></p>"
    ),
    "2 * 3 * 4, snake_case_word, **open": "<p>2 * 3 * 4, snake_case_word, **open</p>",
    "**a *b* c**": "<p><strong>a <em>b</em> c</strong></p>",
    "`a *b* <i>` and `` ` ``": "<p><code>a *b* &lt;i&gt;</code> and <code>`</code></p>",
    "\\*not\\* &amp; &lt;b&gt; &copy; &#8364;": "<p>*not* &amp; &lt;b&gt; &amp;copy; €</p>",
    "- a\n- b\n  - c\n- d": "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>",
    "3. a\n4. b": '<ol start="3"><li>a</li><li>b</li></ol>',
    "- a\n\n- b": "<ul><li><p>a</p></li><li><p>b</p></li></ul>",
    "- a\n+ b": "<ul><li>a</li></ul><ul><li>b</li></ul>",
    "In 1986.\n1986. was a year": "<p>In 1986.\n1986. was a year</p>",
    "> a\n> > b\n\nc": "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>",
    "```py\n*x*\n\n<b>\n```\nafter": "<figure><figcaption>py</figcaption><pre><code>*x*\n\n&lt;b&gt;</code></pre></figure><p>after</p>",
    "~~~\nopen": "<pre><code>open</code></pre>",
    "    code\n      more": "<pre><code>code\n  more</code></pre>",
    "a|b\n-|-:\n1|2\n\\||`x`": (
        "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr>"
        "<tr><td>|</td><td><code>x</code></td></tr></tbody></table></div>"
    ),
    "a|b\n-|-|-": "<p>a|b\n-|-|-</p>",
    "[a](https://e.x/ 'title') <https://e.x/b> https://e.x/c.": (
        '<p><a href="https://e.x/">a</a> <a href="https://e.x/b">https://e.x/b</a> <a href="https://e.x/c">https://e.x/c</a>.</p>'
    ),
    "[**b** [c](https://e.x/)](https://e.y/)": '<p>[<strong>b</strong> <a href="https://e.x/">c</a>](<a href="https://e.y/">https://e.y/</a>)</p>',
    "![alt](https://e.x/p.png)": '<p><a href="https://e.x/p.png">alt</a></p>',
    "[a](javascript:x) [b](data:text/html,x) [c](//e.x) [d](/x) [e](#x) [f](vbscript:x)": (
        "<p>[a](javascript:x) [b](data:text/html,x) [c](//e.x) [d](/x) [e](#x) [f](vbscript:x)</p>"
    ),
    "[a](\tjava\nscript:x) [b](JaVaScRiPt:x) [c](&#106;avascript:x)": (
        "<p>[a](    java\nscript:x) [b](JaVaScRiPt:x) [c](javascript:x)</p>"
    ),
    "<b onclick=x>bold</b> <!-- c --> <a href='https://e.x'>l</a>": (
        "<p>&lt;b onclick=x&gt;bold&lt;/b&gt; &lt;!-- c --&gt; &lt;a href='<a href=\"https://e.x/\">https://e.x</a>'&gt;l&lt;/a&gt;</p>"
    ),
    "- [x] done\n- [ ] open": '<ul><li><input type="checkbox">done</li><li><input type="checkbox">open</li></ul>',
}

SHOWN = """async text => {
    const { markdown } = await import('/console/markdown.js');
    const kept = ['href', 'start', 'type'];
    const holder = document.createElement('div');
    holder.append(...markdown(text));
    for (const element of holder.querySelectorAll('*')) {
        for (const name of element.getAttributeNames()) if (!kept.includes(name)) element.removeAttribute(name);
    }
    return holder.innerHTML;
}"""

GROWN = """async text => {
    const { MarkdownView, markdown } = await import('/console/markdown.js');
    const [view, whole] = [new MarkdownView(), document.createElement('div')];
    for (let length = 0; length <= text.length; length += 1) view.show(text.slice(0, length));
    whole.append(...markdown(text));
    return [view.element.innerHTML, whole.innerHTML];
}"""

TIMED = """async text => {
    const { markdown } = await import('/console/markdown.js');
    const began = performance.now();
    markdown(text);
    return performance.now() - began;
}"""


@pytest.fixture
async def page(visit: Visits) -> Page:
    """A page that can load the console's modules."""
    return await visit(None)


@pytest.mark.requirement("W3", "W10")
async def test_each_construct_becomes_the_elements_that_it_means(page: Page) -> None:
    """GitHub's flavour, with HTML as text, pictures as links, and links to nothing but http, https and mail."""
    shown = {text: await page.evaluate(SHOWN, text) for text in CASES}
    assert shown == CASES


@pytest.mark.requirement("W3")
async def test_text_that_grows_letter_by_letter_ends_as_the_whole(page: Page) -> None:
    """Only changed blocks are made anew while a text streams, and nothing of an earlier reading stays."""
    grown, whole = await page.evaluate(GROWN, "\n\n".join(CASES))
    assert grown == whole


SLOW = (
    *("*a" * 50_000, "[" * 100_000, "`" * 99_999 + " ", "> " * 50_000, "- " * 50_000, "#" * 100_000 + "x", "|" * 100_000),
    *("_*~" * 33_000, "![](" * 25_000, "a|" * 50_000 + "\n" + "-|" * 50_000, "--- " + " " * 100_000 + "x", "h" * 100_000),
    *(" " * 100_000, "&" * 100_000, "[a](" + " " * 100_000, "https://" * 12_000, "1. " * 33_000, "\n>" * 50_000, "<h" * 50_000),
)


async def test_no_text_makes_the_page_hang(page: Page) -> None:
    """A hundred thousand characters that were written to be slow: what grows with their square would take minutes."""
    slow = {text[:9]: took for text in SLOW if (took := await page.evaluate(TIMED, text)) >= 10_000}
    assert slow == {}
