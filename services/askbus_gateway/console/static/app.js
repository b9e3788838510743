// The console: who is signed in, which page is shown, and what all pages share. Everything it knows it has from the public API.

import { api, ApiError } from './api.js';
import { Conversation } from './chat.js';
import { button, el, fill } from './elements.js';
import { openFeed } from './feed.js';
import { Home } from './home.js';
import { Bell, openAction, openApproval, openQuestion, openSheet } from './inbox.js';
import { join, takeInvitation } from './join.js';
import { makeLists } from './lists.js';
import { People } from './people.js';
import { setPassword } from './password.js';
import { keepReturn, takeReturn } from './returning.js';
import { Settings } from './settings.js';
import { askToSwitch, SignedOut, signIn, takeCode, takeFailure } from './signin.js';
import { workspaceSwitch } from './switch.js';
import { tick } from './words.js';

const THREAD = /^#thread=([0-9a-f-]{36})$/i;
const SETTINGS = /^#settings=([a-z]*)$/;
/** Where an agent sends the person to answer or to decide. */
const CARD = /^#(question|action)=([0-9a-f-]{36})$/i;
/** Milliseconds without the stream before that is worth a word. */
const PATIENCE = 1500;

class Console {
  #root = document.getElementById('console');
  #page = null;
  #bell = null;
  #context = null;
  #frame = null;
  #note = el('p', { class: 'note-line', role: 'status', hidden: true });
  #late = null;
  /** A new session ends the one before in every tab, perhaps before a tab has its cookie: it is told to look again. */
  #tabs = new BroadcastChannel('askbus');
  #newSessions = 0;

  async start() {
    this.#tabs.onmessage = () => {
      this.#newSessions += 1;
      if (!this.#context) this.#enter();
    };
    addEventListener('popstate', () => this.#onAddress());
    addEventListener('unhandledrejection', (event) => this.#onTrouble(event.reason));
    addEventListener('error', (event) => this.#onTrouble(event.error));
    setInterval(tick, 30_000);
    await this.#enter();
  }

  /** Signs in with a code if the address holds one, and shows the page that it names. */
  async #enter() {
    keepReturn();
    const failure = takeFailure();
    const link = takeCode();
    const invitation = takeInvitation();
    let me = await this.#whoAmI();
    if (invitation) me = (await join(this.#root, invitation, me)) ?? me;
    if (link && (!me || (await askToSwitch(this.#root, me)))) {
      try {
        const use = link.purpose === 'password' ? setPassword : signIn;
        me = (await use(this.#root, link.code)) ?? me;
      } catch (error) {
        this.#leave(error);
        return;
      }
    }
    if (me && (link || invitation)) this.#arrive(me);
    else if (me) this.#begin(me);
    else this.#leave(failure);
  }

  /** Begins with a session that is new, of which other tabs are told. */
  #arrive(me) {
    this.#tabs.postMessage('signed in');
    this.#begin(me);
  }

  /** Null where nobody is signed in. Asks until there is an answer. */
  async #whoAmI() {
    for (;;) {
      try {
        return await this.#whoIsIt();
      } catch (error) {
        await new Promise((resolve) => {
          fill(
            this.#root,
            el(
              'main',
              { class: 'alone' },
              el('h1', {}, 'askbus'),
              el('p', { class: 'problem', role: 'alert' }, error.message),
              button('Try again', { class: 'primary', on: { click: resolve } }),
            ),
          );
        });
      }
    }
  }

  #begin(me) {
    const back = takeReturn();
    if (back !== null) {
      location.assign(back);
      return;
    }
    this.#end();
    const feed = openFeed(me.principal.id);
    const context = { me, feed, people: new People() };
    Object.assign(context, {
      lists: makeLists(context),
      home: () => this.#go('/'),
      go: (threadId) => this.#go(`/#thread=${threadId}`),
      begin: (text, projectId, files, temporary) => this.#beginThread(text, files, { projectId, temporary }),
      openSheet: () => openSheet(context),
      openQuestion: (id) => openQuestion(id, context),
      openAction: (id) => openAction(id, context),
      openApproval: (id) => openApproval(id, context),
    });
    this.#context = context;
    feed.subscribe({ status: (status) => this.#onStatus(status), access: () => this.#onAccess() });
    this.#bell = new Bell(context);
    this.#frame = el('div', { class: 'frame' });
    fill(this.#root, this.#header(me), this.#note, this.#frame);
    feed.start();
    this.#route();
  }

  #end() {
    this.#page?.stop();
    this.#bell?.stop();
    this.#context?.feed.stop();
    for (const list of Object.values(this.#context?.lists ?? {})) list.stop();
    for (const dialog of document.querySelectorAll('dialog')) dialog.close();
    clearTimeout(this.#late);
    this.#page = this.#bell = this.#context = null;
  }

  #leave(problem = null) {
    this.#end();
    document.title = 'Sign in · askbus';
    const page = new SignedOut({ problem, onSignedIn: (me) => this.#arrive(me) });
    fill(this.#root, page.element);
    page.focus();
  }

  #header(me) {
    const menu = el('div', { class: 'menu', popover: 'auto', id: 'menu' });
    fill(
      menu,
      el('p', {}, el('strong', {}, me.name), el('span', { class: 'quiet' }, me.email)),
      el(
        'p',
        { class: 'quiet' },
        me.principal.demo ? `Demo user in ${me.workspace}` : `${me.principal.role} in ${me.workspace}`,
      ),
      button('Settings', {
        on: {
          click: () => {
            menu.hidePopover();
            this.#go('/#settings=');
          },
        },
      }),
      workspaceSwitch(menu, me, (there) => this.#arrive(there)),
      button('Sign out', { on: { click: () => this.#signOut() } }),
    );
    const who = el(
      'button',
      { type: 'button', class: 'who', 'aria-label': `Signed in as ${me.name}`, title: me.name },
      me.name.slice(0, 1).toUpperCase(),
    );
    who.popoverTargetElement = menu;
    const brand = el(
      'a',
      { class: 'brand', href: '/' },
      el('img', { src: '/console/mark.svg', alt: '', class: 'mark' }),
      el('span', {}, me.workspace),
    );
    brand.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.#go('/');
    });
    return el(
      'header',
      { class: 'top' },
      el('nav', { 'aria-label': 'Main' }, brand),
      el('div', { class: 'right' }, this.#bell.element, who, menu),
    );
  }

  async #signOut() {
    await api.signOut();
    this.#leave();
  }

  /** Rights changed, or the session ended: both are asked for anew, and the page is made from the answer. */
  async #onAccess() {
    const before = this.#context;
    const sessions = this.#newSessions;
    const me = await this.#whoIsIt();
    if (this.#context !== before || before === null) return;
    if (!me && sessions !== this.#newSessions) await this.#onAccess();
    else if (!me) this.#leave();
    else if (JSON.stringify(me) !== JSON.stringify(before.me)) this.#begin(me);
  }

  /** Null where nobody is signed in. Throws ApiError where that cannot be told. */
  async #whoIsIt() {
    try {
      return await api.me();
    } catch (error) {
      if (error.status === 401) return null;
      throw error;
    }
  }

  /** A short break is nobody's business. */
  #onStatus(status) {
    const fine = status === 'live' || status === 'paused' || status === 'stopped';
    if (fine) {
      clearTimeout(this.#late);
      this.#late = null;
      this.#say(null);
    } else if (this.#late === null) {
      this.#late = setTimeout(() => this.#say('Connection lost. Trying again; nothing that was sent is lost.'), PATIENCE);
    }
  }

  #say(text) {
    this.#note.hidden = !text;
    this.#note.textContent = text ?? '';
  }

  /** What no part of the page dealt with. A refusal has words for the reader; a defect of the page's own has not. */
  #onTrouble(error) {
    this.#say(error instanceof ApiError ? error.message : 'Something in this page went wrong. Reload it.');
  }

  #onAddress() {
    if (/^#(login|password|invitation|sign-in-failed)=/.test(location.hash)) this.#enter();
    else if (this.#context) this.#route();
  }

  #go(address) {
    if (address !== location.pathname + location.hash) history.pushState(null, '', address);
    this.#route();
  }

  #route() {
    const threadId = THREAD.exec(location.hash)?.[1] ?? null;
    if (threadId && this.#page?.threadId === threadId) return;
    const section = SETTINGS.exec(location.hash)?.[1];
    if (threadId) this.#show(this.#conversation({ threadId }));
    else if (section !== undefined) {
      document.title = `Settings · ${this.#context.me.workspace}`;
      this.#show(new Settings(this.#context, section));
    } else {
      document.title = `askbus · ${this.#context.me.workspace}`;
      this.#show(new Home(this.#context));
      const [, kind, id] = CARD.exec(location.hash) ?? [];
      if (kind === 'question') openQuestion(id, this.#context);
      if (kind === 'action') openAction(id, this.#context);
    }
  }

  #conversation(which) {
    const conversation = new Conversation(this.#context, {
      ...which,
      onThread: (thread) => {
        if (this.#page !== conversation) return;
        const address = `/#thread=${thread.id}`;
        if (location.hash !== address.slice(1)) history.pushState(null, '', address);
        document.title = `${thread.title} · askbus`;
      },
    });
    return conversation;
  }

  #beginThread(text, files, where) {
    const conversation = this.#conversation(where);
    this.#show(conversation);
    conversation.send(text, files);
  }

  #show(page) {
    this.#page?.stop();
    this.#page = page;
    fill(this.#frame, page.element);
    page.focus();
  }
}

await new Console().start();
