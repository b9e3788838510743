// A conversation: its exchanges in order, the stream of the one at work, and the composer.

import { api, newId } from './api.js';
import { Composer } from './composer.js';
import { button, el, fill, iconButton, Problem } from './elements.js';
import { readHistory } from './history.js';
import { reasonNot } from './rights.js';
import { EndKeeper } from './scroll.js';
import { Stream } from './stream.js';
import { TemporaryNote, threadMenu } from './threads.js';
import { OPEN, TurnView } from './turn.js';
import { count } from './words.js';

/**
 * Shows one conversation, or begins one in `projectId` when the first message is sent, for a while if it is `temporary`. `context` is
 * `{me, feed, people, home}`; `onThread(thread)` is called once it is known which one it is.
 */
export class Conversation {
  element = el('main', { class: 'conversation' });
  #context;
  #threadId;
  #projectId;
  #temporary;
  /** Sent with each try to create the thread, so that it is created once. */
  #key = newId();
  #onThread;
  #turns = new Map();
  /** Messages are sent one after the other, in the order in which they were written. */
  #sent = Promise.resolve();
  #stream = null;
  #followed = null;
  #reading = null;
  #thread = null;
  #unread = el('div', { class: 'empty' }, button('Try again', { on: { click: () => this.#reload() } }));
  #dropped = el('p', { class: 'quiet', hidden: true });
  #title = el('h1', { tabIndex: -1 }, 'New conversation');
  #problem = new Problem();
  #note = new TemporaryNote((thread) => {
    this.#named(thread);
    this.#composer.focus();
  });
  #list = el('div', { class: 'column turns', role: 'log', 'aria-live': 'off', 'aria-label': 'Conversation' });
  #scroller = el('div', { class: 'scroller', tabIndex: -1 }, this.#list);
  #end = new EndKeeper(this.#scroller, this.#list, () => this.#composer.focus());
  #composer;
  #menu;
  #unsubscribe;
  #stopped = false;
  /** Turns of other conversations. */
  #elsewhere = new Set();

  constructor(context, { threadId = null, projectId = null, temporary = false, onThread }) {
    this.#context = context;
    this.#threadId = threadId;
    this.#projectId = projectId;
    this.#temporary = temporary;
    this.#onThread = onThread;
    this.#menu = threadMenu(() => this.#thread, {
      onRenamed: (thread) => this.#named(thread),
      onDeleted: () => context.home(),
    });
    const close = iconButton('Close the conversation', 'back', { on: { click: () => context.home() } });
    this.#composer = new Composer({
      placeholder: 'Write a message',
      reason: reasonNot(context.me, 'chat', projectId),
      projectId: () => this.#projectId,
      onSend: (text, files) => this.send(text, files),
      onStop: () => this.#stopTurn(),
    });
    fill(
      this.element,
      el('div', { class: 'column bar' }, close, this.#title, this.#menu),
      this.#scroller,
      el('div', { class: 'column dock' }, this.#end.button, this.#note.element, this.#problem.element, this.#composer.element),
    );
    const moved = (change) => change.entity === 'turn' && this.#moved(change);
    const isThis = (change) => change.entity === 'thread' && change.id === this.#threadId;
    this.#unsubscribe = context.feed.subscribe({
      init: () => this.#reload(),
      upsert: (change) => (isThis(change) && this.#thread ? this.#reload() : moved(change)),
      remove: (change) => (isThis(change) ? context.home() : moved(change)),
    });
    if (threadId) this.#reload();
  }

  /** It is not shown any more. A message on its way still arrives. */
  stop() {
    this.#stopped = true;
    this.#unsubscribe();
    this.#stream?.stop();
    this.#end.stop();
    for (const turn of this.#views()) turn.stop();
  }

  focus() {
    this.#composer.focus();
  }

  get threadId() {
    return this.#threadId;
  }

  #views() {
    return [...this.#turns.values()];
  }

  /** Sends a message: it is on the page at once, and on the server exactly once however often it has to be tried. */
  send(text, files = []) {
    const view = this.#view({ text, attachments: files });
    const messageId = newId();
    this.#list.append(view.element);
    this.#end.follow();
    const attempt = () => {
      view.sending();
      this.#sent = this.#sent.then(() => this.#post(view, text, messageId, files)).catch((error) => view.unsent(error, attempt));
    };
    attempt();
  }

  async #post(view, text, messageId, files) {
    if (!this.#threadId) {
      const thread = await api.createThread(this.#projectId, this.#key, this.#temporary);
      this.#threadId = thread.id;
      this.#note.show(thread);
      this.#onThread(thread);
    }
    const attachments = files.map((file) => file.id);
    const turn = await api.startTurn(this.#threadId, text, messageId, attachments);
    for (const each of this.#views()) if (each.state === 'completed') each.offer(false);
    this.#know(view, turn.id, turn.id);
    view.accepted(this.#waits());
    if (this.#title.textContent === 'New conversation') this.#title.textContent = text.split('\n')[0].slice(0, 80);
    this.#follow();
  }

  async #stopTurn() {
    const view = this.#atWork();
    if (!view) return;
    try {
      await api.cancelTurn(view.id);
    } catch (error) {
      if (error.code !== 'conflict') this.#problem.say(error);
    }
  }

  /** A turn moved, perhaps in another tab: one that is not known here may belong to this conversation. */
  async #moved({ id, status }) {
    await this.#sent;
    const view = this.#turns.get(id);
    if (view) {
      if (!OPEN.has(status) && !view.settled && this.#followed !== id) this.#reload();
      else if (OPEN.has(status) && !view.settled) {
        if (this.#followed !== id) view.state = status;
        this.#follow();
      }
      return;
    }
    if (!this.#threadId || this.#elsewhere.has(id)) return;
    if (await this.#isHere(id)) this.#reload();
    else this.#elsewhere.add(id);
  }

  async #isHere(turnId) {
    try {
      return (await api.turn(turnId)).thread_id === this.#threadId;
    } catch (error) {
      if (error.status === 404) return false;
      throw error;
    }
  }

  /** Reads the whole conversation; never twice at once, and once more where it changed meanwhile. */
  #reload() {
    if (!this.#threadId || this.#stopped) return;
    if (this.#reading) {
      this.#reading.again = true;
      return;
    }
    const reading = { again: false };
    this.#reading = reading;
    this.#read()
      .catch((error) => this.#failed(error))
      .finally(() => {
        this.#reading = null;
        if (reading.again) this.#reload();
      });
  }

  #failed(error) {
    this.#problem.say(error);
    if (!this.#list.childElementCount) this.#list.append(this.#unread);
  }

  async #read() {
    await this.#sent;
    const { thread, tries } = await readHistory(this.#threadId, this.#views());
    await this.#sent;
    this.#problem.say(null);
    this.#unread.remove();
    this.#named(thread);
    this.#projectId = thread.project_id;
    this.#dropped.hidden = !thread.dropped_turns;
    this.#dropped.textContent = `${count(thread.dropped_turns, 'earlier exchange')} not kept any more.`;
    if (thread.dropped_turns && !this.#dropped.isConnected) this.#list.prepend(this.#dropped);
    let place = this.#dropped.isConnected ? this.#dropped : null;
    for (const each of tries) place = this.#show(each, place);
    this.#follow();
    this.#end.keep();
  }

  #named(thread) {
    this.#thread = thread;
    this.#menu[0].hidden = false;
    this.#note.show(thread);
    if (thread.title) this.#title.textContent = thread.title;
    this.#onThread(thread);
  }

  /** A turn as it is stored, below `place` if it is not there yet. A message that is being sent stays at the end. Returns the element. */
  #show({ id, of, said, messages, actions, open, turn, replaced, again }, place) {
    const view = this.#turns.get(id) ?? this.#add(id, of, said, place);
    if (!view.settled) {
      if (!open) view.settle(messages, turn ?? null, actions);
      else if (this.#followed !== id) view.stored(messages, messages.some(({ role }) => role === 'assistant') ? 'running' : view.state);
    }
    if (replaced) view.replace();
    else if (again !== undefined || view.state === 'completed') view.offer(again);
    return view.element;
  }

  #add(id, of, said, place) {
    const view = this.#view(said);
    if (place) place.after(view.element);
    else this.#list.prepend(view.element);
    this.#know(view, id, of);
    return view;
  }

  #view(said) {
    const may = !reasonNot(this.#context.me, 'chat', this.#projectId);
    return new TurnView(this.#context, said, may ? (view) => this.#again(view) : null);
  }

  /** Answers the message of a turn once more. Asked for twice, also in another tab, that is one new answer. */
  async #again(view) {
    const done = await this.#problem.around([view.again], async () => {
      const { id } = await api.retryTurn(view.id);
      if (!this.#turns.has(id)) this.#add(id, view.of, null, view.element).accepted(this.#waits());
      view.replace();
      this.#follow();
    });
    if (done) this.#composer.focus();
  }

  #waits() {
    return this.#views().filter((each) => !each.settled).length > 1;
  }

  #know(view, id, of) {
    Object.assign(view, { id, of });
    this.#turns.set(id, view);
  }

  /** The turn that is not over, or the first of them; the others wait for it, wherever they stand. */
  #atWork() {
    const open = this.#views().filter((each) => !each.settled);
    return open.find((each) => each.state !== 'queued') ?? open[0];
  }

  #follow() {
    if (this.#stopped) return;
    const view = this.#atWork();
    this.#composer.busy = Boolean(view);
    if (!view || this.#followed === view.id) return;
    this.#stream?.stop();
    this.#followed = view.id;
    this.#stream = new Stream(`/v1/turns/${view.id}/events`, {
      onEvent: (event) => (event.event === 'done' ? this.#done(view) : view.take(event)),
      onStatus: (status) => status === 'refused' && this.#done(view),
    });
    this.#stream.start();
  }

  #done(view) {
    if (this.#followed !== view.id) return;
    this.#stream.stop();
    this.#followed = null;
    this.#reload();
  }
}
