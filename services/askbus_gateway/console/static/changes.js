// What an action would do, did, or could not do, as tables: built from stored values, never from a model's words.

import { el } from './elements.js';
import { count } from './words.js';

/** A value as it is shown. What is missing is said, not left blank. */
function value(text, kind) {
  const empty = text === null || text === undefined || text === '';
  return el('span', { class: `value ${kind}` }, empty ? el('span', { class: 'nothing' }, text === '' ? 'empty' : '—') : text);
}

function table(caption, headings, rows) {
  const body = rows.map(([field, ...values]) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row' }, field),
      values.map((cell, at) => el('td', { data: { heading: headings[at + 1] } }, cell)),
    ),
  );
  return el(
    'table',
    { class: 'changes' },
    el('caption', { class: 'unseen' }, caption),
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        headings.map((heading) => el('th', { scope: 'col' }, heading)),
      ),
    ),
    el('tbody', {}, body),
  );
}

const VERBS = { create: 'Create', update: 'Update' };

function heading(verb, collection, label) {
  return el(
    'p',
    { class: 'operation' },
    el('span', { class: 'verb' }, verb),
    ' ',
    el('span', { class: 'collection' }, collection),
    ' ',
    label && el('strong', {}, label),
  );
}

/** What the two values of a field are called: before a decision, when it was carried out, and when it was not. */
const HEADINGS = {
  pending: ['Now', 'Will be'],
  confirmed: ['Now', 'Will be'],
  applied: ['Before', 'After'],
  undone: ['Before', 'After'],
};

/** One operation of a card. `state` is the action's. */
function operation(each, all, state) {
  const referred = (ref) => `the new record “${all.find((other) => other.id === ref)?.label ?? ref}”`;
  const after = (change) =>
    change.ref ? el('span', { class: 'value new' }, referred(change.ref)) : value(change.after_display, 'new');
  const caption = `${VERBS[each.kind]} ${each.collection} ${each.label}`;
  const rows = each.changes.map((change) =>
    each.kind === 'create' ? [change.field, after(change)] : [change.field, value(change.before_display, 'old'), after(change)],
  );
  const shown = each.decision === 'rejected' ? 'rejected' : state;
  const headings = ['Field', ...(each.kind === 'create' ? ['Value'] : (HEADINGS[shown] ?? ['Was', 'Proposed']))];
  return el('div', {}, heading(VERBS[each.kind], each.collection, each.label), table(caption, headings, rows), decision(each));
}

/** What was decided on this operation, where that was not the same for all. */
function decision(each) {
  if (each.decision === 'rejected')
    return [el('p', { class: 'quiet' }, 'Rejected: not part of the change.'), each.reason && el('blockquote', {}, each.reason)];
  if (each.decision !== 'edited') return null;
  const proposed = each.proposed.filter((was) => each.changes.find((now) => now.field === was.field)?.after !== was.after);
  const said = proposed.map((was) => `${was.field} ${was.after_display || 'empty'}`).join(', ');
  return el('p', { class: 'quiet' }, `Edited before it was confirmed. Proposed was: ${said}`);
}

/** The operations of a card. */
export function operations(card, state) {
  const apart = card.some((each) => each.decision === 'rejected');
  const several =
    card.length > 1 && el('p', { class: 'quiet' }, `${count(card.length, 'change')}${apart ? '' : ': all of them or none'}.`);
  return [several, card.map((each) => operation(each, card, state))];
}

/** Whether any value of the card is longer than what is shown. */
export function isCut(card) {
  return card.some((each) => each.changes.some((change) => change.cut));
}

/** What an undo does or did, record by record. */
export function restored(result) {
  return result.records.map((record) => {
    if (record.kind === 'create') return heading('Remove', record.collection, record.label);
    const rows = Object.keys(record.after).map((field) => [
      field,
      value(record.before[field], 'old'),
      value(record.after[field], 'new'),
    ]);
    return el(
      'div',
      {},
      heading('Restore', record.collection, record.label),
      table(`Restore ${record.label}`, ['Field', 'Now', 'Back to'], rows),
    );
  });
}

/** Why something could not be done: both values of each field that was in the way, and the problem in words. */
export function obstacles(result) {
  const [fields, others] = [[], []];
  for (const mismatch of result.mismatches)
    (mismatch.field && mismatch.expected !== mismatch.found ? fields : others).push(mismatch);
  const rows = fields.map((each) => [`${each.label} · ${each.field}`, value(each.expected, 'old'), value(each.found, 'new')]);
  return [
    result.problem &&
      el('p', {}, result.problem.field ? `${result.problem.field}: ${result.problem.message}` : result.problem.message),
    others.length > 0 &&
      el(
        'ul',
        {},
        others.map((each) => el('li', {}, `${each.label}: ${each.message}`)),
      ),
    rows.length > 0 && table('What was expected and what was found', ['Field', 'Expected', 'Found'], rows),
  ];
}
