// A conversation: its exchanges in order, the stream of the one at work, and the composer.

import { api, newId } from './api.js';
import { Composer } from './composer.js';
import { button, el, fill, iconButton, Problem } from './elements.js';
import { reasonNot } from './rights.js';
import { Stream } from './stream.js';
import { threadMenu } from './threads.js';
import { OPEN, TurnView } from './turn.js';
import { count } from './words.js';

/** Pixels from the end within which a reader follows what is written. */
const NEAR = 80;

/**
 * Shows one conversation, or begins one in `projectId` when the first message is sent. `context` is `{me, feed, people, home}`;
 * `onThread(thread)` is called once it is known which one it is.
 */
export class Conversation {
  element = el('main', { class: 'conversation' });
  #context;
  #threadId;
  #projectId;
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
  #dropped = el('p', { class: 'quiet', hidden: true });
  #title = el('h1', { tabIndex: -1 }, 'New conversation');
  #problem = new Problem();
  #list = el('div', { class: 'column turns', role: 'log', 'aria-live': 'off', 'aria-label': 'Conversation' });
  #scroller = el('div', { class: 'scroller', tabIndex: -1 }, this.#list);
  #latest = iconButton('Go to the latest', 'down', { class: 'round latest', hidden: true });
  #composer;
  #menu;
  #unsubscribe;
  #following = true;
  #stopped = false;

  constructor(context, { threadId = null, projectId = null, onThread }) {
    this.#context = context;
    this.#threadId = threadId;
    this.#projectId = projectId;
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
      el('div', { class: 'column dock' }, this.#latest, this.#problem.element, this.#composer.element),
    );
    this.#followTheEnd();
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
    this.#resized.disconnect();
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
    const view = new TurnView(this.#context, text, files, (turnId) => this.#retry(turnId));
    const messageId = newId();
    this.#list.append(view.element);
    this.#following = true;
    this.#toEnd();
    const attempt = () => {
      view.sending();
      this.#sent = this.#sent.then(() => this.#post(view, text, messageId, files)).catch((error) => view.unsent(error, attempt));
    };
    attempt();
  }

  async #post(view, text, messageId, files) {
    if (!this.#threadId) {
      const thread = await api.createThread(this.#projectId, this.#key);
      this.#threadId = thread.id;
      this.#onThread(thread);
    }
    const attachments = files.map((file) => file.id);
    const turn = await api.startTurn(this.#threadId, text, messageId, attachments);
    view.accepted(
      turn.id,
      this.#views().some((each) => !each.settled),
    );
    this.#turns.set(turn.id, view);
    if (this.#title.textContent === 'New conversation') this.#title.textContent = text.split('\n')[0].slice(0, 80);
    this.#follow();
  }

  async #stopTurn() {
    const view =
      this.#views().find((each) => !each.settled && each.state !== 'queued') ?? this.#views().find((each) => !each.settled);
    if (!view) return;
    try {
      await api.cancelTurn(view.id);
    } catch (error) {
      if (error.code !== 'conflict') this.#problem.say(error);
    }
  }

  /** Has a turn's message answered once more, and says whether that is on its way. */
  async #retry(turnId) {
    try {
      this.#show((await api.retryTurn(turnId)).id, [], true, null);
      this.#follow();
      return true;
    } catch (error) {
      this.#problem.say(error);
      return false;
    }
  }

  /** A turn moved, perhaps in another tab: one that is not known here may belong to this conversation. */
  async #moved({ id, status }) {
    await this.#sent;
    const view = this.#turns.get(id);
    if (view) {
      if (!OPEN.has(status) && !view.settled && this.#followed !== id) this.#reload();
      else if (OPEN.has(status)) this.#follow();
      return;
    }
    if (!this.#threadId || !OPEN.has(status)) return;
    if (await this.#isHere(id)) this.#reload();
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
    if (!this.#turns.size)
      fill(this.#list, el('div', { class: 'empty' }, button('Try again', { on: { click: () => this.#reload() } })));
  }

  async #read() {
    await this.#sent;
    const thread = await api.thread(this.#threadId);
    await this.#sent;
    const groups = byTurn(thread.messages);
    const open = new Set(thread.open_turns);
    const silent = [...open, ...this.#views().map((view) => view.id)].filter((id) => id && !groups.has(id));
    for (const id of silent) groups.set(id, []);
    const ended = await Promise.all([...groups].map(([id, messages]) => this.#ending(id, messages, open.has(id))));
    this.#problem.say(null);
    if (!this.#turns.size) fill(this.#list);
    this.#named(thread);
    this.#projectId = thread.project_id;
    this.#dropped.hidden = !thread.dropped_turns;
    this.#dropped.textContent = `${count(thread.dropped_turns, 'earlier exchange')} not kept any more.`;
    if (thread.dropped_turns && !this.#dropped.isConnected) this.#list.prepend(this.#dropped);
    [...groups].forEach(([id, messages], at) => this.#show(id, messages, open.has(id), ended[at], groups));
    this.#follow();
    this.#toEnd();
  }

  #named(thread) {
    this.#thread = thread;
    this.#menu[0].hidden = false;
    if (thread.title) this.#title.textContent = thread.title;
    this.#onThread(thread);
  }

  /** How a turn ended, where its messages do not say so themselves. */
  #ending(id, messages, open) {
    const last = messages.at(-1);
    const plain = last?.role === 'assistant' && !last.calls.length && last.cut !== 'stopped' && last.cut !== 'failed';
    return open || plain || this.#turns.get(id)?.settled ? null : api.turn(id);
  }

  #show(id, messages, open, turn, groups) {
    let view = this.#turns.get(id);
    if (!view) {
      const said = messages.find((message) => message.role === 'user');
      view = new TurnView(this.#context, said?.text ?? null, said?.attachments, (turnId) => this.#retry(turnId));
      view.id = id;
      this.#turns.set(id, view);
      this.#list.append(view.element);
    }
    if (view.settled) return;
    if (open) {
      if (this.#followed !== id) view.stored(messages, messages.length > 1 ? 'running' : view.state);
    } else view.settle(messages, turn, groups.has(turn?.replaced_by));
  }

  /** Follows the first turn that is not over; the others wait for it. */
  #follow() {
    if (this.#stopped) return;
    const view = this.#views().find((each) => !each.settled);
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

  #resized = new ResizeObserver(() => this.#following && this.#toEnd());

  /** The end stays in sight while it grows, unless the reader went up to read; then a button leads back. */
  #followTheEnd() {
    const scroller = this.#scroller;
    scroller.addEventListener('scroll', () => {
      this.#following = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
      this.#latest.hidden = this.#following;
    });
    this.#latest.addEventListener('click', () => {
      this.#following = true;
      this.#toEnd();
      this.#composer.focus();
    });
    this.#resized.observe(this.#list);
    this.#resized.observe(scroller);
  }

  #toEnd() {
    if (this.#following) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }
}

/** The messages of each turn, in the order in which the turns came. */
function byTurn(messages) {
  const groups = new Map();
  for (const message of messages) groups.set(message.turn_id, [...(groups.get(message.turn_id) ?? []), message]);
  return groups;
}
