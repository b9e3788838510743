// The bell with its two counts, the sheet with the open questions, and the dialog in which one question or action is dealt with.

import { ActionCard } from './actions.js';
import { announce, el, fill, icon, iconButton, Problem } from './elements.js';
import { isForMe, questionRow, refill } from './lists.js';
import { QuestionCard } from './question.js';
import { ApprovalCard } from './standing.js';
import { count } from './words.js';

/** The button in the header. `context` is `{feed, openSheet}`. */
export class Bell {
  element;
  #all = el('span', { class: 'count' });
  #mine = el('span', { class: 'count yours' });
  #unsubscribe;

  constructor(context) {
    this.element = el(
      'button',
      { type: 'button', class: 'bell', 'aria-haspopup': 'dialog', on: { click: () => context.openSheet() } },
      icon('bell'),
      this.#all,
      this.#mine,
    );
    this.#show(context.feed.counts);
    this.#unsubscribe = context.feed.subscribe({ counts: (counts) => this.#show(counts) });
  }

  stop() {
    this.#unsubscribe();
  }

  #show({ open, for_me: mine, unseen = 0 }) {
    const fresh = unseen > 0 ? `, ${unseen} not seen yet` : '';
    this.element.setAttribute('aria-label', `Questions: ${open} open, ${mine} for you${fresh}`);
    this.element.title = `${count(open, 'open question')}, ${mine} for you${fresh}`;
    this.#mine.classList.toggle('new', unseen > 0);
    fill(this.#all, open > 0 && `${open} open`);
    fill(this.#mine, mine > 0 && `${mine} for you`);
  }
}

/** A dialog that takes itself off the page when it is closed. A press beside it closes it. */
export function modal(how, ...children) {
  const dialog = el('dialog', how, ...children);
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** All open questions, those for this person first. */
export function openSheet(context) {
  const close = iconButton('Close', 'close', { on: { click: () => sheet.close() } });
  const body = el('div', { class: 'sheet-body' });
  const sheet = modal(
    { class: 'sheet', 'aria-label': 'Open questions' },
    el('header', {}, el('h2', {}, 'Open questions'), close),
    body,
  );
  const problem = new Problem();
  const sections = ['For you', 'Put off', 'For others'].map((title) => {
    const [heading, list] = [el('h3', {}, title), el('ul', { class: 'rows' })];
    return { heading, list, element: el('section', { hidden: true }, heading, list) };
  });
  const nothing = el(
    'div',
    { class: 'empty', hidden: true },
    icon('check'),
    el('p', {}, 'No open questions.'),
    el('p', { class: 'quiet' }, 'When an agent needs a person, its question appears here.'),
  );
  // Built once: what is taken off the page and put back loses the focus.
  fill(body, problem.element, ...sections.map((section) => section.element), nothing);
  const unsubscribe = context.lists.questions.subscribe(({ items, error }) => {
    problem.say(error);
    const forMe = (items ?? []).filter((question) => isForMe(question, context));
    const later = (items ?? []).filter((question) => question.snoozed_until);
    const rest = (items ?? []).filter((question) => !forMe.includes(question) && !later.includes(question));
    for (const [place, questions] of [forMe, later, rest].entries()) {
      refill(
        sections[place].list,
        questions.map((question) => questionRow(question, context)),
      );
      sections[place].element.hidden = questions.length === 0;
    }
    sections[2].heading.textContent = forMe.length ? 'For others' : 'Open';
    nothing.hidden = items?.length !== 0;
  });
  sheet.addEventListener('close', unsubscribe);
}

function dialog(label, make) {
  let card = null;
  const close = iconButton('Close', 'close', { class: 'round close', on: { click: () => box.close() } });
  const box = modal({ class: 'box', 'aria-label': label });
  card = make(box);
  box.append(card.element, close);
  box.addEventListener('close', () => card.stop());
  return box;
}

export function openQuestion(id, context) {
  dialog('Question', (box) => {
    const onSettled = (question) => {
      announce(question.state === 'answered' ? 'Answered.' : 'Declined.');
      box.close();
    };
    return new QuestionCard(id, context, { onSettled, takesFocus: true });
  });
}

export function openApproval(id, context) {
  dialog('Allowed without asking', () => new ApprovalCard(id, context));
}

export function openAction(id, context) {
  dialog('Proposed change', () => new ActionCard(id, context));
}
