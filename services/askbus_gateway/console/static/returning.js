// Where somebody was going who had to sign in first: an app that wants to be connected. A sign-in link opens a page of its own, so the
// way back is kept by the browser, for some minutes.

const KEY = 'askbus.return_to';
const MINUTES = 10;
/** The one page that people are sent here from. Nothing else is a way back, whatever the address says. */
const CONSENT = /^\/oauth\/authorize\?/;

/** Takes the way back out of the address, where there is one, and keeps it. */
export function keepReturn() {
  const address = new URL(location.href);
  const wanted = address.searchParams.get('return_to');
  if (wanted === null) return;
  if (CONSENT.test(wanted)) localStorage.setItem(KEY, JSON.stringify({ wanted, until: Date.now() + MINUTES * 60_000 }));
  history.replaceState(null, '', address.pathname + address.hash);
}

/** The way back, which is taken once. Null where there is none, or none any more. */
export function takeReturn() {
  const kept = localStorage.getItem(KEY);
  if (kept === null) return null;
  localStorage.removeItem(KEY);
  const { wanted, until } = JSON.parse(kept);
  return Date.now() < until && CONSENT.test(wanted) ? wanted : null;
}
