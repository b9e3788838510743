// Markdown within a paragraph → nodes: emphasis by CommonMark's delimiter rules, code, strikethrough, links. HTML stays text.

import { el } from './elements.js';

const PUNCTUATION = /[\p{P}\p{S}]/u;
const NAMED = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
const PLAIN = /[^\\`*_~[\]!<&\nhH]+/y;
const BARE_LINK = /https?:\/\/[^\s<>"'`]{1,2000}/iy;
const ANGLE_LINK = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/iy;
const TARGET = new RegExp(
  '\\(\\s{0,9}(?:<([^<>\\n]{0,2000})>|([^\\s()<>]{0,2000}(?:\\([^\\s()]{0,500}\\)[^\\s()]{0,500})?))' +
    '(?:\\s{1,9}(?:"[^"]{0,500}"|\'[^\']{0,500}\'))?\\s{0,9}\\)',
  'y',
);
const ENTITY = /&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,7})|#x([0-9a-f]{1,6}));/iy;

/** The nodes of a text. */
export function inline(text) {
  return new Inline(text).nodes();
}

/** An address that may stand behind a link: absolute, and of a kind that only opens something. Null for all others. */
export function safeAddress(text) {
  try {
    const url = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** A link that opens beside the console and tells its target nothing of where it stood. */
export function link(address, ...children) {
  return el('a', { href: address, title: address, target: '_blank', rel: 'noopener noreferrer nofollow' }, ...children);
}

class Inline {
  #text;
  #at = 0;
  #parts = [];
  #brackets = [];

  constructor(text) {
    this.#text = text;
  }

  nodes() {
    while (this.#at < this.#text.length) {
      if (!this.#step()) this.#say(this.#text[this.#at++]);
    }
    return emphasised(this.#parts);
  }

  #say(text) {
    const last = this.#parts.at(-1);
    if (typeof last === 'string') this.#parts[this.#parts.length - 1] = last + text;
    else this.#parts.push(text);
  }

  #match(pattern) {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }

  /** One construct at this position; false where the character only stands for itself. */
  #step() {
    const plain = this.#match(PLAIN);
    if (plain) {
      this.#say(plain[0]);
      this.#at += plain[0].length;
      return true;
    }
    switch (this.#text[this.#at]) {
      case '\\':
        return this.#escape();
      case '`':
        return this.#code();
      case '*':
      case '_':
      case '~':
        return this.#delimiter();
      case '!':
      case '[':
        return this.#open();
      case ']':
        return this.#close();
      case '<':
        return this.#angle();
      case '&':
        return this.#entity();
      case '\n':
        return this.#newline();
      case 'h':
      case 'H':
        return this.#bare();
      default:
        return false;
    }
  }

  #escape() {
    const next = this.#text[this.#at + 1];
    if (next === '\n') {
      this.#parts.push(el('br'));
    } else if (next && /[!-/:-@[-`{-~]/.test(next)) {
      this.#say(next);
    } else return false;
    this.#at += 2;
    return true;
  }

  #newline() {
    const last = this.#parts.at(-1);
    const hard = typeof last === 'string' && last.endsWith('  ');
    if (typeof last === 'string') this.#parts[this.#parts.length - 1] = last.trimEnd();
    if (hard) this.#parts.push(el('br'));
    else this.#say('\n');
    this.#at += 1;
    return true;
  }

  #code() {
    const run = this.#match(/`+/y)[0];
    let end = this.#text.indexOf(run, this.#at + run.length);
    while (end >= 0 && (this.#text[end + run.length] === '`' || this.#text[end - 1] === '`')) {
      end = this.#text.indexOf(run, end + 1);
    }
    if (end < 0) {
      this.#say(run);
      this.#at += run.length;
      return true;
    }
    const inside = this.#text.slice(this.#at + run.length, end).replaceAll('\n', ' ');
    this.#parts.push(el('code', {}, /^ .*[^ ].* $/.test(inside) ? inside.slice(1, -1) : inside));
    this.#at = end + run.length;
    return true;
  }

  #delimiter() {
    const sign = this.#text[this.#at];
    const length = this.#match(sign === '*' ? /\*+/y : sign === '_' ? /_+/y : /~+/y)[0].length;
    const before = this.#text[this.#at - 1] ?? ' ';
    const after = this.#text[this.#at + length] ?? ' ';
    const left = !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before));
    const right = !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after));
    const open = left && (sign !== '_' || !right || PUNCTUATION.test(before));
    const close = right && (sign !== '_' || !left || PUNCTUATION.test(after));
    this.#parts.push({ sign, length, original: length, open, close });
    this.#at += length;
    return true;
  }

  #open() {
    const image = this.#text[this.#at] === '!';
    if (image && this.#text[this.#at + 1] !== '[') return false;
    this.#brackets.push({ at: this.#parts.length, image, active: true });
    this.#parts.push({ bracket: image ? '![' : '[' });
    this.#at += image ? 2 : 1;
    return true;
  }

  #close() {
    const bracket = this.#brackets.pop();
    if (!bracket) return false;
    this.#at += 1;
    const target = bracket.active ? this.#match(TARGET) : null;
    const address = target && safeAddress(target[1] ?? target[2]);
    if (!address) {
      this.#say(']');
      return true;
    }
    this.#at += target[0].length;
    const inside = emphasised(this.#parts.splice(bracket.at).slice(1));
    // A picture would be fetched from wherever a model says: it is offered as a link instead.
    this.#parts.push(link(address, inside.length ? inside : address));
    if (!bracket.image) for (const outer of this.#brackets) outer.active = outer.image && outer.active;
    return true;
  }

  #angle() {
    const found = this.#match(ANGLE_LINK);
    const address = found && safeAddress(found[1]);
    if (!address) return false;
    this.#parts.push(link(address, found[1]));
    this.#at += found[0].length;
    return true;
  }

  #bare() {
    if (/\w/.test(this.#text[this.#at - 1] ?? ' ')) return false;
    const found = this.#match(BARE_LINK);
    if (!found) return false;
    let shown = found[0].replace(/[.,;:!?*_~\]]+$/, '');
    if (shown.endsWith(')') && !shown.includes('(')) shown = shown.slice(0, -1);
    const address = safeAddress(shown);
    if (!address) return false;
    this.#parts.push(link(address, shown));
    this.#at += shown.length;
    return true;
  }

  #entity() {
    const found = this.#match(ENTITY);
    if (!found) return false;
    const code = found[2] ? Number(found[2]) : Number.parseInt(found[3], 16);
    const known = found[1]
      ? NAMED[found[1].toLowerCase()]
      : code > 0 && code <= 0x10ffff
        ? String.fromCodePoint(code)
        : '\ufffd';
    this.#say(known);
    this.#at += found[0].length;
    return true;
  }
}

/** More signs than this in one paragraph emphasise nothing. */
const MOST_PARTS = 4000;
const TAGS = { '*': ['em', 'strong'], _: ['em', 'strong'], '~': ['del', 'del'] };

/** Pairs delimiters (CommonMark 0.31, "process emphasis"), each closer with the nearest opener; what is left over is text. */
function emphasised(parts) {
  if (parts.length > MOST_PARTS) return parts.map(asNode);
  const floor = new Map();
  for (let at = 0; at < parts.length; at += 1) {
    const closer = parts[at];
    if (!closer?.close) continue;
    const bottom = `${closer.sign}${closer.open}${closer.original % 3}`;
    const opener = openerFor(parts, at, floor.get(bottom) ?? 0);
    if (opener < 0) {
      floor.set(bottom, at);
      continue;
    }
    const from = parts[opener];
    const size = closer.sign === '~' ? closer.length : Math.min(2, closer.length, from.length);
    const inside = parts.splice(opener + 1, at - opener - 1).map(asNode);
    const wrapped = el(TAGS[closer.sign][size > 1 ? 1 : 0], {}, inside);
    parts.splice(opener + 1, 0, wrapped);
    from.length -= size;
    closer.length -= size;
    at = opener + 2;
    if (from.length === 0) {
      parts.splice(opener, 1);
      at -= 1;
    }
    if (closer.length === 0) parts.splice(at, 1);
    at -= 1;
    for (const key of [...floor.keys()]) if (floor.get(key) > opener) floor.set(key, opener);
  }
  return parts.map(asNode);
}

function openerFor(parts, at, bottom) {
  const closer = parts[at];
  for (let before = at - 1; before >= bottom; before -= 1) {
    const part = parts[before];
    if (!part?.open || part.sign !== closer.sign) continue;
    if (closer.sign === '~') {
      if (part.length === closer.length && part.length <= 2) return before;
      continue;
    }
    const odd = (part.close || closer.open) && (part.original + closer.original) % 3 === 0;
    if (!odd || (part.original % 3 === 0 && closer.original % 3 === 0)) return before;
  }
  return -1;
}

function asNode(part) {
  if (part.sign) return document.createTextNode(part.sign.repeat(part.length));
  if (part.bracket) return document.createTextNode(part.bracket);
  return part;
}
