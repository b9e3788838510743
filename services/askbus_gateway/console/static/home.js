// The quiet page that the console begins with: a greeting, the composer, what waits for a person, recent conversations.

import { Composer } from './composer.js';
import { domId, el, fill, icon } from './elements.js';
import { actionRow, questionRow, refill } from './lists.js';
import { projectsToChat, reasonNot } from './rights.js';
import { finder, threadRow } from './threads.js';
import { approvalRow } from './standing.js';
import { greeting } from './words.js';

/** `context` is `{me, lists, begin(text, projectId, files, temporary), go(threadId)}` and what the rows need. */
export class Home {
  element;
  #composer;
  #unsubscribe;

  constructor(context) {
    const projects = projectsToChat(context.me);
    const choice =
      projects.length > 1
        ? el(
            'select',
            { class: 'project', 'aria-label': 'Project' },
            projects.map((project) => el('option', { value: project.id }, project.name)),
          )
        : null;
    const temporary = el('input', { type: 'checkbox' });
    const reason =
      reasonNot(context.me, 'chat') ??
      (projects.length ? null : 'You are in no project yet. An admin of the workspace can add you to one.');
    this.#composer = new Composer({
      placeholder: 'Ask about your records, or ask for a change',
      reason,
      left: [choice, el('label', { class: 'toggle', title: 'In no list, and gone a day after its last message' }, temporary, 'Temporary')],
      projectId: () => choice?.value ?? projects[0].id,
      onSend: (text, files) => context.begin(text, choice?.value ?? projects[0].id, files, temporary.checked),
    });
    choice?.addEventListener('change', () => this.#composer.dropFiles());
    const waiting = new Section(
      'Waiting for a decision',
      'Nothing is waiting.',
      'Questions from agents and proposed changes appear here.',
    );
    const recent = new Section(
      'Recent conversations',
      'No conversations yet.',
      'What you ask stays here, so that you can come back to it.',
    );
    recent.element.hidden = Boolean(reason);
    const allowed = new Section('Allowed without asking', 'Nothing is allowed in advance.');
    const { questions, actions, approvals, threads } = context.lists;
    const showWaiting = () =>
      waiting.show([questions, actions], () => [
        ...questions.items.map((question) => questionRow(question, context)),
        ...actions.items.map((action) => actionRow(action, context)),
      ]);
    const showAllowed = () => {
      allowed.element.hidden = !approvals.items?.length;
      allowed.show([approvals], () => approvals.items.map((approval) => approvalRow(approval, context)));
    };
    let hits = null;
    const showRecent = () =>
      recent.show([threads], () =>
        hits
          ? hits.map((hit) => threadRow(hit.thread, context, hit.message_id && hit.snippet))
          : threads.items.map((thread) => threadRow(thread, context)),
      );
    recent.element.querySelector('h2').after(
      finder((found) => {
        hits = found;
        showRecent();
      }),
    );
    this.#unsubscribe = [
      questions.subscribe(showWaiting),
      actions.subscribe(showWaiting),
      approvals.subscribe(showAllowed),
      threads.subscribe(showRecent),
    ];
    this.element = el(
      'main',
      { class: 'home' },
      el(
        'div',
        { class: 'column' },
        el('h1', {}, `${greeting()}, ${context.me.name}`),
        this.#composer.element,
        waiting.element,
        allowed.element,
        recent.element,
      ),
    );
  }

  stop() {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  focus() {
    this.#composer.focus();
  }
}

class Section {
  #list = el('ul', { class: 'rows' });
  #rest = el('div');
  #empty;

  constructor(title, nothing, hint) {
    const id = domId('section');
    this.#empty = el('div', { class: 'empty' }, el('p', {}, nothing), hint && el('p', { class: 'quiet' }, hint));
    this.element = el('section', { 'aria-labelledby': id }, el('h2', { id }, title), this.#list, this.#rest);
  }

  /** Shows the rows once every list has been read. */
  show(lists, rows) {
    const error = lists.find((list) => list.error)?.error;
    if (lists.some((list) => list.items === null)) {
      fill(this.#rest, error ? el('p', { class: 'problem' }, error.message) : el('div', { class: 'skeleton' }));
      return;
    }
    const made = rows();
    refill(this.#list, made);
    fill(this.#rest, made.length === 0 && this.#empty);
  }
}
