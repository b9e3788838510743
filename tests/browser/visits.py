"""Who opens the console, and how."""

from contextlib import AsyncExitStack

from playwright.async_api import Browser, BrowserContext, Page

from askbus.testing.composed import Composed
from askbus.testing.people import Company

REPORT_VIOLATIONS = """
addEventListener('securitypolicyviolation', (event) =>
    console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Visits:
    """Opens the console as somebody. Whatever a page complains of (errors, a violated policy) fails the test at its end."""

    def __init__(self, browser: Browser, askbus: Composed, company: Company, stack: AsyncExitStack) -> None:
        self.browser = browser
        self.askbus = askbus
        self.company = company
        self.stack = stack
        self.complaints: list[str] = []

    async def context(
        self, who: str | None, *, width: int = 1180, height: int = 820, dark: bool = False, shared: bool = True
    ) -> BrowserContext:
        """A browser of their own, signed in unless `who` is None. Without `shared` it has no shared workers, as some have none: then each
        page keeps its own stream, and what the network does to a page is done to that too."""
        context = await self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        await self.stack.enter_async_context(context)
        await context.add_init_script(REPORT_VIOLATIONS)
        if not shared:
            await context.add_init_script("delete globalThis.SharedWorker")
        if who is not None:
            await context.add_cookies([{"name": "askbus_session", "value": self.company[who].cookie, "url": self.askbus.http}])
        return context

    async def page(self, context: BrowserContext, address: str = "/") -> Page:
        """A tab of this browser."""
        page = await context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", lambda message: self._heard(message.type, message.text))
        await page.goto(f"{self.askbus.http}{address}")
        return page

    async def __call__(self, who: str | None, address: str = "/") -> Page:
        """A tab in a browser of their own."""
        return await self.page(await self.context(who), address)

    def _heard(self, kind: str, text: str) -> None:
        # The browser itself logs every answer that is not a success: what the console makes of those is what the tests look at.
        if kind in {"error", "warning"} and not text.startswith("Failed to load resource"):
            self.complaints.append(f"{kind}: {text}")
