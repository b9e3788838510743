// Files that go with a message: chosen, dropped or pasted, uploaded at once, and shown until it is sent; and those of messages that were.

import { api } from './api.js';
import { el, fill, icon, iconButton } from './elements.js';

const MOST = 10;
const ACCEPT = 'image/png,image/jpeg,image/webp,image/gif,application/pdf,text/plain,text/csv,.csv,.tsv,.txt,.md,.log,.json,.pdf';
const SIZES = [
  [1 << 20, 'MB'],
  [1 << 10, 'KB'],
];

function sizeOf(bytes) {
  const [unit, name] = SIZES.find(([least]) => bytes >= least) ?? [1, 'bytes'];
  return `${Math.max(1, Math.round(bytes / unit))} ${name}`;
}

function address(file) {
  return `/v1/attachments/${file.id}/content`;
}

/** The files of a message: pictures are seen, others are named; each opens in a tab of its own, or is saved. */
export function shownFiles(files) {
  return el(
    'ul',
    { class: 'files', 'aria-label': 'Files' },
    files.map((file) => {
      const link = { href: address(file), target: '_blank', rel: 'noopener', title: file.name };
      if (file.kind === 'image') return el('li', {}, el('a', { ...link, class: 'picture' }, thumbnail(file)));
      return el('li', {}, el('a', { ...link, class: 'file', download: file.name }, ...named(file.name, sizeOf(file.size))));
    }),
  );
}

function thumbnail(file) {
  return el('img', { src: address(file), alt: file.name, loading: 'lazy', decoding: 'async' });
}

function named(name, about) {
  return [icon('file'), el('span', { class: 'file-name' }, name), el('span', { class: 'quiet' }, about)];
}

/** What waits to be sent. `projectId()` says where; `onChange()` is called when something came, arrived or went. */
export class FileTray {
  element = el('ul', { class: 'files waiting', 'aria-label': 'Files to send', hidden: true });
  problem = el('p', { class: 'problem', role: 'alert', hidden: true });
  control = el('span', { class: 'attach' });
  #input = el('input', { type: 'file', multiple: true, accept: ACCEPT, hidden: true, 'aria-label': 'Files' });
  #items = [];
  #projectId;
  #onChange;

  constructor({ projectId, onChange }) {
    this.#projectId = projectId;
    this.#onChange = onChange;
    this.#input.addEventListener('change', () => {
      this.add(this.#input.files);
      this.#input.value = '';
    });
    fill(this.control, iconButton('Attach files', 'clip', { on: { click: () => this.#input.click() } }), this.#input);
  }

  /** Takes what is dropped on the element or pasted into it. */
  listen(element) {
    const over = (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      element.classList.toggle('over', event.type === 'dragover');
      if (event.type === 'drop') this.add(event.dataTransfer.files);
    };
    for (const type of ['dragover', 'dragleave', 'drop']) element.addEventListener(type, over);
    element.addEventListener('paste', (event) => {
      const files = event.clipboardData?.files ?? [];
      if (!files.length) return;
      event.preventDefault();
      this.add(files);
    });
  }

  /** Whether every file has arrived. */
  get ready() {
    return this.#items.every((item) => item.stored);
  }

  add(files) {
    this.#say(null);
    for (const file of files) {
      if (this.#items.length >= MOST) {
        this.#say(`At most ${MOST} files go with one message.`);
        break;
      }
      this.#upload(file);
    }
    this.#changed();
  }

  /** The files to send; the tray is empty afterwards. */
  take() {
    const files = this.#items.map((item) => item.stored);
    this.#items = [];
    this.#changed();
    return files;
  }

  /** Drops everything: it was meant for another project. */
  clear() {
    for (const item of [...this.#items]) this.#remove(item);
  }

  async #upload(file) {
    const item = { name: file.name || 'pasted', stored: null, element: el('li') };
    this.#items.push(item);
    this.#show(item);
    try {
      item.stored = await api.upload(this.#projectId(), file, item.name);
    } catch (error) {
      this.#say(`${item.name}: ${error.message}`);
      this.#items = this.#items.filter((each) => each !== item);
    }
    if (item.gone && item.stored) this.#forget(item);
    this.#show(item);
    this.#changed();
  }

  #show(item) {
    const remove = iconButton(`Remove ${item.name}`, 'close', { class: 'round small', on: { click: () => this.#remove(item) } });
    const stored = item.stored;
    const what =
      stored?.kind === 'image'
        ? el('span', { class: 'picture' }, thumbnail(stored))
        : el('span', { class: 'file' }, ...named(item.name, stored ? sizeOf(stored.size) : 'Uploading…'));
    fill(item.element, what, remove);
  }

  #remove(item) {
    item.gone = true;
    this.#items = this.#items.filter((each) => each !== item);
    if (item.stored) this.#forget(item);
    this.#changed();
  }

  /** What is not deleted now is deleted after a day. */
  #forget(item) {
    api.deleteFile(item.stored.id).catch(() => {});
  }

  #say(text) {
    this.problem.hidden = !text;
    this.problem.textContent = text ?? '';
  }

  #changed() {
    fill(
      this.element,
      this.#items.map((item) => item.element),
    );
    this.element.hidden = !this.#items.length;
    this.#onChange();
  }
}
