// One exchange of a conversation: what the person said, and what came of it, while it comes and afterwards.

import { ActionCard } from './actions.js';
import { announce, button, el, fill } from './elements.js';
import { shownFiles } from './files.js';
import { MarkdownView } from './markdown.js';
import { markNumbers, numbersNote } from './numbers.js';
import { QuestionCard } from './question.js';
import { TurnUndo } from './undo.js';
import { workDone } from './work.js';

export const OPEN = new Set(['queued', 'running', 'waiting']);

/** Where an answer says that a change is done which nobody had confirmed. */
const CLAIMED = 'This answer says that something was changed. Nobody had confirmed that change; its card shows where it stands.';

const CUTS = {
  stopped: 'Stopped here.',
  failed: 'It broke off here.',
  length: 'The answer was longer than the model may write, and ends here.',
};

/** The text of one model step, and below it the cards that came of it. */
class Segment {
  view = new MarkdownView();
  cards = el('div', { class: 'cards' });
  pictures = el('div', { class: 'pictures' });
  element = el('div', { class: 'segment' }, this.view.element, this.pictures, this.cards);
  calls = [];
  shown = 0;
  attempt = 0;
  text = '';
  /** The stored stream begins anew: what comes next for this step is not a continuation of what is here. */
  stale = false;

  constructor(step) {
    this.step = step;
  }

  /** The model wrote the answer once more: this one stays, folded. */
  fold() {
    if (this.view.element.parentNode !== this.element) return;
    const folded = el('details', { class: 'replaced' }, el('summary', {}, 'First draft, replaced: it had numbers without a source'));
    this.view.element.replaceWith(folded);
    folded.append(this.view.element);
  }

  /** Pictures that the calls of this step made. */
  show(files) {
    if (files.length !== this.shown) fill(this.pictures, shownFiles(files));
    this.shown = files.length;
  }
}

/**
 * `context` is `{me, feed, people}`. `said` is the person's message, or null where this answers an earlier one again; `onAgain(view)` is
 * called to answer it once more, null where this person may not.
 */
export class TurnView {
  element = el('section', { class: 'turn' });
  /** Of the turn; known once the message was taken. */
  id = null;
  /** Of the turn that brought the message. */
  of = null;
  /** The button that answers once more. */
  again;
  state = 'queued';
  /** Whether the stored outcome is shown, so that nothing more is to come. */
  settled = false;
  #context;
  #segments = new Map();
  #cards = new Map();
  #dirty = new Set();
  #theirs = el('div', { class: 'theirs' });
  #together;
  #foot = el('div', { class: 'turn-foot' });
  #activity = '';
  /** What it waits for; its state may be told before the calls of which that came. */
  #waiting = 'Waiting';
  #replaced = false;

  constructor(context, said, onAgain) {
    this.#together = new TurnUndo(context.me);
    this.#context = {
      ...context,
      onAction: (action) => this.#together.know(action),
      onProposed: (id) => this.#card(id, ActionCard),
    };
    this.again = onAgain && button('', { class: 'again', hidden: true, on: { click: () => onAgain(this) } });
    const files = said?.attachments.length > 0 && shownFiles(said.attachments);
    const mine = said && el('div', { class: 'mine' }, el('span', { class: 'unseen' }, 'You said'), files, el('p', {}, said.text));
    fill(this.element, mine, this.#theirs, this.#together.element, this.#foot);
  }

  sending() {
    this.#work('Sending');
  }

  stop() {
    for (const card of this.#cards.values()) card.stop();
  }

  /** The message is stored. `waits`: another turn of the conversation is to end first. */
  accepted(waits) {
    this.#work(waits ? 'Waiting for its turn' : 'Thinking');
  }

  /** The message did not arrive; `again` sends it once more. */
  unsent(error, again) {
    this.#activity = '';
    fill(
      this.#foot,
      el('p', { class: 'problem', role: 'alert' }, `Not sent. ${error.message}`),
      button('Try again', { on: { click: again } }),
    );
  }

  /** What is stored of this turn so far, and the state it is in. */
  stored(messages, state, actions = []) {
    this.state = state;
    for (const message of messages) {
      if (message.role !== 'assistant') continue;
      const segment = this.#segment(message.step);
      segment.text = message.text;
      segment.calls = message.calls;
      this.#render(segment);
      if (message.sent_back && (OPEN.has(state) || message !== messages.at(-1))) segment.fold();
      else markNumbers(segment.view.element, message.ungrounded);
      segment.show(message.attachments);
      for (const call of message.calls) {
        if (call.action_id) this.#card(call.action_id, ActionCard, segment);
        if (call.question_id) this.#card(call.question_id, QuestionCard, segment);
      }
    }
    for (const id of actions) this.#card(id, ActionCard);
    if (OPEN.has(state) && !this.#activity) this.#work(state === 'queued' ? 'Waiting for its turn' : 'Thinking');
  }

  /** A piece of the stream (see the gateway's sse/turns.py). `done` is not one of them. What comes after the stored outcome was late. */
  take({ event, data }) {
    if (this.settled) return undefined;
    switch (event) {
      case 'step':
        return this.#begin(data);
      case 'delta':
        return this.#say(data, (segment) => segment.text + data.text);
      case 'reset':
        return data.reason ? this.#restart() : this.#say(data, () => data.text);
      case 'calls':
        return this.#call(data);
      case 'again':
        return this.#again(data);
      case 'cut':
        return this.#work('');
      case 'turn':
        return this.#move(data);
      default:
        return undefined;
    }
  }

  #begin({ step, attempt }) {
    const segment = this.#segment(step);
    if (attempt < segment.attempt) return;
    Object.assign(segment, { attempt, text: '', stale: false });
    this.#later(segment);
    this.#work('Thinking');
  }

  #again({ step }) {
    this.#segment(step).fold();
    this.#work('Checking the numbers');
  }

  #restart() {
    for (const segment of this.#segments.values()) segment.stale = true;
  }

  #say({ step, attempt }, next) {
    const segment = this.#segment(step);
    if (attempt < segment.attempt) return;
    if (segment.stale || attempt > segment.attempt) Object.assign(segment, { attempt, text: '', stale: false });
    segment.text = next(segment);
    this.#later(segment);
    this.#work('Writing');
  }

  #call({ step, calls }) {
    this.#segment(step).calls = calls;
    const waits = this.state === 'waiting' && calls.some((call) => this.#cards.has(call.id));
    this.#work(waits ? this.#waiting : [...new Set(calls.map((call) => call.label))].join(', '));
  }

  #move({ state, questions, actions }) {
    this.state = state;
    for (const id of actions) this.#card(id, ActionCard);
    for (const id of questions) this.#card(id, QuestionCard);
    this.#waiting = questions.length ? 'Waiting for your answer' : 'Waiting';
    if (state === 'waiting') this.#work(this.#waiting);
    else if (state === 'running' && (this.#activity.startsWith('Waiting') || this.#activity === 'Sending'))
      this.#work('Thinking');
    else if (state === 'queued') this.#work('Waiting for its turn');
  }

  /** The end: what is stored takes the place of what was streamed. `turn` is null where its messages say it all. */
  settle(messages, turn, actions) {
    this.stored(messages, turn?.state ?? 'completed', actions);
    this.settled = true;
    const calls = messages.flatMap((message) => message.calls);
    const last = messages.at(-1);
    const cut = turn?.cancel_reason === 'superseded' ? null : CUTS[last?.cut];
    fill(
      this.#foot,
      last?.unconfirmed?.length > 0 && el('p', { class: 'problem' }, CLAIMED),
      last?.ungrounded && numbersNote(last.ungrounded),
      this.#ending(turn, cut),
      el(
        'div',
        { class: 'meta' },
        calls.length > 0 && workDone(calls),
        this.again,
        last?.model && el('span', { class: 'quiet' }, last.model),
      ),
    );
    if (this.#activity) announce(turn?.error?.message ?? 'The answer is complete.');
    this.#activity = '';
  }

  /** Whether answering once more is offered. */
  offer(again) {
    if (!this.again) return;
    this.again.textContent = this.state === 'completed' ? 'Answer again' : 'Try again';
    this.again.hidden = !again || this.#replaced;
  }

  /** A later answer to the same message counts. What this one said stays, folded, unless cards that came of it are to be seen. */
  replace() {
    if (this.#replaced) return;
    this.#replaced = true;
    this.offer(false);
    if (![...this.#segments.values()].some((each) => each.text || each.calls.length)) return;
    const fold = el('details', { class: 'replaced', open: this.#cards.size > 0 }, el('summary', {}, 'Earlier answer, replaced'));
    this.element.append(fold);
    fold.append(this.#theirs, this.#together.element, this.#foot);
  }

  #ending(turn, cut) {
    if (turn?.error) return el('p', { class: 'problem' }, turn.error.message);
    if (turn?.state === 'cancelled') {
      const words = { superseded: 'Your next message took its place.', interrupted: 'Your next message interrupted this.' };
      return el('p', { class: 'quiet' }, words[turn.cancel_reason] ?? 'Stopped.');
    }
    return cut && el('p', { class: 'quiet' }, cut);
  }

  #segment(step) {
    if (!this.#segments.has(step)) {
      const made = new Segment(step);
      const next = [...this.#segments.values()]
        .filter((other) => other.step > step)
        .sort((one, other) => one.step - other.step)[0];
      this.#theirs.insertBefore(made.element, next?.element ?? null);
      this.#segments.set(step, made);
    }
    return this.#segments.get(step);
  }

  /** A card stands below the step whose call made it; a call's id is that of what came of it. */
  #card(id, Kind, segment = [...this.#segments.values()].find((each) => each.calls.some((call) => call.id === id))) {
    if (!this.#cards.has(id)) this.#cards.set(id, new Kind(id, this.#context));
    const home = segment ?? [...this.#segments.values()].sort((one, other) => one.step - other.step).at(-1) ?? this.#segment(1);
    const { element } = this.#cards.get(id);
    if (element.parentNode !== home.cards) home.cards.append(element);
  }

  #render(segment) {
    this.#dirty.delete(segment);
    segment.view.show(segment.text);
  }

  /** At most once a frame, however fast the text comes. */
  #later(segment) {
    if (this.#dirty.size === 0) requestAnimationFrame(() => [...this.#dirty].forEach((each) => this.#render(each)));
    this.#dirty.add(segment);
  }

  /** What goes on now, in one line whose place is kept afterwards. */
  #work(activity) {
    if (this.#activity === activity && activity !== '') return;
    this.#activity = activity;
    fill(this.#foot, el('p', { class: 'activity' }, activity && el('span', { class: 'pulse' }), activity));
    if (activity && !['Sending', 'Writing'].includes(activity)) announce(activity);
  }
}
