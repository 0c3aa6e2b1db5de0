import { describe, expect, test } from 'vitest';
import { fakeApi, errorResponse, runCli, type FakeRequest } from '../fixture.ts';
import { createInterrupts } from '../interrupts.ts';

/** The commands that call models, against a fake API: output for a terminal and for a pipe. */

const usage = { prompt_tokens: 6, completion_tokens: 3, total_tokens: 9, cost_nano_usd: 1_500 };
const chunkOf = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'req_1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'tiny',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })}\n\n`;

const sse = (...chunks: readonly string[]): Response =>
  new Response(chunks.join(''), { headers: { 'content-type': 'text/event-stream' } });

const answering = (...words: readonly string[]): Response =>
  sse(...words.map((content) => chunkOf({ content })), chunkOf({}, 'stop', { usage }), 'data: [DONE]\n\n');

const model = (id: string, modality: string): object => ({
  id,
  object: 'model',
  created: 1,
  owned_by: 'us',
  modality,
  context_length: 8192,
  max_output_tokens: 4096,
  input_modalities: ['text'],
});
const models = (...all: readonly object[]) => ({ object: 'list', data: all });

const requestUsage = {
  id: 'req_1',
  model: 'tiny',
  deployment: null,
  created_at: '2026-03-01T12:00:00.000Z',
  streamed: true,
  cancelled: true,
  finish_reason: null,
  latency_ms: 40,
  ttft_ms: 10,
  generation_ms: 30,
  tokens_prompt: 6,
  tokens_completion: 2,
  tokens_cached: 0,
  cost_nano_usd: 1_000,
  attempts: [],
};

describe('chat with one question', () => {
  test('prints only the completion to standard output, with a line end', async () => {
    const api = fakeApi({ 'POST /v1/chat/completions': () => answering('Hel', 'lo.') });
    const result = await runCli(['chat', '--model', 'tiny', '--system', 'Be brief.'], {
      fetch: api.fetch,
      stdin: 'Hi!\n',
    });
    expect(result).toMatchObject({ code: 0, stdout: 'Hello.\n', stderr: '' });
    expect(api.requests[0]?.body).toMatchObject({
      model: 'tiny',
      stream: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi!' },
      ],
    });
  });

  test('shows tokens, cost and times to a person', async () => {
    const api = fakeApi({ 'POST /v1/chat/completions': () => answering('Hello.') });
    const result = await runCli(['chat', '-m', 'tiny', 'Hi', 'there'], { fetch: api.fetch, tty: true });
    expect(result.stdout).toBe('Hello.\n');
    expect(result.stderr).toMatch(
      /^6 tokens in, 3 out · \$0\.0000015 · first after 0\.\d\d s, 0\.\d\d s in all/,
    );
    expect(api.requests[0]?.body.messages).toEqual([{ role: 'user', content: 'Hi there' }]);
  });

  test('prints completion, usage and request id with --json', async () => {
    const api = fakeApi({ 'POST /v1/chat/completions': () => answering('Hello.') });
    const result = await runCli(['chat', '-m', 'tiny', 'Hi', '--json'], { fetch: api.fetch });
    expect(result.json()).toMatchObject({
      model: 'tiny',
      answer: 'Hello.',
      finishReason: 'stop',
      usage,
      requestId: 'req_1',
    });
  });

  test('removes control characters on a terminal, but not in a pipe', async () => {
    const nasty = 'a\u001b]0;owned\u0007\tb';
    const api = fakeApi({ 'POST /v1/chat/completions': () => answering(nasty) });
    const shown = await runCli(['chat', '-m', 'tiny', 'Hi'], { fetch: api.fetch, tty: true });
    expect(shown.stdout).toBe('a\ufffd]0;owned\ufffd\tb\n');
    const piped = await runCli(['chat', '-m', 'tiny', 'Hi'], { fetch: api.fetch });
    expect(piped.stdout).toBe(`${nasty}\n`);
  });

  test('fails if the stream breaks, instead of printing a shorter completion', async () => {
    const api = fakeApi({ 'POST /v1/chat/completions': () => sse(chunkOf({ content: 'Hel' })) });
    const result = await runCli(['chat', '-m', 'tiny', 'Hi'], { fetch: api.fetch });
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('The model did not respond');
    expect(result.stderr).toContain('incomplete');
    expect(result.stderr).not.toContain('    at ');
  });

  test('exits with 6 without money and with 5 for an unknown model', async () => {
    const poor = fakeApi({
      'POST /v1/chat/completions': () =>
        errorResponse(402, 'INSUFFICIENT_BALANCE', 'The balance does not cover this.'),
    });
    expect((await runCli(['chat', '-m', 'tiny', 'Hi'], { fetch: poor.fetch })).code).toBe(6);
    const unknown = fakeApi({
      'POST /v1/chat/completions': () => errorResponse(404, 'MODEL_NOT_FOUND', 'No such model.'),
    });
    const result = await runCli(['chat', '-m', 'tny', 'Hi'], { fetch: unknown.fetch });
    expect(result.code).toBe(5);
    expect(result.stderr).toContain('millrace models');
  });

  test('uses the only chat model without --model, and requires a name among several', async () => {
    const routes = { 'POST /v1/chat/completions': () => answering('Hello.') };
    const one = fakeApi({
      ...routes,
      'GET /v1/models': models(model('tiny', 'chat'), model('art', 'image')),
    });
    expect((await runCli(['chat', 'Hi'], { fetch: one.fetch })).stdout).toBe('Hello.\n');
    const two = fakeApi({
      ...routes,
      'GET /v1/models': models(model('tiny', 'chat'), model('large', 'chat')),
    });
    const result = await runCli(['chat', 'Hi'], { fetch: two.fetch });
    expect(result.code).toBe(3);
    expect(result.stderr).toContain('tiny, large');
    expect(two.requests).toHaveLength(1);
  });

  test('refuses empty piped input without a request', async () => {
    const api = fakeApi({});
    expect((await runCli(['chat', '-m', 'tiny'], { fetch: api.fetch, stdin: ' \n' })).code).toBe(3);
    expect(api.requests).toHaveLength(0);
  });

  test('is cancelled by Ctrl-C and keeps the partial output', async () => {
    const interrupts = createInterrupts();
    const api = fakeApi({
      'POST /v1/chat/completions': ({ signal }: FakeRequest) =>
        endless('Hel', signal, () => interrupts.raise()),
    });
    const result = await runCli(['chat', '-m', 'tiny', 'Hi'], { fetch: api.fetch, interrupts });
    expect(result).toMatchObject({ code: 2, stdout: 'Hel\n' });
  });
});

/** Sends one chunk and then nothing until the client disconnects. */
function endless(content: string, signal: AbortSignal, afterwards: () => void): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(chunkOf({ content })));
      signal.addEventListener('abort', () => controller.error(new DOMException('left', 'AbortError')));
      setImmediate(() => setImmediate(() => setImmediate(afterwards)));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

describe('chat as a conversation', () => {
  const chat = (answers: readonly string[], api: ReturnType<typeof fakeApi>, more: object = {}) =>
    runCli(['chat', '--model', 'tiny'], { fetch: api.fetch, tty: true, answers, ...more });

  test('sends each question with the earlier messages and prints totals at the end', async () => {
    let nth = 0;
    const api = fakeApi({ 'POST /v1/chat/completions': () => answering(`Answer ${(nth += 1)}.`) });
    const result = await chat(['First?', '', 'Second\\', 'part?', '/exit', 'never asked'], api);
    expect(result).toMatchObject({ code: 0, stdout: 'Answer 1.\nAnswer 2.\n' });
    expect(
      api.requests.map(({ body }: FakeRequest) =>
        body.messages.map((each: { content: string }) => each.content),
      ),
    ).toEqual([['First?'], ['First?', 'Answer 1.', 'Second\npart?']]);
    expect(result.stderr).toContain('2 completions · 12 tokens in, 6 out · $0.000003');
  });

  test('applies /model, /system and /clear to the next request, and reports a typing error', async () => {
    const api = fakeApi({ 'POST /v1/chat/completions': () => answering('Yes.') });
    const result = await chat(
      ['One?', '/clear', '/model large', '/system Be brief.', '/modle', '/help', 'Two?'],
      api,
    );
    expect(api.requests[1]?.body).toMatchObject({
      model: 'large',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Two?' },
      ],
    });
    expect(result.stderr).toContain('Did you mean /model?');
    expect(result.stderr).toContain('/clear         delete');
    expect(result.code).toBe(0);
  });

  test('continues after an error, and the question can be repeated', async () => {
    let nth = 0;
    const api = fakeApi({
      'POST /v1/chat/completions': () =>
        (nth += 1) === 1
          ? errorResponse(402, 'INSUFFICIENT_BALANCE', 'The balance does not cover this.')
          : answering('Yes.'),
    });
    const result = await chat(['Hello?', 'Hello?'], api);
    expect(result).toMatchObject({ code: 0, stdout: 'Yes.\n' });
    expect(result.stderr).toContain('The balance does not cover this.');
    expect(api.requests[1]?.body.messages).toHaveLength(1);
  });

  test('ends a completion on Ctrl-C without leaving the chat, and still shows its cost', async () => {
    const interrupts = createInterrupts();
    let nth = 0;
    const api = fakeApi({
      'POST /v1/chat/completions': ({ signal }: FakeRequest) =>
        (nth += 1) === 1 ? endless('Hel', signal, () => interrupts.raise()) : answering('Yes.'),
      'GET /v2/usage/requests/*': requestUsage,
    });
    const result = await chat(['Long story?', 'And now?'], api, { interrupts });
    expect(result).toMatchObject({ code: 0, stdout: 'Hel\nYes.\n' });
    expect(result.stderr).toContain('stopped · 6 tokens in, 2 out · $0.000001');
    expect(result.stderr).toContain('2 completions · 12 tokens in, 5 out · $0.0000025');
    expect(interrupts.signal.aborted).toBe(false);
    expect(api.requests.at(-1)?.body.messages[1]).toEqual({ role: 'assistant', content: 'Hel' });
  });
});

describe('complete', () => {
  test('prints only the completion', async () => {
    const chunk = (text: string, finish: string | null) =>
      `data: ${JSON.stringify({ id: 'req_2', object: 'text_completion', created: 1, model: 'tiny', choices: [{ index: 0, text, finish_reason: finish }], usage })}\n\n`;
    const api = fakeApi({
      'POST /v1/completions': () => sse(chunk(' a mill', null), chunk('', 'length'), 'data: [DONE]\n\n'),
    });
    const result = await runCli(['complete', '-m', 'tiny', '--max-tokens', '2', '--stop', '\\n'], {
      fetch: api.fetch,
      stdin: 'Once there was',
    });
    expect(result).toMatchObject({ code: 0, stdout: ' a mill\n' });
    expect(api.requests[0]?.body).toMatchObject({ prompt: 'Once there was', max_tokens: 2, stop: '\n' });
  });
});

describe('image and speech commands', () => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 1]);
  const images = (count: number) =>
    Response.json(
      { created: 1, data: Array.from({ length: count }, () => ({ b64_json: png.toString('base64') })) },
      { headers: { 'x-inference-request-id': 'req_1' } },
    );

  test('write several images to several files and print their names', async () => {
    const api = fakeApi({
      'POST /v1/images/generations': ({ body }: FakeRequest) => images(body.n),
      'GET /v2/usage/requests/*': requestUsage,
    });
    const result = await runCli(['image', 'a', 'mill', '-m', 'art', '-n', '2', '--file', 'out/mill.png'], {
      fetch: api.fetch,
      tty: true,
    });
    expect(result).toMatchObject({ code: 0, stdout: 'out/mill.png\nout/mill-2.png\n' });
    expect(result.stderr).toContain('$0.000001 · req_1');
    expect(Buffer.from(result.files['out/mill-2.png'] ?? '')).toEqual(png);
    expect(api.requests[0]?.body).toMatchObject({ prompt: 'a mill', n: 2, size: '1024x1024' });
  });

  test('pipe one image, but not several', async () => {
    const api = fakeApi({
      'POST /v1/images/generations': ({ body }: FakeRequest) => images(body.n),
      'GET /v2/usage/requests/*': requestUsage,
    });
    const one = await runCli(['image', 'a mill', '-m', 'art'], { fetch: api.fetch });
    expect(one).toMatchObject({ code: 0, stdout: '' });
    expect(Buffer.from(one.bytes)).toEqual(png);
    const several = await runCli(['image', 'a mill', '-m', 'art', '-n', '2'], { fetch: api.fetch });
    expect(several.code).toBe(3);
    expect(api.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('print files and cost with --json, and still write the files', async () => {
    const api = fakeApi({
      'POST /v1/images/generations': () => images(1),
      'GET /v2/usage/requests/*': requestUsage,
    });
    const result = await runCli(['image', 'a mill', '-m', 'art', '--json'], { fetch: api.fetch });
    expect(result.json()).toMatchObject({
      costNanoUsd: '1000',
      files: [{ file: 'image-20260301-120000.png', type: 'image/png', bytes: 5 }],
    });
    expect(Object.keys(result.files)).toContain('image-20260301-120000.png');
  });

  test('convert piped text to speech', async () => {
    const mp3 = new Uint8Array([0xff, 0xfb, 1, 2]);
    const api = fakeApi({
      'POST /v1/audio/speech': () =>
        new Response(mp3, { headers: { 'content-type': 'audio/mpeg', 'x-inference-request-id': 'req_1' } }),
      'GET /v2/usage/requests/*': errorResponse(403, 'FORBIDDEN', 'This key may not.'),
    });
    const result = await runCli(['speech', '-m', 'flite', '--speed', '1.5'], {
      fetch: api.fetch,
      stdin: 'Hello.\n',
    });
    expect(result.code).toBe(0);
    expect(new Uint8Array(result.bytes)).toEqual(mp3);
    expect(api.requests[0]?.body).toEqual({ model: 'flite', input: 'Hello.', voice: 'alloy', speed: 1.5 });
  });
});

describe('models', () => {
  const price = {
    model: 'tiny',
    currency: 'usd',
    modality: 'chat',
    prompt_nano_usd_per_million_tokens: 200_000_000,
    cached_prompt_nano_usd_per_million_tokens: 50_000_000,
    completion_nano_usd_per_million_tokens: 600_000_001,
    image_nano_usd: null,
    character_nano_usd: null,
  };
  const api = fakeApi({
    'GET /v1/models': models(model('tiny', 'chat'), model('art', 'image')),
    'GET /models/*/price': ({ path }: FakeRequest) => ({ ...price, model: path.split('/')[2] }),
  });

  test('lists models with exact prices', async () => {
    const result = await runCli(['models', 'tiny'], { fetch: api.fetch });
    expect(result.stdout).toContain('$0.20');
    expect(result.stdout).toContain('$0.600000001');
    expect(result.stdout).not.toContain('art');
    expect((await runCli(['models', '--json'], { fetch: api.fetch })).json()).toHaveLength(2);
  });

  test('exits with 5 for an unknown model', async () => {
    expect((await runCli(['models', 'tyny'], { fetch: api.fetch })).code).toBe(5);
  });
});
