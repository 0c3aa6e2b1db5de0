import { describe, expect, it } from 'vitest';
import { TextEngineError } from './text/text-adapter.ts';
import { chatAdapterOf, type TextEngine } from './text/chat-adapters.ts';
import { chatRequest, completionRequest, upstreamBodyOf, upstreamContext } from './text/chat.fixture.ts';
import { completionAdapterOf } from './text/completion-adapters.ts';

const engines: readonly TextEngine[] = ['llama.cpp', 'vllm', 'sglang', 'openai', 'mock'];

function sent(engine: TextEngine, body: object = {}) {
  return upstreamBodyOf(chatAdapterOf(engine), chatRequest(body));
}

describe.each(engines)('request to %s', (engine) => {
  it('has the upstream model name, the granted token limit and the API key', () => {
    const upstream = chatAdapterOf(engine).toUpstream(chatRequest({ max_tokens: 500 }), upstreamContext);
    expect(upstream.path).toBe('/v1/chat/completions');
    expect(upstream.headers).toEqual({
      'content-type': 'application/json',
      authorization: 'Bearer secret',
    });
    expect(JSON.parse(upstream.body)).toMatchObject({ model: 'up/model', max_tokens: 16 });
    const open = { ...upstreamContext, deployment: { ...upstreamContext.deployment, apiKey: null } };
    expect(chatAdapterOf(engine).toUpstream(chatRequest(), open).headers).not.toHaveProperty('authorization');
  });

  it('has all requested parameters under the names that all engines share', () => {
    const fields = {
      ...{
        temperature: 0.5,
        top_p: 0.9,
        presence_penalty: 0.1,
        frequency_penalty: 0.2,
        stop: ['a'],
        seed: 7,
      },
      ...{ n: 2, user: 'u', tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'auto' },
      ...{ response_format: { type: 'json_object' }, logit_bias: { '5': -100 } },
    };
    expect(sent(engine, fields)).toMatchObject(fields);
  });

  it('has no logprobs fields unless the client requested logprobs', () => {
    for (const logprobs of [false, 0, undefined]) {
      expect(sent(engine, { logprobs })).not.toHaveProperty('logprobs');
      expect(sent(engine, { logprobs })).not.toHaveProperty('top_logprobs');
    }
  });

  it('requests usage only for streams', () => {
    expect(sent(engine)).not.toHaveProperty('stream');
    expect(sent(engine)).not.toHaveProperty('stream_options');
    expect(sent(engine, { stream: true, stream_options: { include_usage: false } })).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });
});

describe.each(['vllm', 'sglang'] as const)('request to %s with running counts', (engine) => {
  it("requests running counts and has the organisation's cache salt, for chat and completions", () => {
    const running = { include_usage: true, continuous_usage_stats: true };
    expect(sent(engine, { stream: true })).toMatchObject({
      stream_options: running,
      cache_salt: 'salt-of-org',
    });
    expect(upstreamBodyOf(completionAdapterOf(engine), completionRequest({ stream: true }))).toMatchObject({
      stream_options: running,
      cache_salt: 'salt-of-org',
    });
  });

  it('keeps the name repetition_penalty and sends -1 for all tokens', () => {
    expect(sent(engine, { repetition_penalty: 1.5, top_k: 0, min_p: 0.1 })).toMatchObject({
      repetition_penalty: 1.5,
      top_k: -1,
      min_p: 0.1,
    });
    expect(sent(engine)).not.toHaveProperty('repetition_penalty');
  });
});

describe('request to llama.cpp', () => {
  it('closes the connection after each stream, because llama-server does', () => {
    const context = (engine: TextEngine) => ({
      ...upstreamContext,
      deployment: { ...upstreamContext.deployment, engine },
    });
    const closes = (engine: TextEngine, body: object): boolean =>
      chatAdapterOf(engine).toUpstream(chatRequest(body), context(engine)).closesConnection;
    expect(closes('llama.cpp', { stream: true })).toBe(true);
    expect(closes('llama.cpp', { n: 2 })).toBe(true);
    expect(closes('llama.cpp', {})).toBe(false);
    expect(closes('vllm', { stream: true })).toBe(false);
  });

  it("uses llama.cpp's names for the repetition penalty", () => {
    const body = sent('llama.cpp', { repetition_penalty: 1.5 });
    expect(body).toMatchObject({ repeat_penalty: 1.5, repeat_last_n: 16_384 });
    expect(body).not.toHaveProperty('repetition_penalty');
    expect(sent('llama.cpp')).not.toHaveProperty('repeat_penalty');
  });

  it('requests at least one alternative, without which llama.cpp returns no logprobs', () => {
    expect(sent('llama.cpp', { logprobs: true })).toMatchObject({ logprobs: true, top_logprobs: 1 });
    expect(sent('llama.cpp', { logprobs: true, top_logprobs: 5 })).toMatchObject({ top_logprobs: 5 });
    expect(sent('llama.cpp', { logprobs: 4 })).toMatchObject({ logprobs: true, top_logprobs: 4 });
  });

  it('streams whenever there are several choices, because only streams report usage per choice', () => {
    const stream = { stream: true, stream_options: { include_usage: true } };
    expect(sent('llama.cpp', { n: 2 })).toMatchObject(stream);
    expect(sent('llama.cpp', { n: 2 })).not.toHaveProperty('timings_per_token');
    expect(sent('llama.cpp', { stream: true })).toMatchObject({ ...stream, timings_per_token: true });
    expect(sent('llama.cpp', { n: 1 })).not.toHaveProperty('stream');
    const complete = (body: object) =>
      upstreamBodyOf(completionAdapterOf('llama.cpp'), completionRequest(body));
    expect(complete({ prompt: ['a', 'b'] })).toMatchObject(stream);
    expect(complete({ prompt: 'a' })).not.toHaveProperty('stream');
  });

  it('folds seeds to 32 bits and avoids the value that means random', () => {
    const seed = (value: number) => sent('llama.cpp', { seed: value })['seed'];
    expect(seed(7)).toBe(7);
    expect(seed(2 ** 32 + 7)).toBe(7);
    expect(seed(-7)).toBe(2 ** 32 - 7);
    expect(seed(-1)).toBe(0);
    expect(seed(2 ** 32 - 1)).toBe(0);
    expect(sent('llama.cpp')).not.toHaveProperty('seed');
  });

  it.each([{ echo: true }, { suffix: '.' }])(
    'is refused for fields that llama.cpp would ignore: %j',
    (fields) => {
      const build = () => upstreamBodyOf(completionAdapterOf('llama.cpp'), completionRequest(fields));
      expect(build).toThrow(TextEngineError);
      expect(build).toThrow(Object.keys(fields)[0]);
    },
  );
});

describe('developer role', () => {
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ];
  it('becomes system for models with their own templates and stays developer for OpenAI servers', () => {
    for (const engine of ['llama.cpp', 'vllm', 'sglang'] as const) {
      expect(sent(engine, { messages })).toMatchObject({ messages: [{ role: 'system' }, { role: 'user' }] });
    }
    expect(sent('openai', { messages })).toMatchObject({ messages });
  });
});

describe('request to an OpenAI server', () => {
  it('has the token limit under the name that the client used', () => {
    expect(sent('openai', { max_completion_tokens: 99 })).toMatchObject({ max_completion_tokens: 16 });
    expect(sent('openai', { max_completion_tokens: 99 })).not.toHaveProperty('max_tokens');
    expect(sent('openai')).toMatchObject({ max_tokens: 16 });
  });
});

describe('toTextFailure', () => {
  const read = chatAdapterOf('vllm').readFailure;
  const llama = (message: string, type = 'invalid_request_error', code = 400) =>
    JSON.stringify({ error: { code, message, type } });

  it.each([
    [
      400,
      llama(
        'request (3007 tokens) exceeds the available context size (2048 tokens)',
        'exceed_context_size_error',
      ),
      'CONTEXT_LENGTH_EXCEEDED',
      false,
    ],
    [
      400,
      '{"error":{"message":"Too long","code":"context_length_exceeded"}}',
      'CONTEXT_LENGTH_EXCEEDED',
      false,
    ],
    [
      400,
      '{"object":"error","message":"The input is longer than the model\'s context length","code":400}',
      'CONTEXT_LENGTH_EXCEEDED',
      false,
    ],
    [
      400,
      llama("Field 'n': Value must be between 1 <= value <= 4, but got 9"),
      'PARAMETER_NOT_SUPPORTED',
      false,
    ],
    [
      400,
      '{"error":{"message":"suffix is not currently supported","param":"suffix"}}',
      'PARAMETER_NOT_SUPPORTED',
      false,
    ],
    [
      422,
      '{"detail":[{"loc":["body","tools"],"msg":"Input should be a valid list"}]}',
      'VALIDATION_FAILED',
      false,
    ],
    [
      500,
      llama('image input is not supported - hint: mmproj', 'server_error', 500),
      'PARAMETER_NOT_SUPPORTED',
      false,
    ],
    [
      500,
      llama('Jinja Exception: Conversation roles must alternate', 'server_error', 500),
      'VALIDATION_FAILED',
      false,
    ],
    [400, 'plain words', 'VALIDATION_FAILED', false],
    [401, llama('Invalid API Key', 'authentication_error', 401), 'UPSTREAM_ERROR', true],
    [404, '{"error":{"message":"The model `x` does not exist."}}', 'UPSTREAM_ERROR', true],
    [408, '', 'UPSTREAM_TIMEOUT', true],
    [429, '{}', 'MODEL_OVERLOADED', true],
    [500, 'Internal Server Error', 'UPSTREAM_ERROR', true],
    [502, '<html>', 'UPSTREAM_ERROR', true],
    [503, llama('Loading model', 'unavailable_error', 503), 'UPSTREAM_ERROR', true],
    [504, '', 'UPSTREAM_TIMEOUT', true],
  ])('%i %s', (status, text, reason, retryable) => {
    expect(read(status, text)).toMatchObject({ status, reason, retryable });
  });

  it('names a parameter that is in the contract', () => {
    expect(read(400, llama("Field 'n': Value must be between 1 <= value <= 4")).message).toContain(
      'parameter n',
    );
    expect(read(400, '{"error":{"message":"bad","param":"top_k"}}').message).toContain('top_k');
  });

  it('never repeats words of the prompt, which engines quote in errors', () => {
    for (const status of [400, 422, 429, 500, 503]) {
      const seen = read(status, JSON.stringify({ detail: [{ input: 'my secret prompt' }], param: 'secret' }));
      expect(JSON.stringify(seen)).not.toContain('secret');
    }
  });
});
