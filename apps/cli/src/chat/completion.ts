import { safeLines } from '../framework/text.ts';

/** An answer on a terminal must not steer it. Tabs stay: code is made of them. */
export function safeReply(text: string): string {
  return text.split('\t').map(safeLines).join('\t');
}
