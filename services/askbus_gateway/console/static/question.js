// One question with everything that can be done with it: answer, decline, ask back. In the dialog and in the conversation alike.

import { AnswerFields, answerShown } from './answer.js';
import { api } from './api.js';
import { CardHeader } from './card.js';
import { button, domId, el, fill, Problem } from './elements.js';
import { link, safeAddress } from './inline.js';
import { MarkdownView } from './markdown.js';
import { PutOff } from './later.js';
import { reasonNotToAnswer } from './rights.js';
import { moment, QUESTION_STATES } from './words.js';

/**
 * Shows one question and keeps it as it stands now. `context` is `{me, feed, people}`; `onSettled(question)` is called when this
 * person settled it here; `takesFocus` puts the focus on the first field once it is there. Call `stop` when it is shown no more.
 */
export class QuestionCard {
  element = el('article', { class: 'card question', 'aria-busy': 'true' });
  #id;
  #context;
  #onSettled;
  #takesFocus;
  #unsubscribe;
  #header = new CardHeader('question', 'Question');
  #text = new MarkdownView();
  #about = el('div', { class: 'about' });
  #notes = el('div', { class: 'notes' });
  #foot = el('footer');
  #problem = new Problem();
  #question = null;
  #fields = null;
  #reads = 0;
  #later;

  constructor(id, context, { onSettled = () => {}, takesFocus = false } = {}) {
    this.#id = id;
    this.#context = context;
    this.#onSettled = onSettled;
    this.#takesFocus = takesFocus;
    this.#later = new PutOff(id, this.#problem, (question) => this.#show(question));
    const moved = (change) => change.id === id && this.load();
    this.#unsubscribe = context.feed.subscribe({ init: () => this.load(), upsert: moved, remove: moved });
    fill(
      this.element,
      this.#header.element,
      el('div', { class: 'body' }, this.#text.element, this.#about, this.#notes),
      this.#problem.element,
      this.#foot,
      this.#later.element,
    );
    this.load();
  }

  stop() {
    this.#unsubscribe();
  }

  /** Reads the question anew. Of several readings the last one asked for is shown. */
  async load() {
    this.#reads += 1;
    const reading = this.#reads;
    try {
      const question = await api.question(this.#id);
      if (question.assignee_id || question.notes.length) await this.#context.people.know(question.project_id);
      if (reading === this.#reads) this.#show(question);
    } catch (error) {
      if (reading !== this.#reads) return;
      this.#problem.say(error);
      if (!this.#question) fill(this.#foot, button('Try again', { on: { click: () => this.load() } }));
    }
  }

  /** What a person has typed stays while the question is open, whatever else changes around it. */
  #show(question) {
    const before = this.#question;
    this.#question = question;
    this.element.removeAttribute('aria-busy');
    this.element.dataset.state = question.state;
    const open = question.state === 'open';
    this.#header.show(question.title ?? 'Question', open ? null : QUESTION_STATES[question.state]);
    this.#text.show(question.text);
    fill(this.#about, this.#facts(question));
    fill(
      this.#notes,
      question.notes.map((note) =>
        el(
          'p',
          { class: 'note' },
          el('strong', {}, this.#who(note.user_id)),
          ' asked back ',
          moment(note.at),
          el('span', { class: 'words' }, note.text),
        ),
      ),
    );
    if (open) this.#noted(question);
    this.#later.show(question);
    if (open && before?.state === 'open') return;
    this.#problem.say(null);
    if (open) this.#offer();
    else fill(this.#foot, outcome(question));
  }

  /** Whoever may answer has seen it now. That it could not be noted is told by nothing: it stays unseen, and is noted the next time. */
  #noted(question) {
    if (!question.may_answer || question.seen) return;
    api.seen([this.#id]).catch(() => {});
  }

  #who(id) {
    return id === this.#context.me.principal.user_id ? 'You' : (this.#context.people.nameOf(id) ?? 'Somebody');
  }

  #facts(question) {
    const address = question.link && safeAddress(question.link);
    const { projects } = this.#context.me;
    const facts = [
      question.turn_id
        ? 'The assistant asks you'
        : question.asked_with
          ? `${question.asked_with} (${question.asked_by}) asks`
          : `${question.asked_by} asks`,
      moment(question.asked_at),
      projects.length > 1 && projects.find((each) => each.id === question.project_id)?.name,
      question.assignee_id &&
        `for ${question.assignee_id === this.#context.me.principal.user_id ? 'you' : this.#who(question.assignee_id)}`,
      ['high', 'urgent'].includes(question.priority) &&
        el('span', { class: `priority ${question.priority}` }, question.priority),
      question.escalated && el('span', { class: 'escalated' }, 'escalated'),
      question.reference,
      address && link(address, 'Open link'),
      question.state === 'open' && moment(question.expires_at, 'expires '),
    ];
    return el(
      'p',
      { class: 'facts' },
      facts.filter(Boolean).map((fact) => el('span', {}, fact)),
    );
  }

  #offer() {
    const fields = new AnswerFields(this.#question);
    this.#fields = fields;
    const answer = el('button', { type: 'submit', class: 'primary' }, 'Answer');
    const decline = button('Decline', { on: { click: () => this.#sayMore(form, DECLINE) } });
    const back = this.#question.turn_id ? null : button('Ask back', { on: { click: () => this.#sayMore(form, ASK_BACK) } });
    const form = el('form', { noValidate: true }, fields.element, el('div', { class: 'buttons' }, answer, back, decline));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const given = fields.read();
      if (given !== null) this.#settle(form, () => api.answer(this.#id, given));
    });
    fill(
      this.#foot,
      form,
      this.#question.turn_id &&
        el('p', { class: 'quiet' }, 'Or simply write on: your next message takes the place of this question.'),
    );
    this.#forbid(form);
    if (this.#takesFocus) fields.focus();
  }

  /** For people who may not answer: everything is there to see, nothing can be pressed, and it says why. */
  #forbid(form) {
    const reason = reasonNotToAnswer(this.#context.me, this.#question, this.#context.people.nameOf);
    if (!reason) return;
    const id = domId('reason');
    for (const control of form.querySelectorAll('input, textarea, select, button')) {
      control.disabled = true;
      control.setAttribute('aria-describedby', id);
    }
    form.append(el('p', { class: 'reason', id }, reason));
  }

  /** Declining and asking back: a few words more, in place of the answer, which is kept for whoever goes back to it. */
  #sayMore(form, { verb, label, required, send, settles }) {
    const words = el('textarea', { rows: 2, maxLength: 2000, required, placeholder: label, 'aria-label': label });
    const done = el('button', { type: 'submit', class: settles ? 'danger' : 'primary' }, verb);
    const back = button('Back', { on: { click: () => restore() } });
    const more = el('form', { noValidate: true }, words, el('div', { class: 'buttons' }, done, back));
    const restore = () => {
      more.replaceWith(form);
      this.#fields.focus();
    };
    more.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (required && !words.value.trim()) words.value = '';
      if (!words.reportValidity()) return;
      const went = await this.#settle(more, () => send(this.#id, words.value.trim()), settles);
      if (went && !settles) restore();
    });
    form.replaceWith(more);
    words.focus();
  }

  /** Sends what the person decided. Where somebody else was first, what they decided is shown together with the refusal. */
  async #settle(form, send, settles = true) {
    let refusal = null;
    const went = await this.#problem.around([...form.querySelectorAll('button')], async () => {
      try {
        const question = await send();
        this.#reads += 1;
        if (question.notes.length) await this.#context.people.know(question.project_id);
        this.#show(question);
      } catch (error) {
        refusal = error;
        throw error;
      }
    });
    if (refusal?.code === 'conflict') {
      await this.load();
      this.#problem.say(refusal);
    }
    if (went && settles) this.#onSettled(this.#question);
    return went;
  }
}

const DECLINE = { verb: 'Decline', label: 'Why not? (optional)', required: false, send: api.decline, settles: true };
const ASK_BACK = {
  verb: 'Ask back',
  label: 'What do you need to know first?',
  required: true,
  send: api.askBack,
  settles: false,
};

/** What became of a question. */
function outcome(question) {
  const who = question.settled_by_name ?? 'Somebody';
  const by = (word) => el('p', { class: 'quiet' }, `${word} by ${who} `, moment(question.settled_at));
  switch (question.state) {
    case 'answered':
      return [answerShown(question), by('Answered')];
    case 'declined':
      return [question.reason && el('p', { class: 'given' }, question.reason), by('Declined')];
    case 'expired':
      return el('p', { class: 'quiet' }, 'Nobody answered in time.');
    case 'cancelled':
      return el('p', { class: 'quiet' }, 'Whoever asked does not need the answer any more.');
    default:
      return el(
        'p',
        { class: 'quiet' },
        question.turn_id ? 'You wrote on instead of answering.' : 'A newer question took its place.',
      );
  }
}
