// What a person does with conversations as a whole: find one, name it, take it away as a file, delete it.

import { api } from './api.js';
import { ask } from './asking.js';
import { button, el, fill, iconButton, Problem } from './elements.js';
import { moment } from './words.js';

const FORMATS = { Markdown: 'markdown', PDF: 'pdf', JSON: 'json' };
const PAUSE = 250;

/** A conversation in a list; `snippet` is the part of it that a search found. */
export function threadRow(thread, context, snippet = null) {
  const project = context.me.projects.length > 1 && context.me.projects.find((each) => each.id === thread.project_id)?.name;
  const facts = [snippet, project, moment(thread.updated_at)].filter(Boolean).map((fact) => el('span', {}, fact));
  return el(
    'li',
    { data: { id: thread.id } },
    el(
      'button',
      { type: 'button', class: 'row plain', on: { click: () => context.go(thread.id) } },
      el('span', { class: 'row-title' }, thread.title || 'New conversation'),
      el('span', { class: 'facts' }, facts),
    ),
  );
}

/** The field that searches one's own conversations. `onFound(hits)` is given null where nothing is searched for. */
export function finder(onFound) {
  let last = 0;
  let waiting = null;
  const look = async (q) => {
    last += 1;
    const mine = last;
    const hits = q ? (await api.searchThreads({ q, limit: 20 })).hits : null;
    if (mine === last) onFound(hits);
  };
  const input = el('input', { type: 'text', role: 'searchbox', class: 'find', maxLength: 200, autocomplete: 'off' });
  input.placeholder = 'Search conversations';
  input.ariaLabel = 'Search conversations';
  input.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => look(input.value.trim()), PAUSE);
  });
  return input;
}

/** The menu of a conversation. `current()` is the thread as it was last read; `onRenamed(thread)` and `onDeleted()` follow. */
export function threadMenu(current, { onRenamed, onDeleted }) {
  const entry = (text, act) =>
    button(text, {
      on: {
        click: () => {
          menu.hidePopover();
          act();
        },
      },
    });
  const menu = el(
    'div',
    { class: 'menu', popover: 'auto' },
    entry('Rename', () => rename(current(), onRenamed)),
    Object.entries(FORMATS).map(([name, format]) => entry(`Download as ${name}`, () => download(current().id, format))),
    entry('Delete', () => remove(current(), onDeleted)),
  );
  const more = iconButton('More', 'more', { class: 'round more', hidden: true });
  more.popoverTargetElement = menu;
  return [more, menu];
}

/** Says that a conversation is temporary, and keeps it for good if that is wished; `onKept(thread)` follows. */
export class TemporaryNote {
  element = el('div', { class: 'temporary', hidden: true });
  #thread = null;

  constructor(onKept) {
    const problem = new Problem();
    const act = async () => onKept(await api.saveThread(this.#thread.id));
    const keep = button('Keep it', { on: { click: () => problem.around([keep], act) } });
    const said = el('span', { class: 'quiet' }, 'Temporary: in no list, and gone a day after its last message.');
    fill(this.element, said, keep, problem.element);
  }

  /** `thread` as it was last read. */
  show(thread) {
    this.#thread = thread;
    this.element.hidden = !thread.temporary;
  }
}

function download(id, format) {
  el('a', { href: `/v1/threads/${id}/export?format=${format}`, download: '' }).click();
}

function rename(thread, onRenamed) {
  const name = el('input', { type: 'text', value: thread.title, maxLength: 200, required: true });
  name.ariaLabel = 'Name';
  const act = async () => onRenamed(await api.renameThread(thread.id, name.value));
  ask({ title: 'Rename this conversation', picture: 'pencil', said: name, yes: 'Rename', act });
  name.select();
}

function remove(thread, onDeleted) {
  const said = el(
    'p',
    {},
    'It goes with its messages, files, open questions and undecided changes. Changes that were confirmed stay, and can still be undone.',
  );
  const act = async () => {
    await api.deleteThread(thread.id);
    onDeleted();
  };
  ask({ title: 'Delete this conversation?', picture: 'cross', said, yes: 'Delete', act });
}
