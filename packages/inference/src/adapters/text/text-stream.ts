import { TextEngineError } from './text-adapter.ts';
import type { CompletionContext, TextStream, TokenCounts } from './text-adapter.ts';
import { countsOf, zeroCounts, sumChoices, reportableCounts, usageJson, usageOf } from './token-counts.ts';
import type { TextDialect } from './text-dialect.ts';
import { textEngineError, failureInEvent } from './text-failures.ts';
import type { CompletionFormat } from './chat-format.ts';
import { asCount, asList, asObject, asText, parseJson, type JsonObject } from './engine-json.ts';
import { spliceText, endOfText, learnFastPath, startOfText } from './stream-fast-path.ts';
import type { StreamFastPath } from './stream-fast-path.ts';

/** Stream settings from the request. */
export interface StreamSettings {
  /** Total over all prompts. */
  readonly choices: number;
  /** Consecutive choices that belong to one prompt. */
  readonly choicesPerPrompt: number;
  /** The client requested a separate usage chunk; otherwise the last end contains usage. */
  readonly includeUsage: boolean;
}

export interface EventStreamOptions {
  readonly form: CompletionFormat;
  readonly dialect: TextDialect;
  readonly settings: StreamSettings;
  readonly facts: CompletionContext;
  /** False: parse every event as JSON. Only for a test that compares both ways. */
  readonly shortcuts?: boolean;
}

/** Larger events are treated as an engine failure. */
const maxEventBytes = 8 * 1_024 * 1_024;
const lineFeed = 10;
const carriageReturn = 13;
const emptyBuffer = Buffer.alloc(0);

/** Converts an engine's server-sent events to events of our API. */
export class EventStream implements TextStream {
  readonly #form: CompletionFormat;
  readonly #dialect: TextDialect;
  readonly #spec: StreamSettings;
  readonly #facts: CompletionContext;
  readonly #takesShortcuts: boolean;
  /** A chunk's JSON before its choices. */
  readonly #opening: string;
  /** Start of an incomplete line. */
  #rest: Buffer = emptyBuffer;
  /** Data of an incomplete event. */
  #data: string | null = null;
  #out: Buffer[] = [];
  #shortcuts: readonly StreamFastPath[] = [];
  /** The last event of each choice that took the fast path: parsed only if counts are requested. */
  readonly #unread = new Map<number, Buffer>();
  readonly #running = new Map<number, TokenCounts>();
  #usage: TokenCounts | null = null;
  /** Events with generated output: at least one token each. */
  #deltas = 0;
  readonly #ended = new Set<number>();
  #lastEnded = 0;
  #finishReason: string | null = null;
  #heldEnd: string | null = null;
  #isDone = false;
  #hasStarted = false;
  #failure: TextEngineError | null = null;

  constructor({ form, dialect, settings, facts, shortcuts = true }: EventStreamOptions) {
    this.#form = form;
    this.#dialect = dialect;
    this.#spec = settings;
    this.#facts = facts;
    this.#takesShortcuts = shortcuts;
    this.#opening =
      `data: {"id":${JSON.stringify(facts.requestId)},"object":"${form.chunk}",` +
      `"created":${facts.createdSeconds},"model":${JSON.stringify(facts.model)},"choices":[`;
  }

  push(chunk: Buffer): string | Buffer {
    if (this.#failure !== null) throw this.#failure;
    if (this.#isDone) return '';
    try {
      this.#read(this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]));
    } catch (error) {
      // Return the output before the failure first, and throw on the next call.
      if (!(error instanceof TextEngineError) || this.#out.length === 0) throw error;
      this.#failure = error;
    }
    return this.#takeOut();
  }

  end(): string {
    if (this.#failure !== null) throw this.#failure;
    if (this.#isDone) return '';
    this.#read(Buffer.concat([this.#rest, twoLineFeeds]));
    if (!this.#isDone) this.#complete();
    return this.#takeOut().toString();
  }

  counts(): TokenCounts {
    if (this.#usage !== null) return this.#usage;
    for (const [index, event] of this.#unread) {
      const data = event.toString('utf8', dataPrefix.length);
      const counts = this.#dialect.runningCounts(asObject(parseJson(data)) ?? {});
      if (counts !== null) this.#running.set(index, counts);
    }
    this.#unread.clear();
    if (this.#running.size > 0) return sumChoices(this.#running, this.#spec.choicesPerPrompt);
    // Lower bound for engines without running counts: the delivered deltas.
    return this.#deltas === 0 ? zeroCounts : countsOf(this.#facts.leastPrompt(), 0, this.#deltas);
  }

  finishReason(): string | null {
    return this.#finishReason;
  }

  hasStarted(): boolean {
    return this.#hasStarted;
  }

  isDone(): boolean {
    return this.#isDone;
  }

  #takeOut(): Buffer | '' {
    const out = this.#out;
    const [only] = out;
    if (only === undefined) return '';
    this.#hasStarted = true;
    this.#out = [];
    return out.length === 1 ? only : Buffer.concat(out);
  }

  #send(text: string): void {
    this.#out.push(Buffer.from(text, 'utf8'));
  }

  /** Reads complete lines and keeps the rest. */
  #read(bytes: Buffer): void {
    let at = 0;
    while (!this.#isDone && at < bytes.length) {
      const taken = this.#data === null ? this.#takeShortcut(bytes, at) : 0;
      if (taken > 0) {
        at = taken;
        continue;
      }
      const lineEnd = bytes.indexOf(lineFeed, at);
      if (lineEnd < 0) break;
      const isCrLf = lineEnd > at && bytes[lineEnd - 1] === carriageReturn;
      this.#readLine(bytes.toString('utf8', at, isCrLf ? lineEnd - 1 : lineEnd));
      at = lineEnd + 1;
    }
    this.#rest = at === bytes.length ? emptyBuffer : bytes.subarray(at);
    if (this.#rest.length > maxEventBytes)
      throw textEngineError('The engine sent an event that is too large.');
  }

  /** Returns the end of the event, or 0 if it must be parsed in full. */
  #takeShortcut(bytes: Buffer, at: number): number {
    for (const shortcut of this.#shortcuts) {
      const from = startOfText(shortcut, bytes, at);
      if (from < 0) continue;
      const to = endOfText(shortcut, bytes, from);
      if (to < 0) return 0;
      const end = bytes.indexOf(lineFeed, to);
      if (end < 0 || bytes[end + 1] !== lineFeed) return 0;
      this.#out.push(spliceText(shortcut, bytes, from, to));
      if (this.#dialect.countsWhileRunning) this.#unread.set(shortcut.index, bytes.subarray(at, end));
      if (to > from) this.#deltas += 1;
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
      const data = line.slice(line.startsWith(dataPrefix) ? 6 : 5);
      this.#data = this.#data === null ? data : `${this.#data}\n${data}`;
    } else if (line.startsWith('error:')) {
      // Older llama-servers send failures in a separate field.
      this.#readEvent(`{"error":${line.slice(6)}}`);
    }
  }

  #readEvent(data: string): void {
    if (data === '[DONE]') {
      this.#complete();
      return;
    }
    // llama-server sends an empty one for choices that share a prompt.
    if (data === 'null') return;
    const event = asObject(parseJson(data));
    if (event === null) throw textEngineError('The engine sent an event that is not a JSON object.');
    const failure = failureInEvent(event);
    if (failure !== null) throw new TextEngineError(failure);
    const choices = asList(event['choices']);
    for (const value of choices) this.#readChoice(asObject(value) ?? {}, data, choices.length === 1);
    this.#readCounts(event, choices);
  }

  #readChoice(choice: JsonObject, data: string, isAlone: boolean): void {
    const index = asCount(choice['index']) ?? 0;
    if (index >= this.#spec.choices)
      throw textEngineError('The engine sent a choice that was not requested.');
    const reason = asText(choice['finish_reason']);
    const piece = this.#form.piece(choice, index);
    if (piece !== null && (reason === null || this.#form.onlyText(choice)?.text !== '')) {
      if (this.#form.hasOutput(choice)) this.#deltas += 1;
      this.#send(`${this.#opening}${piece}]}\n\n`);
    }
    if (reason !== null) this.#endChoice(index, reason);
    else if (this.#takesShortcuts && isAlone) this.#learn(choice, index, data);
  }

  #endChoice(index: number, reason: string): void {
    this.#lastEnded = index;
    if (this.#ended.has(index)) return;
    this.#ended.add(index);
    this.#finishReason = reason;
    const end = `${this.#opening}${this.#form.end(index, reason)}]`;
    if (this.#spec.includeUsage || this.#ended.size < this.#spec.choices) this.#send(`${end}}\n\n`);
    else this.#heldEnd = end;
  }

  #readCounts(event: JsonObject, choices: readonly unknown[]): void {
    const [first] = choices;
    if (first !== undefined && this.#dialect.countsWhileRunning) {
      const index = asCount(asObject(first)?.['index']) ?? 0;
      const counts = this.#dialect.runningCounts(event);
      // Counts of this event replace older unread ones.
      if (counts === null) return;
      this.#unread.delete(index);
      this.#running.set(index, counts);
      return;
    }
    const usage = usageOf(event);
    if (usage === null) return;
    if (this.#dialect.usageCounts === 'request') this.#usage = reportableCounts(usage, this.#dialect.cache);
    else {
      this.#unread.delete(this.#lastEnded);
      this.#running.set(this.#lastEnded, usage);
    }
  }

  /** All choices must have ended, or part of the stream was lost. */
  #complete(): void {
    if (this.#ended.size < this.#spec.choices) {
      throw textEngineError('The engine ended the stream before the completion was finished.');
    }
    const counts = this.counts();
    this.#usage = counts;
    const end = this.#spec.includeUsage ? `${this.#opening}]` : (this.#heldEnd ?? '');
    const usage = usageJson(counts, this.#facts.costOf(counts));
    this.#send(`${end},"usage":${usage}}\n\ndata: [DONE]\n\n`);
    this.#isDone = true;
  }

  #learn(choice: JsonObject, index: number, data: string): void {
    const only = this.#form.onlyText(choice);
    if (only === null) return;
    const [before, after] = this.#form.textPiece(index, only.field);
    const shortcut = learnFastPath(data, only.field, index, {
      before: `${this.#opening}${before}`,
      after: `${after}]}\n\n`,
    });
    if (shortcut === null) return;
    // After content starts, no more reasoning follows, so the choice's older fast path is replaced.
    const others = this.#shortcuts.filter((known) => known.index !== index);
    this.#shortcuts = [shortcut, ...others.slice(0, maxFastPaths - 1)];
  }
}

const dataPrefix = 'data: ';
const twoLineFeeds = Buffer.from('\n\n');
/** More concurrent choices are rare, and searching a long list costs more than the fast path saves. */
const maxFastPaths = 8;
