// Lists that are read from the API and stay true: read again after each change of what they show.

import { api } from './api.js';
import { el, icon } from './elements.js';
import { plain } from './markdown.js';
import { reasonNotToAnswer } from './rights.js';
import { moment } from './words.js';

const PAUSE = 300;

/** A list and whoever looks at it. `read()` resolves to its items; `entities` are those whose changes make it old. */
export class LiveList {
  items = null;
  error = null;
  #read;
  #entities;
  #listeners = new Set();
  #reading = false;
  #again = false;
  #stopped = false;
  #unsubscribe;

  constructor(feed, entities, read) {
    this.#read = read;
    this.#entities = new Set(entities);
    this.#unsubscribe = feed.subscribe({
      init: () => this.refresh(),
      upsert: (change) => this.#entities.has(change.entity) && this.refresh(),
      remove: (change) => this.#entities.has(change.entity) && this.#remove(change),
    });
    this.refresh();
  }

  stop() {
    this.#stopped = true;
    this.#unsubscribe();
  }

  /** Calls `listener` now and after each change; returns what ends that. */
  subscribe(listener) {
    this.#listeners.add(listener);
    listener(this);
    return () => this.#listeners.delete(listener);
  }

  /** Reads the list; never twice at once, and not more often than a person can follow. */
  async refresh() {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    this.#reading = true;
    this.#again = false;
    try {
      this.items = await this.#read();
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    this.#tell();
    setTimeout(() => {
      this.#reading = false;
      if (this.#again && !this.#stopped) this.refresh();
    }, PAUSE);
  }

  #remove(change) {
    if (this.items?.some((item) => item.id === change.id)) {
      this.items = this.items.filter((item) => item.id !== change.id);
      this.#tell();
    }
    this.refresh();
  }

  #tell() {
    for (const listener of [...this.#listeners]) listener(this);
  }
}

/**
 * The lists of the console: open questions, pending actions, what is allowed in advance, recent conversations (none for people who may not
 * chat). `approvals.longestDays` is how long something may be allowed in advance here, once that was read.
 */
export function makeLists(context) {
  const { feed } = context;
  const approvals = new LiveList(feed, ['standing_approval'], async () => {
    const { approvals: found, longest_days: days } = await api.approvals({ state: 'active', limit: 100 });
    approvals.longestDays = days;
    return found;
  });
  return {
    questions: new LiveList(feed, ['question'], async () => {
      const { questions } = await api.questions({ state: 'open', limit: 200 });
      const others = questions.filter(
        (question) => question.assignee_id && question.assignee_id !== context.me.principal.user_id,
      );
      await Promise.all(others.map((question) => context.people.know(question.project_id)));
      return [...questions.filter((each) => isForMe(each, context)), ...questions.filter((each) => !isForMe(each, context))];
    }),
    actions: new LiveList(feed, ['action'], async () => (await api.actions({ state: 'pending', limit: 50 })).actions),
    approvals,
    threads: new LiveList(feed, ['thread', 'turn'], async () =>
      context.me.principal.scopes.includes('chat') ? (await api.threads({ limit: 12 })).threads : [],
    ),
  };
}

function row(id, { kind = 'row', picture, title, facts, onOpen }) {
  const shown = facts.filter(Boolean).map((fact) => el('span', {}, fact));
  const text = el(
    'span',
    { class: 'row-text' },
    el('span', { class: 'row-title' }, title),
    el('span', { class: 'facts' }, shown),
  );
  return el('li', { data: { id } }, el('button', { type: 'button', class: kind, on: { click: onOpen } }, icon(picture), text));
}

/** A question in a list. */
export function questionRow(question, context) {
  const project = context.me.projects.length > 1 && context.me.projects.find((each) => each.id === question.project_id)?.name;
  const meant = question.assignee_id && question.assignee_id !== context.me.principal.user_id;
  const facts = [
    question.turn_id ? 'The assistant' : (question.asked_with ?? question.asked_by),
    project,
    meant && `for ${context.people.nameOf(question.assignee_id) ?? 'somebody else'}`,
    ['high', 'urgent'].includes(question.priority) && el('span', { class: `priority ${question.priority}` }, question.priority),
    question.escalated && el('span', { class: 'escalated' }, 'escalated'),
    question.snoozed_until && moment(question.snoozed_until, 'back '),
    moment(question.asked_at),
    isForMe(question, context) && !question.seen && el('span', { class: 'unseen-mark' }, 'not seen yet'),
  ];
  return row(question.id, {
    kind: isForMe(question, context) ? (question.seen ? 'row' : 'row new') : 'row aside',
    picture: 'question',
    title: question.title ?? plain(question.text),
    facts,
    onOpen: () => context.openQuestion(question.id),
  });
}

/** A pending action in a list. */
export function actionRow(action, context) {
  const facts = [action.summary, moment(action.proposed_at)];
  return row(action.id, { picture: 'pencil', title: action.headline, facts, onOpen: () => context.openAction(action.id) });
}

/** Whether a question waits for this person, now. */
export function isForMe(question, context) {
  return reasonNotToAnswer(context.me, question) === null && !question.snoozed_until;
}

/**
 * Makes these the list's rows. Rows that look as they did stay where they are, so that a click on one is not lost while the list is read
 * anew, and the focus stays on the row that had it.
 */
export function refill(list, rows) {
  const focused = list.contains(document.activeElement) ? document.activeElement.closest('li')?.dataset.id : null;
  const shown = [...list.children];
  const before = new Map(shown.map((row) => [row.dataset.id, row]));
  const after = rows.map((row) => (before.get(row.dataset.id)?.isEqualNode(row) ? before.get(row.dataset.id) : row));
  for (const row of shown) if (!after.includes(row)) row.remove();
  after.forEach((row, place) => {
    if (list.children[place] !== row) list.insertBefore(row, list.children[place] ?? null);
  });
  if (focused && !list.contains(document.activeElement)) list.querySelector(`li[data-id="${CSS.escape(focused)}"] button`)?.focus();
}
