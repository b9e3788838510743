// Where a message is written: one line that grows, Send and Stop.

import { domId, el, fill, icon } from './elements.js';
import { FileTray } from './files.js';

const TALLEST = 240;

function touch() {
  return matchMedia('(pointer: coarse)').matches;
}

/**
 * `onSend(text, files)` gets what was written and the files that go along; `projectId()` says where those belong; `onStop()` is asked for while `busy`. `reason` disables it all and says why.
 * `left` is put at the lower left.
 */
export class Composer {
  element;
  #field;
  #send = el('button', { type: 'submit', class: 'round primary', 'aria-label': 'Send', title: 'Send' }, icon('send'));
  #stop = el(
    'button',
    { type: 'button', class: 'round stop', 'aria-label': 'Stop', title: 'Stop', hidden: true },
    icon('stop'),
  );
  #status = el('span', { class: 'quiet' });
  #onSend;
  #tray;

  constructor({ placeholder, reason = null, left = null, projectId, onSend, onStop = () => {} }) {
    this.#onSend = onSend;
    this.#tray = new FileTray({ projectId, onChange: () => this.#resize() });
    this.#field = el('textarea', {
      rows: 1,
      placeholder: reason ? '' : placeholder,
      maxLength: 100_000,
      'aria-label': 'Message',
      enterKeyHint: 'send',
      disabled: Boolean(reason),
    });
    this.#send.disabled = true;
    const note = reason && el('p', { class: 'reason', id: domId('reason') }, reason);
    if (note) this.#field.setAttribute('aria-describedby', note.id);
    this.element = el(
      'form',
      { class: 'composer' },
      note,
      this.#tray.element,
      this.#field,
      this.#tray.problem,
      el(
        'div',
        { class: 'bar' },
        el('div', { class: 'left' }, this.#tray.control, left),
        el('div', { class: 'right' }, this.#status, this.#stop, this.#send),
      ),
    );
    if (!reason) this.#tray.listen(this.element);
    this.#field.addEventListener('input', () => this.#resize());
    this.#field.addEventListener('keydown', (event) => this.#key(event));
    this.#stop.addEventListener('click', () => onStop());
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.element.addEventListener('click', (event) => event.target === this.element && this.#field.focus());
  }

  /** Not on touch screens, where a keyboard would come up and hide what there is to read. */
  focus() {
    if (!touch()) this.#field.focus({ preventScroll: true });
  }

  /** While the assistant works there is a Stop; a further message may be sent and waits for its turn. */
  set busy(busy) {
    this.#stop.hidden = !busy;
  }

  /** The files that wait are dropped: they were meant for another project. */
  dropFiles() {
    this.#tray.clear();
  }

  /** A word beside the buttons; not more. */
  set status(text) {
    fill(this.#status, text);
  }

  #key(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || touch()) return;
    event.preventDefault();
    this.#submit();
  }

  #submit() {
    const text = this.#field.value.trim();
    if (!text || this.#field.disabled || !this.#tray.ready) return;
    const files = this.#tray.take();
    this.#field.value = '';
    this.#resize();
    this.#onSend(text, files);
  }

  #resize() {
    this.#send.disabled = !this.#field.value.trim() || !this.#tray.ready;
    this.#field.style.height = 'auto';
    this.#field.style.height = `${Math.min(TALLEST, this.#field.scrollHeight)}px`;
  }
}
