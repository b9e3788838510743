// GitHub-flavoured Markdown to DOM nodes, made with createElement and text nodes alone. Whatever the text: HTML in it stays text.

import { el } from './elements.js';
import { inline } from './inline.js';

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const QUOTE = /^ {0,3}>\s?/;
const ITEM = /^( {0,3})(?:([-*+])|(\d{1,9})([.)]))(?: {1,4}(?=\S)|\s*$| )/;
const DELIMITER_ROW = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/;
const UNDERLINE = /^ {0,3}(?:(=+)|(-+))\s*$/;
const INDENTED = /^ {4}/;
const NUMBER = /^[-+−]?\s?(?:[€$£¥]|[A-Z]{3}\s)?\s?\d[\d,.'’\u00a0 ]*(?:%|[€$£¥]|[A-Z]{3})?$/;
const DEEPEST = 8;
/** Characters of a line that may still begin a block; a longer one is prose, and no pattern spends its time on it. */
const LONGEST = 4000;

/** Markdown that may still grow: only blocks that changed are made anew, so a stream neither flickers nor loses a selection. */
export class MarkdownView {
  element = el('div', { class: 'prose' });
  #sources = [];
  text = '';

  show(text) {
    if (text === this.text) return;
    this.text = text;
    const found = blocks(text);
    const sources = found.map((block) => block.source);
    let same = 0;
    while (same < sources.length && sources[same] === this.#sources[same]) same += 1;
    while (this.element.children.length > same) this.element.lastChild.remove();
    for (const block of found.slice(same)) this.element.append(block.render());
    this.#sources = sources;
  }
}

/** The nodes of a whole text. */
export function markdown(text, depth = 0) {
  return blocks(text, depth).map((block) => block.render());
}

/** A text without its signs, in one line: for lists, where there is no room for more. */
export function plain(text) {
  return markdown(text.slice(0, LONGEST))
    .map((node) => node.textContent.trim())
    .join(' ');
}

/** The blocks of a text: each with its source, and `render()`, which makes its node. */
export function blocks(text, depth = 0) {
  const lines = text.replace(/\r\n?/g, '\n').replaceAll('\t', '    ').split('\n');
  const found = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === '') {
      at += 1;
      continue;
    }
    const block = blockAt(lines, at, depth);
    found.push({ source: `${block.kind}\n${lines.slice(at, block.end).join('\n')}`, render: block.render });
    at = block.end;
  }
  return found;
}

function blockAt(lines, at, depth) {
  const line = lines[at];
  if (line.length > LONGEST) return paragraph(lines, at);
  if (FENCE.test(line)) return fence(lines, at);
  if (HEADING.test(line)) return heading(line, at);
  if (RULE.test(line)) return { kind: 'rule', end: at + 1, render: () => el('hr') };
  if (depth < DEEPEST && QUOTE.test(line)) return quote(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return list(lines, at, depth);
  if (INDENTED.test(line)) return indented(lines, at);
  if (isTable(lines, at)) return table(lines, at);
  return paragraph(lines, at);
}

function fence(lines, at) {
  const [, signs, info] = FENCE.exec(lines[at]);
  let end = at + 1;
  const closes = (line) => /^ {0,3}(`+|~+)\s*$/.test(line) && line.trim().startsWith(signs);
  while (end < lines.length && !closes(lines[end])) end += 1;
  const code = lines.slice(at + 1, end).join('\n');
  const closed = end < lines.length;
  return { kind: 'fence', end: closed ? end + 1 : end, render: () => preformatted(code, info.trim().split(/\s/)[0]) };
}

function indented(lines, at) {
  let end = at;
  while (end < lines.length && (INDENTED.test(lines[end]) || lines[end].trim() === '')) end += 1;
  while (lines[end - 1].trim() === '') end -= 1;
  const code = lines
    .slice(at, end)
    .map((line) => line.slice(4))
    .join('\n');
  return { kind: 'code', end, render: () => preformatted(code, '') };
}

function preformatted(code, language) {
  const shown = el('pre', { tabIndex: 0 }, el('code', {}, code));
  return language ? el('figure', { class: 'code' }, el('figcaption', {}, language), shown) : shown;
}

function heading(line, at) {
  const [, signs, text = ''] = HEADING.exec(line);
  return { kind: 'heading', end: at + 1, render: () => headingNode(signs.length, text) };
}

/** The page has a heading of its own, so a text's begin two levels further down. */
function headingNode(level, text) {
  return el(`h${Math.min(6, level + 2)}`, {}, inline(text));
}

function quote(lines, at, depth) {
  let end = at;
  while (end < lines.length && (QUOTE.test(lines[end]) || (lines[end].trim() !== '' && !startsBlock(lines[end])))) end += 1;
  const inner = lines
    .slice(at, end)
    .map((line) => line.replace(QUOTE, ''))
    .join('\n');
  return { kind: 'quote', end, render: () => el('blockquote', {}, markdown(inner, depth + 1)) };
}

function startsBlock(line) {
  return line.length <= LONGEST && begins(line);
}

function begins(line) {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

/** What makes two items one list: the same sign, or numbers with the same sign after them. */
function signOf(line) {
  const found = ITEM.exec(line.slice(0, LONGEST));
  return found && !RULE.test(line.slice(0, LONGEST)) ? (found[2] ?? found[4]) : null;
}

function list(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  const sign = signOf(lines[at]);
  const items = [];
  let [end, loose, more] = [at, false, true];
  while (more) {
    const item = itemAt(lines, end);
    items.push(item.text);
    more = item.next < lines.length && signOf(lines[item.next]) === sign;
    loose ||= item.gap || (more && item.next > item.end);
    end = more ? item.next : item.end;
  }
  const how = first[3] && first[3] !== '1' ? { start: Number(first[3]) } : {};
  const render = () =>
    el(
      first[3] ? 'ol' : 'ul',
      how,
      items.map((text) => itemNode(text, loose, depth)),
    );
  return { kind: 'list', end, render };
}

/** One item: its text without the indent, where it ends, and where the next one may begin. `gap`: a blank line within. */
function itemAt(lines, at) {
  const [marker, lead] = ITEM.exec(lines[at]);
  const indent = marker.length;
  const own = [lines[at].slice(indent)];
  let [end, gap] = [at + 1, false];
  for (let next = end; next < lines.length; next += 1) {
    const line = lines[next];
    if (line.trim() === '') continue;
    const blank = next > end;
    const inside = line.length - line.trimStart().length >= Math.min(indent, lead.length + 2);
    if (!inside && (blank || startsBlock(line))) break;
    if (blank) {
      gap = true;
      own.push(...lines.slice(end, next));
    }
    own.push(inside ? line.replace(new RegExp(`^ {0,${indent}}`), '') : line);
    end = next + 1;
  }
  let next = end;
  while (next < lines.length && lines[next].trim() === '') next += 1;
  return { text: own.join('\n'), end, next, gap };
}

function itemNode(text, loose, depth) {
  const task = /^\[([ xX])\]\s+/.exec(text);
  const nodes = markdown(task ? text.slice(task[0].length) : text, depth + 1);
  const children = loose ? nodes : nodes.flatMap((node) => (node.tagName === 'P' ? [...node.childNodes] : [node]));
  if (!task) return el('li', {}, children);
  const done = task[1] !== ' ';
  return el(
    'li',
    { class: 'task' },
    el('input', { type: 'checkbox', checked: done, disabled: true, 'aria-label': done ? 'done' : 'to do' }),
    children,
  );
}

function cells(line) {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(^|[^\\])\|$/, '$1');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function isTable(lines, at) {
  const next = lines[at + 1];
  if (next === undefined || !lines[at].includes('|') || Math.max(lines[at].length, next.length) > LONGEST) return false;
  return DELIMITER_ROW.test(next.trim()) && cells(lines[at]).length === cells(next).length;
}

function table(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].trim() !== '' && !startsBlock(lines[end])) end += 1;
  return {
    kind: 'table',
    end,
    render: () => tableNode(cells(lines[at]), cells(lines[at + 1]), lines.slice(at + 2, end).map(cells)),
  };
}

function tableNode(head, delimiters, rows) {
  const alignment = delimiters.map((sign, column) => {
    if (sign.endsWith(':')) return sign.startsWith(':') ? 'middle' : 'number';
    const filled = rows.map((row) => row[column] ?? '').filter((cell) => cell !== '' && cell !== '—');
    return !sign.startsWith(':') && filled.length > 0 && filled.every((cell) => NUMBER.test(cell)) ? 'number' : '';
  });
  const cell = (tag, text, column) => el(tag, { class: alignment[column] || null }, inline(text ?? ''));
  return el(
    'div',
    { class: 'table', tabIndex: 0, role: 'region', 'aria-label': 'Table' },
    el(
      'table',
      {},
      el(
        'thead',
        {},
        el(
          'tr',
          {},
          head.map((text, column) => cell('th', text, column)),
        ),
      ),
      el(
        'tbody',
        {},
        rows.map((row) =>
          el(
            'tr',
            {},
            head.map((_, column) => cell('td', row[column], column)),
          ),
        ),
      ),
    ),
  );
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== '' && !UNDERLINE.test(lines[end])) {
    if (startsBlock(lines[end]) && !/^ {0,3}(?!1[.)])\d+[.)]/.test(lines[end])) break;
    if (isTable(lines, end)) break;
    end += 1;
  }
  const text = lines
    .slice(at, end)
    .map((line) => line.trimStart())
    .join('\n')
    .trimEnd();
  const under = UNDERLINE.exec(lines[end] ?? '');
  if (under) return { kind: 'heading', end: end + 1, render: () => headingNode(under[1] ? 1 : 2, text) };
  return { kind: 'paragraph', end, render: () => el('p', {}, inline(text)) };
}
