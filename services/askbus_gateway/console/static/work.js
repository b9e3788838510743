// The work summary of an answer: which tools were used, and how each went.

import { el } from './elements.js';

/** One collapsed line; opened, the tools that were used and how each went. */
export function workDone(calls) {
  const lines = calls.map((call) => {
    const failed = ['failed', 'unknown'].includes(call.state);
    const how = call.state === 'unknown' ? ' — whether it was done is not known' : failed ? ' — did not work' : '';
    return el('li', { class: failed ? 'failed' : null }, call.label, how);
  });
  const failures = calls.filter((call) => call.state === 'failed' || call.state === 'unknown').length;
  return el(
    'details',
    { class: 'work' },
    el('summary', {}, 'Work completed', failures > 0 && ` · ${failures} did not work`),
    el('ul', {}, lines),
  );
}
