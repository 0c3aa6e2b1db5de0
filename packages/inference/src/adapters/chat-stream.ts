import { BrokenStream, type AnswerFacts, type ChatStream, type Counts } from './adapter.ts';
import { countsOf, nothingCounted, sumOfChoices, usageJson, usageOf } from './chat-counts.ts';
import type { Dialect } from './chat-dialect.ts';
import { brokenStream, failureInEvent } from './chat-failures.ts';
import type { AnswerForm } from './chat-form.ts';
import { asCount, asList, asObject, asText, parseJson, type JsonObject } from './chat-json.ts';
import { learnShortcut, type Shortcut } from './chat-shortcut.ts';

/** What the request decides about its stream. */
export interface StreamWish {
  /** All choices, of all prompts. */
  readonly choices: number;
  /** How many of them in a row belong to one prompt. */
  readonly choicesPerPrompt: number;
  /** The client asked for an extra chunk with usage; otherwise the last end carries it. */
  readonly includeUsage: boolean;
}

export interface StreamParts {
  readonly form: AnswerForm;
  readonly dialect: Dialect;
  readonly wish: StreamWish;
  readonly facts: AnswerFacts;
  /** Off: every event goes through JSON. Only a test that compares the two ways turns them off. */
  readonly shortcuts?: boolean;
}

/** An event larger than this is no part of an answer. */
const maxEventBytes = 8 * 1_024 * 1_024;

/**
 * A stream of server-sent events from an engine, told again in our name. Text is handled as Latin-1, one character for each
 * byte: cutting it anywhere is then harmless, and what only passes through is never decoded.
 */
export class EventStream implements ChatStream {
  readonly #form: AnswerForm;
  readonly #dialect: Dialect;
  readonly #wish: StreamWish;
  readonly #facts: AnswerFacts;
  readonly #takesShortcuts: boolean;
  /** Everything of a chunk before its choices. */
  readonly #opening: string;
  #rest = '';
  #data: string | null = null;
  #out = '';
  #shortcuts: readonly Shortcut[] = [];
  /** The last event of each choice that took a shortcut: read only if somebody asks for the counts. */
  readonly #unread = new Map<number, string>();
  readonly #running = new Map<number, Counts>();
  #usage: Counts | null = null;
  readonly #ended = new Set<number>();
  #lastEnded = 0;
  #finishReason: string | null = null;
  #heldEnd: string | null = null;
  #isDone = false;
  #hasBegun = false;
  readonly #begunChoices = new Set<number>();
  #failure: BrokenStream | null = null;

  constructor({ form, dialect, wish, facts, shortcuts = true }: StreamParts) {
    this.#form = form;
    this.#dialect = dialect;
    this.#wish = wish;
    this.#facts = facts;
    this.#takesShortcuts = shortcuts;
    this.#opening = toBytesText(
      `data: {"id":${JSON.stringify(facts.requestId)},"object":"${form.chunk}",` +
        `"created":${facts.createdSeconds},"model":${JSON.stringify(facts.model)},"choices":[`,
    );
  }

  push(chunk: Buffer): string | Buffer {
    if (this.#failure !== null) throw this.#failure;
    if (this.#isDone) return '';
    const text = this.#rest === '' ? chunk.toString('latin1') : this.#rest + chunk.toString('latin1');
    try {
      this.#read(text);
    } catch (error) {
      // What came before the failure is the client's: it goes out first, and the failure with the next call.
      if (!(error instanceof BrokenStream) || this.#out === '') throw error;
      this.#failure = error;
    }
    return this.#takeOut();
  }

  end(): string {
    if (this.#failure !== null) throw this.#failure;
    if (this.#isDone) return '';
    this.#read(`${this.#rest}\n\n`);
    if (!this.#isDone) this.#complete();
    return this.#takeOut().toString();
  }

  counts(): Counts {
    if (this.#usage !== null) return this.#usage;
    for (const [index, data] of this.#unread) {
      const counts = this.#dialect.runningCounts(asObject(parseJson(data)) ?? {});
      if (counts !== null) this.#running.set(index, counts);
    }
    this.#unread.clear();
    if (this.#running.size > 0) return sumOfChoices(this.#running, this.#wish.choicesPerPrompt);
    // A lower bound that holds for every engine: a token of prompt, and one for each choice that has begun.
    return this.#begunChoices.size === 0 ? nothingCounted : countsOf(1, 0, this.#begunChoices.size);
  }

  finishReason(): string | null {
    return this.#finishReason;
  }

  hasBegun(): boolean {
    return this.#hasBegun;
  }

  #takeOut(): Buffer | '' {
    if (this.#out === '') return '';
    this.#hasBegun = true;
    const bytes = Buffer.from(this.#out, 'latin1');
    this.#out = '';
    return bytes;
  }

  /** Takes whole lines and keeps what is left of the last one. */
  #read(text: string): void {
    let at = 0;
    while (!this.#isDone) {
      const taken = this.#data === null ? this.#takeShortcut(text, at) : 0;
      if (taken > 0) {
        at = taken;
        continue;
      }
      const lineEnd = text.indexOf('\n', at);
      if (lineEnd < 0) break;
      const isCrLf = lineEnd > at && text.charCodeAt(lineEnd - 1) === 13;
      this.#readLine(text.slice(at, isCrLf ? lineEnd - 1 : lineEnd));
      at = lineEnd + 1;
    }
    this.#rest = at === 0 ? text : text.slice(at);
    if (this.#rest.length > maxEventBytes) throw brokenStream('The engine sent an event without an end.');
  }

  #takeShortcut(text: string, at: number): number {
    for (const shortcut of this.#shortcuts) {
      if (!text.startsWith(shortcut.head, at)) continue;
      const from = at + shortcut.head.length;
      const to = shortcut.endOfText(text, from);
      if (to < 0) return 0;
      const end = text.indexOf('\n\n', to + shortcut.tail.length);
      if (end < 0) return 0;
      this.#out += shortcut.before + text.slice(from, to) + shortcut.after;
      if (this.#dialect.countsWhileRunning) {
        this.#unread.set(shortcut.index, text.slice(at + dataPrefix.length, end));
      } else if (to > from) this.#begunChoices.add(shortcut.index);
      return end + 2;
    }
    return 0;
  }

  #readLine(line: string): void {
    if (line === '') {
      const data = this.#data;
      this.#data = null;
      if (data !== null) this.#readEvent(data);
    } else if (line.startsWith('data:')) {
      const data = line.slice(line.charCodeAt(5) === 32 ? 6 : 5);
      this.#data = this.#data === null ? data : `${this.#data}\n${data}`;
    } else if (line.startsWith('error:')) {
      // Older llama-servers name the failure as a field of its own.
      this.#readEvent(`{"error":${line.slice(6)}}`);
    }
  }

  #readEvent(data: string): void {
    if (data === '[DONE]') {
      this.#complete();
      return;
    }
    // llama-server sends one for choices that share a prompt, with nothing in it.
    if (data === 'null') return;
    const event = asObject(parseJson(toText(data)));
    if (event === null) throw brokenStream('The engine sent an event that is no JSON object.');
    const failure = failureInEvent(event);
    if (failure !== null) throw new BrokenStream(failure);
    const choices = asList(event['choices']);
    for (const value of choices) this.#readChoice(asObject(value) ?? {}, event, data, choices.length === 1);
    this.#readCounts(event, choices);
  }

  #readChoice(choice: JsonObject, event: JsonObject, data: string, isAlone: boolean): void {
    const index = asCount(choice['index']) ?? 0;
    if (index >= this.#wish.choices) throw brokenStream('The engine sent a choice that nobody asked for.');
    const reason = asText(choice['finish_reason']);
    const piece = this.#form.piece(choice, index);
    if (piece !== null && (reason === null || !isEmptyText(this.#form.onlyText(choice)))) {
      if (this.#form.saysSomething(choice)) this.#begunChoices.add(index);
      this.#out += `${this.#opening}${toBytesText(piece)}]}\n\n`;
    }
    if (reason !== null) this.#endChoice(index, reason);
    else if (this.#takesShortcuts && isAlone) this.#learn(choice, index, data);
  }

  #endChoice(index: number, reason: string): void {
    this.#lastEnded = index;
    if (this.#ended.has(index)) return;
    this.#ended.add(index);
    this.#finishReason = reason;
    const end = `${this.#opening}${toBytesText(this.#form.end(index, reason))}]`;
    if (this.#wish.includeUsage || this.#ended.size < this.#wish.choices) this.#out += `${end}}\n\n`;
    else this.#heldEnd = end;
  }

  #readCounts(event: JsonObject, choices: readonly unknown[]): void {
    const [first] = choices;
    if (first !== undefined && this.#dialect.countsWhileRunning) {
      const index = asCount(asObject(first)?.['index']) ?? 0;
      const counts = this.#dialect.runningCounts(event);
      this.#unread.delete(index);
      if (counts !== null) this.#running.set(index, counts);
      return;
    }
    const usage = usageOf(event);
    if (usage === null) return;
    if (this.#dialect.usageCounts === 'request') this.#usage = usage;
    else {
      this.#unread.delete(this.#lastEnded);
      this.#running.set(this.#lastEnded, usage);
    }
  }

  /** The engine is through. All choices must have ended, or something was lost on the way. */
  #complete(): void {
    if (this.#ended.size < this.#wish.choices) {
      throw brokenStream('The engine ended its stream before its answer.');
    }
    const counts = this.counts();
    this.#usage = counts;
    const usage = `"usage":${usageJson(counts, this.#facts.costOf(counts))}}\n\n`;
    this.#out += this.#wish.includeUsage ? `${this.#opening}],${usage}` : `${this.#heldEnd ?? ''},${usage}`;
    this.#out += 'data: [DONE]\n\n';
    this.#isDone = true;
  }

  #learn(choice: JsonObject, index: number, data: string): void {
    if (this.#form.onlyText(choice) === null) return;
    const [before, after] = this.#form.textPiece(index);
    const shortcut = learnShortcut(data, this.#form.textField, index, {
      before: `${this.#opening}${before}`,
      after: `${after}]}\n\n`,
    });
    if (shortcut === null) return;
    this.#shortcuts = [shortcut, ...this.#shortcuts.filter((known) => known.index !== index)];
  }
}

const dataPrefix = 'data: ';

function isEmptyText(text: string | null): boolean {
  return text === '';
}

/** The UTF-8 of a text, one character for each byte. */
function toBytesText(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function toText(bytesText: string): string {
  return Buffer.from(bytesText, 'latin1').toString('utf8');
}
