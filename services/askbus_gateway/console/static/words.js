// The console's fixed words: times and states, each the same wherever it is shown.

import { el } from './elements.js';

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const EXACT = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const DATE = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });

/** "2 hours ago", "in 3 days"; a date once it is further than a week. */
export function relative(iso, now = Date.now()) {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  if (Math.abs(seconds) < 45) return seconds > 0 ? 'in a moment' : 'just now';
  if (Math.abs(seconds) > 7 * 86_400) return DATE.format(new Date(iso));
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length * 0.95) ?? UNITS.at(-1);
  return RELATIVE.format(Math.round(seconds / size), unit);
}

/** A moment as an element that keeps itself up to date; `lead` is said before it. */
export function moment(iso, lead = '') {
  const element = el('time', { dateTime: iso, title: EXACT.format(new Date(iso)), data: { lead } });
  element.textContent = lead + relative(iso);
  return element;
}

/** Brings every moment on the page up to date. */
export function tick() {
  for (const element of document.querySelectorAll('time[data-lead]')) {
    element.textContent = element.dataset.lead + relative(element.dateTime);
  }
}

export function greeting(hour = new Date().getHours()) {
  if (hour < 5) return 'Good evening';
  if (hour < 12) return 'Good morning';
  return hour < 18 ? 'Good afternoon' : 'Good evening';
}

/** States of an action: what the chip says, and its colour. */
export const ACTION_STATES = {
  pending: ['Waiting for a decision', 'waiting'],
  confirmed: ['Applying', 'busy'],
  rejected: ['Rejected', 'quiet'],
  withdrawn: ['Withdrawn', 'quiet'],
  expired: ['Expired', 'quiet'],
  applied: ['Applied', 'good'],
  failed: ['Failed', 'bad'],
  conflicted: ['Conflict', 'bad'],
  undone: ['Undone', 'quiet'],
};

export const QUESTION_STATES = {
  open: ['Open', 'waiting'],
  answered: ['Answered', 'good'],
  declined: ['Declined', 'quiet'],
  cancelled: ['No longer needed', 'quiet'],
  expired: ['Expired', 'quiet'],
  superseded: ['Replaced', 'quiet'],
};

/** The small label of a state. */
export function chip([text, colour]) {
  return el('span', { class: `chip ${colour}` }, text);
}

export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}
