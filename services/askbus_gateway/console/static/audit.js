// The audit log: who did what to which id. Ids are stored and never texts; the names are of now.

import { api } from './api.js';
import { button, el, fill, Problem } from './elements.js';
import { choice, field } from './managed.js';
import { moment } from './words.js';

const KINDS = {
  '': 'everything',
  session: 'sign-ins',
  token: 'tokens',
  app: 'connected apps',
  user: 'members',
  invitation: 'invitations',
  project: 'projects',
  workspace: 'the workspace',
  question: 'questions',
  action: 'changes',
  standing_approval: 'what is allowed in advance',
  webhook: 'webhooks',
  thread: 'conversations',
  turn: 'answers of the assistant',
};

export class Audit {
  element = el('section', { class: 'log' });
  #problem = new Problem();
  #rows = el('tbody');
  #more = button('Show more', { hidden: true, on: { click: () => this.#read(this.#next) } });
  #wanted = {};
  #next = null;
  #reading = 0;
  #csv = el('a', { download: '' }, 'CSV');
  #lines = el('a', { download: '' }, 'JSON lines');

  constructor(context) {
    const kind = choice(Object.entries(KINDS), '');
    const place = choice([['', 'all'], ...context.me.projects.map((project) => [project.id, project.name])], '');
    const since = el('input', { type: 'date' });
    const narrow = () => {
      this.#wanted = {
        entity: kind.value || null,
        project_id: place.value || null,
        since: since.value ? new Date(`${since.value}T00:00:00`).toISOString() : null,
      };
      this.#read(null);
    };
    for (const control of [kind, place, since]) control.addEventListener('change', narrow);
    const heads = ['When', 'Who', 'What', 'About'].map((text) => el('th', { scope: 'col' }, text));
    fill(
      this.element,
      el('div', { class: 'side' }, field('Show', kind), field('Project', place), field('Since', since)),
      el('p', { class: 'quiet' }, 'Take these away as ', this.#csv, ' or ', this.#lines, '.'),
      this.#problem.element,
      el('div', { class: 'table' }, el('table', {}, el('thead', {}, el('tr', {}, heads)), this.#rows)),
      el('div', { class: 'buttons' }, this.#more),
    );
    narrow();
  }

  stop() {
    this.#reading = -1;
  }

  /** The page after `before`; the first one where it is null. What was asked for before and comes later is left out. */
  async #read(before) {
    if (this.#reading < 0) return;
    this.#reading += 1;
    const mine = this.#reading;
    const given = Object.entries(this.#wanted).filter(([, value]) => value !== null);
    for (const [link, format] of [
      [this.#csv, 'csv'],
      [this.#lines, 'jsonl'],
    ]) {
      link.href = `/v1/audit/export?${new URLSearchParams([...given, ['format', format]])}`;
    }
    await this.#problem.around([this.#more], async () => {
      const { entries, next } = await api.audit({ ...this.#wanted, before });
      if (mine !== this.#reading) return;
      if (before === null) fill(this.#rows);
      this.#rows.append(...entries.map(row));
      this.#next = next;
      this.#more.hidden = next === null;
    });
  }
}

function row(entry) {
  const with_ = { token: entry.token_name ?? 'a token', 'command-line': 'the operator', service: 'askbus', 'standing-approval': 'in advance' };
  const who = [entry.user_name, with_[entry.via]].filter(Boolean).join(', ');
  const about = entry.entity_name ?? entry.entity_id;
  return el(
    'tr',
    {},
    el('td', {}, moment(entry.at)),
    el('td', {}, who),
    el('td', {}, entry.event.replaceAll('_', ' ').replace('.', ': ')),
    el('td', { title: entry.entity_id }, about, entry.project_name && el('span', { class: 'optional' }, entry.project_name)),
  );
}
