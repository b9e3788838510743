// A list that grows at its end, while somebody reads in it.

import { iconButton } from './elements.js';

/** Pixels from the end within which a reader follows what is written. */
const NEAR = 80;

/** The end stays in sight while the list grows, unless the reader went up to read; then a button leads back, and `onBack()` is called. */
export class EndKeeper {
  button = iconButton('Go to the latest', 'down', { class: 'round latest', hidden: true });
  #scroller;
  #following = true;
  #resized = new ResizeObserver(() => this.keep());

  constructor(scroller, list, onBack) {
    this.#scroller = scroller;
    scroller.addEventListener('scroll', () => {
      this.#following = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;
      this.button.hidden = this.#following;
    });
    this.button.addEventListener('click', () => {
      this.follow();
      onBack();
    });
    this.#resized.observe(list);
    this.#resized.observe(scroller);
  }

  stop() {
    this.#resized.disconnect();
  }

  /** Goes to the end, wherever the reader is. */
  follow() {
    this.#following = true;
    this.keep();
  }

  keep() {
    if (this.#following) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }
}
