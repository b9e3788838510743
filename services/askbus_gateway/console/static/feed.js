// A user's one stream: what is open now, and every change of it, by id and state. Texts are read over the API when shown.

import { Stream } from './stream.js';

const OPEN = {
  question: new Set(['open']),
  action: new Set(['pending', 'confirmed']),
  standing_approval: new Set(['active']),
  thread: new Set(['open']),
  turn: new Set(['queued', 'running', 'waiting']),
};

/** Whether something in this state still belongs to what is going on. */
export function isOpen({ entity, status }) {
  return OPEN[entity]?.has(status) ?? true;
}

/**
 * Keeps the stream of /v1/events. Whoever subscribes may give
 *
 * - `init(entities)`: everything that is open, at the beginning and whenever the stream had to begin anew;
 * - `upsert(change)`: this one is new, or changed and is open still;
 * - `remove(change)`: this one is not open any more;
 * - `counts({open, for_me, unseen})`: the inbox in numbers; the last comes a moment after the others;
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

  /** `readCounts()` resolves to the two numbers; it is asked after each change of a question. */
  constructor(readCounts, url = '/v1/events') {
    this.#readCounts = readCounts;
    this.#stream = new Stream(url, {
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
    this.entities = new Map(entities.map((entity) => [`${entity.entity} ${entity.id}`, entity]));
    this.#tell('init', entities);
    this.#count(counts);
    this.#recount();
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
    this.counts = counts;
    this.#tell('counts', counts);
  }
}
