// Server-sent events over fetch: unlike EventSource it comes back after any answer, says why not, and rests on hidden pages.

const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;
/** The server shows a sign of life every fifteen seconds; three missed, and the connection is taken for dead. */
const SILENCE = 45_000;

/** Cuts a stream of text into events (WHATWG server-sent events): `take(text)` returns those that are complete now. */
export class EventParser {
  #rest = '';
  #event = '';
  #data = [];
  #id;
  retry = null;

  take(text) {
    const found = [];
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) {
      if (line !== '') this.#field(line);
      else if (this.#data.length) found.push(this.#dispatch());
      else this.#event = '';
    }
    return found;
  }

  #field(line) {
    const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
    else if (name === 'id') this.#id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
  }

  #dispatch() {
    const event = { event: this.#event || 'message', data: JSON.parse(this.#data.join('\n')), id: this.#id };
    this.#event = '';
    this.#data = [];
    return event;
  }
}

/** What a stream asks of the page that it is for: whether anybody sees it, and to be told when that, or the network, changes. */
export const thisPage = {
  hidden: () => document.visibilityState === 'hidden',
  /** Calls `changed('visibility' | 'online' | 'offline')`; returns what ends that. */
  watch(changed) {
    const heard = ({ type }) => changed(type === 'visibilitychange' ? 'visibility' : type);
    document.addEventListener('visibilitychange', heard);
    for (const type of ['online', 'offline']) addEventListener(type, heard);
    return () => {
      document.removeEventListener('visibilitychange', heard);
      for (const type of ['online', 'offline']) removeEventListener(type, heard);
    };
  },
};

/**
 * Follows a stream and keeps following it: it resumes after its last id, with a growing, jittered pause between tries; it rests
 * while the page is hidden, and comes back at once when the page is shown or the network returns.
 *
 * `onEvent({event, data, id})` is called in order. `onStatus` hears `connecting`, `live`, `waiting` (for the next try), `paused`
 * (hidden page), `refused` (with the HTTP status; it is over) and `stopped`.
 */
export class Stream {
  #url;
  #onEvent;
  #onStatus;
  #lastId = null;
  #failures = 0;
  #base = FIRST_DELAY;
  #running = false;
  #connection = null;
  #wake = () => {};
  #page;
  #unwatch = () => {};

  constructor(url, { onEvent, onStatus = () => {}, page = thisPage }) {
    this.#url = url;
    this.#page = page;
    this.#onEvent = onEvent;
    this.#onStatus = onStatus;
  }

  start() {
    if (this.#running) return;
    this.#running = true;
    this.#unwatch = this.#page.watch((what) => this.#onChange(what));
    this.#run();
  }

  stop() {
    if (!this.#running) return;
    this.#end('stopped');
  }

  #end(status, code) {
    this.#running = false;
    this.#unwatch();
    this.#connection?.abort();
    this.#wake();
    this.#onStatus(status, code);
  }

  #onChange(what) {
    if (what === 'offline' || (what === 'visibility' && this.#page.hidden())) this.#connection?.abort();
    else this.#hurry();
  }

  #hurry() {
    this.#failures = 0;
    this.#wake();
  }

  async #run() {
    while (this.#running) {
      if (this.#page.hidden()) {
        this.#onStatus('paused');
        await this.#sleep(null);
        continue;
      }
      const refused = await this.#connect();
      if (!this.#running || this.#page.hidden()) continue;
      if (refused) {
        this.#end('refused', refused);
        return;
      }
      this.#onStatus('waiting');
      await this.#sleep(Math.min(LONGEST_DELAY, (this.#base / 4) * 2 ** this.#failures) * (0.5 + Math.random() / 2));
      this.#failures += 1;
    }
  }

  /** One connection, until it ends. Resolves to the HTTP status of a refusal that trying again will not change. */
  async #connect() {
    const connection = new AbortController();
    this.#connection = connection;
    this.#onStatus('connecting');
    const watch = new Watch(() => connection.abort());
    try {
      const headers = { accept: 'text/event-stream', 'x-askbus': '1' };
      if (this.#lastId) headers['last-event-id'] = this.#lastId;
      const response = await fetch(this.#url, { headers, signal: connection.signal, cache: 'no-store' });
      if (!response.ok)
        return response.status >= 400 && response.status < 500 && response.status !== 429 ? response.status : null;
      await this.#read(response.body, watch);
    } catch {
      // Cut off, by the network, by the page or by us: whatever was the reason, the loop comes back with the last id.
    } finally {
      watch.stop();
      connection.abort();
    }
    return null;
  }

  async #read(body, watch) {
    const parser = new EventParser();
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    this.#onStatus('live');
    for (;;) {
      const { value, done } = await reader.read();
      if (done || !this.#running) return;
      this.#failures = 0;
      watch.seen();
      for (const event of parser.take(value)) {
        this.#hand(event);
        if (event.id) this.#lastId = event.id;
      }
      if (parser.retry) this.#base = parser.retry;
    }
  }

  /** A listener's defect is the page's to report, and no reason to drop the stream. */
  #hand(event) {
    try {
      this.#onEvent(event);
    } catch (error) {
      reportError(error);
    }
  }

  /** Waits so long (null: until woken), or until somebody hurries. */
  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = milliseconds === null ? null : setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Calls `late` when nothing was seen for too long. */
class Watch {
  #late;
  #timer;

  constructor(late) {
    this.#late = late;
    this.seen();
  }

  seen() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#late, SILENCE);
  }

  stop() {
    clearTimeout(this.#timer);
  }
}
