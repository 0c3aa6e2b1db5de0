import { safeLines } from '../framework/text.ts';

/** Removes terminal control characters from a completion. Tabs stay, because code contains them. */
export function safeReply(text: string): string {
  return text.split('\t').map(safeLines).join('\t');
}
