import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textDialects, type TextEngine } from './chat-adapters.ts';
import { chatCompletionFormat, type CompletionFormat } from './chat-format.ts';
import { EventStream } from './text-stream.ts';
import {
  completionContext,
  chatRequest,
  completionRequest,
  eventsIn,
  readStream,
  textsIn,
} from './chat.fixture.ts';
import { textCompletionFormat } from './completion-format.ts';

interface Output {
  readonly index: number;
  readonly text: string;
  /** Reasoning instead of content. */
  readonly isThought?: boolean;
}

/** JSON writers differ in their escapes: all of these encode the same text. */
const writers: Readonly<Record<string, (value: object) => string>> = {
  plain: (value) => JSON.stringify(value),
  ascii: (value) =>
    JSON.stringify(value).replaceAll(
      /[\u007f-\uffff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  slashes: (value) => JSON.stringify(value).replaceAll('/', '\\/'),
  spaced: (value) => JSON.stringify(value).replaceAll('":', '": '),
};

type Frame = (choices: readonly object[], output: number, event: number) => object;

const deltaFor = ({ text, isThought }: Output, name = 'reasoning_content') =>
  isThought === true ? { [name]: text } : { content: text };
const chatChoice = (output: Output, name?: string) => ({
  index: output.index,
  delta: deltaFor(output, name),
  finish_reason: null,
});

/** The event of each engine around its choices. */
const styles: readonly { engine: TextEngine; frame: Frame; choice: (output: Output) => object }[] = [
  {
    engine: 'llama.cpp',
    frame: (choices, count, event) => ({
      choices,
      created: 1_760_000_000 + (event >> 3),
      id: 'chatcmpl-x',
      model: 'tiny',
      object: 'chat.completion.chunk',
      timings: { cache_n: 2, prompt_n: 9, prompt_ms: 1.5, predicted_n: count, predicted_ms: 0.25 * event },
    }),
    choice: (output) => ({ finish_reason: null, index: output.index, delta: deltaFor(output) }),
  },
  {
    engine: 'vllm',
    frame: (choices, count) => ({
      ...{ id: 'chatcmpl-x', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'm', choices },
      usage: { prompt_tokens: 11, total_tokens: 11 + count, completion_tokens: count },
    }),
    choice: (output) => ({ ...chatChoice(output, 'reasoning'), logprobs: null, token_ids: null }),
  },
  {
    engine: 'sglang',
    frame: (choices, count, event) => ({
      ...{
        id: 'x',
        object: 'chat.completion.chunk',
        created: 1_760_000_000 + (event >> 2),
        model: 'm',
        choices,
      },
      usage: { prompt_tokens: 11, total_tokens: 11 + count, completion_tokens: count },
    }),
    choice: (output) => ({
      index: output.index,
      delta: { role: null, content: null, reasoning_content: null, tool_calls: null, ...deltaFor(output) },
      logprobs: null,
      finish_reason: null,
      matched_stop: null,
    }),
  },
  {
    engine: 'openai',
    frame: (choices) => ({
      ...{ id: 'x', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'm', choices },
      ...{ usage: null, obfuscation: 'aB}]"' },
    }),
    choice: (output) => ({ ...chatChoice(output), logprobs: null }),
  },
];

const choices = 3;
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    '',
    ' the',
    '"',
    '\\',
    '\n\n',
    '\u0000',
    '\u001b[1m',
    'data: [DONE]',
    '\u2028',
    '🍞',
    '"}}],',
    '/',
  ),
);
const scenario = fc.record({
  style: fc.constantFrom(...styles),
  writer: fc.constantFrom(...Object.keys(writers)),
  lineEnd: fc.constantFrom('\n', '\n', '\n', '\r\n'),
  isChat: fc.boolean(),
  includeUsage: fc.boolean(),
  output: fc.array(fc.record({ index: fc.nat({ max: choices - 1 }), text, isThought: fc.boolean() }), {
    maxLength: 24,
  }),
  cuts: fc.array(fc.nat({ max: 9_000 }), { maxLength: 30 }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

function bytesOf({ style, writer, lineEnd, isChat, output }: Scenario): Buffer {
  const write = writers[writer] ?? JSON.stringify;
  const events: object[] = [];
  const counted = [0, 0, 0];
  for (const part of output) {
    counted[part.index] = (counted[part.index] ?? 0) + 1;
    const chat = style.choice(part);
    const choice = isChat
      ? chat
      : { text: part.text, index: part.index, logprobs: null, finish_reason: null };
    events.push(style.frame([choice], counted[part.index] ?? 0, events.length));
  }
  for (let index = 0; index < choices; index += 1) {
    const last = isChat ? { delta: {} } : { text: '' };
    const end = { index, ...last, finish_reason: index === 1 ? 'length' : 'stop' };
    events.push(style.frame([end], counted[index] ?? 0, events.length));
  }
  const lines = events.map((event) => `data: ${write(event)}${lineEnd}${lineEnd}`);
  return Buffer.from(`${lines.join('')}data: [DONE]${lineEnd}${lineEnd}`);
}

function piecesOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].toSorted(
    (a, b) => a - b,
  );
  return places.slice(1).map((end, at) => bytes.subarray(places[at], end));
}

function open({ style, isChat, includeUsage }: Scenario, shortcuts: boolean): EventStream {
  const form: CompletionFormat = isChat
    ? chatCompletionFormat(chatRequest())
    : textCompletionFormat(completionRequest());
  return new EventStream({
    form,
    dialect: textDialects[style.engine],
    settings: { choices, choicesPerPrompt: choices, includeUsage },
    facts: completionContext,
    shortcuts,
  });
}

describe('EventStream', () => {
  it('returns the same bytes and counts with and without the fast path, at any chunking', () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const pieces = piecesOf(bytesOf(given), given.cuts);
        const [quick, slow] = [open(given, true), open(given, false)];
        for (const piece of pieces) {
          expect(quick.push(piece).toString('utf8')).toBe(slow.push(piece).toString('utf8'));
          expect(quick.counts()).toEqual(slow.counts());
        }
        expect(quick.end()).toBe(slow.end());
        expect(quick.finishReason()).toBe(slow.finishReason());
        expect(quick.hasStarted()).toBe(slow.hasStarted());
      }),
      { numRuns: 400 },
    );
  });

  it("returns the engine's text, whatever its JSON escapes", () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const received = readStream(open(given, true), piecesOf(bytesOf(given), given.cuts));
        const expected = ['', '', ''];
        for (const { index, text: part, isThought } of given.output) {
          if (!isThought || !given.isChat) expected[index] += part;
        }
        expect(textsIn(received.text)).toEqual(expected);
        expect(received.broken).toBeNull();
        expect(received.text.endsWith('data: [DONE]\n\n')).toBe(true);
        expect(eventsIn(received.text).filter(({ usage }) => usage !== undefined)).toHaveLength(1);
      }),
      { numRuns: 200 },
    );
  });

  it('fails without hanging or leaking on invalid input', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (noise) => {
        const stream = open({ ...base, isChat: true }, true);
        expect(readStream(stream, [Buffer.from(noise)]).broken).not.toBeNull();
      }),
    );
  });

  const base: Scenario = {
    ...{ style: styles[1] ?? fail(), writer: 'plain', lineEnd: '\n', isChat: true, includeUsage: false },
    ...{ output: [], cuts: [] },
  };

  it.each(styles)('uses the fast path for events of $engine without parsing the rest', (style) => {
    const given = { ...base, style };
    const event = (word: string) =>
      JSON.stringify(style.frame([style.choice({ index: 0, text: word })], 1, 0)).slice(0, -1);
    // Only a full parse would notice the invalid end of the event.
    const bytes = `data: ${event('one')}}\n\ndata: ${event('two')},rubbish}\n\n`;
    expect(textsIn(open(given, true).push(Buffer.from(bytes)).toString())).toEqual(['onetwo']);
    expect(textsIn(readStream(open(given, false), [bytes]).text)).toEqual(['one']);
  });

  it.each(styles)('returns reasoning of $engine as reasoning_content', (style) => {
    const first = ['Let', ' me', ' think'].map((text) => style.choice({ index: 0, text, isThought: true }));
    const last = style.choice({ index: 0, text: '42' });
    const events = [...first, last].map(
      (choice, at) => `data: ${JSON.stringify(style.frame([choice], at, at))}\n\n`,
    );
    const deltas = eventsIn(
      open({ ...base, style }, true)
        .push(Buffer.from(events.join('')))
        .toString(),
    ).flatMap(({ choices: received }) => received.map(({ delta }) => delta));
    expect(deltas).toEqual([
      ...['Let', ' me', ' think'].map((text) => ({ reasoning_content: text })),
      { content: '42' },
    ]);
  });

  it('returns the output before a failure and then throws', () => {
    const good = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] };
    const stream = open(base, true);
    const bytes = `data: ${JSON.stringify(good)}\n\ndata: {"error":{"message":"x","code":500}}\n\ndata: [DONE]\n\n`;
    const { text: received, broken } = readStream(stream, [bytes]);
    expect(textsIn(received)).toEqual(['Hi']);
    expect(broken?.failure.reason).toBe('UPSTREAM_ERROR');
    expect(stream.hasStarted()).toBe(true);
  });

  it('throws before its first byte if the engine failed, so that another can be tried', () => {
    const stream = open(base, true);
    expect(
      readStream(stream, ['data: {"error":{"message":"x","code":429}}\n\n']).broken?.failure,
    ).toMatchObject({
      reason: 'MODEL_OVERLOADED',
      retryable: true,
    });
    expect(stream.hasStarted()).toBe(false);
  });

  it('recognises the older error field', () => {
    expect(readStream(open(base, true), ['error: {"code":500,"message":"x"}\n\n']).broken).not.toBeNull();
  });

  it('needs no [DONE] after all choices have ended, and throws if one has not', () => {
    const end = (index: number) =>
      `data: {"choices":[{"index":${index},"delta":{},"finish_reason":"stop"}]}\n\n`;
    const whole = readStream(open(base, true), [end(0) + end(1) + end(2)]);
    expect(whole.broken).toBeNull();
    expect(whole.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(readStream(open(base, true), [end(0) + end(1)]).broken).not.toBeNull();
    expect(readStream(open(base, true), [`${end(0) + end(1)}data: [DONE]\n\n`]).broken).not.toBeNull();
  });

  it('throws on a choice that was not requested', () => {
    const orphan = 'data: {"choices":[{"index":3,"delta":{"content":"x"},"finish_reason":null}]}\n\n';
    expect(readStream(open(base, true), [orphan]).broken).not.toBeNull();
  });

  it('accepts comments, unused fields, multi-line data and bytes after the end', () => {
    const end = (index: number) =>
      `data: {"choices":[{"index":${index},"delta":{},\ndata: "finish_reason":"stop"}]}\n\n`;
    const bytes = `: ping\n\nevent: x\nid: 7\n${end(0)}\n\n${end(1)}data:{"choices":[]}\n\n${end(2)}data: [DONE]\n\ndata: rubbish\n\n`;
    const { text: received, broken } = readStream(open(base, true), [bytes, 'data: more rubbish\n\n']);
    expect(broken).toBeNull();
    expect(received.match(/\[DONE\]/g)).toHaveLength(1);
  });

  it('throws on an event that is too large', () => {
    const stream = open(base, true);
    expect(() => {
      for (let at = 0; at < 200; at += 1) stream.push(Buffer.alloc(64 * 1_024, 'x'));
    }).toThrow('too large');
  });
});

function fail(): never {
  throw new Error('The style does not exist.');
}
