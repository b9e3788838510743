// The one feed of a browser: it keeps the connection, and tells every page that is open. It rests when nobody sees any of them.

import { Feed, readCounts } from './feed.js';

/** Each page's port, and whether that page is hidden. */
const pages = new Map();
const watchers = new Set();
const TOLD = ['init', 'upsert', 'remove', 'counts', 'status', 'access'];
let feed = null;

/** What stream.js asks of a page, of all of them: hidden when every one is. */
const everyPage = {
  hidden: () => [...pages.values()].every((hidden) => hidden),
  watch(changed) {
    const heard = ({ type }) => changed(type);
    watchers.add(changed);
    for (const type of ['online', 'offline']) addEventListener(type, heard);
    return () => {
      watchers.delete(changed);
      for (const type of ['online', 'offline']) removeEventListener(type, heard);
    };
  },
};

function begin() {
  feed = new Feed(readCounts, '/v1/events', everyPage);
  const tell = (what) => (...news) => {
    for (const port of pages.keys()) port.postMessage({ what, news });
  };
  feed.subscribe(Object.fromEntries(TOLD.map((what) => [what, tell(what)])));
  feed.start();
}

function end() {
  feed?.stop();
  feed = null;
}

/** A page joins: with what there is, or, where the last one was refused, with a new connection for whoever is signed in now. */
function join(port) {
  if (feed === null || feed.status === 'refused') {
    begin();
    return;
  }
  if (feed.begun) {
    port.postMessage({ what: 'init', news: [[...feed.entities.values()]] });
    port.postMessage({ what: 'counts', news: [feed.counts] });
  }
  port.postMessage({ what: 'status', news: [feed.status] });
}

function hear(port, { what, hidden }) {
  const before = everyPage.hidden();
  if (what === 'stop') pages.delete(port);
  else if (what === 'start' || pages.has(port)) pages.set(port, hidden);
  if (what === 'start') join(port);
  if (pages.size === 0) end();
  else if (before !== everyPage.hidden()) for (const changed of [...watchers]) changed('visibility');
}

onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data }) => hear(port, data);
};
