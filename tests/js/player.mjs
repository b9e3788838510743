// Plays a client for a test: reads one JSON request a line from standard input, `{play, ...}`, and answers each with one JSON line.
import { createInterface } from "node:readline";

const [, , part, ...args] = process.argv;
const { plays } = await import(`./${part}.mjs`);
const play = await plays(...args);

console.error = () => {}; // the clients tell of every failed run there; the answer says it too
console.warn = () => {};

for await (const line of createInterface({ input: process.stdin })) {
  const { name, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await play[name](given)) ?? null };
  } catch (error) {
    answer = { error: String(error?.message ?? error), status: error?.status ?? null };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
process.exit(0);
