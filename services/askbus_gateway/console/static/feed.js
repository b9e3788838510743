// A user's one stream: what is open now, and every change of it, by id and state. Texts are read over the API when shown.

import { Stream, thisPage } from './stream.js';

const OPEN = {
  question: new Set(['open']),
  action: new Set(['pending', 'confirmed']),
  standing_approval: new Set(['active']),
  thread: new Set(['open']),
  turn: new Set(['queued', 'running', 'waiting']),
};

/** Whether something in this state still belongs to what is going on. */
export function isOpen({ entity, status, op }) {
  return op !== 'remove' && (OPEN[entity]?.has(status) ?? true);
}

/**
 * Keeps the stream of /v1/events. Whoever subscribes may give
 *
 * - `init(entities)`: everything that is open, at the beginning and whenever the stream had to begin anew;
 * - `upsert(change)`: this one is new, or changed and is open still;
 * - `remove(change)`: this one is not open any more;
 * - `counts({open, for_me, unseen})`: the inbox in numbers;
 * - `status(status)`: how the connection is, as in stream.js;
 * - `access()`: the user's rights changed, or the session ended.
 *
 * A change is `{entity, id, status, project, assignee}`.
 */
export class Feed {
  #stream;
  #readCounts;
  #subscribers = new Set();
  #counting = null;
  #uncounted = false;
  entities = new Map();
  counts = { open: 0, for_me: 0, unseen: 0 };
  status = 'connecting';
  /** Whether the first state has come. */
  begun = false;

  /** `readCounts()` resolves to the same numbers as a state has; it is asked after each change of a question. */
  constructor(readCounts, url = '/v1/events', page = thisPage) {
    this.#readCounts = readCounts;
    this.#stream = new Stream(url, {
      page,
      onEvent: (event) => this.#take(event),
      onStatus: (status) => {
        this.status = status;
        this.#tell('status', status);
        if (status === 'refused') this.#tell('access');
        if (status === 'live' && this.#uncounted) this.#recount();
      },
    });
  }

  start() {
    this.#stream.start();
  }

  stop() {
    this.#stream.stop();
  }

  /** Returns what ends the subscription. */
  subscribe(subscriber) {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  #tell(what, ...news) {
    for (const subscriber of [...this.#subscribers]) subscriber[what]?.(...news);
  }

  #take({ event, data }) {
    if (event === 'state') this.#begin(data);
    else if (event === 'changes') this.#change(data);
    else if (event === 'reset' || event === 'end') {
      if (data.reason === 'access' || data.reason === 'ended') this.#tell('access');
    }
  }

  #begin({ entities, counts }) {
    this.begun = true;
    this.entities = new Map(entities.map((entity) => [`${entity.entity} ${entity.id}`, entity]));
    this.#tell('init', entities);
    this.#count(counts);
    if (this.#counting) this.#counting.again = true; // what is on its way may be older than these
  }

  #change(changes) {
    for (const change of changes) {
      const key = `${change.entity} ${change.id}`;
      if (isOpen(change)) {
        this.entities.set(key, change);
        this.#tell('upsert', change);
      } else {
        this.entities.delete(key);
        this.#tell('remove', change);
      }
    }
    if (changes.some((change) => change.entity === 'question')) this.#recount();
  }

  /**
   * Who may answer what is the server's to say, so the numbers are asked for and not computed. What could not be
   * read is read when the stream is back.
   */
  #recount() {
    if (this.#counting) {
      this.#counting.again = true;
      return;
    }
    const counting = { again: false };
    this.#counting = counting;
    const missed = () => {
      this.#uncounted = true;
    };
    this.#readCounts()
      .then((counts) => this.#count(counts), missed)
      .finally(() => {
        this.#counting = null;
        if (counting.again) this.#recount();
      });
  }

  #count(counts) {
    this.#uncounted = false;
    if (counts === null) return;
    this.counts = counts;
    this.#tell('counts', counts);
  }
}

/** The inbox in numbers, as the server counts it. */
export async function readCounts() {
  const response = await fetch('/v1/questions/counts', { headers: { 'x-askbus': '1' }, cache: 'no-store' });
  if (!response.ok) throw new Error(`The counts were refused: ${response.status}`);
  return response.json();
}

/** A page's end of the feed that all pages of this browser share: what Feed offers, over a worker that keeps the connection. */
class SharedFeed {
  #port;
  #subscribers = new Set();
  entities = new Map();
  counts = { open: 0, for_me: 0, unseen: 0 };
  status = 'connecting';

  constructor(port) {
    this.#port = port;
    port.onmessage = ({ data }) => this.#hear(data);
  }

  start() {
    document.addEventListener('visibilitychange', this.#onVisibility);
    addEventListener('pagehide', this.#onHide);
    addEventListener('pageshow', this.#onShow);
    this.#say('start');
  }

  stop() {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    removeEventListener('pagehide', this.#onHide);
    removeEventListener('pageshow', this.#onShow);
    this.#say('stop');
  }

  subscribe(subscriber) {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  #onVisibility = () => this.#say('visibility');

  #onHide = () => this.#say('stop');

  /** A page that comes back out of the browser's cache has missed everything since. */
  #onShow = ({ persisted }) => {
    if (persisted) this.#say('start');
  };

  #say(what) {
    this.#port.postMessage({ what, hidden: thisPage.hidden() });
  }

  #hear({ what, news }) {
    if (what === 'init') this.entities = new Map(news[0].map((entity) => [`${entity.entity} ${entity.id}`, entity]));
    else if (what === 'upsert') this.entities.set(`${news[0].entity} ${news[0].id}`, news[0]);
    else if (what === 'remove') this.entities.delete(`${news[0].entity} ${news[0].id}`);
    else if (what === 'counts') [this.counts] = news;
    else if (what === 'status') [this.status] = news;
    for (const subscriber of [...this.#subscribers]) subscriber[what]?.(...news);
  }
}

/**
 * The feed of whoever is signed in: one connection for all pages of this browser where it has shared workers, else one for this page.
 * `who` tells the sessions apart that people sign in with here one after the other: the `principal.id` of /v1/me.
 */
export function openFeed(who) {
  if (!globalThis.SharedWorker) return new Feed(readCounts);
  const address = new URL('./feed-worker.js', import.meta.url).href;
  workers ??= globalThis.trustedTypes?.createPolicy('askbus-feed', { createScriptURL: () => address }) ?? {
    createScriptURL: () => address,
  };
  return new SharedFeed(new SharedWorker(workers.createScriptURL(address), { type: 'module', name: `askbus ${who}` }).port);
}

/** Trusted Types: the one script that may become a worker. */
let workers;
