import { contract, createContract } from '@millrace/contract';
import { Fault, renderFault } from '@millrace/platform/fault';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  requestedMaxTokens,
  createChatReader,
  hasImages,
  chatPrefix,
  maxChatPromptTokens,
} from './chat-request.ts';

const read = createChatReader(contract.schemas.chatRequest);
const least = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const widened = createChatReader(
  createContract({ providers: contract.providers, widePenalties: true }).schemas.chatRequest,
);

/** The error that the client gets for a body, or null. */
function errorOf(body: unknown, reader = read) {
  try {
    reader(body);
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const rendered = renderFault(error, { source: 'interface', errorFamily: 'inference' }, 'req');
    return { status: rendered.status, detail: rendered.body['detail'] as { loc: unknown[]; msg: string }[] };
  }
}

const many = (count: number) => Array.from({ length: count }, (_, at) => `stop ${at}`);
const tools = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ type: 'function', function: { name: `f${at}` } }));
const biases = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [at, 1]));
const message = (fields: object) => [{ role: 'user', content: 'Hi', ...fields }];

/** Every parameter of the contract: values in range and at the limit, then out of range. */
const table: Record<string, { takes: readonly unknown[]; refuses: readonly unknown[] }> = {
  messages: {
    takes: [
      message({}),
      message({ role: 'system' }),
      message({ role: 'developer' }),
      message({ role: 'assistant' }),
      message({ content: [{ type: 'text', text: 'Hi' }] }),
      message({ content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }),
      message({ role: 'tool', tool_call_id: 'a' }),
      [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
      ],
    ],
    refuses: [
      [],
      'Hi',
      message({ role: 'wizard' }),
      message({ content: 7 }),
      message({ content: [] }),
      message({ content: null }),
      message({ role: 'assistant', content: null }),
      message({ role: 'tool' }),
      message({ content: [{ type: 'video', url: 'x' }] }),
      message({ content: [{ type: 'image_url', image_url: { url: 'http://169.254.169.254/' } }] }),
    ],
  },
  model: { takes: ['m', 'meta-llama/Llama-3.3'], refuses: ['', 7] },
  frequency_penalty: { takes: [0, 0.5, 1], refuses: [-0.01, 1.01, 'high'] },
  presence_penalty: { takes: [0, 0.5, 1], refuses: [-0.01, 1.01, true] },
  logit_bias: {
    takes: [{}, { '0': -100 }, { '395': 100, '7': 0.5 }, biases(1_024)],
    refuses: [{ '395': -100.1 }, { '395': 101 }, { '395': 'ban' }, { ' word': 1 }, biases(1_025), [1]],
  },
  logprobs: { takes: [true, false, 0, 1, 20], refuses: [-1, 21, 1.5, 'yes'] },
  max_tokens: { takes: [1, 4_096, Number.MAX_SAFE_INTEGER], refuses: [0, -1, 1.5, '16'] },
  max_completion_tokens: { takes: [1, 4_096], refuses: [0, -1, 1.5] },
  n: { takes: [1, 2, 128], refuses: [0, -1, 129, 1.5] },
  seed: { takes: [0, -1, 42, Number.MAX_SAFE_INTEGER], refuses: [1.5, 'lucky', 2 ** 60] },
  stop: { takes: ['.', ['.', '\n'], [], many(16)], refuses: ['', [''], many(17), 7, [7]] },
  stream: { takes: [true, false], refuses: ['true', 1] },
  temperature: { takes: [0, 1, 2], refuses: [-0.01, 2.01, 'hot'] },
  top_p: { takes: [0, 0.5, 1], refuses: [-0.01, 1.01] },
  top_k: { takes: [-1, 0, 1, 50], refuses: [-2, 1.5] },
  min_p: { takes: [0, 0.5, 1], refuses: [-0.01, 1.01] },
  repetition_penalty: { takes: [0.01, 1, 1.5], refuses: [0, -1, '1'] },
  user: { takes: ['', 'end-user-7'], refuses: [7] },
  tools: {
    takes: [[], tools(1), tools(128)],
    refuses: [tools(129), [{ type: 'function' }], [{ type: 'code', function: { name: 'f' } }]],
  },
  tool_choice: {
    takes: ['none', 'auto', 'required', { type: 'function', function: { name: 'f' } }],
    refuses: ['all', { type: 'function' }],
  },
  response_format: {
    takes: [
      { type: 'text' },
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    ],
    refuses: [{ type: 'xml' }, { type: 'json_schema' }, 'json'],
  },
  stream_options: { takes: [{}, { include_usage: true }], refuses: [{ include_usage: 'yes' }, true] },
};

describe('chat request parameter', () => {
  it.each(Object.entries(table))('%s is accepted in range and at the limit', (name, { takes }) => {
    for (const value of takes) expect(errorOf({ ...least, [name]: value }), JSON.stringify(value)).toBeNull();
  });

  it.each(Object.entries(table))(
    '%s is refused out of range with an error that names it',
    (name, { refuses }) => {
      for (const value of refuses) {
        const found = errorOf({ ...least, [name]: value });
        expect(found?.status, JSON.stringify(value)).toBe(422);
        expect(found?.detail[0]?.loc.slice(0, 2), JSON.stringify(value)).toEqual(['body', name]);
      }
    },
  );

  it('top_logprobs is accepted from 0 to 20 and only with logprobs', () => {
    for (const top of [0, 5, 20]) {
      expect(errorOf({ ...least, logprobs: true, top_logprobs: top })).toBeNull();
      expect(errorOf({ ...least, top_logprobs: top })?.status).toBe(422);
      expect(errorOf({ ...least, logprobs: false, top_logprobs: top })?.status).toBe(422);
    }
    for (const top of [-1, 21, 1.5]) {
      expect(errorOf({ ...least, logprobs: true, top_logprobs: top })?.status).toBe(422);
    }
  });

  it('tool_choice must name one of the tools', () => {
    const choice = (name: string) => ({ type: 'function', function: { name } });
    const named = (name: string) => ({ ...least, tools: tools(2), tool_choice: choice(name) });
    const [first] = tools(1);
    expect(errorOf(named(first?.function.name ?? ''))).toBeNull();
    expect(errorOf(named('nobody'))?.detail[0]?.loc).toEqual(['body', 'tool_choice', 'function', 'name']);
  });

  it('table covers every parameter of the contract', () => {
    const known = Object.keys(contract.schemas.chatRequest.shape);
    expect([...Object.keys(table), 'top_logprobs'].toSorted()).toEqual(known.toSorted());
  });

  it('penalties are accepted from -2 to 2 with the operator setting', () => {
    for (const name of ['frequency_penalty', 'presence_penalty']) {
      for (const value of [-2, 2]) expect(errorOf({ ...least, [name]: value }, widened)).toBeNull();
      for (const value of [-2.1, 2.1])
        expect(errorOf({ ...least, [name]: value }, widened)?.status).toBe(422);
    }
  });
});

describe('chat request', () => {
  it('is refused with the missing fields if it is empty or not an object', () => {
    expect(errorOf({})?.detail.map(({ loc }) => loc[1])).toEqual(['messages', 'model']);
    for (const body of [null, [], 7, 'text']) expect(errorOf(body)?.status).toBe(422);
  });

  it('treats null as an absent field', () => {
    const { request, ignored } = read({ ...least, temperature: null, stop: null, tools: null });
    expect(request).toEqual(read(least).request);
    expect(ignored).toEqual([]);
  });

  it('lists unknown fields and drops them', () => {
    const { request, ignored } = read({ ...least, ignore_eos: true, cache_salt: 'another tenant' });
    expect(ignored).toEqual(['ignore_eos', 'cache_salt']);
    const nested = read({
      model: 'm',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] },
        { role: 'assistant', content: 'Hello', refusal: null, weight: 1 },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { any: { thing: 1 } }, extra: 1 } }],
    });
    expect(nested.ignored).toEqual([
      'messages.0.content.0.cache_control',
      'messages.1.refusal',
      'messages.1.weight',
      'tools.0.function.extra',
    ]);
    expect(Object.keys(request)).toEqual(Object.keys(read(least).request));
  });

  it('that no engine could read is refused as a client error', () => {
    expect(errorOf({ ...least, messages: message({ content: 'half \ud800' }) })?.status).toBe(422);
    const deep = JSON.parse(`${'{"a":'.repeat(80)}1${'}'.repeat(80)}`) as object;
    const tool = { type: 'function', function: { name: 'f', parameters: deep } };
    expect(errorOf({ ...least, tools: [tool] })?.status).toBe(422);
  });

  it('uses the smaller of max_tokens and max_completion_tokens', () => {
    const limitOf = (body: object) => requestedMaxTokens(read({ ...least, ...body }).request);
    expect(limitOf({})).toBeNull();
    expect(limitOf({ max_tokens: 5 })).toBe(5);
    expect(limitOf({ max_completion_tokens: 6 })).toBe(6);
    expect(limitOf({ max_tokens: 5, max_completion_tokens: 6 })).toBe(5);
  });

  it('has a prompt bound of at least one token per byte and per message', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(texts, (contents) => {
        const messages = contents.map((content) => ({ role: 'user', content: content.toWellFormed() }));
        const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
        const bound = maxChatPromptTokens(read({ ...least, messages }).request);
        expect(bound).toBeGreaterThanOrEqual(bytes + messages.length);
      }),
    );
  });

  it('counts images, tools and tool calls in the prompt bound', () => {
    const bound = (body: object) => maxChatPromptTokens(read({ ...least, ...body }).request);
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } };
    expect(bound({ messages: message({ content: [image] }) }) - bound(least)).toBe(16_384 + 1 - 2);
    expect(bound({ tools: tools(3) })).toBeGreaterThan(bound(least) + JSON.stringify(tools(3)).length);
    expect(hasImages(read({ ...least, messages: message({ content: [image] }) }).request)).toBe(true);
    expect(hasImages(read(least).request)).toBe(false);
  });

  it('keeps its prefix from turn to turn and shares it with no other conversation', () => {
    const system = { role: 'system', content: 'You are a miller.' };
    const first = { role: 'user', content: 'Is the river high?' };
    const turns = [
      [system, first],
      [system, first, { role: 'assistant', content: 'It is.' }, { role: 'user', content: 'Since when?' }],
    ];
    const [one, two] = turns.map((messages) => chatPrefix(read({ ...least, messages }).request));
    expect(one).toBe(two);
    const other = read({ ...least, messages: [system, { role: 'user', content: 'Is it low?' }] });
    expect(chatPrefix(other.request)).not.toBe(one);
    expect(
      chatPrefix(read({ ...least, messages: message({ content: 'x'.repeat(9_000) }) }).request),
    ).toHaveLength(2_048);
  });
});
